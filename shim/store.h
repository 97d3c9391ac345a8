/*
 * store.h - overwrites as stores (PAGEWELL_WRITE=map): whether, and when.
 *
 * Time stamps. The kernel gives a file the time of a write in ticks of its coarse clock, and
 * a store gives it none. So the first write of each tick through a handle is made by the
 * kernel, and those that follow in the same tick would have left the same time there. Nothing
 * has to be made good at close, fsync, fork or exec, and a kill loses nothing. Whoever sets a
 * file's times himself (utimensat and its like) makes every handle's next write a real one.
 */
#ifndef PW_SHIM_STORE_H
#define PW_SHIM_STORE_H

#include "shim/handle.h"
#include "shim/knobs.h"

/* The coarse clock now, in ns; from the vdso where there is one. Never 0. */
extern int64_t (*pw_store_clock)(void) __attribute__((visibility("hidden")));

/* Counts up when times are set by hand. Any thread, atomic add. */
extern uint64_t pw_store_epoch __attribute__((visibility("hidden")));

static inline uint64_t pw_store_tick(void)
{
	return (uint64_t)pw_store_clock() + pw_load_relaxed(&pw_store_epoch);
}

/* Has the kernel written through h in this tick? */
static inline bool pw_store_stamped_in(const struct pw_handle *h, uint64_t tick)
{
	return pw_load_relaxed(&h->stamp) == tick;
}

static inline bool pw_store_stamped(const struct pw_handle *h)
{
	return pw_store_stamped_in(h, pw_store_tick());
}

/* At start-up, after the knobs. */
void pw_store_start(void);

/* The kind of window for h, whose fresh fstat is st. */
enum pw_window_kind pw_store_kind(const struct pw_handle *h, int fd,
				  const struct stat *st);

/* Somebody is about to set, or has set, times of a file. */
void pw_store_times_set(void);

/* No stores from now on (a limit on file sizes, which every write would have to meet): windows
 * end, and new ones are for reading. */
void pw_store_forbid(void);

#endif
