/* reclaim.c - see reclaim.h. */
#include "cache/reclaim.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "cache/points.h"
#include "cache/stats.h"
#include "cache/window.h"

/* Every so many touched cache pages the counts are published and the total is looked at:
 * meanwhile a process may add as much, 2 MiB. */
#define EVERY ((uint64_t)32)

/* Of a pass in sequence, the cache pages behind the last that stay: several threads may read it
 * together. */
#define KEPT 16u

static PW_HOT_PAGE uint64_t bound_bytes;
static PW_HOT_PAGE uint64_t next_look; /* value of `polls` at which to look again */
static PW_HOT_PAGE uint64_t
	polls; /* a poll counts for the pages touched before it, or for 1 */
static PW_HOT_PAGE uint64_t counted; /* value of pw_touched_ever at the last poll */

void pw_reclaim_set_bound(uint64_t bytes)
{
	pw_store_relaxed(&bound_bytes, bytes);
}

uint64_t pw_reclaim_bound(void)
{
	uint64_t b = pw_load_relaxed(&bound_bytes);
	struct sysinfo si;

	if (b)
		return b;
	b = pw_sys->sysinfo(&si) ? (uint64_t)1 << 30
				 : (uint64_t)si.totalram * si.mem_unit / 2;
	pw_store_relaxed(&bound_bytes, b);
	return b;
}

/*
 * Drops mapped pages of [at, end) that have none of the bits `spare`, as long as there are
 * such in a row, and returns how many. A reader that is in the page at this moment faults it
 * back in: same bytes.
 */
static uint64_t drop_run(struct pw_window *w, uint64_t at, uint64_t end, uint8_t spare)
{
	uint64_t run = 0;

	for (; at + run < end; run++) {
		uint8_t m = pw_load_relaxed(&w->map[at + run]);

		if (!(m & PW_M_TOUCHED) || (m & spare) ||
		    !pw_cas(&w->map[at + run], &m, 0))
			break; /* not there, or used just now, or another thread's */
	}
	if (!run)
		return 0;
	PW_POINT("reclaim.scan");
	pw_sys->madvise(w->base + (at << PW_CP_SHIFT), run << PW_CP_SHIFT, MADV_DONTNEED);
	pw_add_relaxed(&w->pages, -run);
	return run;
}

/* What one page table maps. */
#define TABLE ((uint64_t)2 << 20)

static bool all_dropped(struct pw_window *w, uint64_t first, uint64_t last)
{
	uint8_t any = 0;

	for (uint64_t cp = first; cp <= last; cp++)
		any |= pw_load_relaxed(&w->map[cp]);
	return !(any & PW_M_TOUCHED);
}

/*
 * Of all that a pass drops the page tables stay, 2 KiB for each MiB; but kernels since 6.14 give
 * one back when a call covers all that it maps. So where the trail has come to the end of one,
 * between cache pages `from` and `to`, that is asked once more.
 */
static void drop_tables(struct pw_window *w, uint64_t from, uint64_t to)
{
	uintptr_t base = (uintptr_t)w->base;
	uintptr_t end = base + (to << PW_CP_SHIFT);
	uintptr_t at = pw_round_up(base + (from << PW_CP_SHIFT) + 1, TABLE) - TABLE;

	for (; at + TABLE <= end; at += TABLE)
		if (at >= base && all_dropped(w, (at - base) >> PW_CP_SHIFT,
					      (at + TABLE - 1 - base) >> PW_CP_SHIFT))
			pw_sys->madvise((void *)at, TABLE, MADV_DONTNEED);
}

/*
 * A long pass in sequence pays for itself: under the bound it leaves its trail, over it what
 * lies behind goes first, used or not, for a pass does not come back soon. So it neither
 * drives out what others use, nor takes their pages' reference bits away. The caller's slot
 * names w.
 */
static uint64_t drop_trail(struct pw_window *w, uint64_t want)
{
	uint64_t last = pw_load_relaxed(&w->last_cp);
	uint64_t at = pw_load_relaxed(&w->trail);
	uint64_t cps = w->maplen >> PW_CP_SHIFT;
	uint64_t end = last < cps && last > KEPT ? last - KEPT : 0;
	uint64_t dropped = 0;

	while (at < end && dropped < want) {
		uint64_t run = drop_run(w, at, pw_min_u64(end, at + want - dropped), 0);

		dropped += run;
		at += run ? run : 1;
	}
	drop_tables(w, pw_load_relaxed(&w->trail), at);
	pw_store_relaxed(&w->trail, at);
	return dropped;
}

