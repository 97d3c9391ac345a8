/*
 * entry_io.c - read, pread, lseek and their kin. The hit path is here: look the
 * number up, name the handle, look again, check the destination, copy with a witness, move
 * the position. No lock, no allocation, no system call, no store that another process could
 * see; errno is not touched.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "shim/bare.h"
#include "shim/dest.h"
#include "shim/earn.h"
#include "shim/entry.h"
#include "shim/explain.h"
#include "shim/export.h"
#include "shim/io.h"
#include "shim/numbers.h"
#include "shim/pos.h"
#include "shim/real.h"

/*
 * Both a process with one thread and one with several take the same steps (entry.h); the first
 * does them without the bus lock. Each entry asks which it is once, and the two bodies are made
 * from the same text. Slow ways out are tail calls, so that the hit path saves no registers
 * for them.
 */

static PW_NOINLINE PW_CODE_PAGE(read)
ssize_t read_plain(int fd, void *buf, size_t n, uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	struct pw_reader *r = pw_serving();
	bool alone = pw_single_threaded();
	bool hopeless =
		false; /* looked at, and not to be served in any way: it passes by */
	ssize_t got;

	if (pw_unlikely(!pw_servable(r) || !pw_plain_begin(&x, r, alone)))
		return pw_read_slow(fd, buf, n);
	got = pw_bare_read(fd, buf, n, alone);
	alone = pw_plain_out(x.h, r, alone);
	if (pw_unlikely(pw_earn_kernels(x.h, got > 0 ? (uint64_t)got : 0))) {
		pw_earn_batch(x.h, fd);
		hopeless = pw_load_relaxed(&x.h->flags) & PW_H_NEVER;
	}
	pw_entry_leave(x.h, r, alone);
	if (pw_unlikely(hopeless))
		pw_let_go(fd, entry);
	return got;
}

/*
 * No hit, and that was to be expected: the window rests, as over zeros; a page is being paid for,
 * read by read; or there is no window, but the position is ours for the seeks' sake. Then what is
 * between the program and its system call is kept small. What can go wrong is for the slow way,
 * from the beginning.
 */
static PW_NOINLINE PW_CODE_PAGE(read)
ssize_t read_missed(int fd, void *buf, size_t n, uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	struct pw_reader *r = pw_serving();
	enum { SLOW, RESTS, PAYS, EARNS } how = SLOW;
	int saved = errno;
	ssize_t got = -1;
	uint64_t off;
	uint64_t p;

	if (!pw_servable(r) || !pw_single_threaded())
		return pw_read_slow(fd, buf, n);
	if (pw_window_read_rests(&x.h->win))
		how = RESTS;
	pw_hazard_fill(&r->slot[0], x.h, true);
	p = pw_load_acquire(&x.h->pos);
	off = pw_pos_value(p);
	if (!pw_unchanged(&x) || !pw_pos_ours(p))
		how = SLOW;
	else if (how == SLOW && !pw_window_is_open(&x.h->win))
		how = pw_earn_pread_next_is_last(x.h) ? SLOW : EARNS;
	else if (how == SLOW && pw_dest_known(buf, n))
		how = pw_earn_pays(x.h, n, off, r->hit_bytes) ? PAYS : SLOW;
	if (how != SLOW)
		got = pw_bare_pread(fd, buf, n, (off_t)off, true);
	if (got <= 0 || !pw_unchanged(&x) || !pw_pos_move(x.h, p, off + (uint64_t)got))
		got = -1;
	else if (how == PAYS)
		pw_earn_paid(x.h, off, (uint64_t)got, r->hits);
	else if (how == EARNS)
		pw_earn_pread(x.h, off, (uint64_t)got);
	pw_window_leave(&r->slot[0], &x.h->win);
	if (got >= 0)
		return got;
	errno = saved;
	return pw_read_slow(fd, buf, n);
}

