/* reclaim.c - see reclaim.h. */
#include "cache/reclaim.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "cache/points.h"
#include "cache/stats.h"
#include "cache/window.h"

/* Every so many touched cache pages the counts are published and the total is looked at:
 * the total may be over by this much per process, 2 MiB. */
#define EVERY 32u

static uint64_t bound_bytes;
static uint64_t next_look; /* value of `polls` at which to look again */
static uint64_t polls;	   /* a poll counts for the pages touched before it, or for 1 */
static uint64_t counted;   /* value of pw_touched_ever at the last poll */

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
 * One pass of the clock over one window: a page used since the last pass keeps its place
 * and loses its bit; one that was not is dropped. Runs of cold pages go in one call. A
 * reader that is in the page at this moment faults it back in: same bytes.
 */
static uint64_t sweep_window(struct pw_window *w, uint64_t want)
{
	uint64_t cps = w->maplen >> PW_CP_SHIFT;
	uint64_t hand = pw_load_relaxed(&w->clock_hand) % cps;
	uint64_t dropped = 0;

	for (uint64_t i = 0; i < cps && dropped < want; i++, hand = (hand + 1) % cps) {
		uint64_t run = 0;

		while (hand + run < cps && i + run < cps && dropped + run < want) {
			uint8_t m = pw_load_relaxed(&w->map[hand + run]);

			if (!(m & PW_M_TOUCHED))
				break;
			if (m & PW_M_REF) {
				/* After a run it is looked at once more, which must not be
				 * without its bit yet. */
				if (!run)
					pw_cas(&w->map[hand], &m, PW_M_TOUCHED);
				break;
			}
			if (!pw_cas(&w->map[hand + run], &m, 0))
				break; /* used just now, or dropped by another thread */
			run++;
		}
		if (!run)
			continue;
		PW_POINT("reclaim.scan");
		pw_sys->madvise(w->base + (hand << PW_CP_SHIFT), run << PW_CP_SHIFT,
				MADV_DONTNEED);
		dropped += run;
		hand += run - 1;
		i += run - 1;
	}
	pw_store_relaxed(&w->clock_hand, hand);
	pw_add_relaxed(&w->pages, -dropped);
	return dropped;
}

/* Drops up to `want` cache pages of this process, cold ones first: two rounds, the first
 * takes the reference bits away from what is then dropped in the second. */
static uint64_t shrink(struct pw_reader *r, uint64_t want)
{
	uint64_t dropped = 0;

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
				dropped += sweep_window(w, want - dropped);
			pw_window_leave(s, w);
		}
	}
out:
	pw_stat_add(PW_S_PAGES, -(int64_t)dropped);
	pw_stat_add(PW_S_RECLAIMS, (int64_t)dropped);
	return dropped;
}

void pw_reclaim_poll(struct pw_reader *r)
{
	uint64_t mine[PW_S_COUNT];
	uint64_t total;
	uint64_t bound;
	uint64_t share;
	uint32_t sharers;
	uint64_t touched;

	touched = pw_load_relaxed(&pw_touched_ever);
	touched -= pw_xchg_acq_rel(&counted, touched);
	if (pw_likely(pw_add_relaxed(&polls, touched ? touched : 1) <
		      pw_load_relaxed(&next_look)))
		return;
	pw_store_relaxed(&next_look, pw_load_relaxed(&polls) + EVERY);
	pw_stat_publish();
	total = pw_stat_total_pages(&sharers);
	bound = pw_reclaim_bound() >> PW_CP_SHIFT;
	if (total <= bound && !pw_stat_shrink_asked())
		return;
	if (total > bound && pw_segment_peek() && pw_stat_sweep(pw_segment_peek()))
		total = pw_stat_total_pages(&sharers);
	pw_stat_own(mine);
	share = bound / sharers;
	if (mine[PW_S_PAGES] > share)
		shrink(r, pw_min_u64(mine[PW_S_PAGES] - share,
				     total > bound ? total - bound + EVERY : EVERY));
	pw_stat_publish();
}
