/*
 * earn.h - what a handle has to show before anything is done for it. A file that is read
 * once or a few times must cost what it costs without us, so nothing is asked of the kernel
 * on a handle's behalf before its calls have cost more than the asking will:
 *
 *  - seeks earn the position: it is adopted after PW_EARN_SEEKS of them, at the price of an
 *    fstat, and of an lseek when it goes back; where there is a window, at once;
 *  - reads earn a window, and the position with it, when they have cost as much more than
 *    hits would have as mapping costs (costs.h). Reads are looked at in batches.
 *
 * While the kernel has the position we still know, racily, where it is: a handle begins at
 * 0, and every read and seek says how far it went.
 */
#ifndef PW_SHIM_EARN_H
#define PW_SHIM_EARN_H

#include "shim/handle.h"

#define PW_EARN_BATCH 16u

/* All of these: the caller's slot names the handle, and fd's entry was seen to be it. */

/*
 * A read of `got` bytes was made by the kernel at the kernel's position. True: a batch is
 * full, or there is a window that only lacks the position; call pw_earn_batch() when the
 * call has been counted out.
 */
static inline bool pw_earn_kernels(struct pw_handle *h, uint64_t got)
{
	uint32_t calls = pw_load_relaxed(&h->calls) + 1;

	pw_store_relaxed(&h->calls, calls);
	pw_store_relaxed(&h->batch, pw_load_relaxed(&h->batch) + got);
	pw_store_relaxed(&h->next_off, pw_load_relaxed(&h->next_off) + got);
	return calls % PW_EARN_BATCH == 0 || pw_window_is_open(&h->win);
}

/* May adopt the position, and open a window if there is none. */
void pw_earn_batch(struct pw_handle *h, int fd);

/* Will the next read fill a batch? */
static inline bool pw_earn_pread_next_is_last(const struct pw_handle *h)
{
	return (pw_load_relaxed(&h->calls) + 1) % PW_EARN_BATCH == 0;
}

/* The same of a read at `off` by pread() while there is no window; the position is of no
 * concern. True: call pw_earn_pread_batch(). */
static inline bool pw_earn_pread(struct pw_handle *h, uint64_t off, uint64_t got)
{
	uint32_t calls = pw_load_relaxed(&h->calls) + 1;

	pw_store_relaxed(&h->calls, calls);
	pw_store_relaxed(&h->batch, pw_load_relaxed(&h->batch) + got);
	if (off != pw_load_relaxed(&h->next_off))
		pw_store_relaxed(&h->moved, 1);
	pw_store_relaxed(&h->next_off, off + got);
	return calls % PW_EARN_BATCH == 0;
}

/* A read ended at `end`. */
static inline void pw_earn_note_high(struct pw_handle *h, uint64_t end)
{
	if (end > pw_load_relaxed(&h->high))
		pw_store_relaxed(&h->high, end);
}

/* A read at `off` where there is a window was made by the kernel. */
static inline void pw_earn_noted(struct pw_handle *h, uint64_t off, uint64_t got)
{
	pw_store_relaxed(&h->calls, pw_load_relaxed(&h->calls) + 1);
	pw_store_relaxed(&h->next_off, off + got);
	pw_earn_note_high(h, off + got);
}

/* A batch is full: may open a window. */
void pw_earn_pread_batch(struct pw_handle *h, int fd);

/* The kernel sought to `to` for us. */
void pw_earn_sought(struct pw_handle *h, uint64_t to);

/* Adopting costs two calls; this many will have been made by then, and if the file is closed
 * at once that was a part in sixteen. */
#define PW_EARN_SEEKS 16u

/* Not yet shared, nor found to be never served, nor lately given back; and either sought
 * often enough, or with a window already. */
static inline bool pw_earn_seek_may(const struct pw_handle *h)
{
	return !(pw_load_relaxed(&h->flags) & (PW_H_SHARED | PW_H_NEVER)) &&
	       pw_load_relaxed(&h->calls) >= pw_load_relaxed(&h->adopt_at) &&
	       (pw_load_relaxed(&h->seeks) >= PW_EARN_SEEKS ||
		pw_window_is_open(&h->win));
}

/* Is the file one to be served? Asks the kernel the first time. */
bool pw_earn_qualified(struct pw_handle *h, int fd);

/* Opens a window, if it is to be had; for reading, for stores, or both. */
void pw_earn_open(struct pw_handle *h, int fd);

/* After a real call that reached beyond what the window knows: looks for the end again; the
 * window ends if it can't reach it. */
void pw_earn_refresh(struct pw_handle *h, int fd, uint64_t off, uint64_t n);

/* Before a seek that the kernel would answer: has the position been earned by now? */
bool pw_earn_seek(struct pw_handle *h, int fd);

/* An opening has ended that brought so many reads. */
void pw_earn_ended(uint64_t reads);

/* The position went back for a write or the like: wait longer before adopting again. */
void pw_earn_returned(struct pw_handle *h);

/*
 * A read of n bytes at off that the window missed, to known memory: is it the kernel's, and has
 * paid for its page (pw_window_pay)? Then make it, and call pw_earn_paid(). Not where it goes on
 * from the last one, for of those more is asked, nor one in a batch: the slow way is where others
 * are heeded. `bytes`: what the calling thread's hits have read.
 */
static inline bool pw_earn_pays(struct pw_handle *h, size_t n, uint64_t off,
				uint64_t bytes)
{
	return pw_load_relaxed(&h->calls) % PW_EARN_BATCH &&
	       off != pw_load_relaxed(&h->next_off) &&
	       pw_window_pay(&h->win, n, off, bytes);
}

/* Such a read was made, and brought `got` > 0 bytes. `hits`: the calling thread's. As
 * pw_earn_read(), where all was inside the window. */
static inline void pw_earn_paid(struct pw_handle *h, uint64_t off, uint64_t got,
				uint64_t hits)
{
	pw_earn_noted(h, off, got);
	pw_store_relaxed(&h->vain, 0);
	pw_store_relaxed(&h->hits_seen, hits);
}

/*
 * A real read of `got` > 0 bytes at `off` was made where a window might have served:
 * opens one when it has been earned, refreshes the one that is there.
 */
void pw_earn_read(struct pw_handle *h, int fd, uint64_t off, uint64_t got);

#endif
