/*
 * entry_io.c - read, pread, lseek, write and their kin. The hit path is here: look the
 * number up, name the handle, look again, check the destination, copy with a witness, move
 * the position. No lock, no allocation, no system call, no store that another process could
 * see; errno is not touched.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "shim/dest.h"
#include "shim/export.h"
#include "shim/io.h"
#include "shim/pos.h"
#include "shim/real.h"

PW_EXPORT PW_HOT ssize_t read(int fd, void *buf, size_t n)
{
	struct pw_reader *r = pw_me.serving;
	uint64_t entry = pw_fd_entry(fd);
	struct pw_handle *h = pw_fd_handle(entry);
	struct pw_hazard *s;
	uint64_t p;

	if (pw_unlikely(!h))
		return PW_REAL(read)(fd, buf, n);
	if (pw_unlikely(!r || !n || !pw_alive()))
		return pw_read_slow(fd, buf, n);
	if (pw_unlikely(!pw_single_threaded()))
		pthread_testcancel();
	s = pw_hazard_enter(r, h);
	if (pw_unlikely(!s))
		return pw_read_slow(fd, buf, n);
	p = pw_load_acquire(&h->pos);
	if (pw_likely(pw_fd_entry(fd) == entry && pw_pos_ours(p) && pw_dest_known(buf, n) &&
		      pw_window_read(&h->win, buf, n, pw_pos_value(p)) == PW_HIT &&
		      pw_pos_move(h, p, pw_pos_value(p) + n))) {
		r->hits++;
		r->hit_bytes += n;
		pw_window_leave(s, &h->win);
		return (ssize_t)n;
	}
	pw_window_leave(s, &h->win);
	return pw_read_slow(fd, buf, n);
}

PW_EXPORT PW_HOT ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
	struct pw_reader *r = pw_me.serving;
	uint64_t entry = pw_fd_entry(fd);
	struct pw_handle *h = pw_fd_handle(entry);
	struct pw_hazard *s;

	if (pw_unlikely(!h))
		return PW_REAL(pread)(fd, buf, n, off);
	if (pw_unlikely(!r || !n || !pw_alive()))
		return pw_pread_slow(fd, buf, n, off);
	if (pw_unlikely(!pw_single_threaded()))
		pthread_testcancel();
	s = pw_hazard_enter(r, h);
	if (pw_unlikely(!s))
		return pw_pread_slow(fd, buf, n, off);
	/* A negative offset is a huge one here, past any known size. */
	if (pw_likely(pw_fd_entry(fd) == entry && pw_dest_known(buf, n) &&
		      pw_window_read(&h->win, buf, n, (uint64_t)off) == PW_HIT)) {
		r->hits++;
		r->hit_bytes += n;
		pw_window_leave(s, &h->win);
		return (ssize_t)n;
	}
	pw_window_leave(s, &h->win);
	return pw_pread_slow(fd, buf, n, off);
}

/* SEEK_SET and SEEK_CUR inside the file: one CAS, and no lock of any kind. */
PW_EXPORT PW_HOT off_t lseek(int fd, off_t off, int whence)
{
	struct pw_reader *r = pw_me.serving;
	uint64_t entry = pw_fd_entry(fd);
	struct pw_handle *h = pw_fd_handle(entry);
	struct pw_hazard *s;
	off_t to = off;
	uint64_t p;

	if (pw_unlikely(!h))
		return PW_REAL(lseek)(fd, off, whence);
	if (pw_unlikely(!r || !pw_alive()))
		return pw_lseek_slow(fd, off, whence);
	s = pw_hazard_enter(r, h);
	if (pw_unlikely(!s))
		return pw_lseek_slow(fd, off, whence);
	p = pw_load_acquire(&h->pos);
	if (pw_likely(pw_fd_entry(fd) == entry && pw_pos_ours(p) &&
		      (whence == SEEK_SET ||
		       (whence == SEEK_CUR &&
			!__builtin_add_overflow(off, (off_t)pw_pos_value(p), &to))) &&
		      (uint64_t)to <= pw_load_relaxed(&h->size) &&
		      pw_pos_move(h, p, (uint64_t)to))) {
		r->seeks++;
		pw_window_leave(s, &h->win);
		return to;
	}
	pw_window_leave(s, &h->win);
	return pw_lseek_slow(fd, off, whence);
}

PW_EXPORT ssize_t write(int fd, const void *buf, size_t n)
{
	struct pw_held x;
	ssize_t put;

	if (pw_likely(!pw_fd_handle(pw_fd_entry(fd))))
		return PW_REAL(write)(fd, buf, n);
	pw_borrow(&x, fd);
	put = PW_REAL(write)(fd, buf, n);
	pw_return(&x);
	return put;
}

PW_EXPORT ssize_t readv(int fd, const struct iovec *v, int n)
{
	struct pw_held x;
	ssize_t got;

	pw_borrow(&x, fd);
	got = PW_REAL(readv)(fd, v, n);
	pw_return(&x);
	return got;
}

PW_EXPORT ssize_t writev(int fd, const struct iovec *v, int n)
{
	struct pw_held x;
	ssize_t put;

	pw_borrow(&x, fd);
	put = PW_REAL(writev)(fd, v, n);
	pw_return(&x);
	return put;
}

/* Offset -1 means the position. */
PW_EXPORT ssize_t preadv2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	struct pw_held x = {.h = NULL};
	ssize_t got;

	if (off == -1)
		pw_borrow(&x, fd);
	got = PW_REAL(preadv2)(fd, v, n, off, flags);
	pw_return(&x);
	return got;
}

PW_EXPORT ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	struct pw_held x = {.h = NULL};
	ssize_t put;

	if (off == -1)
		pw_borrow(&x, fd);
	put = PW_REAL(pwritev2)(fd, v, n, off, flags);
	pw_return(&x);
	return put;
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

PW_TWIN(__read, read)
PW_TWIN(pread64, pread)
PW_TWIN(__pread64, pread)
PW_TWIN(__pread64_chk, __pread_chk)
PW_TWIN(lseek64, lseek)
PW_TWIN(__lseek, lseek)
PW_TWIN(llseek, lseek)
PW_TWIN(__write, write)
PW_TWIN(preadv64v2, preadv2)
PW_TWIN(pwritev64v2, pwritev2)
