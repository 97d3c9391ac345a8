/*
 * write.c - see write.h.
 *
 * A write is one of three: a store; a real write at our own idea of the position, which then
 * moves on from there; a real write at the kernel's. The first two are for processes with one
 * thread: two threads at one position would store over one another where the kernel puts one
 * behind the other. The position moves on before the bytes are written (pw_pos_claim): what
 * a handler writes in between comes behind them, and is not written over.
 */
#include "shim/write.h"

#include <errno.h>
#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/dest.h"
#include "shim/earn.h"
#include "shim/earn_write.h"
#include "shim/explain.h"
#include "shim/pos.h"
#include "shim/real.h"
#include "shim/store.h"

/* What is to be written: one buffer, or several. `n` bytes together; 0: not to be stored. */
struct source {
	const struct iovec *v;
	int count;
	size_t n;
	bool vector;
};

static struct source one(struct iovec *v, const void *buf, size_t n)
{
	v->iov_base = (void *)(uintptr_t)buf;
	v->iov_len = n;
	return (struct source){v, 1, n, false};
}

#define PIECES 16

/* A vector may be a bad pointer: it is looked into only where the kernel has before; and
 * copied, because another thread may change it. Long ones are the kernel's. */
static struct source many(struct iovec kept[PIECES], const struct iovec *v, int count)
{
	struct source s = {v, count, 0, true};
	size_t n = 0;

	if (count <= 0 || count > PIECES || !pw_src_known(v, (size_t)count * sizeof(*v)))
		return s;
	for (int i = 0; i < count; i++) {
		kept[i] = v[i];
		if (__builtin_add_overflow(n, kept[i].iov_len, &n) || n > INT_MAX)
			return s;
	}
	s.v = kept;
	s.n = n;
	return s;
}

static bool readable(const struct source *s)
{
	for (int i = 0; i < s->count; i++)
		if (s->v[i].iov_len && !pw_src_known(s->v[i].iov_base, s->v[i].iov_len))
			return false;
	return true;
}

static enum pw_hit store_one(struct pw_handle *h, const struct iovec *v, uint64_t off)
{
	enum pw_hit hit = pw_window_store(&h->win, v->iov_base, v->iov_len, off);

	if (hit == PW_MISS_TOUCH) {
		if (!pw_window_store_touch(&h->win, v->iov_len, off))
			return hit;
		pw_reclaim_poll(pw_me.serving, &h->win);
		hit = pw_window_store(&h->win, v->iov_base, v->iov_len, off);
	}
	if (hit == PW_MISS_WITNESS && pw_window_find_witness(&h->win, v->iov_len, off))
		hit = pw_window_store(&h->win, v->iov_base, v->iov_len, off);
	if (hit != PW_HIT)
		pw_window_store_doubt(&h->win, hit, pw_me.serving->stores);
	return hit;
}

/*
 * All of it (PW_SERVED), or nothing that counts: what was stored before one piece failed is
 * written again. Else why.
 */
static enum pw_why store(struct pw_held *x, int fd, const struct source *s, uint64_t off)
{
	struct pw_handle *h = x->h;
	enum pw_hit hit = PW_MISS_TOUCH;

	if (!pw_me.serving)
		return PW_WHY_SIGBUS;
	if (!s->n)
		return PW_WHY_VECTOR;
	if (!pw_load_relaxed(&h->win.storable))
		return pw_window_is_open(&h->win) ? PW_WHY_REST : PW_WHY_EARN;
	if (!pw_store_stamped(h))
		return PW_WHY_TICK;
	if (!readable(s))
		return PW_WHY_DEST;
	pw_store_noted(x->slot, PW_NOTE_STORING);
	for (int i = 0; i < s->count; off += s->v[i].iov_len, i++) {
		if (!s->v[i].iov_len)
			continue;
		hit = store_one(h, &s->v[i], off);
		if (hit != PW_HIT)
			break;
	}
	pw_store_noted(x->slot, 0);
	if (pw_write_is_parents())
		return PW_SERVED;
	if (hit == PW_HIT) {
		pw_tally(&pw_me.serving->stores, 1);
		return PW_SERVED;
	}
	/* The number was closed and is another file's now: our write was in time for the one
	 * it stood for, and must not go to that one as well. */
	if ((hit == PW_MISS_LOST || hit == PW_MISS_FAULT) && pw_fd_entry(fd) != x->entry)
		return PW_SERVED;
	return pw_explain_miss(&h->win, hit);
}

