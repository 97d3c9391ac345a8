/* bench_measure.c - small reads and seeks in a row, with the clock before and after: it is the
 * program that the library is, or is not, loaded into. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/command/bench.h"
#include "cache/command/say.h"
#include "cache/pagewell.h"

#define SMALL 512u
#define STEP 4096u
#define OPENED (16u * STEP) /* read of the file in each opening */
#define BATCH 64

struct bench {
	const char *path;
	int fd;
	uint64_t range; /* places at which a small read may begin */
	size_t small;	/* bytes of one */
	uint64_t random;
	bool failed;
};

static char buf[STEP];

/* Vigna's xorshift64*, whose low bits are its weaker ones. */
static uint64_t next(struct bench *b)
{
	b->random ^= b->random >> 12;
	b->random ^= b->random << 25;
	b->random ^= b->random >> 27;
	return (b->random * 0x2545f4914f6cdd1dULL) >> 16;
}

static void check(struct bench *b, bool fine)
{
	b->failed |= !fine;
}

static void at_random(struct bench *b)
{
	check(b, pread(b->fd, buf, b->small, (off_t)(next(b) % b->range)) > 0);
}

static void seek_and_read(struct bench *b)
{
	check(b, lseek(b->fd, (off_t)(next(b) % b->range), SEEK_SET) >= 0 &&
			 read(b->fd, buf, b->small) > 0);
}

static void in_sequence(struct bench *b)
{
	ssize_t n = read(b->fd, buf, STEP);

	if (n == 0 || lseek(b->fd, 0, SEEK_CUR) >= (off_t)PW_BENCH_BYTES)
		check(b, lseek(b->fd, 0, SEEK_SET) == 0);
	check(b, n >= 0);
}

static void open_and_close(struct bench *b)
{
	int fd = open(b->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	check(b, fd >= 0);
	if (fd < 0)
		return;
	for (unsigned done = 0; n > 0 && done < OPENED; done += STEP)
		n = read(fd, buf, STEP);
	check(b, n >= 0);
	close(fd);
}

/* Once for a fifth of the time, not counted: files have to earn their windows. */
static double time_it(struct bench *b, void (*once)(struct bench *b), double for_ns)
{
	uint64_t times = 0;
	int64_t began = pw_sys->now_ns();
	int64_t now;

	do {
		for (int i = 0; i < BATCH; i++)
			once(b);
		now = pw_sys->now_ns();
	} while (!b->failed && (double)(now - began) < for_ns / 5);
	began = now;
	do {
		for (int i = 0; i < BATCH; i++)
			once(b);
		times += BATCH;
		now = pw_sys->now_ns();
	} while (!b->failed && (double)(now - began) < for_ns * 4 / 5);
	return (double)(now - began) / (double)times;
}

bool pw_bench_measure(const char *path, double for_ns, double ns[PW_BENCHES])
{
	static void (*const kind[PW_BENCHES])(struct bench * b) = {
		[PW_BENCH_RANDOM] = at_random,
		[PW_BENCH_SEEK] = seek_and_read,
		[PW_BENCH_SEQUENTIAL] = in_sequence,
		[PW_BENCH_OPEN] = open_and_close,
	};
	struct bench b = {.path = path, .random = 88172645463325252ULL};
	struct stat st;

	for (int i = 0; i < PW_BENCHES; i++) {
		/* Opened anew: each kind is a program of its own. */
		b.fd = open(path, O_RDONLY | O_CLOEXEC);
		if (b.fd < 0 || fstat(b.fd, &st)) {
			pw_say("bench: %s: %s", path, strerror(errno));
			if (b.fd >= 0)
				close(b.fd);
			return false;
		}
		b.small = pw_min_u64((uint64_t)st.st_size, SMALL);
		b.range = pw_min_u64((uint64_t)st.st_size, PW_BENCH_BYTES) - b.small + 1;
		ns[i] = time_it(&b, kind[i], for_ns);
		close(b.fd);
		if (b.failed) {
			pw_say("bench: %s: it can't be read to its end", path);
			return false;
		}
	}
	return true;
}
