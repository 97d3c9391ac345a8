/* io.c - see io.h. */
#include "shim/io.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "shim/dest.h"
#include "shim/earn.h"
#include "shim/explain.h"
#include "shim/numbers.h"
#include "shim/pos.h"
#include "shim/real.h"
#include "shim/signals.h"

bool pw_hold(struct pw_held *x, int fd)
{
	struct pw_reader *r;

	x->h = NULL;
	x->slot = NULL;
	if (pw_unlikely(pw_me.unsettled))
		pw_thread_settle();
	for (;;) {
		x->entry = pw_fd_entry(fd);
		if (!pw_fd_handle(x->entry) || !pw_alive() || pw_me.vforked)
			return false;
		r = pw_thread_reader();
		if (r && pw_unlikely(pw_me.bus_blocked))
			pw_signals_slow();
		x->slot = r ? pw_hazard_enter(r, pw_fd_handle(x->entry)) : NULL;
		if (!x->slot) {
			/* Handlers nested too deep, or no memory for a record. What can
			 * still be done right: the kernel has the position from now on. */
			pw_pos_share(pw_fd_handle(x->entry), fd);
			return false;
		}
		if (pw_likely(pw_fd_entry(fd) == x->entry)) {
			x->h = pw_fd_handle(x->entry);
			return true;
		}
		pw_window_leave(x->slot, &pw_fd_handle(x->entry)->win);
	}
}

void pw_release(struct pw_held *x)
{
	if (x->h)
		pw_window_leave(x->slot, &x->h->win);
	x->h = NULL;
}

void pw_borrow(struct pw_held *x, int fd)
{
	for (;;) {
		if (!pw_hold(x, fd))
			return;
		if (pw_pos_try_begin(x->h))
			break;
		if (pw_pos_begin(x->h, fd)) {
			pw_earn_returned(x->h);
			break;
		}
		pw_release(x); /* closed meanwhile: what does it stand for now? */
	}
	pw_pos_noted(x->slot, true);
}

void pw_return(struct pw_held *x)
{
	if (!x->h)
		return;
	pw_pos_noted(x->slot, false);
	pw_pos_end(x->h);
	pw_release(x);
}

void pw_share_fd(int fd)
{
	struct pw_held x;

	if (!pw_hold(&x, fd))
		return;
	pw_pos_share(x.h, fd);
	pw_release(&x);
}

void pw_untrack(int fd)
{
	struct pw_held x;
	uint64_t entry;

	if (!pw_hold(&x, fd))
		return;
	entry = x.entry;
	pw_pos_share(x.h, fd);
	pw_release(&x); /* before the clearing, which may end the window */
	pw_fd_clear(fd, entry);
}

static void untrack_one(int fd, uint64_t entry)
{
	(void)entry;
	pw_untrack(fd);
}

void pw_untrack_range(unsigned from, unsigned to)
{
	if (from <= to)
		pw_fd_each(from, to, untrack_one);
}

/* One try from the window, the first touch included. PW_SERVED, or why not. */
static enum pw_why from_window(struct pw_handle *h, int fd, void *buf, size_t n,
			       uint64_t off)
{
	struct pw_reader *r = pw_me.serving;
	enum pw_why why;
	enum pw_hit hit;

	if (!r || !n)
		return r ? PW_WHY_NOTHING : PW_WHY_SIGBUS;
	if (!pw_window_is_open(&h->win))
		return PW_WHY_EARN;
	if (!pw_dest_known(buf, n))
		return PW_WHY_DEST;
	hit = pw_window_read(&h->win, buf, n, off);
	if (hit == PW_MISS_TOUCH) {
		uint64_t touched = pw_load_relaxed(&h->win.pages);
		bool again = pw_window_touch(&h->win, fd, n, off, r->hit_bytes);

		pw_explain_touched(h, fd, touched, n);
		pw_reclaim_poll(r, &h->win);
		if (!again)
			return PW_WHY_TOUCH;
		hit = pw_window_read(&h->win, buf, n, off);
	}
	if (hit == PW_MISS_WITNESS && pw_window_find_witness(&h->win, n, off))
		hit = pw_window_read(&h->win, buf, n, off);
	why = pw_explain_miss(&h->win, hit);
	if (why != PW_SERVED) {
		pw_window_doubt(&h->win, hit, r->hits);
		pw_reclaim_heed();
	}
	return why;
}

/* As the hit paths of entry_io.c count. */
static void count_hit(struct pw_handle *h, int fd, size_t n)
{
	struct pw_reader *r = pw_me.serving;

	if (r) {
		pw_tally(&r->hits, 1);
		pw_tally(&r->hit_bytes, n);
	}
	pw_explain(h, fd, PW_CALL_READ, PW_SERVED, (int64_t)n);
}