static ssize_t real(int fd, const struct source *s)
{
	return s->vector ? PW_REAL(writev)(fd, s->v, s->count)
			 : PW_REAL(write)(fd, s->v->iov_base, s->v->iov_len);
}

static ssize_t real_at(int fd, const struct source *s, off_t off)
{
	return s->vector ? PW_REAL(pwritev)(fd, s->v, s->count, off)
			 : PW_REAL(pwrite)(fd, s->v->iov_base, s->v->iov_len, off);
}

static void learn(const struct source *s, size_t put, uint64_t gen)
{
	if (s->vector && s->count > PIECES)
		return;
	if (s->vector)
		pw_src_learn(s->v, (size_t)s->count * sizeof(*s->v), gen);
	for (int i = 0; i < s->count && put; i++) {
		size_t n = pw_min_u64(s->v[i].iov_len, put);

		if (n)
			pw_src_learn(s->v[i].iov_base, n, gen);
		put -= n;
	}
}

#define TIMED_EVERY 8u

/* A real write at a known place. The tick was looked at before, as the kernel does. */
static ssize_t write_at(struct pw_held *x, int fd, const struct source *s, off_t off,
			uint64_t tick)
{
	uint64_t gen = pw_dest_begin();
	bool timed = pw_window_is_open(&x->h->win) &&
		     pw_load_relaxed(&x->h->writes) % TIMED_EVERY == 0;
	int64_t began = timed ? pw_sys->now_ns() : 0;
	ssize_t put = real_at(fd, s, off);
	int64_t took = timed ? pw_sys->now_ns() - began : 0;

	if (put <= 0 || pw_fd_entry(fd) != x->entry)
		return put;
	learn(s, (size_t)put, gen);
	pw_store_relaxed(&x->h->stamp, tick);
	pw_earn_wrote(x->h, fd, (uint64_t)off, (uint64_t)put, took);
	return put;
}

/* The same, where the position was claimed at p. False: the number was closed, and may have
 * been opened anew, meanwhile; x is let go, and what fd stands for now has to be looked at. */
static bool write_claimed(struct pw_held *x, int fd, const struct source *s, uint64_t p,
			  uint64_t tick, ssize_t *to)
{
	int saved = errno;
	ssize_t put = write_at(x, fd, s, (off_t)pw_pos_value(p), tick);

	*to = put;
	if (pw_unlikely(pw_fd_entry(fd) != x->entry)) {
		pw_pos_unclaim(x->h, p, s->n, 0);
		pw_release(x);
		return false;
	}
	if (pw_likely(put == (ssize_t)s->n))
		return true;
	pw_pos_unclaim(x->h, p, s->n, put < 0 ? 0 : (uint64_t)put);
	if (put >= 0 || (errno != ESPIPE && errno != EBADF))
		return true;
	/* As in pw_read_slow(). */
	errno = saved;
	pw_release(x);
	pw_fd_clear(fd, x->entry);
	return false;
}

/* Counted in: the kernel has the position, and keeps it for this call. */
static ssize_t write_kernels(struct pw_held *x, int fd, const struct source *s)
{
	uint64_t tick = pw_store_tick();
	uint64_t gen = pw_dest_begin();
	ssize_t put;

	pw_pos_noted(x->slot, true);
	put = real(fd, s);
	pw_pos_noted(x->slot, false);
	pw_pos_end(x->h);
	if (put > 0) {
		learn(s, (size_t)put, gen);
		pw_store_relaxed(&x->h->stamp, tick);
		pw_earn_wrote_on(x->h, fd, (uint64_t)put);
	}
	return put;
}

void pw_write_let_go(int fd)
{
	pw_explain_mark(fd, PW_MARK_PASSED);
	pw_untrack(fd);
}

