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

static void spot(int fd, int reads)
{
	for (int i = 0; i < reads; i++) {
		int64_t at = i % (CREW_PAGE / BLOCK) * BLOCK;

		if (!at)
			crew_seek(fd, 0, SEEK_SET, 0);
		crew_read(fd, BLOCK, at);
	}
}

static void pass(int fd, int64_t from, int64_t to)
{
	crew_seek(fd, from, SEEK_SET, from);
	for (int64_t at = from; at < to; at += BLOCK) {
		crew_read(fd, BLOCK, at);
		if (at % CREW_PAGE)
			continue;
		crew_seek(fd, 0, SEEK_END, KILL_PAGES * CREW_PAGE);
		crew_seek(fd, at + BLOCK, SEEK_SET, at + BLOCK);
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
	return crew_status_of_me();
}
