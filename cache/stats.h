/*
 * stats.h - counting without a lock. Each process has a slot in the segment that only it
 * writes; totals are sums over the slots, maybe a moment old. A process without a slot
 * (no segment, or all taken) counts privately.
 */
#ifndef PW_CACHE_STATS_H
#define PW_CACHE_STATS_H

#include "cache/segment.h"

/* In the order of struct pw_shm_slot's counters, from `pages` on. */
enum pw_stat {
	PW_S_PAGES,   /* cache pages mapped now */
	PW_S_WINDOWS, /* windows now */
	PW_S_HITS,
	PW_S_HIT_BYTES,
	PW_S_SEEKS,
	PW_S_FILLS,    /* cache pages whose word we locked, and brought in or found in */
	PW_S_WAITS,    /* sleeps on a page word */
	PW_S_TIMEOUTS, /* sleeps that ended at the deadline */
	PW_S_RECLAIMS, /* cache pages given back */
	PW_S_DOUBTS,   /* reads that met no witness, a fault, or the end */
	PW_S_MAPPED,   /* windows made in all */
	PW_S_STORES,   /* writes that were stores into a window */
	PW_S_COUNT
};

extern const char *const pw_stat_name[PW_S_COUNT];

/* Adds to this process's own counter (negative: takes away). Any thread, any time. */
void pw_stat_add(enum pw_stat what, int64_t n);

/* This process's counters, those of its threads' records included. */
void pw_stat_own(uint64_t out[PW_S_COUNT]);

/*
 * Slow path: takes a slot if there is none yet, and copies the counters there. Cheap
 * enough for once per system call saved a thousand times; not for the hit path.
 */
void pw_stat_publish(void);

/*
 * All processes together: cache pages mapped now, and how many processes share them.
 * Counts a process that was killed until a sweep finds its slot.
 */
uint64_t pw_stat_total_pages(uint32_t *processes);

/* Frees the slots of processes that are gone. Returns how many. */
unsigned pw_stat_sweep(const struct pw_segment *s);

/*
 * Slot number `at`, below PW_SLOTS, is `owner`'s (0: nobody's), and that process is gone: what
 * it counted goes to the past, as far as it had come to counting, and the slot is free. False:
 * it is another's meanwhile.
 */
bool pw_stat_free(const struct pw_segment *s, uint32_t at, uint32_t owner);

/* What one process may ask of another: a hint in its slot. */
#define PW_SHRINK_FAIR 1u /* give back a little, down to the fair share */
#define PW_SHRINK_ALL 2u  /* give up all windows that are there now */

/* What this process was asked to do, or 0; once. What means nothing is taken for FAIR. */
uint32_t pw_stat_shrink_asked(void);

/* Is it that? It stays asked. */
bool pw_stat_shrink_is(uint32_t what);

/*
 * The process ends, or is about to become another by exec: what it counted since it last
 * handed in goes to the segment's past, and the slot is free again. for_good: it will not
 * take another one.
 */
void pw_stat_leave(bool for_good);

/* In a fork child: the slot and the counts are the parent's; begin anew. */
void pw_stat_fork_child(void);

/* In the order above, from one slot. */
static inline uint64_t *pw_stat_of(struct pw_shm_slot *s)
{
	return &s->pages;
}

#endif
