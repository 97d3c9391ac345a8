/*
 * earn_write.h - what a handle has to show before it is written to by stores: overwrites, that
 * is, writes wholly inside what the file was last seen to be. Files that grow never get there,
 * at the price of an fstat at the 16th, 32nd, 64th... write.
 */
#ifndef PW_SHIM_EARN_WRITE_H
#define PW_SHIM_EARN_WRITE_H

#include "shim/handle.h"

/* A rest of so many writes: a position that only writes use goes back for it. */
#define PW_EARN_LONG_REST 32u

/* May a write at our position be made by pwrite() there? Then it need not go back. */
static inline bool pw_earn_write_may(const struct pw_handle *h)
{
	uint32_t flags = pw_load_relaxed(&h->flags);

	return (flags & (PW_H_WRITABLE | PW_H_WRITE_ONLY)) &&
	       !(flags & (PW_H_SYNC | PW_H_NEVER)) &&
	       (!(flags & PW_H_WRITE_ONLY) ||
		pw_load_relaxed(&h->win.store_hold) < PW_EARN_LONG_REST);
}

/* Only written to, and never stored into: it is not worth a look any more. */
static inline bool pw_earn_useless(const struct pw_handle *h)
{
	uint32_t both = PW_H_WRITE_ONLY | PW_H_NEVER;

	return (pw_load_relaxed(&h->flags) & both) == both;
}

/* Both: the caller's slot names the handle, fd's entry was seen to be it, put > 0. */

/* A real write at off, which took so many ns (0: was not timed). May open a window; tells the
 * one that is there. */
void pw_earn_wrote(struct pw_handle *h, int fd, uint64_t off, uint64_t put, int64_t took);

/* A real write at the kernel's position, counted out. May also adopt the position. */
void pw_earn_wrote_on(struct pw_handle *h, int fd, uint64_t put);

#endif