static ssize_t write_any(int fd, const struct source *s)
{
	struct pw_held x;

	while (pw_hold(&x, fd)) {
		uint64_t p = pw_pos_load(x.h);
		uint64_t off = pw_pos_value(p);
		ssize_t put = (ssize_t)s->n;
		enum pw_why why;
		bool useless;

		if (!pw_pos_ours(p) || !pw_single_threaded() || !pw_earn_write_may(x.h) ||
		    !s->n || s->n >= (uint64_t)PW_POS_MAX - off) {
			if (pw_pos_begin(x.h, fd)) {
				if (pw_pos_ours(p))
					pw_earn_returned(x.h);
				put = write_kernels(&x, fd, s);
				pw_explain(x.h, fd, PW_CALL_WRITE, PW_WHY_KERNELS, 0);
				useless = pw_earn_useless(x.h);
				pw_release(&x);
				if (useless)
					pw_write_let_go(fd);
				return put;
			}
			pw_release(&x); /* closed meanwhile */
			continue;
		}
		if (!pw_pos_claim(x.h, p, s->n)) {
			pw_release(&x);
			continue;
		}
		why = store(&x, fd, s, off);
		if (why != PW_SERVED &&
		    !write_claimed(&x, fd, s, p, pw_store_tick(), &put))
			continue;
		pw_explain(x.h, fd, PW_CALL_WRITE, why, 0);
		pw_release(&x);
		return put;
	}
	pw_explain(NULL, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	return real(fd, s);
}

static ssize_t write_any_at(int fd, const struct source *s, off_t off)
{
	struct pw_held x;
	ssize_t put = (ssize_t)s->n;
	enum pw_why why = PW_WHY_ERROR;

	if (!pw_hold(&x, fd)) {
		pw_explain(NULL, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
		return real_at(fd, s, off);
	}
	if (off >= 0)
		why = store(&x, fd, s, (uint64_t)off);
	if (why != PW_SERVED)
		put = write_at(&x, fd, s, off, pw_store_tick());
	pw_explain(x.h, fd, PW_CALL_WRITE, why, 0);
	pw_release(&x);
	return put;
}

/* Without stores a position of ours goes back. */
static ssize_t write_borrowed(int fd, const void *buf, size_t n)
{
	struct pw_held x;
	ssize_t put;

	pw_borrow(&x, fd);
	put = PW_REAL(write)(fd, buf, n);
	pw_explain(x.h, fd, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	pw_return(&x);
	return put;
}

ssize_t pw_write_slow(int fd, const void *buf, size_t n)
{
	struct iovec v;
	struct source s = one(&v, buf, n);

	if (!pw_load_relaxed(&pw_knobs.stores))
		return write_borrowed(fd, buf, n);
	return write_any(fd, &s);
}

ssize_t pw_write_through(struct pw_held *x, int fd, const void *buf, size_t n,
			 const struct pw_through *to)
{
	struct iovec v;
	struct source s = one(&v, buf, n);
	bool done = true;
	ssize_t put;

	if (to->moves)
		done = write_claimed(x, fd, &s, to->p, to->tick, &put);
	else
		put = write_at(x, fd, &s, to->off, to->tick);
	if (!done)
		return write_any(fd, &s);
	pw_release(x);
	return put;
}

ssize_t pw_write_behind(int fd, const void *buf, size_t n, off_t off)
{
	return PW_REAL(pwrite)(fd, buf, n, off);
}

ssize_t pw_pwrite_slow(int fd, const void *buf, size_t n, off_t off)
{
	struct iovec v;
	struct source s = one(&v, buf, n);

	return write_any_at(fd, &s, off);
}

ssize_t pw_writev_slow(int fd, const struct iovec *v, int n)
{
	struct iovec kept[PIECES];
	struct source s = many(kept, v, n);

	return write_any(fd, &s);
}

ssize_t pw_pwritev_slow(int fd, const struct iovec *v, int n, off_t off)
{
	struct iovec kept[PIECES];
	struct source s = many(kept, v, n);

	return write_any_at(fd, &s, off);
}
