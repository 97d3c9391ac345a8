/* earn.c - see earn.h. */
#include "shim/earn.h"

#include <errno.h>

#include "shim/guard.h"
#include "shim/life.h"
#include "shim/pos.h"
#include "shim/signals.h"
#include "shim/thread.h"

/* The look costs one fstat, a tenth of what has been spent by then. */
#define LOOK_AFTER 8u
/* Costs and history come from the segment, which is attached now at the latest. */
#define COSTS_AFTER 16u

static void look(struct pw_handle *h, int fd)
{
	struct stat st;

	if (pw_sys->fstat(fd, &st) || !pw_place_served(fd, &st)) {
		pw_or_acq_rel(&h->flags, PW_H_NEVER);
		return;
	}
	pw_store_relaxed(&h->win.id, pw_file_id(&st));
	pw_store_relaxed(&h->size, (uint64_t)st.st_size);
	pw_or_acq_rel(&h->flags, PW_H_QUALIFIED);
}

bool pw_earn_call(struct pw_handle *h, int fd)
{
	uint32_t calls = pw_load_relaxed(&h->calls) + 1;
	uint32_t flags = pw_load_relaxed(&h->flags);

	pw_store_relaxed(&h->calls, calls);
	if (calls < LOOK_AFTER || (flags & PW_H_NEVER))
		return false;
	if (!(flags & PW_H_QUALIFIED)) {
		look(h, fd);
		flags = pw_load_relaxed(&h->flags);
	}
	return (flags & (PW_H_QUALIFIED | PW_H_SHARED)) == PW_H_QUALIFIED &&
	       calls >= pw_load_relaxed(&h->adopt_at);
}

void pw_earn_returned(struct pw_handle *h)
{
	uint32_t returns = pw_load_relaxed(&h->returns);

	pw_store_relaxed(&h->returns, returns + 1);
	pw_store_relaxed(&h->adopt_at,
			 pw_load_relaxed(&h->calls) + (4u << pw_min_u64(returns, 10)));
}

static void open_window(struct pw_handle *h, int fd)
{
	struct stat st;
	uint64_t saved;
	int err = -EPERM;

	pw_signals_ask(); /* a handler under a mask we could not see must not begin this */
	if (!pw_me.serving)
		return;
	pw_block_signals(&saved);
	if (!pw_sys->fstat(fd, &st) && pw_place_served(fd, &st) && pw_guard_install())
		err = pw_window_open(&h->win, fd,
				     pw_load_relaxed(&h->flags) & PW_H_WRITABLE, &st);
	pw_restore_signals(&saved);
	if (err && err != -EBUSY)
		pw_or_acq_rel(&h->flags, PW_H_NO_WINDOW);
	if (!err) {
		pw_store_relaxed(&h->size, (uint64_t)st.st_size);
		pw_store_relaxed(&h->hits_at, pw_me.serving->hits + 1);
	}
	pw_store_relaxed(&h->earned, 0);
}

/*
 * What this read would have cost less from a window, in ns. On new ground in sequence the
 * window's pages have to be touched for the first time, which may cost more than it saves.
 */
static uint64_t gain_of(const struct pw_handle *h, uint64_t off, uint64_t got)
{
	const struct pw_costs *c = pw_costs();
	uint64_t gain = c->call + got / 128;
	uint64_t touching = c->touch * got / PW_PAGE;

	if (off != pw_load_relaxed(&h->next_off) || off < pw_load_relaxed(&h->high))
		return gain;
	return gain > touching ? gain - touching : 0;
}

static bool earned(struct pw_handle *h, uint64_t off, uint64_t got)
{
	const struct pw_costs *c;
	uint64_t sum;

	if (pw_load_relaxed(&h->calls) < COSTS_AFTER)
		return false;
	pw_segment_get();
	c = pw_costs();
	sum = pw_load_relaxed(&h->earned);
	if (!sum &&
	    pw_file_expected_reads(pw_load_relaxed(&h->win.id)) * (uint64_t)c->call >
		    2ULL * c->map)
		sum = c->map; /* it usually pays: at once */
	sum += gain_of(h, off, got);
	pw_store_relaxed(&h->earned, sum);
	return sum >= c->map;
}

static void refresh(struct pw_handle *h, int fd, uint64_t off, uint64_t got)
{
	if (!pw_window_refresh(&h->win, fd, off, got)) {
		pw_window_retire(&h->win, false);
		pw_store_relaxed(&h->earned, 0);
	} else if (off + got > pw_load_relaxed(&h->size)) {
		pw_store_relaxed(&h->size, off + got);
	}
}

void pw_earn_read(struct pw_handle *h, int fd, uint64_t off, uint64_t got)
{
	uint32_t flags = pw_load_relaxed(&h->flags);

	if (!(flags & PW_H_QUALIFIED) || (flags & PW_H_NO_WINDOW) || !pw_me.serving)
		return;
	if (pw_window_is_open(&h->win))
		refresh(h, fd, off, got);
	else if (earned(h, off, got))
		open_window(h, fd);
	pw_store_relaxed(&h->next_off, off + got);
	if (off + got > pw_load_relaxed(&h->high))
		pw_store_relaxed(&h->high, off + got);
}
