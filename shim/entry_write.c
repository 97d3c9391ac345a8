/*
 * entry_write.c - write, pwrite and their kin. Without PAGEWELL_WRITE=map a write is the
 * kernel's, at the kernel's position. With it an overwrite may be a store: the same steps as
 * a hit (entry_io.c), with the tick looked at first (store.h).
 */
#include <pthread.h>
#include <unistd.h>

#include "shim/dest.h"
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

/*
 * At `off`, or, if there is a position (then there is one thread as well), where that was: it
 * has moved on before anything is stored, so that a handler that writes in between writes
 * behind it. NOT_STORED: nothing is done.
 */
#define NOT_STORED (-2)

PW_HIT_STEP ssize_t stored(struct pw_number x, int fd, const void *buf, size_t n,
			   off_t off, bool moves, bool alone)
{
	struct pw_reader *r = pw_me.serving;
	struct pw_handle *h = x.h;
	ssize_t put = NOT_STORED;
	enum pw_hit hit;
	uint64_t p = 0;

	if (pw_unlikely(!n || !pw_servable(r) || !pw_store_stamped(h)))
		return put;
	pw_hazard_fill(&r->slot[0], h, alone);
	if (moves) {
		p = pw_load_acquire(&h->pos);
		off = (off_t)pw_pos_value(p);
	}
	/* A negative offset is a huge one here, past any end. */
	if (pw_likely(pw_unchanged(&x) && (!moves || pw_pos_ours(p)) &&
		      pw_src_known(buf, n)) &&
	    (!moves || pw_pos_claim(h, p, n))) {
		pw_store_noted(&r->slot[0], PW_NOTE_STORING);
		hit = pw_window_store(&h->win, buf, n, (uint64_t)off);
		pw_store_noted(&r->slot[0], 0);
		if (pw_likely(hit == PW_HIT && !pw_me.stored_by_parent) ||
		    pw_write_is_parents())
			put = (ssize_t)n;
		else if (moves && !pw_pos_unclaim(h, p, n, 0))
			put = pw_write_behind(fd, buf, n, off);
	}
	pw_hazard_clear(&r->slot[0], alone);
	if (pw_unlikely(pw_retired(h)))
		pw_window_finish(&h->win);
	r->stores += put == (ssize_t)n;
	return put;
}

static PW_NOINLINE ssize_t pwrite_threads(int fd, const void *buf, size_t n, off_t off,
					  uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	ssize_t put;

	pthread_testcancel();
	put = stored(x, fd, buf, n, off, false, false);
	return put == NOT_STORED ? pw_pwrite_slow(fd, buf, n, off) : put;
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
	put = stored(x, fd, buf, n, off, false, true);
	return put == NOT_STORED ? pw_pwrite_slow(fd, buf, n, off) : put;
}

PW_EXPORT ssize_t write(int fd, const void *buf, size_t n)
{
	struct pw_number x = pw_look_up(fd);
	struct pw_held held;
	ssize_t put;

	if (pw_likely(!x.h) && !pw_explaining())
		return PW_REAL(write)(fd, buf, n);
	if (x.h && on()) {
		put = pw_single_threaded() ? stored(x, fd, buf, n, 0, true, true)
					   : NOT_STORED;
		return put == NOT_STORED ? pw_write_slow(fd, buf, n) : put;
	}
	pw_borrow(&held, fd);
	put = PW_REAL(write)(fd, buf, n);
	pw_explain(held.h, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	pw_return(&held);
	return put;
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
