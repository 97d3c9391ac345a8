/*
 * costs.h - what things cost on this machine, in ns. They differ by a factor of ten and
 * more (a system call took 0.12 us on one machine of ours and 1.2 on another, the first
 * touch of a mapped page 0.05 and 1.3), and whether a mapping pays depends on nothing
 * else, so they are measured, once, and kept in the segment.
 */
#ifndef PW_CACHE_COSTS_H
#define PW_CACHE_COSTS_H

#include "cache/atomic.h"

struct pw_costs {
	uint32_t call; /* a small read that hits the kernel's page cache */
	/* First touch of a resident 4 KiB page, in sequence, and its unmapping later. Of an
	 * ordinary file: what the kernel keeps in larger pieces costs a tenth (touch.c). */
	uint32_t touch;
	uint32_t map; /* a window: mmap, one touch, munmap, and the calls around them */
};

/*
 * What one read of n bytes costs less from a window whose pages are touched, in ns: the call,
 * and some 0.03 ns a byte, because the kernel's copy is slower than ours (64 KiB: 2 to 5 us
 * on the machines seen).
 */
#define PW_COSTS_BYTES_NS 32 /* bytes in which our copy gains a ns */

static inline uint64_t pw_costs_gain(const struct pw_costs *c, uint64_t n)
{
	return c->call + n / PW_COSTS_BYTES_NS;
}

/* What is in `call` besides the way in and out: a small read's own work, much the same on the
 * machines seen. */
#define PW_COSTS_READ_WORK 120u

/* What one seek that needs no system call costs less. */
static inline uint64_t pw_costs_gain_seek(const struct pw_costs *c)
{
	return c->call > 2 * PW_COSTS_READ_WORK ? c->call - PW_COSTS_READ_WORK
						: c->call / 2;
}

/*
 * The same on new ground: there both copies mostly wait for memory, and beyond the first page
 * nothing was gained (dd over 256 MiB, 64 KiB at a time and all windows forced: 1.07 times as
 * fast where touching was cheap, 0.72 where it was not; 4 KiB at a time 1.76 and 1.11).
 */
static inline uint64_t pw_costs_gain_new(const struct pw_costs *c, uint64_t n)
{
	return c->call + (n < PW_PAGE ? n : PW_PAGE) / PW_COSTS_BYTES_NS;
}

/*
 * Does a gain pay for touching what has not been touched before? With a margin: costs are
 * measured on a machine that has other things to do, and where it is close the choice that
 * does nothing is right. A small one where the price is that file's own, a larger one where
 * it is only the machine's.
 */
static inline bool pw_costs_pays(uint64_t gain, uint64_t touching, bool its_own)
{
	return its_own ? 8 * gain > 9 * touching : 4 * gain > 5 * touching;
}

/* Unmapping is a quarter of what touching costs, on the machines and files seen. */
static inline uint64_t pw_costs_with_unmap(uint64_t touching)
{
	return touching + touching / 4;
}

/* Are they such as may be found in a segment: each within its bounds, or none measured? */
bool pw_costs_in_range(const struct pw_costs *c);

/* What pw_costs() says, once that is known; else NULL. costs.c writes it, once. */
extern const struct pw_costs *pw_costs_known __attribute__((visibility("hidden")));

/* The first time. */
const struct pw_costs *pw_costs_find(void);

/*
 * From the segment if another process measured, else measured now (some 0.1 to 1 ms), and
 * then the same for the life of the process. Never fails: bad or silly readings are
 * clamped.
 */
static inline const struct pw_costs *pw_costs(void)
{
	const struct pw_costs *c = pw_load_acquire(&pw_costs_known); /* pairs there */

	return pw_likely(c != NULL) ? c : pw_costs_find();
}

/* So many calls may the first touch of a page be worth; beyond that a reading was noise, or the
 * page had to be read. */
#define PW_COSTS_MOST_TOUCH 8

/*
 * A window was opened in so many ns, all around it included: a better reading of `map`, for
 * this process and for those to come, together with what the last one took to be unmapped (one
 * with a cache page or two touched). Without that nothing is changed.
 */
void pw_costs_window_took(int64_t ns);
void pw_costs_window_left(int64_t ns);

#endif
