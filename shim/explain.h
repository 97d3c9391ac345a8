/*
 * explain.h - notes for `pagewell explain`: what became of each call, and why. Off, this is a
 * test of a pointer, and not even that on the hit path: while it is on, pw_life->live is 2,
 * and every call on a tracked number takes the slow way, which decides alike (io.c) and notes
 * what it did. errno is left alone, and nothing is decided by what is noted.
 */
#ifndef PW_SHIM_EXPLAIN_H
#define PW_SHIM_EXPLAIN_H

#include "shim/handle.h"

/* NULL: off. Written once, at start-up. */
extern struct pw_shm_explain *pw_explain_table __attribute__((visibility("hidden")));

static inline bool pw_explaining(void)
{
	return pw_unlikely(pw_load_relaxed(&pw_explain_table) != NULL);
}

/* Not a reason of its own: the kernel has the position. */
#define PW_WHY_KERNELS PW_WHY_COUNT

/* The rest is called through what is below it, only while explaining. */
void pw_explain_note(struct pw_handle *h, int fd, enum pw_call call, unsigned why,
		     int64_t got);
void pw_explain_note_touched(struct pw_handle *h, int fd, uint64_t before, size_t n);
void pw_explain_note_window(struct pw_handle *h, int fd);
void pw_explain_note_mark(int fd, uint32_t mark);

/*
 * A call on fd has been made. h: its handle, held by the caller, or NULL if the number is not
 * tracked; then why is looked for, unless it is PW_WHY_VECTOR or PW_WHY_WRITE. With h,
 * PW_WHY_KERNELS and PW_WHY_EARN are made more precise by what the handle says. got: bytes
 * read, if any.
 */
static inline void pw_explain(struct pw_handle *h, int fd, enum pw_call call,
			      unsigned why, int64_t got)
{
	if (pw_explaining())
		pw_explain_note(h, fd, call, why, got);
}

/* Cache pages of the window may have been touched since it had `before`, for n bytes. */
static inline void pw_explain_touched(struct pw_handle *h, int fd, uint64_t before,
				      size_t n)
{
	if (pw_explaining())
		pw_explain_note_touched(h, fd, before, n);
}

/* A window was made. */
static inline void pw_explain_window(struct pw_handle *h, int fd)
{
	if (pw_explaining())
		pw_explain_note_window(h, fd);
}

/* One of the marks of explain.h in cache/, on the file that fd is open on. */
static inline void pw_explain_mark(int fd, uint32_t mark)
{
	if (pw_explaining())
		pw_explain_note_mark(fd, mark);
}

/* No window for now: PW_WHY_EARN or PW_WHY_ONCE. Kept in the handle for the calls to come. */
static inline void pw_explain_denied(struct pw_handle *h, enum pw_why why)
{
	if (pw_explaining())
		pw_store_relaxed(&h->denied, (uint32_t)why);
}

/* Why pw_window_read() did not serve; PW_HIT: PW_SERVED. */
enum pw_why pw_explain_miss(const struct pw_window *w, enum pw_hit hit);

/* Once, at start-up: looks for the table. */
void pw_explain_start(void);

/* A program that is attached, or a forked child. */
void pw_explain_attached(void);

/* The call that is about to be made, and what pw_explain_aside() says. A hint: any thread. */
extern const char *pw_explain_call __attribute__((visibility("hidden")));

static inline void pw_explain_calling(const char *name)
{
	if (pw_explaining())
		pw_store_relaxed(&pw_explain_call, name);
}

/* The library is not at work in this process any more, or never was. */
void pw_explain_aside(void);

#endif
