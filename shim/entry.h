/*
 * entry.h - the steps that the entries of served calls share: look the number up, name the
 * handle, look again. Each entry takes them without the bus lock in a process with one
 * thread, and with it otherwise; the two bodies are made from the same text.
 */
#ifndef PW_SHIM_ENTRY_H
#define PW_SHIM_ENTRY_H

#include "shim/fdtable.h"
#include "shim/life.h"
#include "shim/pos.h"
#include "shim/thread.h"

#define PW_HIT_STEP static inline __attribute__((always_inline))
#define PW_NOINLINE __attribute__((noinline))

/* A number as it stands in the fd table. */
struct pw_number {
	uint64_t *slot;
	uint64_t entry;
	struct pw_handle *h; /* NULL: not tracked */
};

PW_HIT_STEP struct pw_number pw_look_up(int fd)
{
	struct pw_number x = {.slot = pw_fd_slot(fd)};

	if (pw_likely(x.slot != NULL))
		x.entry = pw_load_acquire(x.slot);
	x.h = pw_fd_handle(x.entry);
	return x;
}

/* Has nothing happened to it since? Asked when a slot names the handle (hazard.h, 3). */
PW_HIT_STEP bool pw_unchanged(const struct pw_number *x)
{
	return pw_load_acquire(x->slot) == x->entry;
}

/* May this thread be served, and is its first slot free? Handlers that interrupted a hit go
 * the slow way, which finds them another. */
PW_HIT_STEP bool pw_servable(const struct pw_reader *r)
{
	return r && !pw_load_relaxed(&r->slot[0].obj) && pw_alive_untold();
}

/* The window was retired, or the handle let go, while we were inside: it falls to us. */
PW_HIT_STEP bool pw_retired(const struct pw_handle *h)
{
	return pw_load_acquire(&h->win.state) & (PW_WIN_DYING | PW_WIN_DEAD);
}

/* Ends what filling the first slot began. */
PW_HIT_STEP void pw_entry_leave(struct pw_handle *h, struct pw_reader *r, bool alone)
{
	pw_hazard_clear(&r->slot[0], alone);
	if (pw_unlikely(pw_retired(h)))
		pw_window_finish(&h->win);
}

/*
 * The kernel has the position, and so far there is no reason to change that: as little as can
 * be between the program and its system call. False: nothing is done, go the slow way. After
 * the call pw_plain_out() counts it out again.
 */
PW_HIT_STEP bool pw_plain_begin(const struct pw_number *x, struct pw_reader *r,
				bool alone)
{
	pw_hazard_fill(&r->slot[0], x->h, alone);
	if (pw_unlikely(!pw_unchanged(x) ||
			!(alone ? pw_pos_quick_begin(x->h) : pw_pos_try_begin(x->h)))) {
		pw_window_leave(&r->slot[0], &x->h->win);
		return false;
	}
	pw_pos_noted(&r->slot[0], true);
	return true;
}

/* Still alone? A handler may have made a thread. */
PW_HIT_STEP bool pw_plain_out(struct pw_handle *h, struct pw_reader *r, bool alone)
{
	pw_pos_noted(&r->slot[0], false);
	alone = alone && pw_single_threaded();
	if (pw_unlikely(!alone || !pw_pos_quick_end(h)))
		pw_pos_end(h);
	return alone;
}

#endif
