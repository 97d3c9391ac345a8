/*
 * bare.h - read, pread, write, lseek, open and close made by ourselves, where libc's own would do nothing but
 * make them: in a process with one thread they are no cancellation points there either. After a
 * system call some machines have to look up anew each page of code and data (hypervisors that empty
 * the TLB), and most mispredict the return to each caller further up: a call by way of libc's
 * function took 60 ns more than one from the place where our work goes on.
 *
 * Who wants to see the calls must still see them. An interposer of one of the names is called
 * (a bit for each). Libraries that rewrite libc's system calls in place cannot be seen so: then
 * libc's text is not what it was, which is looked at whenever a file is opened.
 */
#ifndef PW_SHIM_BARE_H
#define PW_SHIM_BARE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "cache/atomic.h"
#include "cache/sys.h"
#include "shim/real.h"

#define PW_BARE_READ 1u
#define PW_BARE_PREAD 2u
#define PW_BARE_WRITE 4u
#define PW_BARE_LSEEK 8u
#define PW_BARE_OPEN 16u
#define PW_BARE_OPENAT 32u
#define PW_BARE_CLOSE 64u

/* Which may be made so. By pw_bare_look() alone, any thread; 0 until then. */
extern uint32_t pw_bare __attribute__((visibility("hidden")));

/* Once, at start-up, when it is known that libc's own read, lseek, open and close are the next
 * ones. */
void pw_bare_start(void);

/* A file is being opened: is libc still what it was? */
void pw_bare_look(void);

/* As the C function returns it. */
static inline long pw_bare_returned(long ret)
{
	if (pw_likely(!pw_is_err(ret)))
		return ret;
	errno = (int)-ret;
	return -1;
}

/* alone: pw_single_threaded(), as it was when the caller came in. */
#define PW_BARE_MAY(alone, which) \
	((alone) && pw_likely(pw_load_relaxed(&pw_bare) & (which)))

static inline ssize_t pw_bare_read(int fd, void *buf, size_t n, bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_READ)
		       ? pw_bare_returned(pw_syscall3(SYS_read, fd, buf, n))
		       : PW_REAL(read)(fd, buf, n);
}

static inline ssize_t pw_bare_pread(int fd, void *buf, size_t n, off_t off, bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_PREAD)
		       ? pw_bare_returned(pw_syscall4(SYS_pread64, fd, buf, n, off))
		       : PW_REAL(pread)(fd, buf, n, off);
}

static inline ssize_t pw_bare_write(int fd, const void *buf, size_t n, bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_WRITE)
		       ? pw_bare_returned(pw_syscall3(SYS_write, fd, buf, n))
		       : PW_REAL(write)(fd, buf, n);
}

/* libc, too, makes open(2) by way of openat(2). */
static inline int pw_bare_open(const char *path, int flags, mode_t mode, bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_OPEN)
		       ? (int)pw_bare_returned(
				 pw_syscall4(SYS_openat, AT_FDCWD, path, flags, mode))
		       : PW_REAL(open)(path, flags, mode);
}

static inline int pw_bare_openat(int dir, const char *path, int flags, mode_t mode,
				 bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_OPENAT)
		       ? (int)pw_bare_returned(
				 pw_syscall4(SYS_openat, dir, path, flags, mode))
		       : PW_REAL(openat)(dir, path, flags, mode);
}

static inline int pw_bare_close(int fd, bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_CLOSE)
		       ? (int)pw_bare_returned(pw_syscall1(SYS_close, fd))
		       : PW_REAL(close)(fd);
}

static inline off_t pw_bare_lseek(int fd, off_t off, int whence, bool alone)
{
	return PW_BARE_MAY(alone, PW_BARE_LSEEK)
		       ? pw_bare_returned(pw_syscall3(SYS_lseek, fd, off, whence))
		       : PW_REAL(lseek)(fd, off, whence);
}

#endif