PW_HIT_STEP ssize_t read_as(struct pw_number x, int fd, void *buf, size_t n, bool alone)
{
	struct pw_reader *r = pw_serving();
	struct pw_handle *h = x.h;
	bool hit = false;
	uint64_t p;

	if (pw_unlikely(!pw_servable(r) || !n))
		return pw_read_slow(fd, buf, n);
	if (!alone)
		pthread_testcancel();
	pw_hazard_fill(&r->slot[0], h, alone);
	p = pw_load_acquire(&h->pos);
	if (pw_likely(pw_unchanged(&x) && pw_pos_ours(p) && pw_dest_known(buf, n)))
		hit = pw_window_read(&h->win, buf, n, pw_pos_value(p)) == PW_HIT &&
		      pw_pos_move_as(h, p, pw_pos_value(p) + n, alone);
	pw_entry_leave(h, r, alone);
	if (pw_unlikely(!hit))
		return read_missed(fd, buf, n, x.slot, x.entry);
	pw_tally(&r->hits, 1);
	pw_tally(&r->hit_bytes, n);
	return (ssize_t)n;
}

static PW_NOINLINE ssize_t read_threads(int fd, void *buf, size_t n, uint64_t *slot,
					uint64_t entry)
{
	return read_as((struct pw_number){slot, entry, pw_fd_handle(entry)}, fd, buf, n,
		       false);
}

static PW_NOINLINE PW_CODE_PAGE(read)
ssize_t read_alone(int fd, void *buf, size_t n, uint64_t *slot, uint64_t entry)
{
	return read_as((struct pw_number){slot, entry, pw_fd_handle(entry)}, fd, buf, n,
		       true);
}

PW_NOINLINE PW_CODE_PAGE(read)
ssize_t pw_entry_read_passed(int fd, void *buf, size_t n)
{
	ssize_t got;

	if (!pw_explaining())
		return PW_REAL(read)(fd, buf, n);
	got = PW_REAL(read)(fd, buf, n);
	pw_explain(NULL, fd, PW_CALL_READ, PW_WHY_OTHER, got);
	return got;
}

PW_EXPORT PW_CODE_PAGE(read)
ssize_t read(int fd, void *buf, size_t n)
{
	struct pw_number x = pw_look_up(fd);

	if (pw_unlikely(!x.h))
		return pw_entry_read_passed(fd, buf, n);
	if (!pw_pos_ours(pw_load_relaxed(&x.h->pos))) /* a hint: looked at again inside */
		return read_plain(fd, buf, n, x.slot, x.entry);
	if (pw_unlikely(!pw_single_threaded()))
		return read_threads(fd, buf, n, x.slot, x.entry);
	return read_alone(fd, buf, n, x.slot, x.entry);
}

/*
 * No window. Only the last of a batch is looked at: what is to be noted of the others are hints,
 * taken for read whole, so that nothing is held and nothing is left to be done after the call
 * (pread_paying). That one is as read_plain(), but that there is no position to count in.
 */
static ssize_t pread_plain(struct pw_number x, int fd, void *buf, size_t n, off_t off)
{
	struct pw_reader *r = pw_serving();
	bool alone = pw_single_threaded();
	bool hopeless = false;
	uint64_t gen;
	ssize_t got;

	if (pw_likely(n <= PW_PAGE && !pw_earn_pread_next_is_last(x.h))) {
		pw_earn_pread(x.h, (uint64_t)off, n);
		return pw_bare_pread(fd, buf, n, off, alone);
	}
	gen = pw_dest_begin();
	pw_hazard_fill(&r->slot[0], x.h, alone);
	got = pw_bare_pread(fd, buf, n, off, alone);
	if (pw_likely(got > 0 && pw_unchanged(&x))) {
		pw_dest_learn(buf, (size_t)got, gen);
		if (pw_earn_pread(x.h, (uint64_t)off, (uint64_t)got)) {
			pw_earn_pread_batch(x.h, fd);
			hopeless = pw_load_relaxed(&x.h->flags) & PW_H_NEVER;
		}
	}
	pw_entry_leave(x.h, r, alone && pw_single_threaded());
	if (pw_unlikely(hopeless))
		pw_let_go(fd, x.entry);
	return got;
}