static void count_seek(struct pw_handle *h, int fd)
{
	struct pw_reader *r = pw_me.serving;

	if (r)
		pw_tally(&r->seeks, 1);
	pw_explain(h, fd, PW_CALL_SEEK, PW_SERVED, 0);
}

/* What the hit paths do before they serve, where there are several threads: a served read is
 * a place to be cancelled at. */
static void may_be_cancelled(void)
{
	if (pw_unlikely(!pw_single_threaded()))
		pthread_testcancel();
}

/* Counted in: the kernel has the position, and keeps it for this call. */
static ssize_t read_kernels(struct pw_held *x, int fd, void *buf, size_t n)
{
	ssize_t got;

	pw_pos_noted(x->slot, true);
	got = PW_REAL(read)(fd, buf, n);
	pw_pos_noted(x->slot, false);
	pw_pos_end(x->h);
	pw_explain(x->h, fd, PW_CALL_READ, PW_WHY_KERNELS, got);
	if (pw_earn_kernels(x->h, got > 0 ? (uint64_t)got : 0))
		pw_earn_batch(x->h, fd);
	return got;
}

/* Looked at, and not to be served in any way: from now on its calls pass by. */
static void release_or_forget(struct pw_held *x, int fd)
{
	bool never = pw_load_relaxed(&x->h->flags) & PW_H_NEVER;

	pw_release(x);
	if (!never)
		return;
	pw_explain_mark(fd, PW_MARK_DROPPED);
	pw_let_go(fd, x->entry);
}

ssize_t pw_read_slow(int fd, void *buf, size_t n)
{
	struct pw_held x;

	may_be_cancelled();
	while (pw_hold(&x, fd)) {
		uint64_t p = pw_pos_load(x.h);
		uint64_t off = pw_pos_value(p);
		enum pw_why why;
		uint64_t gen;
		ssize_t got;
		int saved;

		/* Not ours; or one that can't be read from, which the kernel says. */
		if (!pw_pos_ours(p) || (pw_load_relaxed(&x.h->flags) & PW_H_WRITE_ONLY)) {
			if (pw_pos_begin(x.h, fd)) {
				got = read_kernels(&x, fd, buf, n);
				release_or_forget(&x, fd);
				return got;
			}
			pw_release(&x);
			continue;
		}
		why = from_window(x.h, fd, buf, n, off);
		if (why == PW_SERVED) {
			bool moved = pw_pos_move(x.h, p, off + n);

			if (moved)
				count_hit(x.h, fd, n);
			pw_release(&x);
			if (!moved)
				continue; /* another thread read or sought: from its place */
			return (ssize_t)n;
		}
		gen = pw_dest_begin();
		saved = errno;
		got = PW_REAL(pread)(fd, buf, n, (off_t)off);
		if (pw_unlikely(got < 0) && (errno == ESPIPE || errno == EBADF)) {
			/* No file there any more: the number was closed, and maybe reused,
			 * behind our back. What it is now is for the kernel to say. */
			errno = saved;
			pw_release(&x);
			pw_fd_clear(fd, x.entry);
			continue;
		}
		/* The number may have been given to another file while we were reading:
		 * then these are not our file's bytes, and the call starts over. */
		if (pw_fd_entry(fd) != x.entry ||
		    (got >= 0 && !pw_pos_move(x.h, p, off + (uint64_t)got))) {
			pw_release(&x);
			continue;
		}
		pw_explain(x.h, fd, PW_CALL_READ, why, got);
		if (got > 0) {
			pw_dest_learn(buf, (size_t)got, gen);
			pw_earn_read(x.h, fd, off, (uint64_t)got);
		}
		pw_release(&x);
		return got;
	}
	return pw_entry_read_passed(fd, buf, n);
}

ssize_t pw_pread_slow(int fd, void *buf, size_t n, off_t off)
{
	enum pw_why why = PW_WHY_END;
	struct pw_held x;
	uint64_t gen;
	ssize_t got;

	may_be_cancelled();
	if (!pw_hold(&x, fd))
		return pw_entry_pread_passed(fd, buf, n, off);
	if (off >= 0)
		why = from_window(x.h, fd, buf, n, (uint64_t)off);
	if (why == PW_SERVED) {
		count_hit(x.h, fd, n);
		pw_release(&x);
		return (ssize_t)n;
	}
	gen = pw_dest_begin();
	got = PW_REAL(pread)(fd, buf, n, off);
	pw_explain(x.h, fd, PW_CALL_READ, why, got);
	if (got > 0 && pw_fd_entry(fd) == x.entry) {
		pw_dest_learn(buf, (size_t)got, gen);
		pw_earn_read(x.h, fd, (uint64_t)off, (uint64_t)got);
	}
	pw_release(&x);
	return got;
}

