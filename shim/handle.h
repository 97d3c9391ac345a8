/*
 * handle.h - a handle stands for one open file description that this process opened
 * through a call we saw. Its memory is never given back, only used again (rule W5), so a
 * stale pointer to one is harmless as long as it is looked at through a hazard slot.
 */
#ifndef PW_SHIM_HANDLE_H
#define PW_SHIM_HANDLE_H

#include "cache/pagewell.h"

/* flags; set by atomic or, never cleared while the handle lives */
#define PW_H_WRITABLE 1u   /* opened read-write */
#define PW_H_QUALIFIED 2u  /* looked at: a regular file on a served file system */
#define PW_H_NEVER 4u	   /* looked at: not to be served in any way */
#define PW_H_NO_WINDOW 16u /* a window was refused: positions only */
#define PW_H_SHARED 8u /* another process may share it: the position stays the kernel's */
#define PW_H_VAIN 64u  /* reads on new ground in sequence are the kernel's */
#define PW_H_WRITE_ONLY 128u /* opened for writing only: never read from */
#define PW_H_SYNC 256u /* opened with O_SYNC or O_DSYNC: every write is the kernel's */
#define PW_H_FIXED 32u /* nobody can change the file: `size` is where it ends */

struct pw_handle {
	struct pw_window win; /* first: a slot that names the window names the handle */

	/* A new cache line: what lseek looks at. */
	uint64_t pos;	/* pos.h alone writes it */
	uint32_t flags; /* above */
	uint32_t refs;	/* numbers in the fd table; atomic */

	/* Hints, racy: any thread, plain atomic loads and stores. */
	uint64_t size;	   /* at the last look; what SEEK_SET may adopt within */
	uint64_t earned;   /* ns that real calls have cost more than hits would have */
	uint64_t next_off; /* where the last real read or seek ended */
	uint64_t batch; /* bytes read from the kernel's position since the last batch */
	uint64_t end_told;   /* the end that the file's size word was last told of */
	uint64_t high;	     /* the furthest any read has reached */
	uint64_t hits_at;    /* the opening thread's hits when the window was opened */
	uint64_t hits_seen;  /* the thread's hits at the last real read */
	uint64_t put_high;   /* the furthest any real write has reached */
	uint64_t stamp;	     /* the tick of the last real write (store.h) */
	uint32_t writes;     /* that went to the kernel while there was no window */
	uint32_t overwrites; /* of these in a row, inside what was there */
	uint32_t calls;	     /* reads and seeks that went to the kernel so far */
	uint32_t moved;	     /* 1: a seek in this batch went somewhere else */
	uint32_t seeks;	     /* of these, seeks */
	uint32_t adopt_at;   /* adopt when calls reach this */
	uint32_t vain;	     /* real reads in sequence that a window was no help with */
	uint32_t tries;	     /* windows that were let go because they were no gain */
	uint32_t returns;    /* times the position went back for a real call */

	/* For `pagewell explain` only; hints. */
	uint32_t told;	 /* the file's record, plus 1; 0: not looked for yet */
	uint32_t denied; /* why there was no window at the last look, or 0 */

	struct pw_handle *next_free; /* while on the free list */
} __attribute__((aligned(PW_CACHELINE)));

/* A clean handle with one reference, or NULL: no memory. Any thread, any handler. */
struct pw_handle *pw_handle_new(uint32_t flags);

/* One number more; false: the last one has just gone, and the handle with it. */
static inline bool pw_handle_ref(struct pw_handle *h)
{
	uint32_t seen = pw_load_relaxed(&h->refs);

	do
		if (!seen)
			return false;
	while (!pw_cas(&h->refs, &seen, seen + 1));
	return true;
}

/*
 * One number fewer. The last one ends the window, before the caller closes it (W4), and
 * the handle is used again when nobody is inside.
 */
void pw_handle_unref(struct pw_handle *h);

/* Once, at start-up. */
void pw_handle_start(void);

static inline struct pw_handle *pw_handle_of(struct pw_window *w)
{
	return (struct pw_handle *)w;
}

#endif
