/*
 * dest.h - may we store into the caller's buffer? A bad one must give EFAULT, as the
 * kernel gives it, so we store only into pages that the kernel itself has written for us:
 * a small lossy table remembers them. A page not in it is written by a real read first.
 *
 * Whatever can take a page's writability away (munmap, mprotect, mremap, mmap over it...)
 * moves the generation on, before and after, which empties the table at once. Before: so
 * that nothing is stored into a page that is going. After: so that a real read that was
 * under way meanwhile, and noted the page under the generation it began with, is not
 * believed.
 */
#ifndef PW_SHIM_DEST_H
#define PW_SHIM_DEST_H

#include "cache/pagewell.h"

#define PW_DEST_PAGES 2048u /* 8 MiB of buffers */

/*
 * An entry is page << GEN_BITS | generation. Page numbers of user space have 35 bits.
 * Entries and generation: any thread, plain atomic loads and stores, but for the adding.
 */
#define PW_DEST_GEN_BITS 28

extern uint64_t pw_dest_table[PW_DEST_PAGES] __attribute__((visibility("hidden")));
/* The same of pages that the kernel has read for us, in real writes: what may be stored from. */
#define PW_SRC_PAGES 512u
extern uint64_t pw_src_table[PW_SRC_PAGES] __attribute__((visibility("hidden")));
extern uint64_t pw_dest_gen __attribute__((visibility("hidden")));
extern uint32_t pw_dest_closed __attribute__((visibility("hidden"))); /* 0, then 1 */

static inline uint64_t pw_dest_entry(uint64_t page, uint64_t gen)
{
	return page << PW_DEST_GEN_BITS | (gen & ((1ULL << PW_DEST_GEN_BITS) - 1));
}

/* Are all pages of [buf, buf + n), n > 0, in the table? */
static inline __attribute__((always_inline)) bool
pw_pages_known(const uint64_t *table, uint64_t pages, const void *buf, size_t n)
{
	uint64_t page = (uintptr_t)buf >> PW_PAGE_SHIFT;
	uint64_t last = ((uintptr_t)buf + n - 1) >> PW_PAGE_SHIFT;
	/* Pairs with the add in pw_dest_move(): who sees the table as it was before a
	 * munmap is ordered before it. */
	uint64_t gen = pw_load_acquire(&pw_dest_gen);

	if (pw_unlikely((uintptr_t)buf + n - 1 < (uintptr_t)buf))
		return false;
	for (; page <= last; page++)
		if (pw_load_relaxed(&table[page % pages]) != pw_dest_entry(page, gen))
			return false;
	return true;
}

/* Known to be writable? */
static inline bool pw_dest_known(const void *buf, size_t n)
{
	return pw_pages_known(pw_dest_table, PW_DEST_PAGES, buf, n);
}

/* Known to be readable? */
static inline bool pw_src_known(const void *buf, size_t n)
{
	return pw_pages_known(pw_src_table, PW_SRC_PAGES, buf, n);
}

static inline uint64_t pw_dest_begin(void)
{
	return pw_load_acquire(&pw_dest_gen);
}

static inline __attribute__((always_inline)) void
pw_pages_learn(uint64_t *table, uint64_t pages, const void *buf, size_t n, uint64_t gen)
{
	uint64_t page = (uintptr_t)buf >> PW_PAGE_SHIFT;
	uint64_t last = ((uintptr_t)buf + n - 1) >> PW_PAGE_SHIFT;

	if (pw_unlikely(pw_load_acquire(&pw_dest_closed)))
		return;
	for (; page <= last; page++) {
		uint64_t *e = &table[page % pages];

		if (pw_load_relaxed(e) != pw_dest_entry(page, gen))
			pw_store_relaxed(e, pw_dest_entry(page, gen));
	}
}

/* The kernel has written [buf, buf + n) in a call that began at generation gen. */
static inline void pw_dest_learn(const void *buf, size_t n, uint64_t gen)
{
	pw_pages_learn(pw_dest_table, PW_DEST_PAGES, buf, n, gen);
}

/* The kernel has read [buf, buf + n) in a call that began at generation gen. */
static inline void pw_src_learn(const void *buf, size_t n, uint64_t gen)
{
	pw_pages_learn(pw_src_table, PW_SRC_PAGES, buf, n, gen);
}

/*
 * The table is void. The generation wraps after 2^28 moves; by then an entry that old
 * would have to have survived in its place untouched: the table is cleared at each wrap.
 */
void pw_dest_move(void);

/* For good: every read goes to the kernel from now on (writability changes unseen). */
void pw_dest_close(void);

#endif
