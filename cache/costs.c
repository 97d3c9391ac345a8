/* costs.c - see costs.h. */
#include "cache/costs.h"

#include <sys/mman.h>

#include "cache/segment.h"

#define PAGES ((unsigned)(PW_CP / PW_PAGE)) /* what one fault-around covers */
#define BYTES (PAGES * PW_PAGE)

/* On a busy machine a reading may be many times too large, never too small: the first few
 * processes measure, and the smallest counts. */
#define ROUNDS 4u

static uint32_t smaller(uint32_t known, uint32_t now)
{
	return known && known < now ? known : now;
}

static struct pw_costs costs;
static uint32_t costs_known; /* 1: being measured, 2: there */
static const struct pw_costs guess = {300, 100, 15000};

static uint32_t clamp(int64_t v, uint32_t lo, uint32_t hi)
{
	if (v < lo)
		return lo;
	return v > hi ? hi : (uint32_t)v;
}

/*
 * Shared anonymous memory is a file of tmpfs without a name: its pages stay when the
 * mapping's entries are dropped, so touching them again costs what touching a resident
 * page of any file does, and no descriptor is needed to measure it.
 */
static void measure(struct pw_costs *c)
{
	int64_t call = INT32_MAX;
	int64_t touch = INT32_MAX;
	int64_t map = INT32_MAX;
	long at = pw_sys->mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!pw_is_err(at)) {
		volatile unsigned char *p = (unsigned char *)at;

		for (unsigned i = 0; i < PAGES; i++)
			p[i * PW_PAGE] = 1;
		for (int round = 0; round < 6; round++) {
			int64_t t0;
			int64_t t1;
			int64_t t2;

			pw_sys->madvise((void *)at, BYTES, MADV_DONTNEED);
			t0 = pw_sys->now_ns();
			for (unsigned i = 0; i < PAGES; i++)
				(void)p[i * PW_PAGE];
			t1 = pw_sys->now_ns();
			pw_sys->madvise((void *)at, BYTES, MADV_DONTNEED);
			t2 = pw_sys->now_ns();
			if (t1 - t0 < touch)
				touch = t1 - t0;
			if (t2 - t1 < map)
				map = t2 - t1;
		}
		pw_sys->munmap((void *)at, BYTES);
		touch /= PAGES;
	}
	for (int round = 0; round < 3; round++) {
		int64_t t0 = pw_sys->now_ns();

		for (int i = 0; i < 8; i++)
			pw_sys->lseek(-1, 0, 0); /* EBADF: the way in and out, no more */

		int64_t t = (pw_sys->now_ns() - t0) / 8;

		if (t < call)
			call = t;
	}
	call += 120; /* a small read's own work, much the same on the machines seen */
	/* mmap and munmap themselves are some four calls' worth of work each. The ratios on
	 * the machines seen were 0.2 to 1.1 and 20 to 55; far beyond that it was noise. */
	c->call = clamp(call, 100, 20000);
	c->touch = clamp(touch > 0 ? (int64_t)pw_costs_with_unmap((uint64_t)touch) : 0,
			 c->call / 20, 2 * c->call);
	c->map = clamp(map + 8 * call, 8 * c->call, 80 * c->call);
}

const struct pw_costs *pw_costs(void)
{
	const struct pw_segment *s;
	uint32_t state = pw_load_acquire(&costs_known); /* pairs with the release below */

	if (pw_likely(state == 2))
		return &costs;
	if (state || !pw_cas(&costs_known, &state, 1))
		return &guess; /* another thread measures: this once */

	struct pw_costs c = {0};

	s = pw_segment_get();
	if (s) {
		c.map = pw_load_acquire(
			&s->head->cost_map); /* pairs with the writer: map last */
		c.call = pw_load_relaxed(&s->head->cost_call);
		c.touch = pw_load_relaxed(&s->head->cost_touch);
	}
	if (!c.map || pw_load_relaxed(&s->head->cost_rounds) < ROUNDS) {
		struct pw_costs now = {0};

		measure(&now);
		c.call = smaller(c.call, now.call);
		c.touch = smaller(c.touch, now.touch);
		c.map = smaller(c.map, now.map);
		if (s) {
			pw_add_relaxed(&s->head->cost_rounds, 1);
			pw_store_relaxed(&s->head->cost_call, c.call);
			pw_store_relaxed(&s->head->cost_touch, c.touch);
			pw_store_release(&s->head->cost_map, c.map);
		}
	}
	/* What came from the segment is clamped all the same. */
	pw_store_relaxed(&costs.call, clamp(c.call, 100, 20000));
	pw_store_relaxed(&costs.touch, clamp(c.touch, 5, 40000));
	pw_store_relaxed(&costs.map, clamp(c.map, 800, 1600000));
	pw_store_release(&costs_known, 2);
	return &costs;
}
