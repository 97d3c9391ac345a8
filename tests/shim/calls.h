/* calls.h - how the tests of calls beside read and lseek begin, and how they go on. */
#ifndef TESTS_SHIM_CALLS_H
#define TESTS_SHIM_CALLS_H

#include "_self.h"

#define SIZE 300000

static inline int ready(const char *path, unsigned id, int flags, off_t at)
{
	int fd = open_made(path, id, SIZE, flags);

	warm(fd);
	say_seek(fd, at, SEEK_SET);
	say_read(fd, 10);
	return fd;
}

/* The position as both see it, and reading on from there until it is ours again. */
static inline void go_on(int fd)
{
	say_pos(fd);
	say_read(fd, 5);
	for (int i = 0; i < 60; i++)
		say_read(fd, 3);
	say_pos(fd);
}

#endif
