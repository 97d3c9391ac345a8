/*
 * io.h - the slow side of the served calls, and borrowing: a real call that uses the
 * kernel's position, on a number that may be tracked.
 */
#ifndef PW_SHIM_IO_H
#define PW_SHIM_IO_H

#include <sys/types.h>

#include "shim/fdtable.h"
#include "shim/life.h"
#include "shim/thread.h"

/* As the calls of the same names, errno included. */
ssize_t pw_read_slow(int fd, void *buf, size_t n);
ssize_t pw_pread_slow(int fd, void *buf, size_t n, off_t off);
off_t pw_lseek_slow(int fd, off_t off, int whence);

/* Our own read, lseek and close, by hidden names (entry_io.c, entry_fd.c). */
ssize_t pw_entry_read(int fd, void *buf, size_t n);
off_t pw_entry_lseek(int fd, off_t off, int whence);
int pw_entry_close(int fd);

/* The real calls, for a number that is not tracked, or must not be touched. */
ssize_t pw_entry_read_passed(int fd, void *buf, size_t n);
ssize_t pw_entry_pread_passed(int fd, void *buf, size_t n, off_t off);
off_t pw_entry_lseek_passed(int fd, off_t off, int whence);

/* A number looked up and held: `h` is NULL if it is not tracked. */
struct pw_held {
	uint64_t entry;
	struct pw_handle *h;
	struct pw_hazard *slot;
};

/*
 * Looks fd up and names its handle in a slot. False: not tracked, or not to be touched
 * here (vfork child, library not at work): just make the real call.
 */
bool pw_hold(struct pw_held *x, int fd);
void pw_release(struct pw_held *x);

/*
 * Borrow: the position goes back to the kernel and a call is counted in; the real call is
 * made; then it is counted out. errno passes through.
 */
void pw_borrow(struct pw_held *x, int fd);
void pw_return(struct pw_held *x);

/* The position goes back for good; the number stays tracked. */
void pw_share_fd(int fd);

/* The number is no longer tracked; its position goes back first. */
void pw_untrack(int fd);
void pw_untrack_range(unsigned from, unsigned to);

#endif
