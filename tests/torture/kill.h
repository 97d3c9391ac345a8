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
 * read INDEX FILE FROM TO PASSES HOW: earns a window on the first page; then PASSES times over
 * pages FROM to TO, each pass with a window of its own but the first, with SEEK_ENDs between.
 * What it then leaves, by closing and ending, is part of it. Letters of HOW: w, before the
 * passes it waits for `go`, reading on the first page; t, it has a second thread; s, it stops
 * itself before it closes. The status is 1 if anything was wrong.
 */
int kill_member(int argc, char **argv);

#endif
