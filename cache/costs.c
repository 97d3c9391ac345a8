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

static PW_HOT_PAGE struct pw_costs costs;
PW_HOT_PAGE const struct pw_costs *pw_costs_known;
static uint32_t measuring; /* 1: a thread is at it, or has been */
static const struct pw_costs guess = {300, 100, 15000};

static uint32_t clamp(int64_t v, uint32_t lo, uint32_t hi)
{
	if (v < lo)
		return lo;
	return v > hi ? hi : (uint32_t)v;
}

static int64_t least(int64_t a, int64_t b)
{
	return b < a ? b : a;
}

/*
 * Shared anonymous memory is a file of tmpfs without a name: its pages stay when the
 * mapping's entries are dropped, so touching them again costs what touching a resident
 * page of any file does, and no descriptor is needed to measure it.
 */
static int64_t measure_touch(void)
{
	int64_t touch = INT32_MAX;
	long at = pw_sys->mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile unsigned char *p = (unsigned char *)at;

	if (pw_is_err(at))
		return touch;
	for (unsigned i = 0; i < PAGES; i++)
		p[i * PW_PAGE] = 1;
	for (int round = 0; round < 6; round++) {
		int64_t began;

		pw_sys->madvise((void *)at, BYTES, MADV_DONTNEED);
		began = pw_sys->now_ns();
		for (unsigned i = 0; i < PAGES; i++)
			(void)p[i * PW_PAGE];
		touch = least(touch, pw_sys->now_ns() - began);
	}
	pw_sys->munmap((void *)at, BYTES);
	return touch > 0 ? (int64_t)pw_costs_with_unmap((uint64_t)touch / PAGES) : 0;
}

/*
 * What a window's life takes of the memory manager: mapping, the advice, touching a cache page,
 * unmapping. Of zeroes, for want of a file: the same work but for the page's own. A whole cache
 * page, because under some hypervisors each page that is taken away costs as much as ten that
 * are brought in, up to some thirty; then all are forgotten at one stroke.
 */
static int64_t measure_map(void)
{
	int64_t map = INT32_MAX;

	for (int round = 0; round < 4; round++) {
		int64_t began = pw_sys->now_ns();
		long at = pw_sys->mmap(NULL, 2UL * BYTES, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pw_is_err(at))
			break;
		pw_sys->madvise((void *)at, 2UL * BYTES, MADV_DONTFORK);
		for (unsigned i = 0; i < PAGES; i++)
			(void)((volatile unsigned char *)at)[i * PW_PAGE];
		pw_sys->munmap((void *)at, 2UL * BYTES);
		map = least(map, pw_sys->now_ns() - began);
	}
	return map;
}

/* A call's way in and out, and no more: EBADF. */
static int64_t measure_call(void)
{
	int64_t call = INT32_MAX;

	for (int round = 0; round < 3; round++) {
		int64_t began = pw_sys->now_ns();

		for (int i = 0; i < 8; i++)
			pw_sys->lseek(-1, 0, 0);
		call = least(call, (pw_sys->now_ns() - began) / 8);
	}
	return call;
}

/* What there may be in a segment. */
static struct pw_costs bounded(const struct pw_costs *c)
{
	return (struct pw_costs){clamp(c->call, 100, 20000), clamp(c->touch, 5, 160000),
				 clamp(c->map, 800, 8000000)};
}

bool pw_costs_in_range(const struct pw_costs *c)
{
	struct pw_costs b = bounded(c);

	return (!c->call && !c->touch && !c->map) ||
	       (b.call == c->call && b.touch == c->touch && b.map == c->map);
}

/* Around a window: looks at the file and at its file system, signals blocked and let through
 * for opening and for closing, the position here and back, a first real read. */
#define CALLS_AROUND 18
/* Measured in a row all is hot, and memory without a file has no file to be entered in: a
 * window in a program's life took more. A first guess: pw_costs_window_took() knows. */
#define COLD 2

#define MOST_MAP 400

static void measure(struct pw_costs *c)
{
	int64_t call = measure_call();

	c->call = clamp(call + PW_COSTS_READ_WORK, 100, 20000);
	/* The ratios on the machines seen were 0.2 to 4 and 20 to 300 (without tables of pages
	 * in the processor, under a hypervisor); far beyond that it was noise. */
	c->touch = clamp(measure_touch(), c->call / 20, PW_COSTS_MOST_TOUCH * c->call);
	c->map = clamp(COLD * measure_map() + CALLS_AROUND * call, 8 * c->call,
		       MOST_MAP * c->call);
}

const struct pw_costs *pw_costs_find(void)
{
	const struct pw_segment *s;
	uint32_t no = 0;

	if (!pw_cas(&measuring, &no, 1))
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
	c = bounded(&c);
	pw_store_relaxed(&costs.call, c.call);
	pw_store_relaxed(&costs.touch, c.touch);
	pw_store_relaxed(&costs.map, c.map);
	pw_store_release(&pw_costs_known, &costs); /* pairs with pw_costs() */
	return &costs;
}

static uint32_t unmapping; /* as window_left() was told; 0: not yet. Any thread. */

/* What comes in between only ever makes it look dearer; and once much at a time. */
static uint64_t averaged(uint64_t before, uint64_t now)
{
	return now < before ? (before + now) / 2
			    : before + (pw_min_u64(now, 3 * before) - before + 15) / 16;
}

void pw_costs_window_left(int64_t ns)
{
	uint64_t before = pw_load_relaxed(&unmapping);
	uint64_t now = clamp(ns, 1, 100000000);

	pw_store_relaxed(&unmapping, (uint32_t)(before ? averaged(before, now) : now));
}

void pw_costs_window_took(int64_t ns)
{
	const struct pw_segment *s = pw_segment_peek();
	uint32_t call = pw_load_relaxed(&costs.call);
	uint32_t after = pw_load_relaxed(&unmapping);
	uint64_t now;

	if (!pw_load_acquire(&pw_costs_known) || !after)
		return;
	/* A first fault and a real read come with it. */
	now = clamp(ns + after + 4LL * call, 8 * call, MOST_MAP * call);
	now = averaged(pw_load_relaxed(&costs.map), now);
	pw_store_relaxed(&costs.map, (uint32_t)now);
	if (s)
		pw_store_relaxed(&s->head->cost_map, (uint32_t)now);
}
