/*
 * reclaim.h - the bound on what all processes together keep mapped. Counting takes no
 * lock: the total is a sum of per-process counts that may be a moment old. Who wants more
 * while the total is over the bound gives back cold cache pages of its own, down to its
 * fair share; it asks nobody and waits for nobody.
 */
#ifndef PW_CACHE_RECLAIM_H
#define PW_CACHE_RECLAIM_H

#include "cache/base.h"

/* PAGEWELL_SIZE in bytes; 0: half of memory, which is also the default. */
void pw_reclaim_set_bound(uint64_t bytes);

/* The bound in bytes. */
uint64_t pw_reclaim_bound(void);

/*
 * If another process asked this one to give up its windows, it does: at once those that nobody
 * is in, the others as they are left. New ones may follow when they are earned. Slow path.
 */
void pw_reclaim_heed(void);

/*
 * After pages of `in`, which the caller's slot names (or NULL), were touched: publishes the counts, and reclaims if it must. The usual call
 * is one comparison. Slow path; may do some system calls, never sleeps.
 */
struct pw_reader;
struct pw_window;
void pw_reclaim_poll(struct pw_reader *r, struct pw_window *in);

#endif