/*
 * One pass of the clock over one window: a page used since the last pass keeps its place
 * and loses its bit; one that was not is dropped. Runs of cold pages go in one call.
 */
static uint64_t sweep_window(struct pw_window *w, uint64_t want, uint64_t *used)
{
	uint64_t cps = w->maplen >> PW_CP_SHIFT;
	uint64_t hand = pw_load_relaxed(&w->clock_hand) % cps;
	uint64_t dropped = 0;

	for (uint64_t i = 0; i < cps && dropped < want; i++, hand = (hand + 1) % cps) {
		uint64_t most = pw_min_u64(cps - i, want - dropped);
		uint64_t run = drop_run(w, hand, pw_min_u64(cps, hand + most), PW_M_REF);
		uint8_t m;

		if (run) {
			/* What ended the run is looked at once more, which must not be
			 * without its bit yet. */
			dropped += run;
			hand += run - 1;
			i += run - 1;
			continue;
		}
		m = pw_load_relaxed(&w->map[hand]);
		if ((m & PW_M_TOUCHED) && (m & PW_M_REF) &&
		    pw_cas(&w->map[hand], &m, PW_M_TOUCHED))
			++*used;
	}
	pw_store_relaxed(&w->clock_hand, hand);
	return dropped;
}

/* Met in use, and dropped. */
static void note_crowd(uint64_t used, uint64_t dropped)
{
	uint32_t crowded = pw_load_relaxed(&pw_crowded);

	if (!used && !dropped)
		return; /* all of it was a trail */
	crowded += (uint32_t)(255 * used / (used + dropped) / 8) - crowded / 8;
	pw_store_relaxed(&pw_crowded, pw_min_u64(crowded, 255));
}

/* Drops up to `want` cache pages of this process, the trail of `in` first, then cold ones: two rounds, the first
 * takes the reference bits away from what is then dropped in the second. */
static uint64_t shrink(struct pw_reader *r, struct pw_window *in, uint64_t want)
{
	uint64_t dropped = in ? drop_trail(in, want) : 0;
	uint64_t trail = dropped;
	uint64_t used = 0;

	for (int round = 0; round < 2 && dropped < want; round++) {
		for (struct pw_window *w = pw_windows(); w && dropped < want;
		     w = w->next) {
			struct pw_hazard *s;

			if (!pw_window_is_open(w))
				continue;
			s = pw_hazard_enter(r, w);
			if (!s)
				goto out; /* nested too deep: another time */
			/* W1: `known` not 0 means the mapping is there and stays. */
			if (pw_load_acquire(&w->known))
				dropped += sweep_window(w, want - dropped, &used);
			pw_window_leave(s, w);
		}
	}
out:
	note_crowd(used, dropped - trail);
	pw_stat_add(PW_S_PAGES, -(int64_t)dropped);
	pw_stat_add(PW_S_RECLAIMS, (int64_t)dropped);
	return dropped;
}

void pw_reclaim_heed(void)
{
	if (pw_likely(!pw_stat_shrink_is(PW_SHRINK_ALL)) ||
	    pw_stat_shrink_asked() != PW_SHRINK_ALL)
		return;
	pw_windows_drop();
	pw_stat_publish();
}

void pw_reclaim_poll(struct pw_reader *r, struct pw_window *in)
{
	uint64_t mine[PW_S_COUNT];
	uint64_t total;
	uint64_t bound;
	uint64_t share;
	uint32_t sharers;
	uint64_t touched;

	pw_reclaim_heed();
	touched = pw_load_relaxed(&pw_touched_ever);
	touched -= pw_xchg_acq_rel(&counted, touched);
	if (pw_likely(pw_add_relaxed(&polls, touched ? touched : 1) <
		      pw_load_relaxed(&next_look)))
		return;
	pw_store_relaxed(&next_look, pw_load_relaxed(&polls) + EVERY);
	pw_stat_publish();
	total = pw_stat_total_pages(&sharers);
	bound = pw_reclaim_bound() >> PW_CP_SHIFT;
	/* What is touched before the next look, and page tables, are to fit in as well, where that
	 * is a small part of it. */
	if (bound >= 32 * EVERY)
		bound -= 2 * EVERY;
	if (total <= bound && !pw_stat_shrink_asked())
		return;
	if (total > bound && pw_segment_peek() && pw_stat_sweep(pw_segment_peek()))
		total = pw_stat_total_pages(&sharers);
	pw_stat_own(mine);
	share = bound / sharers;
	if (mine[PW_S_PAGES] > share)
		shrink(r, in,
		       pw_min_u64(mine[PW_S_PAGES] - share,
				  total > bound ? total - bound + EVERY : EVERY));
	pw_stat_publish();
}
