/*
 * linger.h - what hangs on an open file description and must be gone with it, for the tests
 * that see to it: something done before it ends, and a look afterwards, by raw system calls.
 */
#ifndef TESTS_SHIM_LINGER_H
#define TESTS_SHIM_LINGER_H

#include "_self.h"

struct check {
	int flags;
	void (*make)(const char *path); /* NULL: make_file */
	void (*before)(int fd, const char *path);
	void (*after)(const char *path);
};

#define SIZE 600000

/* Made, opened, warm; and after `before`. */
int opened(const struct check *c, const char *path);
int prepared(const struct check *c, const char *path);

void take_flock(int fd, const char *path);
void try_flock(const char *path);
void take_ofd(int fd, const char *path);
void try_ofd(const char *path);
void try_lease(const char *path);

/* One watcher at a time; what it has seen since it was last asked. */
void watch(int fd, const char *path);
void see_events(const char *path);

/* The file is a program: can it be run, and be opened for writing? */
void copy_program(const char *path);
void execute(const char *path);

/* A small tmpfs in a mount namespace of this process. */
#define MOUNTED "m"
void mount_small(void);
void remove_it(int fd, const char *path);
void see_space(const char *path);

#endif
