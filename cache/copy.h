/*
 * copy.h - the only code that loads from a window or stores into one: the witnessed copies
 * and the look-ahead. They are ours, in assembly, so that a SIGBUS whose program counter lies in them is known
 * to be ours, and so that its handler need only set the program counter to the fix-up: no
 * flag, no jump buffer, nothing to undo.
 */
#ifndef PW_CACHE_COPY_H
#define PW_CACHE_COPY_H

#include "cache/base.h"

enum pw_copied {
	PW_COPY_DONE = 0,     /* n bytes copied, and *q was not zero before and after */
	PW_COPY_NO_WITNESS,   /* *q was zero before: nothing was copied */
	PW_COPY_LOST_WITNESS, /* *q was zero after: the copy proves nothing */
	PW_COPY_FAULT,	      /* source, destination or q faulted */
};

/*
 * Looks at *q, copies n > 0 bytes, looks at *q again. q lies in the window at src + n - 1
 * or later. The second look comes after the last load of the copy in program order, and
 * x86 keeps loads in order; string moves are fenced.
 *
 * Looking first as well costs one load and has two uses: no copying where there is no
 * witness (sparse files), and after a truncation that has returned, nothing is written to
 * the caller's buffer that the kernel would not have written.
 */
enum pw_copied pw_copy_witnessed(void *dst, const void *src, size_t n,
				 const unsigned char *q);

/*
 * The same the other way: src is the caller's buffer, dst lies in a window that may be
 * written to, and q in that window at dst + n or later. DONE: the bytes are where everybody
 * sees them, and *q was not zero before and after. LOST_WITNESS, FAULT: so may some or all of
 * them be, or be lost. The second look comes after a full barrier.
 */
enum pw_copied pw_copy_stored(void *dst, const void *src, size_t n,
			      const unsigned char *q);

/* The first non-zero byte in [p, p + n), or NULL if there is none or a load faulted. */
const unsigned char *pw_copy_look_ahead(const unsigned char *p, size_t n);

/*
 * For the SIGBUS handler: where to go on if pc lies in one of the three, else 0. A pure
 * function of pc; may be called from a signal handler.
 */
uintptr_t pw_copy_fixup(uintptr_t pc);

#endif
