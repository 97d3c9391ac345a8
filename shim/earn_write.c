/* earn_write.c - see earn_write.h. */
#include "shim/earn_write.h"

#include "shim/earn.h"
#include "shim/pos.h"
#include "shim/store.h"

/* So many overwrites in a row, and the price of a window, some 5 us, is a part of theirs. */
#define OVERWRITES 16u

/* Asked as the writes double: a file that only grows is asked about now and then. */
static bool time_to_look(uint32_t writes)
{
	return writes >= OVERWRITES && !(writes & (writes - 1));
}

/* Counts a write. True: enough of them lay inside. */
static bool earned(struct pw_handle *h, int fd, uint64_t end)
{
	uint32_t writes = pw_load_relaxed(&h->writes) + 1;
	uint32_t row = pw_load_relaxed(&h->overwrites);
	uint64_t size = pw_load_relaxed(&h->size);
	struct stat st;

	pw_store_relaxed(&h->writes, writes);
	pw_store_relaxed(&h->calls, pw_load_relaxed(&h->calls) + 1);
	if (writes < OVERWRITES ||
	    (pw_load_relaxed(&h->flags) & (PW_H_NO_WINDOW | PW_H_NEVER)) ||
	    !pw_load_relaxed(&pw_knobs.stores) || !pw_earn_write_may(h))
		return false;
	if (time_to_look(writes) && pw_earn_qualified(h, fd) && !pw_sys->fstat(fd, &st) &&
	    pw_file_id(&st) == pw_load_relaxed(&h->win.id)) {
		/* What has just been written is no overwrite of anything. */
		size = (uint64_t)st.st_size;
		pw_store_relaxed(&h->size, size);
		size -= end >= size ? 1 : 0;
	}
	row = end <= size ? row + 1 : 0;
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

	pw_store_relaxed(&h->writes, pw_load_relaxed(&h->writes) + 1);
	pw_window_written(&h->win, put, off, took);
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
	else if (earned(h, fd, off + put))
		pw_earn_open(h, fd);
}

void pw_earn_wrote_on(struct pw_handle *h, int fd, uint64_t put)
{
	uint64_t end = pw_load_relaxed(&h->next_off) + put;
	bool open = pw_window_is_open(&h->win);

	pw_store_relaxed(&h->next_off, end);
	if (pw_load_relaxed(&h->flags) & PW_H_SHARED)
		return;
	if (open)
		pw_store_relaxed(&h->calls, pw_load_relaxed(&h->calls) + 1);
	else if (!earned(h, fd, end))
		return;
	/* With several threads the position would only have to go back. */
	if (pw_single_threaded() && pw_earn_qualified(h, fd) &&
	    pw_load_relaxed(&h->calls) >= pw_load_relaxed(&h->adopt_at) &&
	    pw_pos_adopt(h, fd) && !open)
		pw_earn_open(h, fd);
}
