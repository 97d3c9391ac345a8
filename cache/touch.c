/*
 * touch.c - what is behind the first touch of a cache page: does touching pay, who brings
 * the page in, how far ahead.
 */
#include <sys/mman.h>

#include "cache/costs.h"
#include "cache/file.h"
#include "cache/page.h"
#include "cache/points.h"
#include "cache/stats.h"
#include "cache/window.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

PW_HOT_PAGE uint64_t pw_touched_ever;
PW_HOT_PAGE uint32_t pw_crowded;

#define RUN ((uint64_t)1 << 20) /* what is looked at and asked for in one call */

#define PAGES (PW_CP / PW_PAGE)
/* Cache pages that are timed: the first RUN_TIMED of every TIMED_EVERY. In a row, because the
 * kernel may map two megabytes for the first, and nothing for those that follow. */
#define RUN_TIMED 32u
#define TIMED_EVERY 256u
#define SAMPLES 4u /* that many in a row say what touching costs */

/* In ns for a page. The machine's usual price until the window's own is known. */
static uint64_t touch_cost(const struct pw_window *w)
{
	uint32_t own = pw_load_relaxed(&w->touch_ns);

	return own ? own : pw_costs()->touch;
}

bool pw_window_gains(const struct pw_window *w, size_t n)
{
	uint32_t own = pw_load_relaxed(&w->touch_ns);

	return !own || !n ||
	       pw_costs_pays(pw_costs_gain_new(pw_costs(), n) * PW_CP / n, own * PAGES,
			     true);
}

/* So many steps in 256 count one more. */
static bool roll(struct pw_window *w, uint64_t of)
{
	uint32_t dice = pw_load_relaxed(&w->dice) * 1664525u + 1013904223u;

	pw_store_relaxed(&w->dice, dice);
	return dice >> 24 < of;
}

/*
 * What a read pays of a page's price, in parts of PW_M_CREDIT. A page that drives out one in use
 * is dearer, up to 32 times: whatever it will bring, the other would have brought as well, and at
 * random over more than the bound that goes on for ever. So at most a 32nd of what such reads
 * take is lost on touching; pages that are read that much more often than others still come in.
 */
static uint64_t payment(struct pw_window *w, uint64_t gain, uint64_t price)
{
	uint32_t crowded = pw_load_relaxed(&pw_crowded);
	uint64_t parts = gain * PW_M_CREDIT;

	if (!crowded)
		return parts / price + 1;
	parts = 256 * parts / (price + price * crowded / 8);
	return parts / 256 + roll(w, parts % 256);
}

/* A read of n bytes pays for cp, whose byte of the map was seen to be `seen`, not touched. False:
 * nothing is left to be paid. */
static PW_CODE_PAGE(pread) bool pay(struct pw_window *w, uint64_t cp, uint8_t seen,
				    size_t n)
{
	uint64_t gain = pw_costs_gain(pw_costs(), n);
	uint64_t credit;

	if (n > PW_CP)
		gain = gain * PW_CP / n; /* the read pays for all the pages it spans */
	credit = (seen & PW_M_CREDIT) + payment(w, gain, touch_cost(w) * PAGES);
	if (credit > PW_M_CREDIT)
		return false;
	/* If another thread was quicker a hint is lost, but not its TOUCHED. */
	pw_cas(&w->map[cp], &seen, (uint8_t)credit);
	return true;
}

/*
 * In sequence, a cache page will be read 64 KiB / n times, and each of those reads is a
 * system call saved; against that stand sixteen first touches. Without a sequence nobody
 * knows what comes, so reads pay the price off bit by bit, and at most twice the price of
 * the best choice is ever paid (ski rental).
 */
static bool worth_touching(struct pw_window *w, uint64_t cp, size_t n, bool sequential)
{
	const struct pw_costs *c = pw_costs();
	bool known = pw_load_relaxed(&w->touch_ns);
	uint8_t seen = pw_load_relaxed(&w->map[cp]);

	if (seen & PW_M_TOUCHED)
		return true; /* another thread has just been there: no credit over its mark */
	if (sequential && (pw_costs_pays(pw_costs_gain_new(c, n) * PW_CP / n,
					 touch_cost(w) * PAGES, known) ||
			   (!known && pw_load_relaxed(&w->samples) < SAMPLES)))
		return true;
	return !pay(w, cp, seen, n);
}

/* Are all pages of [at, at + len), at most a run, in the kernel's cache? (If it won't say,
 * yes.) */
