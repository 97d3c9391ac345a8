/*
 * entry_write.c - write, pwrite and their kin. Without PAGEWELL_WRITE=map a write is the
 * kernel's, at the kernel's position. With it an overwrite may be a store: the same steps as
 * a hit (entry_io.c), with the tick looked at first (store.h). Most that are none are made
 * by the kernel without a second look.
 */
#include <pthread.h>
#include <unistd.h>

#include "shim/bare.h"
#include "shim/dest.h"
#include "shim/earn_write.h"
#include "shim/entry.h"
#include "shim/explain.h"
#include "shim/export.h"
#include "shim/pos.h"
#include "shim/real.h"
#include "shim/store.h"
#include "shim/write.h"

PW_HIT_STEP bool on(void)
{
	return pw_unlikely(pw_load_relaxed(&pw_knobs.stores));
}

/* Is it plain that the kernel writes, so that nothing else need be looked at? */
PW_HIT_STEP bool plainly_real(const struct pw_handle *h, enum pw_hit hit, uint64_t off)
{
	return hit == PW_MISS_END ||
	       (hit == PW_MISS_TOUCH && !pw_window_page_open(&h->win, off));
}

/*
 * At `off`, or, if there is a position (then there is one thread as well), where that was: it
 * has moved on before anything is stored, so that a handler that writes in between writes
 * behind it. NOT_DONE: nothing is.
 */
#define NOT_DONE (-2)

PW_HIT_STEP ssize_t put_at(struct pw_number x, int fd, const void *buf, size_t n,
			   off_t off, bool moves, bool alone)
{
	struct pw_reader *r = pw_serving();
	enum pw_hit hit = PW_MISS_END;
	struct pw_handle *h = x.h;
	ssize_t put = NOT_DONE;
	uint64_t tick;
	uint64_t p = 0;

	if (pw_unlikely(!n || !pw_servable(r)))
		return put;
	tick = pw_store_tick();
	pw_hazard_fill(&r->slot[0], h, alone);
	if (moves) {
		p = pw_load_acquire(&h->pos);
		off = (off_t)pw_pos_value(p);
	}
	if (pw_unlikely(!pw_unchanged(&x)) ||
	    (moves && pw_unlikely(!pw_pos_ours(p) || !pw_earn_write_may(h) ||
				  !pw_pos_claim(h, p, n)))) {
		pw_window_leave(&r->slot[0], &h->win);
		return put;
	}
	if (pw_likely(pw_store_stamped_in(h, tick) && pw_src_known(buf, n))) {
		pw_store_noted(&r->slot[0], PW_NOTE_STORING);
		/* A negative offset is a huge one here, past any end. */
		hit = pw_window_store(&h->win, buf, n, (uint64_t)off);
		pw_store_noted(&r->slot[0], 0);
	}
	if (pw_likely(hit == PW_HIT && !pw_me.stored_by_parent) || pw_write_is_parents())
		put = (ssize_t)n;
	else if (plainly_real(h, hit, (uint64_t)off))
		return pw_write_through(&(struct pw_held){x.entry, h, &r->slot[0]}, fd,
					buf, n,
					&(struct pw_through){off, p, tick, moves});
	else if (moves && !pw_pos_unclaim(h, p, n, 0))
		put = pw_write_behind(fd, buf, n, off);
	pw_entry_leave(h, r, alone);
	pw_tally(&r->stores, put == (ssize_t)n);
	return put;
}

static PW_NOINLINE ssize_t pwrite_threads(int fd, const void *buf, size_t n, off_t off,
					  uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	ssize_t put;

	pthread_testcancel();
	put = put_at(x, fd, buf, n, off, false, false);
	return put == NOT_DONE ? pw_pwrite_slow(fd, buf, n, off) : put;
}

