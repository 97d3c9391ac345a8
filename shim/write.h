/*
 * write.h - the slow side of writes that may be stores (PAGEWELL_WRITE=map, store.h).
 */
#ifndef PW_SHIM_WRITE_H
#define PW_SHIM_WRITE_H

#include <sys/uio.h>

#include "shim/io.h"

/* As the calls of the same names, errno included. */
ssize_t pw_write_slow(int fd, const void *buf, size_t n);
ssize_t pw_pwrite_slow(int fd, const void *buf, size_t n, off_t off);
ssize_t pw_writev_slow(int fd, const struct iovec *v, int n);
ssize_t pw_pwritev_slow(int fd, const struct iovec *v, int n, off_t off);

/* A real write that the hit path found plain: where, in which tick, and, if it moves the
 * position, what that was when it was claimed (pos.h). */
struct pw_through {
	off_t off;
	uint64_t p;
	uint64_t tick;
	bool moves;
};

/* Makes it, and lets go of x. */
ssize_t pw_write_through(struct pw_held *x, int fd, const void *buf, size_t n,
			 const struct pw_through *to);

/* The number's writes pass by from now on: there is nothing to be gained (earn_write.h). */
void pw_write_let_go(int fd);

/*
 * After a store, whatever came of it: did a handler fork in its middle, and is this the child?
 * Then it is the parent that stores, and the write is made. Once.
 */
static inline bool pw_write_is_parents(void)
{
	bool is = pw_me.stored_by_parent;

	pw_me.stored_by_parent = false;
	return is;
}

/* A write whose place at the position was taken, and could not be stored there after a handler
 * had written behind it. The position is not moved any more. */
ssize_t pw_write_behind(int fd, const void *buf, size_t n, off_t off);

#endif