static bool resident(unsigned char *at, size_t len)
{
	unsigned char vec[RUN / PW_PAGE] = {0};
	unsigned char all = 1;

	if (pw_sys->mincore(at, len, vec))
		return true;
	for (size_t i = 0; i < (len + PW_PAGE - 1) / PW_PAGE; i++)
		all &= vec[i];
	return all & 1;
}

/*
 * In sequence: is the run that begins here in the kernel's cache? Then all is well for its
 * length; else it is asked for, and looked at again half a run later, so that the next is on
 * its way in time. The page words can't tell: what was brought in once may be gone again.
 * (In a window without MADV_RANDOM the kernel does this by itself, and we only ask once.)
 */
static void read_ahead(struct pw_window *w, int fd, uint64_t cp)
{
	uint64_t known = pw_load_relaxed(&w->known);
	uint64_t off = cp << PW_CP_SHIFT;
	uint64_t next = pw_load_relaxed(&w->looked_at);
	size_t len;

	/* Not yet at the next look, unless the sequence began anew elsewhere. */
	if (off >= known || (cp < next && next - cp <= RUN / PW_CP))
		return;
	len = pw_min_u64(RUN, known - off);
	if (resident(w->base + off, len)) {
		pw_store_relaxed(&w->looked_at, cp + RUN / PW_CP);
		return;
	}
	pw_sys->readahead(fd, (int64_t)off, RUN);
	pw_store_relaxed(&w->looked_at, cp + RUN / PW_CP / 2);
}

/* We hold the word of cp: bring it in. True: it is in. */
static bool fill(struct pw_window *w, uint64_t cp)
{
	uint64_t known = pw_load_relaxed(&w->known);
	uint64_t off = cp << PW_CP_SHIFT;
	size_t len;
	bool in;

	if (off >= known)
		return false;
	len = pw_min_u64(PW_CP, known - off);
	/* Populating what is there costs more than touching it. Where it is not, populating
	 * waits for it, and answers with an error where a load would be SIGBUS. */
	in = resident(w->base + off, len);
	PW_POINT("page.filling");
	return in || !pw_sys->madvise(w->base + off, pw_round_up(len, PW_PAGE),
				      MADV_POPULATE_READ);
}

/* The data's own way from memory is not what touching costs: a copy would wait for it as well.
 * The first load is mostly a fault that maps all pages of a cache page; what the others take
 * beyond a trip to memory each is faults of theirs. */
#define FROM_MEMORY_NS 100

static uint64_t time_touches(const unsigned char *at)
{
	int64_t start = pw_sys->now_ns();
	int64_t first;
	int64_t rest;

	(void)pw_copy_look_ahead(at, 1);
	first = pw_sys->now_ns();
	for (unsigned i = 1; i < PAGES; i++)
		(void)pw_copy_look_ahead(at + i * PW_PAGE, 1);
	rest = pw_sys->now_ns() - first - (int64_t)(PAGES - 1) * FROM_MEMORY_NS;
	return (uint64_t)(first - start + (rest > 0 ? rest : 0));
}

/*
 * How much a file's pages cost to touch depends on how large the pieces are in which the
 * kernel keeps it, by a factor of ten, and nobody can be asked: so it is timed. touch_ns stays
 * 0 until there are enough samples.
 */
static void measure(struct pw_window *w, uint64_t cp)
{
	uint32_t most = PW_COSTS_MOST_TOUCH *
			pw_costs()->call; /* more: it had to be read, or we were late */
	uint32_t before = pw_load_relaxed(&w->touch_avg);
	uint32_t samples = pw_load_relaxed(&w->samples);
	uint64_t known = pw_load_relaxed(&w->known);
	uint64_t ns;

	if (pw_load_relaxed(&w->pages) % TIMED_EVERY >= RUN_TIMED ||
	    known < ((cp + 1) << PW_CP_SHIFT))
		return;
	ns = pw_costs_with_unmap(time_touches(w->base + (cp << PW_CP_SHIFT))) / PAGES;
	ns = pw_min_u64(ns + 1, most);
	if (samples) /* what comes between only ever makes it look dearer */
		ns = ns < before ? (before + ns) / 2 : before + (ns - before) / 16;
	pw_store_relaxed(&w->touch_avg, (uint32_t)ns);
	pw_store_relaxed(&w->samples, samples + 1);
	if (samples + 1 < SAMPLES)
		return;
	pw_store_relaxed(&w->touch_ns, (uint32_t)ns);
	pw_file_set_touch(pw_load_relaxed(&w->id), (uint32_t)ns);
}

