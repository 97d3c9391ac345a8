/* entry_fd.c - calls that make, copy, change or end numbers. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "shim/bare.h"
#include "shim/explain.h"
#include "shim/export.h"
#include "shim/knobs.h"
#include "shim/numbers.h"
#include "shim/pos.h"
#include "shim/real.h"
#include "shim/stdio_hook.h"

/* open(2): the mode is read only where there is one. */
#define NEEDS_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)

PW_EXPORT PW_CODE_PAGE(number)
int open(const char *path, int flags, ...)
{
	uint32_t opening = pw_opening();
	mode_t mode = 0;

	if (NEEDS_MODE(flags)) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return pw_opened(opening, pw_bare_open(path, flags, mode, pw_single_threaded()),
			 path, flags);
}

PW_EXPORT PW_CODE_PAGE(number)
int openat(int dir, const char *path, int flags, ...)
{
	uint32_t opening = pw_opening();
	mode_t mode = 0;

	if (NEEDS_MODE(flags)) {
		va_list ap;

		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return pw_opened(opening,
			 pw_bare_openat(dir, path, flags, mode, pw_single_threaded()),
			 path, flags);
}

PW_EXPORT int __open_2(const char *path, int flags)
{
	uint32_t opening = pw_opening();

	return pw_opened(opening, PW_REAL(__open_2)(path, flags), path, flags);
}

PW_EXPORT int __openat_2(int dir, const char *path, int flags)
{
	uint32_t opening = pw_opening();

	return pw_opened(opening, PW_REAL(__openat_2)(dir, path, flags), path, flags);
}

/* Write-only: nothing to serve, but what the table says of the number is stale. */
PW_EXPORT int creat(const char *path, mode_t mode)
{
	int fd = PW_REAL(creat)(path, mode);

	pw_forget(fd);
	return fd;
}

/* The window and the entry go before the number does: another thread, or a handler that
 * then jumps away, may find the number in other hands as soon as it is closed. */
PW_EXPORT PW_CODE_PAGE(number)
int close(int fd)
{
	unsigned closes = pw_me.closes;
	int outer = pw_me.closing;
	int ret;

	if (!pw_fd_handle(pw_fd_entry(fd)))
		return PW_REAL(close)(fd);
	/* A handler may put another file in the number's place before the kernel closes it:
	 * what it puts there is not tracked. */
	pw_me.closing = fd + 1;
	pw_compiler_barrier();
	pw_drop(fd);
	ret = pw_bare_close(fd, pw_single_threaded());
	pw_closing_end(closes);
	pw_compiler_barrier();
	pw_me.closing = outer;
	return ret;
}

static void drop_one(int fd, uint64_t entry)
{
	(void)entry;
	pw_drop(fd);
}

static void drop_range(unsigned from, unsigned to)
{
	if (pw_alive() && !pw_me.vforked && from <= to)
		pw_fd_each(from, to, drop_one);
}

PW_EXPORT int close_range(unsigned from, unsigned to, int flags)
{
	unsigned closes = pw_me.closes;
	int ret;

	/* Numbers of its own for one thread of several: our table speaks for all. */
	if ((flags & CLOSE_RANGE_UNSHARE) && !pw_single_threaded()) {
		pw_explain_calling("close_range");
		pw_step_aside();
	}
	if (!(flags & ~(int)CLOSE_RANGE_UNSHARE)) /* else only marked, or refused */
		drop_range(from, to);
	ret = PW_REAL(close_range)(from, to, flags);
	pw_closing_end(closes);
	return ret;
}

PW_EXPORT void closefrom(int low)
{
	unsigned closes = pw_me.closes;
	drop_range(low < 0 ? 0 : (unsigned)low, UINT_MAX);
	PW_REAL(closefrom)(low);
	pw_closing_end(closes);
}

PW_EXPORT int dup(int fd)
{
	struct pw_held x;
	int to;

	pw_hold(&x, fd);
	to = PW_REAL(dup)(fd);
	if (to >= 0)
		pw_duplicated(&x, fd, to);
	pw_release(&x);
	return to;
}

/*
 * The target's old entry goes before the call, its position given back; the source's
 * position is the kernel's while the call runs. So whoever uses either number meanwhile
 * finds the kernel right. With several threads a raw read of the target, begun before,
 * may still be in flight on the source's description when the call has returned: then the
 * source stays the kernel's for good.
 */
static int dup_to(int from, int to, int flags, bool three)
{
	unsigned closes = pw_me.closes;
	struct pw_held target;
	struct pw_held x;
	int ret;

	if (from == to || to < 0 || !pw_alive() || pw_me.vforked)
		return three ? PW_REAL(dup3)(from, to, flags) : PW_REAL(dup2)(from, to);
	pw_borrow(&x, from);
	pw_hold(&target, to);
	pw_drop(to);
	ret = three ? PW_REAL(dup3)(from, to, flags) : PW_REAL(dup2)(from, to);
	pw_closing_end(closes);
	if (ret >= 0)
		pw_duplicated(&x, from, to);
	if (ret >= 0 && x.h && !pw_single_threaded())
		pw_pos_share(x.h, from);
	/* It failed, and the number is open as before, but no longer in the table: others of
	 * the same description must not take its position away from the kernel. */
	if (ret < 0 && target.h)
		pw_pos_share_through(target.h, to);
	pw_release(&target);
	pw_return(&x);
	return ret;
}

PW_EXPORT int dup2(int from, int to)
{
	return dup_to(from, to, 0, false);
}

PW_EXPORT int dup3(int from, int to, int flags)
{
	return dup_to(from, to, flags, true);
}

static int fcntl_dup(int fd, int cmd, long arg)
{
	struct pw_held x;
	int to;

	pw_hold(&x, fd);
	to = PW_REAL(fcntl)(fd, cmd, arg);
	if (to >= 0)
		pw_duplicated(&x, fd, to);
	pw_release(&x);
	return to;
}

/*
 * O_APPEND moves writes, O_DIRECT changes what a read may be: from now on the description
 * is the kernel's, under all its numbers.
 */
void pw_give_up(int fd)
{
	struct pw_held x;

	if (!pw_hold(&x, fd))
		return;
	pw_or_acq_rel(&x.h->flags, PW_H_NEVER | PW_H_NO_WINDOW);
	pw_pos_share(x.h, fd);
	if (pw_window_is_open(&x.h->win))
		pw_window_retire(&x.h->win, false); /* ends when we leave, below */
	pw_release(&x);
}

PW_EXPORT int fcntl(int fd, int cmd, ...)
{
	struct pw_held x = {.h = NULL};
	va_list ap;
	long arg;
	int ret;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return fcntl_dup(fd, cmd, arg);
	case F_SETFL:
		if (arg & (O_APPEND | O_DIRECT))
			pw_give_up(fd);
		break;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		/* The lock may be relative to the position; its structure may also be a bad
		 * pointer, so it is the kernel that reads it. */
		pw_borrow(&x, fd);
		break;
	default:
		break;
	}
	ret = PW_REAL(fcntl)(fd, cmd, arg);
	pw_return(&x);
	return ret;
}

