/*
 * users.h - who has windows of which files: found in /proc, because windows are ordinary
 * mappings, and no process is asked. What is seen may be a moment old when it is shown.
 */
#ifndef PW_COMMAND_USERS_H
#define PW_COMMAND_USERS_H

#include "cache/pagewell.h"

/* One file, as one process has it. */
struct pw_used {
	dev_t dev; /* as the kernel's mappings name it, which on btrfs is not st_dev */
	ino_t ino;
	char *path; /* as the kernel has it, " (deleted)" taken off */
	bool deleted;
	bool writable; /* it may be stored into as well */
	uint64_t windows;
	uint64_t mapped;   /* bytes of address space, room to grow included */
	uint64_t resident; /* bytes that this process has touched and not given up */
};

struct pw_user {
	pid_t pid;
	char comm[17];
	bool attached; /* it has the segment mapped */
	struct pw_used *file;
	size_t files;
};

/* All processes that have the library or a slot in the segment, by pid. */
struct pw_users {
	struct pw_user *user;
	size_t users;
	size_t unseen; /* processes that may not be looked at */
};

/*
 * Fills *out. `segment`: its slots name processes, and `at`, its file, tells who has it
 * mapped; either may be NULL. False: /proc can't be read, which has been said.
 */
bool pw_users_find(const struct pw_segment *segment, const struct stat *at,
		   struct pw_users *out);

void pw_users_free(struct pw_users *u);

/* Is one of its threads stopped, traced, or asleep in the kernel where nothing wakes it? */
bool pw_user_is_stuck(pid_t pid);

/* Is that the file which `st` is of? */
bool pw_used_is(const struct pw_user *user, const struct pw_used *file,
		const struct stat *st);

#endif
