/*
 * store.h - the witnessed store, whole: what happens in the engine when a write is not made by
 * the kernel (W6). The counterpart of hit.h.
 */
#ifndef PW_CACHE_STORE_H
#define PW_CACHE_STORE_H

#include "cache/window.h"

/* Is the page at off open to stores? off lies in the window. W1 applies. */
static inline bool pw_window_page_open(const struct pw_window *w, uint64_t off)
{
	return pw_load_relaxed(&w->open[off >> PW_CP_SHIFT]) >>
		       ((off >> PW_PAGE_SHIFT) % (PW_CP / PW_PAGE)) &
	       1;
}

/* Are all pages of [off, off + n) open to stores, and is the mapping counted? */
static inline bool pw_window_may_store(const struct pw_window *w, size_t n, uint64_t off)
{
	const uint8_t want = PW_M_TOUCHED | PW_M_REF;

	for (uint64_t page = off >> PW_PAGE_SHIFT; page <= (off + n - 1) >> PW_PAGE_SHIFT;
	     page++) {
		uint64_t cp = page >> (PW_CP_SHIFT - PW_PAGE_SHIFT);

		if (pw_unlikely((pw_load_relaxed(&w->map[cp]) & want) != want ||
				!pw_window_page_open(w, page << PW_PAGE_SHIFT)))
			return false;
	}
	return true;
}

/*
 * Stores n > 0 bytes of buf, which is known to be readable, at off. PW_HIT: they are in the
 * file, for everybody. PW_MISS_LOST, PW_MISS_FAULT: some may be; anything else: nothing was
 * stored. In each of these cases the kernel must write the same bytes. W1 applies. No system
 * call, no lock. buf may lie in a mapping of the same file, fault (PW_MISS_FAULT, if by
 * SIGBUS), or change meanwhile: so it may under the kernel.
 */
static inline enum pw_hit pw_window_store(struct pw_window *w, const void *buf, size_t n,
					  uint64_t off)
{
	uint64_t end =
		pw_load_acquire(&w->storable); /* W1: pairs with the opener's release */
	const unsigned char *q;
	uint64_t ahead;
	enum pw_copied c;

	if (pw_unlikely(n > end || off > end - n))
		return PW_MISS_END;
	if (pw_unlikely(!pw_window_may_store(w, n, off)))
		return PW_MISS_TOUCH;
	/* Looked for first: bytes are not stored where nothing could show that they lasted, and
	 * then written again by the kernel, maybe after somebody else's. */
	ahead = pw_min_u64(PW_LOOK_AHEAD, end - off - n);
	/* On the same page; near the end of the file; on the next page, which may not be mapped
	 * yet, last. */
	q = pw_copy_look_ahead(w->base + off + n,
			       pw_min_u64(ahead, -(off + n) & (PW_PAGE - 1)));
	if (pw_unlikely(!q))
		q = pw_window_far_witness(w, off + n, end);
	if (pw_unlikely(!q))
		q = pw_copy_look_ahead(w->base + off + n, ahead);
	if (pw_unlikely(!q))
		return PW_MISS_WITNESS;
	c = pw_copy_stored(w->base + off, buf, n, q);
	if (pw_likely(c == PW_COPY_DONE))
		return PW_HIT;
	if (c == PW_COPY_NO_WITNESS)
		return PW_MISS_WITNESS;
	return c == PW_COPY_FAULT ? PW_MISS_FAULT : PW_MISS_LOST;
}

#endif
