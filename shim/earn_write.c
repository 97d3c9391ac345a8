/* earn_write.c - see earn_write.h. */
#include "shim/earn_write.h"

#include "shim/earn.h"
#include "shim/pos.h"
#include "shim/store.h"

/* So many overwrites in a row, and the price of a window, some 5 us, is a part of theirs. */
#define OVERWRITES 16u

/* So many writes without a row of overwrites, or with a window and no page worth opening: a
 * number that is only written to is let go. */
#define IN_VAIN 512u

/* Asked as the writes double: a file that only grows is asked about now and then. */
static bool time_to_look(uint32_t writes)
{
	return writes >= OVERWRITES && !(writes & (writes - 1));
}

/* Over new ground in large pieces: there no page will be written a second time soon, and
 * opening it would be for nothing. */
static bool passes(const struct pw_handle *h, uint64_t off, uint64_t put)
{
	return put >= PW_PAGE / 2 && off >= pw_load_relaxed(&h->put_high);
}

/* Counts a write. True: enough of them lay inside. */
static bool earned(struct pw_handle *h, int fd, uint64_t off, uint64_t put)
{
	uint32_t writes = pw_load_relaxed(&h->writes) + 1;
	uint32_t row = pw_load_relaxed(&h->overwrites);
	uint32_t flags = pw_load_relaxed(&h->flags);
	uint64_t size = pw_load_relaxed(&h->size);
	bool pass = passes(h, off, put);
	uint64_t end = off + put;
	struct stat st;

	pw_store_relaxed(&h->writes, writes);
	pw_store_relaxed(&h->calls, pw_load_relaxed(&h->calls) + 1);
	if (end > pw_load_relaxed(&h->put_high))
		pw_store_relaxed(&h->put_high, end);
	if ((flags & PW_H_WRITE_ONLY) && (writes >= IN_VAIN || (flags & PW_H_NO_WINDOW)))
		pw_or_acq_rel(&h->flags, PW_H_NEVER); /* of no use to anybody */
	if (writes < OVERWRITES || (flags & (PW_H_NO_WINDOW | PW_H_NEVER)) ||
	    !pw_load_relaxed(&pw_knobs.stores) || !pw_earn_write_may(h))
		return false;
	if (time_to_look(writes) && pw_earn_qualified(h, fd) && !pw_sys->fstat(fd, &st) &&
	    pw_file_id(&st) == pw_load_relaxed(&h->win.id)) {
		/* What has just been written is no overwrite of anything. */
		size = (uint64_t)st.st_size;
		pw_store_relaxed(&h->size, size);
		size -= end >= size ? 1 : 0;
	}
	if (end > size)
		row = 0;
	else if (!pass)
		row++;
	pw_store_relaxed(&h->overwrites, row);
	return row >= OVERWRITES;
}

/* A window is there: pages that were reached may be stored into. Its end is looked for again
 * when a write lies beyond it and yet inside the file. */
static void tell_window(struct pw_handle *h, int fd, uint64_t off, uint64_t put,
			int64_t took)
{
	uint64_t end = off + put;
	uint64_t high = pw_load_relaxed(&h->high);
	uint64_t size = pw_load_relaxed(&h->size);

	/* Without the window it has to be earned anew. */
	pw_store_relaxed(&h->writes, (pw_load_relaxed(&h->writes) + 1) % OVERWRITES);
	pw_window_written(&h->win, put, off, took);
	if ((pw_load_relaxed(&h->flags) & PW_H_WRITE_ONLY) &&
	    pw_load_relaxed(&h->win.store_vain) >= IN_VAIN)
		pw_or_acq_rel(&h->flags, PW_H_NEVER);
	if (end <= pw_load_relaxed(&h->win.storable))
		return;
	if (end > high && end > size) {
		pw_store_relaxed(&h->high, end); /* it grows */
		return;
	}
	pw_earn_refresh(h, fd, off, put);
}

void pw_earn_wrote(struct pw_handle *h, int fd, uint64_t off, uint64_t put, int64_t took)
{
	pw_store_relaxed(&h->next_off, off + put);
	if (pw_window_is_open(&h->win))
		tell_window(h, fd, off, put, took);
	else if (earned(h, fd, off, put))
		pw_earn_open(h, fd);
}

void pw_earn_wrote_on(struct pw_handle *h, int fd, uint64_t put)
{
	uint64_t off = pw_load_relaxed(&h->next_off);
	bool open = pw_window_is_open(&h->win);

	pw_store_relaxed(&h->next_off, off + put);
	if (pw_load_relaxed(&h->flags) & PW_H_SHARED)
		return;
	if (open && pw_window_store_rests(&h->win))
		return;
	if (open)
		pw_store_relaxed(&h->calls, pw_load_relaxed(&h->calls) + 1);
	else if (!earned(h, fd, off, put))
		return;
	/* With several threads the position would only have to go back. */
	if (pw_single_threaded() && pw_earn_qualified(h, fd) &&
	    pw_load_relaxed(&h->calls) >= pw_load_relaxed(&h->adopt_at) &&
	    pw_pos_adopt(h, fd) && !open)
		pw_earn_open(h, fd);
}