/*
 * The window is open. What is to be noted of a read that pays is known before it is made; so
 * nothing has to be held meanwhile, and it can be the last that is done: after a system call each
 * page that is looked at, and each return to a caller further up, costs some machines 30 ns.
 */
static ssize_t pread_paying(struct pw_number x, int fd, void *buf, size_t n, off_t off)
{
	struct pw_reader *r = pw_serving();
	bool alone = pw_single_threaded();
	bool pays;

	pw_hazard_fill(&r->slot[0], x.h, alone);
	pays = pw_unchanged(&x) && pw_dest_known(buf, n) &&
	       pw_earn_pays(x.h, n, (uint64_t)off, r->hit_bytes);
	if (pays)
		pw_earn_paid(x.h, (uint64_t)off, n, r->hits);
	pw_entry_leave(x.h, r, alone);
	return pays ? pw_bare_pread(fd, buf, n, off, alone)
		    : pw_pread_slow(fd, buf, n, off);
}

/* As read_missed(). */
static PW_NOINLINE PW_CODE_PAGE(pread)
ssize_t pread_missed(int fd, void *buf, size_t n, off_t off, uint64_t *slot,
		     uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};

	if (!pw_servable(pw_serving()) || off < 0)
		return pw_pread_slow(fd, buf, n, off);
	if (!pw_window_is_open(&x.h->win))
		return pread_plain(x, fd, buf, n, off);
	/* At no position of ours, nothing has to be held, nor looked at again. */
	if (pw_single_threaded() && pw_window_read_rests(&x.h->win))
		return pw_bare_pread(fd, buf, n, off, true);
	return pread_paying(x, fd, buf, n, off);
}

PW_HIT_STEP ssize_t pread_as(struct pw_number x, int fd, void *buf, size_t n, off_t off,
			     bool alone)
{
	struct pw_reader *r = pw_serving();
	struct pw_handle *h = x.h;
	bool hit;

	if (pw_unlikely(!pw_servable(r) || !n))
		return pw_pread_slow(fd, buf, n, off);
	if (!alone)
		pthread_testcancel();
	pw_hazard_fill(&r->slot[0], h, alone);
	/* A negative offset is a huge one here, past any known size. */
	hit = pw_unchanged(&x) && pw_dest_known(buf, n) &&
	      pw_window_read(&h->win, buf, n, (uint64_t)off) == PW_HIT;
	pw_entry_leave(h, r, alone);
	if (pw_unlikely(!hit))
		return pread_missed(fd, buf, n, off, x.slot, x.entry);
	pw_tally(&r->hits, 1);
	pw_tally(&r->hit_bytes, n);
	return (ssize_t)n;
}

static PW_NOINLINE ssize_t pread_threads(int fd, void *buf, size_t n, off_t off,
					 uint64_t *slot, uint64_t entry)
{
	return pread_as((struct pw_number){slot, entry, pw_fd_handle(entry)}, fd, buf, n,
			off, false);
}

PW_NOINLINE PW_CODE_PAGE(pread)
ssize_t pw_entry_pread_passed(int fd, void *buf, size_t n, off_t off)
{
	ssize_t got;

	if (!pw_explaining())
		return PW_REAL(pread)(fd, buf, n, off);
	got = PW_REAL(pread)(fd, buf, n, off);
	pw_explain(NULL, fd, PW_CALL_READ, PW_WHY_OTHER, got);
	return got;
}

