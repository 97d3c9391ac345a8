/* kill.h - the file that the members of the kill test read, and what they do. */
#ifndef TORTURE_KILL_H
#define TORTURE_KILL_H

#include "crew.h"

#define KILL_PAGES 64

/* No byte is ever zero, so that every read has its witness. */
static inline uint64_t kill_word(uint64_t off)
{
	return (off / 8 + 1) * 0x9e3779b97f4a7c15u | 0x0101010101010101u;
}

/*
 * read INDEX FILE FROM TO PASSES [wait]: earns a window on the first page; waits for `go`, if
 * it is to, reading there all the while; then PASSES times over pages FROM to TO, each pass
 * with a window of its own but the first, with SEEK_ENDs between. What it then leaves, by
 * closing and ending, is part of it. The status is 1 if anything was wrong.
 */
int kill_member(int argc, char **argv);

#endif
