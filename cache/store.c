/* store.c - the slow side of stores. See store.h and window.h. */
#include "cache/store.h"

#include <sys/mman.h>

#include "cache/stats.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGES (PW_CP / PW_PAGE)
#define COPY_NS 40	   /* a store, but for its bytes */
#define DEAREST_NS 1000000 /* anything longer was something else */

/* The bits of cache page cp that [off, off + n) reaches. */
static uint16_t bits_of(uint64_t cp, size_t n, uint64_t off)
{
	uint64_t first = off >> PW_PAGE_SHIFT;
	uint64_t last = (off + n - 1) >> PW_PAGE_SHIFT;
	uint64_t lo = cp * PAGES;

	first = first > lo ? first - lo : 0;
	last = last < lo + PAGES - 1 ? last - lo : PAGES - 1;
	return (uint16_t)((0xffffu << first) & (0xffffu >> (PAGES - 1 - last)));
}

static void set_bits(uint16_t *to, uint16_t bits)
{
	if ((pw_load_relaxed(to) & bits) != bits)
		__atomic_fetch_or(to, bits, __ATOMIC_RELAXED);
}

static bool inside(const struct pw_window *w, size_t n, uint64_t off)
{
	uint64_t end = pw_load_acquire(&w->storable); /* W1 */

	return n && n <= end && off <= end - n;
}

/* A price in ns, as a moving average of what was measured; 0: not yet. */
static void average(uint32_t *price, int64_t ns)
{
	uint32_t seen = pw_load_relaxed(price);
	uint32_t now = ns < 1 ? 1 : (uint32_t)pw_min_u64((uint64_t)ns, DEAREST_NS);

	pw_store_relaxed(price, seen ? seen - seen / 8 + now / 8 + 1 : now);
}

/* What the next write of n bytes would cost less as a store, in ns. */
static uint64_t gain_of(const struct pw_window *w, size_t n)
{
	uint64_t real = pw_load_relaxed(&w->write_ns);
	uint64_t copy = COPY_NS + n / 16;

	return real > copy ? real - copy : 0;
}

/*
 * The first store into a page is a fault, for each page, and costs as much as some writes:
 * opening it pays if enough of them follow. On ground that is written for the first time they
 * are those that the page still has room for, if the writes are in a row: twice the price,
 * for part of it is paid at the first store, untimed. Ground that was
 * written before is likely to be written again: there every write lays by what a store would
 * have saved, until that pays for a page (ski rental). So does a write that does not
 * follow the last one, where its page was written before: a counter is written in one place, with
 * new ground behind it for ever.
 */
static bool pays(struct pw_window *w, size_t n, uint64_t pages, bool fresh, bool again)
{
	uint64_t price = (uint64_t)pw_load_relaxed(&w->open_ns) * pages;
	uint64_t gain = gain_of(w, n);
	uint64_t saved;

	if (!gain)
		return false;
	if (!price) {
		/* Nobody knows: once, to find out. */
		(void)pw_window_find_witness(w, n, 0);
		return true;
	}
	if (fresh && n < PW_PAGE && (PW_PAGE / n - 1) * gain > 2 * price)
		return true;
	if (fresh && !again)
		return false;
	saved = pw_load_relaxed(&w->store_credit) + gain;
	if (saved < price) {
		pw_store_relaxed(&w->store_credit, saved);
		return false;
	}
	pw_store_relaxed(&w->store_credit, pw_min_u64(saved - price, price));
	return true;
}

/*
 * These pages become writable in our page table, which is most of what the first store would
 * cost; or the kernel says why not, where a store would be SIGBUS. A load of each as well, for
 * the timing: under some hypervisors it is then that the price is paid.
 */
static bool open_pages(struct pw_window *w, uint64_t first, uint64_t last)
{
	int64_t began = pw_sys->now_ns();
	uint64_t pages = last - first + 1;

	if (pw_sys->madvise(w->base + (first << PW_PAGE_SHIFT), pages << PW_PAGE_SHIFT,
			    MADV_POPULATE_WRITE))
		return false;
	for (uint64_t page = first; page <= last; page++)
		(void)pw_copy_look_ahead(w->base + (page << PW_PAGE_SHIFT), 1);
	average(&w->open_ns, (pw_sys->now_ns() - began) / (int64_t)pages);
	return true;
}