static void touch(struct pw_window *w, int fd, uint64_t cp, bool sequential)
{
	if (sequential)
		read_ahead(w, fd, cp);
	switch (pw_page_begin(w->id, cp, !pw_load_relaxed(&w->no_wait))) {
	case PW_PAGE_MINE:
		pw_stat_add(PW_S_FILLS, 1);
		pw_page_end(w->id, cp, fill(w, cp));
		break;
	case PW_PAGE_LATE:
		pw_store_relaxed(&w->no_wait, 1);
		break;
	case PW_PAGE_TOUCH:
		break;
	}
	measure(w, cp);
	pw_window_map(w, cp);
}

void pw_window_map(struct pw_window *w, uint64_t cp)
{
	if (pw_xchg_acq_rel(&w->map[cp], PW_M_TOUCHED | PW_M_REF) & PW_M_TOUCHED)
		return; /* another thread was at it, and has counted it */
	pw_add_relaxed(&w->pages, 1);
	pw_stat_add(PW_S_PAGES, 1);
	pw_add_relaxed(&pw_touched_ever, 1);
}

/*
 * The next cache page after the last is the next in sequence only if that one was really read:
 * who looks at a few bytes of every cache page goes up in order as well, and will not look at
 * more of this one. A quarter of it, or the sequence has just begun.
 */
static bool dense(const struct pw_window *w, uint64_t bytes)
{
	return bytes - pw_load_relaxed(&w->touch_bytes) +
		       pw_load_relaxed(&w->touch_missed) >=
	       PW_CP / 4;
}

/* Is cp, reached by a read that began in `first`, part of a sequence, so that all of it is
 * likely to be read? In the cache page where one begins that is not known; but a window is
 * opened for one, mostly. */
static bool goes_on(const struct pw_window *w, uint64_t cp, uint64_t first,
		    uint64_t bytes)
{
	uint64_t before = pw_load_relaxed(&w->last_cp);

	if (cp == before)
		return !pw_load_relaxed(&w->pages);
	return cp == before + 1 && (cp > first || dense(w, bytes));
}

/* A miss in cp: where the next one is seen from. */
static void note_place(struct pw_window *w, uint64_t cp, bool sequential, uint64_t bytes)
{
	uint64_t before = pw_load_relaxed(&w->last_cp);

	if (cp == before)
		return;
	pw_store_relaxed(&w->touch_bytes, bytes);
	pw_store_relaxed(&w->touch_missed, 0);
	pw_store_relaxed(&w->last_cp, cp);
	if (!sequential)
		pw_store_relaxed(&w->trail, cp);
}

static void note_missed(struct pw_window *w, size_t n)
{
	pw_store_relaxed(&w->touch_missed, pw_load_relaxed(&w->touch_missed) + n);
}

PW_CODE_PAGE(pread)
bool pw_window_pay(struct pw_window *w, size_t n, uint64_t off, uint64_t bytes)
{
	uint64_t known = pw_load_acquire(&w->known); /* W1 */
	uint64_t cp = off >> PW_CP_SHIFT;
	uint8_t seen;

	if (n > known || off > known - n || (off + n - 1) >> PW_CP_SHIFT != cp)
		return false;
	seen = pw_load_relaxed(&w->map[cp]);
	if ((seen & PW_M_TOUCHED) || goes_on(w, cp, cp, bytes) || !pay(w, cp, seen, n))
		return false;
	note_place(w, cp, false, bytes);
	note_missed(w, n);
	return true;
}

bool pw_window_touch(struct pw_window *w, int fd, size_t n, uint64_t off, uint64_t bytes)
{
	uint64_t known = pw_load_relaxed(&w->known);
	uint64_t first = off >> PW_CP_SHIFT;
	uint64_t last = (off + n - 1) >> PW_CP_SHIFT;
	bool all = true;

	/* `known` may have been lowered since the miss; w->map is as long as maplen says. */
	if (n > known || off > known - n)
		return false;
	for (uint64_t cp = first; cp <= last; cp++) {
		uint8_t seen = pw_load_relaxed(&w->map[cp]);
		bool sequential = goes_on(w, cp, first, bytes);

		note_place(w, cp, sequential, bytes);
		while ((seen & PW_M_TOUCHED) &&
		       !pw_cas(&w->map[cp], &seen, (uint8_t)(seen | PW_M_REF)))
			; /* the reclaimer was there */
		if (seen & PW_M_TOUCHED)
			continue;
		if (worth_touching(w, cp, n, sequential))
			touch(w, fd, cp, sequential);
		else
			all = false;
	}
	if (!all)
		note_missed(w, n);
	return all;
}