PW_EXPORT PW_CODE_PAGE(pread)
ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
	struct pw_number x = pw_look_up(fd);

	if (pw_unlikely(!x.h))
		return pw_entry_pread_passed(fd, buf, n, off);
	if (pw_unlikely(!pw_single_threaded()))
		return pread_threads(fd, buf, n, off, x.slot, x.entry);
	return pread_as(x, fd, buf, n, off, true);
}

/* Where a seek from p leads, for SEEK_SET and SEEK_CUR. Negative or wrapped: too large. */
PW_HIT_STEP uint64_t seek_to(uint64_t p, off_t off, int whence)
{
	return (uint64_t)off + (whence == SEEK_CUR ? pw_pos_value(p) : 0);
}

/*
 * SEEK_SET and SEEK_CUR inside the file, with p seen OURS: one CAS, and no lock of any kind.
 *
 * With one thread no slot names the handle: nothing of the window is touched, and what the
 * slot would keep from happening, that a handler closes the number, and the handle is used
 * again, shows in the word: it has been KERNEL since, and its tag has moved on.
 */
PW_HIT_STEP off_t lseek_alone(struct pw_number x, uint64_t p, int fd, off_t off,
			      int whence)
{
	struct pw_reader *r = pw_serving();
	uint64_t to = seek_to(p, off, whence);

	if (pw_unlikely(to > pw_load_relaxed(&x.h->size) || !r || !pw_alive_untold() ||
			!pw_unchanged(&x) || !pw_pos_move_as(x.h, p, to, true)))
		return pw_lseek_slow(fd, off, whence);
	pw_tally(&r->seeks, 1);
	return (off_t)to;
}

static PW_NOINLINE off_t lseek_threads(int fd, off_t off, int whence, uint64_t *slot,
				       uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	struct pw_reader *r = pw_serving();
	struct pw_handle *h = x.h;
	bool done = false;
	uint64_t to;
	uint64_t p;

	if (pw_unlikely(!pw_servable(r)))
		return pw_lseek_slow(fd, off, whence);
	pw_hazard_fill(&r->slot[0], h, false);
	p = pw_load_acquire(&h->pos);
	to = seek_to(p, off, whence);
	if (pw_likely(pw_unchanged(&x) && pw_pos_ours(p) &&
		      to <= pw_load_relaxed(&h->size)))
		done = pw_pos_move_as(h, p, to, false);
	pw_entry_leave(h, r, false);
	if (pw_unlikely(!done))
		return pw_lseek_slow(fd, off, whence);
	pw_tally(&r->seeks, 1);
	return (off_t)to;
}

PW_NOINLINE PW_CODE_PAGE(lseek)
off_t pw_entry_lseek_passed(int fd, off_t off, int whence)
{
	off_t to;

	if (!pw_explaining())
		return PW_REAL(lseek)(fd, off, whence);
	to = PW_REAL(lseek)(fd, off, whence);
	pw_explain(NULL, fd, PW_CALL_SEEK, PW_WHY_OTHER, 0);
	return to;
}

/* The end can move: it is the kernel that says where it is, every time. Where the size word
 * has been told that, there is no more to do than to move there (io.c, seek_end). */
static PW_NOINLINE PW_CODE_PAGE(lseek)
off_t lseek_end(int fd, off_t off, uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	uint64_t p = pw_load_acquire(&x.h->pos);
	off_t to;

	if (pw_unlikely(!pw_serving() || !pw_alive_untold() || !pw_pos_ours(p) ||
			!pw_unchanged(&x) || (pw_load_relaxed(&x.h->flags) & PW_H_FIXED)))
		return pw_lseek_slow(fd, off, SEEK_END);
	to = pw_bare_lseek(fd, off, SEEK_END, true);
	if (pw_unlikely(to < 0))
		return to;
	/* A handler may have made a thread meanwhile. */
	if (pw_likely(pw_unchanged(&x) && pw_single_threaded() && to < PW_POS_MAX &&
		      (uint64_t)(to - off) == pw_load_relaxed(&x.h->end_told) &&
		      pw_pos_move_as(x.h, p, (uint64_t)to, true)))
		return to;
	return pw_lseek_slow(fd, off, SEEK_END);
}