static PW_NOINLINE ssize_t pwrite_plain(int fd, const void *buf, size_t n, off_t off)
{
	pw_explain(NULL, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	return PW_REAL(pwrite)(fd, buf, n, off);
}

PW_EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
	struct pw_number x;
	ssize_t put;

	if (!on())
		return pwrite_plain(fd, buf, n, off);
	x = pw_look_up(fd);
	if (!x.h)
		return pwrite_plain(fd, buf, n, off);
	if (!pw_single_threaded())
		return pwrite_threads(fd, buf, n, off, x.slot, x.entry);
	put = put_at(x, fd, buf, n, off, false, true);
	return put == NOT_DONE ? pw_pwrite_slow(fd, buf, n, off) : put;
}

static PW_NOINLINE PW_CODE_PAGE(write)
ssize_t write_plain(int fd, const void *buf, size_t n, uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	struct pw_reader *r = pw_serving();
	bool alone = pw_single_threaded();
	bool useless;
	ssize_t put;

	if (pw_unlikely(!pw_servable(r) || !pw_plain_begin(&x, r, alone)))
		return pw_write_slow(fd, buf, n);
	put = pw_bare_write(fd, buf, n, alone);
	alone = pw_plain_out(x.h, r, alone);
	if (on() && put > 0)
		pw_earn_wrote_on(x.h, fd, (uint64_t)put);
	useless = pw_earn_useless(x.h);
	pw_entry_leave(x.h, r, alone);
	if (pw_unlikely(useless))
		pw_write_let_go(fd);
	return put;
}

static PW_NOINLINE ssize_t write_ours(int fd, const void *buf, size_t n, uint64_t *slot,
				      uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	ssize_t put = put_at(x, fd, buf, n, 0, true, true);

	return put == NOT_DONE ? pw_write_slow(fd, buf, n) : put;
}

PW_EXPORT PW_CODE_PAGE(write)
ssize_t write(int fd, const void *buf, size_t n)
{
	struct pw_number x = pw_look_up(fd);

	if (pw_likely(!x.h) && !pw_explaining())
		return PW_REAL(write)(fd, buf, n);
	if (!x.h)
		return pw_write_slow(fd, buf, n);
	if (!pw_pos_ours(pw_load_relaxed(&x.h->pos))) /* a hint: looked at again inside */
		return write_plain(fd, buf, n, x.slot, x.entry);
	if (on() && pw_single_threaded())
		return write_ours(fd, buf, n, x.slot, x.entry);
	return pw_write_slow(fd, buf, n);
}

PW_EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
	struct pw_held x;
	ssize_t put;

	if (on() && pw_fd_handle(pw_fd_entry(fd)))
		return pw_writev_slow(fd, v, n);
	pw_borrow(&x, fd);
	put = PW_REAL(writev)(fd, v, n);
	pw_explain(x.h, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	pw_return(&x);
	return put;
}

PW_EXPORT ssize_t pwritev(int fd, const struct iovec *v, int n, off_t off)
{
	if (on() && pw_fd_handle(pw_fd_entry(fd)))
		return pw_pwritev_slow(fd, v, n, off);
	pw_explain(NULL, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	return PW_REAL(pwritev)(fd, v, n, off);
}

/* Offset -1 means the position. */
PW_EXPORT ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	struct pw_held x = {.h = NULL};
	ssize_t put;

	if (on() && !flags && off != -1 && pw_fd_handle(pw_fd_entry(fd)))
		return pw_pwritev_slow(fd, v, n, off);
	if (off == -1)
		pw_borrow(&x, fd);
	put = PW_REAL(pwritev2)(fd, v, n, off, flags);
	pw_explain(x.h, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	pw_return(&x);
	return put;
}

PW_INTERNAL(pw_our_write, write)
PW_TWIN(pwrite64, pwrite)
PW_INTERNAL(pw_our_pwrite, pwrite)
PW_TWIN(pwritev64, pwritev)
PW_TWIN(pwritev64v2, pwritev2)