/* fileno() of a stream that may be closed, without its errno. */
static int number_of(FILE *f)
{
	int saved = errno;
	int fd = f ? fileno(f) : -1;

	errno = saved;
	return fd;
}

/* The flags that a stream's mode opens with, as far as they matter here; -1: a stream that
 * must be libc's alone. That maps ("m"), behind other tables than those that were hooked; or
 * that is no cancellation point ("c"), which our read is. */
static int flags_of(const char *mode)
{
	int flags = *mode == 'r' ? O_RDONLY : O_WRONLY;

	if (!pw_stdio_hooked() || !*mode)
		return -1;
	if (*mode == 'a')
		flags |= O_APPEND;
	for (mode++; *mode && *mode != ','; mode++) {
		if (*mode == 'm' || *mode == 'c')
			return -1;
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
	}
	return flags;
}

/* Streams open and close numbers inside libc: what they open is tracked from here, where
 * their table leads to us (stdio_hook.c); what they close is then seen there. */
static FILE *stream_opened(uint32_t opening, FILE *f, const char *path, const char *mode)
{
	int flags = f ? flags_of(mode) : -1;

	if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY)
		pw_forget(number_of(f));
	else
		pw_opened(opening, number_of(f), path, flags);
	return f;
}

PW_EXPORT FILE *fopen(const char *path, const char *mode)
{
	uint32_t opening = pw_opening();

	return stream_opened(opening, PW_REAL(fopen)(path, mode), path, mode);
}

PW_EXPORT FILE *freopen(const char *path, const char *mode, FILE *f)
{
	unsigned closes = pw_me.closes;
	uint32_t opening = pw_opening();

	pw_drop(number_of(f));
	f = PW_REAL(freopen)(path, mode, f);
	pw_closing_end(closes);
	return stream_opened(opening, f, path, mode);
}

PW_EXPORT FILE *tmpfile(void)
{
	uint32_t opening = pw_opening();

	return stream_opened(opening, PW_REAL(tmpfile)(), NULL, "w+");
}

PW_EXPORT int fclose(FILE *f)
{
	unsigned closes = pw_me.closes;
	int ret;

	if (!pw_stdio_hooked())
		pw_drop(number_of(f));
	ret = PW_REAL(fclose)(f);
	pw_closing_end(closes);
	return ret;
}

PW_EXPORT FILE *fdopen(int fd, const char *mode)
{
	int flags = flags_of(mode);

	if (flags < 0)
		pw_untrack(fd);
	else if ((flags & O_APPEND) && pw_load_relaxed(&pw_knobs.stores))
		pw_give_up(fd); /* libc sets it inside, unseen */
	return PW_REAL(fdopen)(fd, mode);
}

/* A directory opened by open() and handed to fdopendir() was untracked there; this is for
 * numbers that come and go inside libc. */
PW_EXPORT int closedir(DIR *d)
{
	unsigned closes = pw_me.closes;
	int ret;

	pw_drop(dirfd(d)); /* d is not NULL: libc would fault on it as well */
	ret = PW_REAL(closedir)(d);
	pw_closing_end(closes);
	return ret;
}

PW_INTERNAL(pw_entry_close, close)
PW_TWIN(open64, open)
PW_INTERNAL(pw_our_open, open)
PW_TWIN(__open64_2, __open_2)
PW_TWIN(openat64, openat)
PW_TWIN(__openat64_2, __openat_2)
PW_TWIN(creat64, creat)
PW_INTERNAL(pw_our_close, close)
PW_INTERNAL(pw_our_dup2, dup2)
PW_TWIN(fcntl64, fcntl)
PW_INTERNAL(pw_our_fcntl, fcntl)
PW_TWIN(fopen64, fopen)
PW_INTERNAL(pw_our_fopen, fopen)
PW_TWIN(freopen64, freopen)
PW_TWIN(tmpfile64, tmpfile)
PW_INTERNAL(pw_our_fclose, fclose)
PW_INTERNAL(pw_our_fdopen, fdopen)