static bool was_written(const struct pw_window *w, uint64_t page)
{
	return pw_load_relaxed(&w->written[page / PAGES]) >> (page % PAGES) & 1;
}

static void rest(struct pw_window *w, uint32_t writes)
{
	pw_store_relaxed(&w->store_hold, writes);
	pw_store_release(&w->storable, 0);
}

/* So many writes for which no page was worth opening, and they go to the kernel without being
 * looked at; for longer and longer, up to MOST_RESTS times as many. */
#define VAIN 64u
#define MOST_RESTS 16u

static void in_vain(struct pw_window *w)
{
	uint32_t vain = pw_load_relaxed(&w->store_vain) + 1;

	pw_store_relaxed(&w->store_vain, vain);
	if (vain % VAIN == 0)
		rest(w, VAIN * (uint32_t)pw_min_u64(vain / VAIN, MOST_RESTS));
}

bool pw_window_store_rests(struct pw_window *w)
{
	uint32_t hold = pw_load_relaxed(&w->store_hold);

	if (hold)
		pw_store_relaxed(&w->store_hold, hold - 1);
	return hold > 1;
}

/* All of its pages already? */
static bool is_open(const struct pw_window *w, size_t n, uint64_t off)
{
	for (uint64_t cp = off >> PW_CP_SHIFT; cp <= (off + n - 1) >> PW_CP_SHIFT; cp++)
		if (bits_of(cp, n, off) & ~pw_load_relaxed(&w->open[cp]))
			return false;
	return true;
}

void pw_window_written(struct pw_window *w, size_t n, uint64_t off, int64_t took)
{
	uint64_t first = off >> PW_PAGE_SHIFT;
	uint64_t last = (off + n - 1) >> PW_PAGE_SHIFT;
	bool in_a_row = off == pw_load_relaxed(&w->write_next);
	uint64_t end;
	bool fresh;
	bool again;

	if (took)
		average(&w->write_ns, took);
	if (pw_window_store_rests(w) || !inside(w, n, off) || is_open(w, n, off))
		return;
	/* A pass leaves what is before it untouched, and the window reaches beyond the end. */
	pw_store_relaxed(&w->write_next, off + n);
	end = (pw_load_relaxed(&w->storable) - 1) >> PW_PAGE_SHIFT;
	fresh = last < end && !was_written(w, last + 1);
	again = was_written(w, first) && !in_a_row;
	for (uint64_t cp = first / PAGES; cp <= last / PAGES; cp++)
		set_bits(&w->written[cp], bits_of(cp, n, off));
	if (!pays(w, n, last - first + 1, fresh, again)) {
		in_vain(w);
		return;
	}
	if (!open_pages(w, first, last))
		return;
	pw_store_relaxed(&w->store_vain, 0);
	for (uint64_t cp = first / PAGES; cp <= last / PAGES; cp++) {
		set_bits(&w->open[cp], bits_of(cp, n, off));
		pw_window_map(w, cp);
	}
}

bool pw_window_store_touch(struct pw_window *w, size_t n, uint64_t off)
{
	const uint8_t want = PW_M_TOUCHED | PW_M_REF;

	if (!inside(w, n, off) || !is_open(w, n, off))
		return false;
	for (uint64_t cp = off >> PW_CP_SHIFT; cp <= (off + n - 1) >> PW_CP_SHIFT; cp++)
		if ((pw_load_relaxed(&w->map[cp]) & want) != want)
			pw_window_map(w, cp);
	return true;
}

void pw_window_store_doubt(struct pw_window *w, enum pw_hit why, uint64_t stores)
{
	uint32_t faults = pw_load_relaxed(&w->store_faults);
	uint32_t writes;

	if (why != PW_MISS_FAULT && why != PW_MISS_WITNESS && why != PW_MISS_LOST)
		return;
	pw_stat_add(PW_S_DOUBTS, 1);
	if (why == PW_MISS_FAULT) {
		pw_store_relaxed(&w->store_faults, faults + 1);
		rest(w, 4u << pw_min_u64(faults, 10));
		return;
	}
	writes = pw_window_rest(&w->store_doubts, &w->stores_mark, stores);
	if (writes)
		rest(w, writes);
}