/*
 * SEEK_END asks the kernel wherever the end can move: a stale end would make two appenders
 * overwrite each other. The size word is for those who look at the segment; where it already
 * says the same nothing is written, so that processes that ask for one file's end don't take
 * its cache line from one another. Else whoever gets the size lock asks again and writes
 * that down: the word never goes back to what an earlier answer was.
 *
 * The end is the file's size: asking for that moves no position, which might be that of another
 * file by now, if the number was closed meanwhile.
 */
static off_t end_of(int fd, off_t off)
{
	struct stat st;
	off_t to;

	/* A number that is gone, an offset that does not fit, a place before the beginning: the
	 * kernel has the errors. */
	if (pw_sys->fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    __builtin_add_overflow(st.st_size, off, &to) || to < 0)
		return PW_REAL(lseek)(fd, off, SEEK_END);
	return to;
}

static off_t seek_end(struct pw_handle *h, int fd, off_t off)
{
	off_t to = end_of(fd, off);
	struct pw_shm_file *f;
	off_t then;

	if (to < 0)
		return to;
	pw_store_relaxed(&h->end_told, (uint64_t)(to - off));
	if (!pw_me.serving || !pw_segment_peek())
		return to;
	f = pw_file_get(pw_load_relaxed(&h->win.id));
	if (!f || pw_load_relaxed(&f->size) == (uint64_t)(to - off) ||
	    !pw_file_lock_size(f))
		return to;
	then = end_of(fd, off);
	pw_file_unlock_size(f, (uint64_t)((then < 0 ? to : then) - off));
	return then < 0 ? to : then;
}

/* The kernel's position, or a seek only the kernel can answer. */
static off_t seek_kernels(struct pw_held *x, int fd, off_t off, int whence, unsigned why)
{
	off_t to;

	if (!pw_pos_begin(x->h, fd)) {
		pw_release(x);
		return pw_lseek_slow(fd, off, whence); /* closed meanwhile */
	}
	to = PW_REAL(lseek)(fd, off, whence);
	pw_pos_end(x->h);
	pw_explain(x->h, fd, PW_CALL_SEEK, why, 0);
	if (to >= 0)
		pw_earn_sought(x->h, (uint64_t)to);
	release_or_forget(x, fd);
	return to;
}

/* Where a seek from OURS at p leads, if memory may answer it; else -1. */
static off_t seek_target(const struct pw_handle *h, uint64_t p, off_t off, int whence)
{
	uint64_t to = (uint64_t)off;

	if (whence == SEEK_CUR)
		to += pw_pos_value(p); /* < 0 or wrapped: too large */
	else if (whence == SEEK_END && (pw_load_relaxed(&h->flags) & PW_H_FIXED))
		to += pw_load_relaxed(&h->size);
	else if (whence != SEEK_SET)
		return -1;
	return to <= pw_load_relaxed(&h->size) ? (off_t)to : -1;
}

off_t pw_lseek_slow(int fd, off_t off, int whence)
{
	struct pw_held x;

	while (pw_hold(&x, fd)) {
		uint64_t p = pw_pos_load(x.h);
		bool asked = false;
		off_t to;

		if (!pw_pos_ours(p) && pw_earn_seek(x.h, fd)) {
			/* SEEK_SET need not ask where the position was. */
			if (whence == SEEK_SET && off >= 0 &&
			    (uint64_t)off <= pw_load_relaxed(&x.h->size) &&
			    pw_pos_adopt_at(x.h, (uint64_t)off)) {
				count_seek(x.h, fd);
				pw_release(&x);
				return off;
			}
			if ((whence == SEEK_CUR || whence == SEEK_END) &&
			    pw_pos_adopt(x.h, fd)) {
				pw_release(&x);
				return pw_entry_lseek(fd, off,
						      whence); /* like any other */
			}
		}
		if (!pw_pos_ours(p))
			return seek_kernels(&x, fd, off, whence, PW_WHY_KERNELS);
		/* Another thread moved it first: once more, from where it is now. */
		to = seek_target(x.h, p, off, whence);
		if (to < 0) {
			if (whence != SEEK_END)
				return seek_kernels(&x, fd, off, whence, PW_WHY_SEEK_FAR);
			to = seek_end(x.h, fd, off);
			asked = true;
		}
		if (to < 0 || (to < PW_POS_MAX && pw_fd_entry(fd) == x.entry &&
			       pw_pos_move(x.h, p, (uint64_t)to))) {
			if (asked)
				pw_explain(x.h, fd, PW_CALL_SEEK, PW_WHY_SEEK_END, 0);
			else
				count_seek(x.h, fd);
			pw_release(&x);
			return to;
		}
		pw_release(&x);
	}
	return pw_entry_lseek_passed(fd, off, whence);
}