/* As read_plain(). */
static PW_NOINLINE PW_CODE_PAGE(lseek)
off_t lseek_plain(int fd, off_t off, int whence, uint64_t *slot, uint64_t entry)
{
	struct pw_number x = {slot, entry, pw_fd_handle(entry)};
	struct pw_reader *r = pw_serving();
	struct pw_handle *h = x.h;
	bool alone;
	off_t to;

	if (pw_unlikely(!pw_servable(r) || !pw_single_threaded() || pw_earn_seek_may(h)))
		return pw_lseek_slow(fd, off, whence);
	if (pw_unlikely(!pw_plain_begin(&x, r, true)))
		return pw_lseek_slow(fd, off, whence);
	to = pw_bare_lseek(fd, off, whence, true);
	alone = pw_plain_out(h, r, true);
	if (to >= 0)
		pw_earn_sought(h, (uint64_t)to);
	pw_entry_leave(h, r, alone);
	return to;
}

static PW_NOINLINE PW_CODE_PAGE(lseek)
off_t lseek_rest(int fd, off_t off, int whence, uint64_t *slot, uint64_t entry)
{
	if (whence == SEEK_END && pw_single_threaded())
		return lseek_end(fd, off, slot, entry);
	return pw_lseek_slow(fd, off, whence);
}

PW_EXPORT PW_CODE_PAGE(lseek)
off_t lseek(int fd, off_t off, int whence)
{
	struct pw_number x = pw_look_up(fd);
	uint64_t p;

	if (pw_unlikely(!x.h))
		return pw_entry_lseek_passed(fd, off, whence);
	p = pw_load_acquire(
		&x.h->pos); /* of another life if the entry is not unchanged */
	if (pw_unlikely(!pw_pos_ours(p)))
		return lseek_plain(fd, off, whence, x.slot, x.entry);
	if (pw_unlikely((unsigned)whence > SEEK_CUR))
		return lseek_rest(fd, off, whence, x.slot, x.entry);
	if (pw_unlikely(!pw_single_threaded()))
		return lseek_threads(fd, off, whence, x.slot, x.entry);
	return lseek_alone(x, p, fd, off, whence);
}

PW_EXPORT ssize_t readv(int fd, const struct iovec *v, int n)
{
	struct pw_held x;
	ssize_t got;

	pw_borrow(&x, fd);
	got = PW_REAL(readv)(fd, v, n);
	pw_explain(x.h, fd, PW_CALL_READ, PW_WHY_VECTOR, got);
	pw_return(&x);
	return got;
}

/* Offset -1 means the position. */
PW_EXPORT ssize_t preadv2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	struct pw_held x = {.h = NULL};
	ssize_t got;

	if (off == -1)
		pw_borrow(&x, fd);
	got = PW_REAL(preadv2)(fd, v, n, off, flags);
	pw_explain(x.h, fd, PW_CALL_READ, PW_WHY_VECTOR, got);
	pw_return(&x);
	return got;
}

PW_EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t buflen)
{
	if (n > buflen)
		__chk_fail();
	return read(fd, buf, n);
}

PW_EXPORT ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t buflen)
{
	if (n > buflen)
		__chk_fail();
	return pread(fd, buf, n, off);
}

PW_INTERNAL(pw_entry_read, read)
PW_INTERNAL(pw_entry_lseek, lseek)
PW_INTERNAL(pw_our_read, read)
PW_TWIN(pread64, pread)
PW_INTERNAL(pw_our_pread, pread)
PW_TWIN(__pread64_chk, __pread_chk)
PW_TWIN(lseek64, lseek)
PW_INTERNAL(pw_our_lseek, lseek)
PW_TWIN(llseek, lseek)
PW_TWIN(preadv64v2, preadv2)
