/*
 * top.h - `pagewell top`. It is a program of its own, pagewell-top, made of the top_*.c: only
 * it is linked with ncurses, so that `pagewell run` starts as fast as without.
 */
#ifndef PW_COMMAND_TOP_H
#define PW_COMMAND_TOP_H

#include "cache/command/stat.h"
#include "cache/command/users.h"

/* Becomes that program. Returns only if it could not: with the exit status. */
int pw_top(int argc, char **argv);

/* One line: a process, or in the view of files one file of a process. */
struct pw_top_line {
	uint32_t pid;
	const char *comm;
	const char *path; /* files only */
	uint64_t files;
	uint64_t windows;
	uint64_t memory; /* bytes: touched and not given up */
	double rate;	 /* hits a second, since the last look */
	uint64_t hits;
	uint64_t waits;
	uint64_t reclaims;
};

enum pw_top_order {
	PW_TOP_RATE,
	PW_TOP_WINDOWS,
	PW_TOP_MEMORY,
	PW_TOP_WAITS,
	PW_TOP_RECLAIMS,
	PW_TOP_PID,
	PW_TOP_ORDERS
};

/* What is shown: taken anew each time. */
struct pw_top {
	const char *path; /* of the segment */
	bool files;	  /* the view */
	enum pw_top_order order;

	char trouble[256]; /* why there is no picture; "" if there is */
	struct pw_picture picture;
	struct pw_users users;
	struct pw_top_line all; /* of the processes in `line` */
	struct pw_top_line *line;
	size_t lines;

	int64_t taken; /* when, in ns */
	struct {
		uint32_t pid;
		uint64_t hits;
	} before[PW_SLOTS];
	uint32_t befores;
	int64_t taken_before;
};

/* Looks. */
void pw_top_take(struct pw_top *t);

/* Makes and sorts the lines of the view; also when the view or the order has changed. */
void pw_top_arrange(struct pw_top *t);

/* The titles of a line's columns, and a line, in at most size - 1 bytes. */
void pw_top_head(const struct pw_top *t, char *out, size_t size);
void pw_top_format(const struct pw_top *t, const struct pw_top_line *line, char *out,
		   size_t size);

/* Lines about the whole: PW_TOP_SUMMARY of them. */
#define PW_TOP_SUMMARY 3
void pw_top_summary(const struct pw_top *t, int which, char *out, size_t size);

/* Both return the exit status. count: how many looks; 0: without end. pw_top_screen() returns -1
 * if the terminal is none for it. */
int pw_top_plain(struct pw_top *t, double seconds, unsigned long count);
int pw_top_screen(struct pw_top *t, double seconds, unsigned long count);

#endif
