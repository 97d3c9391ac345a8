/* crew_read.c - see crew.h: calls that are timed, and reads that are judged. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "crew.h"

struct span {
	uint64_t began, stopped;
};

static struct span begin(void)
{
	uint64_t stopped = atomic_load(&me->stopped_ns);

	return (struct span){crew_now(), stopped};
}

static void end(struct span s)
{
	uint64_t took = crew_now() - s.began;
	uint64_t stopped = atomic_load(&me->stopped_ns) - s.stopped;
	uint64_t worst = atomic_load_explicit(&me->worst_ns, memory_order_relaxed);

	took = took > stopped ? took - stopped : 0;
	while (took > worst && !atomic_compare_exchange_weak(&me->worst_ns, &worst, took))
		;
}

#define TIMED(type, call)        \
	struct span s = begin(); \
	type ret = call;         \
	int saved = errno;       \
                                 \
	end(s);                  \
	errno = saved;           \
	return ret

ssize_t timed_read(int fd, void *buf, size_t n)
{
	TIMED(ssize_t, read(fd, buf, n));
}

ssize_t timed_pread(int fd, void *buf, size_t n, off_t off)
{
	TIMED(ssize_t, pread(fd, buf, n, off));
}

off_t timed_lseek(int fd, off_t off, int whence)
{
	TIMED(off_t, lseek(fd, off, whence));
}

int timed_open(const char *path, int flags)
{
	TIMED(int, open(path, flags));
}

int timed_close(int fd)
{
	TIMED(int, close(fd));
}

bool crew_make_file(const char *path, int64_t pages)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	uint64_t buf[8192];
	bool ok = fd >= 0;

	for (int64_t at = 0; ok && at < pages * CREW_PAGE; at += (int64_t)sizeof(buf)) {
		for (size_t i = 0; i < 8192; i++)
			buf[i] = crew_word((uint64_t)at + 8 * i);
		ok = write(fd, buf, sizeof(buf)) == sizeof(buf);
	}
	return ok && !fsync(fd) && !close(fd);
}

static void judge(const uint64_t *buf, size_t n, int64_t off, ssize_t got)
{
	if (got != (ssize_t)n) {
		crew_wrong("read at %lld gave %zd, errno %d", (long long)off, got, errno);
		return;
	}
	for (size_t i = 0; i < n / 8; i++)
		if (buf[i] != crew_word((uint64_t)off + 8 * i)) {
			crew_wrong("wrong bytes at %lld",
				   (long long)off + 8 * (long long)i);
			return;
		}
	atomic_fetch_add(&me->reads, 1);
}

void crew_read(int fd, size_t n, int64_t off)
{
	uint64_t buf[512];

	judge(buf, n, off, timed_read(fd, buf, n));
}

void crew_pread(int fd, size_t n, int64_t off)
{
	uint64_t buf[512];

	judge(buf, n, off, timed_pread(fd, buf, n, off));
}

void crew_seek(int fd, int64_t off, int whence, int64_t want)
{
	off_t to = timed_lseek(fd, off, whence);

	if (to != want)
		crew_wrong("lseek %lld, %d gave %lld", (long long)off, whence,
			   (long long)to);
}
