/* kill_member.c - see kill.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kill.h"

#define BLOCK 512
#define SPOT_READS 4000

/* Reads a block at the position, which is known to be at off. */
static void block(int fd, int64_t off)
{
	uint64_t buf[BLOCK / 8];
	ssize_t got = timed_read(fd, buf, BLOCK);

	if (got != BLOCK) {
		crew_wrong("read at %lld gave %zd, errno %d", (long long)off, got, errno);
		return;
	}
	for (size_t i = 0; i < BLOCK / 8; i++)
		if (buf[i] != kill_word((uint64_t)off + 8 * i)) {
			crew_wrong("wrong bytes at %lld",
				   (long long)(off + 8 * (int64_t)i));
			return;
		}
	atomic_fetch_add(&me->reads, 1);
}

static void seek(int fd, int64_t off, int whence, int64_t want)
{
	off_t to = timed_lseek(fd, off, whence);

	if (to != want)
		crew_wrong("lseek %lld, %d gave %lld", (long long)off, whence,
			   (long long)to);
}

static void spot(int fd, int reads)
{
	for (int i = 0; i < reads; i++) {
		int64_t at = i % (CREW_PAGE / BLOCK) * BLOCK;

		if (!at)
			seek(fd, 0, SEEK_SET, 0);
		block(fd, at);
	}
}

static void pass(int fd, int64_t from, int64_t to)
{
	seek(fd, from, SEEK_SET, from);
	for (int64_t at = from; at < to; at += BLOCK) {
		block(fd, at);
		if (at % CREW_PAGE)
			continue;
		seek(fd, 0, SEEK_END, KILL_PAGES * CREW_PAGE);
		seek(fd, at + BLOCK, SEEK_SET, at + BLOCK);
	}
}

static int opened(const char *path)
{
	int fd = timed_open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		crew_wrong("open: errno %d", errno);
	else
		spot(fd, SPOT_READS);
	return fd;
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

int kill_member(int argc, char **argv)
{
	const char *path = argv[3];
	int64_t from = atoll(argv[4]) * CREW_PAGE;
	int64_t to = atoll(argv[5]) * CREW_PAGE;
	const char *how = argc > 7 ? argv[7] : "";
	pthread_t t;
	int fd;

	crew_join(argv[2]);
	if (strchr(how, 't') && pthread_create(&t, NULL, idle, NULL))
		crew_wrong("no thread");
	fd = opened(path);
	atomic_store(&me->ready, 1);
	while (strchr(how, 'w') && !atomic_load(&crew->go))
		spot(fd, 100);
	for (int i = atoi(argv[6]); i > 0 && !me->wrongs; i--) {
		pass(fd, from, to);
		if (strchr(how, 's'))
			raise(SIGSTOP);
		if (timed_close(fd))
			crew_wrong("close: errno %d", errno);
		if (i > 1)
			fd = opened(path);
	}
	return me->wrongs != 0;
}
