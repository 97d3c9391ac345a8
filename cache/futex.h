/* futex.h - sleeping on a word for a bounded time, and waking who sleeps there. */
#ifndef PW_CACHE_FUTEX_H
#define PW_CACHE_FUTEX_H

#include <limits.h>

#include "cache/sys.h"

/*
 * Sleeps while *word == seen, at the most until the clock (CLOCK_MONOTONIC, ns) shows
 * deadline. Returns true if the deadline has passed. Spurious returns happen (signals,
 * wakes meant for others): the caller looks at the word again and calls again with the
 * same deadline.
 *
 * A shared futex on purpose: the word lies in a file that many processes map.
 */
static inline bool pw_futex_sleep(uint32_t *word, uint32_t seen, int64_t deadline)
{
	int64_t left = deadline - pw_sys->now_ns();
	struct timespec t;

	if (left <= 0)
		return true;
	t.tv_sec = left / 1000000000;
	t.tv_nsec = left % 1000000000;
	pw_sys->futex_wait(word, seen, &t);
	return false;
}

static inline void pw_futex_wake_all(uint32_t *word)
{
	pw_sys->futex_wake(word, INT_MAX);
}

#endif
