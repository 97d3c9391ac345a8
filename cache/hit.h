/*
 * hit.h - the witnessed read, whole: what happens in the engine when a read is served.
 */
#ifndef PW_CACHE_HIT_H
#define PW_CACHE_HIT_H

#include "cache/window.h"

/*
 * Copies [off, off + n) to buf, n > 0. PW_HIT: all n bytes are there and are exact. Else
 * buf may hold garbage in its first n bytes, and the kernel must be asked. W1 applies. No
 * system call, no lock, no store but to buf.
 */
static inline enum pw_hit pw_window_read(struct pw_window *w, void *buf, size_t n,
					 uint64_t off)
{
	uint64_t known =
		pw_load_acquire(&w->known); /* W1: pairs with the opener's release */
	const uint8_t *map;
	const unsigned char *q;
	enum pw_copied c;

	if (pw_unlikely(n > known || off > known - n))
		return PW_MISS_END;
	/* Not before: where nothing is known it may be in the making, or gone. */
	map = w->map + (off >> PW_CP_SHIFT);
	for (uint64_t more = ((off + n - 1) >> PW_CP_SHIFT) - (off >> PW_CP_SHIFT);;
	     more--) {
		if (pw_unlikely((pw_load_relaxed(map) & (PW_M_TOUCHED | PW_M_REF)) !=
				(PW_M_TOUCHED | PW_M_REF)))
			return PW_MISS_TOUCH;
		if (pw_likely(!more))
			break;
		map++;
	}
	q = w->base + off + n - 1;
	c = pw_copy_witnessed(buf, w->base + off, n, q);
	if (pw_unlikely(c == PW_COPY_NO_WITNESS)) {
		/* The last byte is a zero; a later one will do as well (W2). */
		q = pw_copy_look_ahead(q + 1, pw_min_u64(PW_LOOK_AHEAD, known - off - n));
		if (!q)
			q = pw_window_far_witness(w, off + n, known);
		if (!q)
			return PW_MISS_WITNESS;
		c = pw_copy_witnessed(buf, w->base + off, n, q);
	}
	if (pw_likely(c == PW_COPY_DONE))
		return PW_HIT;
	return c == PW_COPY_FAULT ? PW_MISS_FAULT : PW_MISS_WITNESS;
}

#endif
