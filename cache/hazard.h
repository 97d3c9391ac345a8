/*
 * hazard.h - who is looking at what. A thread that is about to use a window says so in a
 * slot of its own record; nobody unmaps a window, or reuses its memory, that is named in
 * a slot. Records are never freed: one may be read long after its thread has ended.
 *
 * The race, and why it is closed. Reader: (1) slot = w, (2) fence, (3) look again whether
 * w may still be used. Retirer: (4) take w's usability away, (5) fence, (6) look through
 * the slots. If (6) misses the slot, then (1) came after (6) in the one order that the
 * two fences give, so (3) comes after (4) and sees it: the reader lets go. On leaving:
 * (7) slot = NULL, (8) fence, (9) retired? and the retirer's (4)..(6): at least one of
 * the two sees the other, so somebody finishes w; pw_window_finish() lets one win.
 *
 * In a process with one thread the only other party is a signal handler in that thread,
 * for which program order is enough: no fence.
 */
#ifndef PW_CACHE_HAZARD_H
#define PW_CACHE_HAZARD_H

#include "cache/atomic.h"

#define PW_HAZARD_DEPTH 4 /* calls nested by signal handlers in one thread */

struct pw_hazard {
	/* Written by the owning thread only; read by whoever retires something. */
	const void *obj;
	/* The frame that filled the slot; the owning thread alone reads and writes it. */
	uintptr_t frame;
	/* For the user of the slot: what whoever empties it after a jump or at the thread's
	 * end has to undo. The owning thread's alone. */
	uintptr_t note;
};

/* One per thread, from claim to release. */
struct pw_reader {
	struct pw_hazard slot[PW_HAZARD_DEPTH];

	/* Counters: by pw_tally() in the owning thread only, read by anyone, reset by a fork
	 * child alone. */
	uint64_t hits;
	uint64_t hit_bytes;
	uint64_t seeks;
	uint64_t stores;

	struct pw_reader *next; /* set once, before the record is published */
	uint32_t taken;		/* 0 or 1, by CAS */
} __attribute__((aligned(PW_CACHELINE)));

/* All records, those without a thread included. Push only. */
struct pw_reader *pw_readers(void);

/* A record for the calling thread, or NULL if there is no memory for one. */
struct pw_reader *pw_reader_claim(void);

/* The thread ends, or the record was its fork parent's: slots are cleared. */
void pw_reader_release(struct pw_reader *r);

/* In a fork child only its own thread lives on: all records but mine are released. */
void pw_readers_reset(struct pw_reader *mine);

/* Is obj named in any slot? Call after a full fence (step 5 above). */
bool pw_hazard_held(const void *obj);

/* An empty slot other than the first, for a call that interrupted another of the same
 * thread, or NULL: all in use. */
struct pw_hazard *pw_hazard_nested(struct pw_reader *r);

/* Is any slot of the calling thread's record filled? */
static inline bool pw_reader_busy(const struct pw_reader *r)
{
	bool busy = false;

	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		busy |= pw_load_relaxed(&r->slot[i].obj) != NULL;
	return busy;
}

/* Where the caller's stack is; no frame pointer is forced on it. */
static inline uintptr_t pw_stack_now(void)
{
	uintptr_t sp;

	__asm__("movq %%rsp, %0" : "=r"(sp));
	return sp;
}

/*
 * Steps 1 and 2, in a slot that was found free. `alone` is pw_single_threaded(), known at
 * compile time on the hit path.
 */
static inline void pw_hazard_fill(struct pw_hazard *s, const void *obj, bool alone)
{
	pw_store_relaxed(&s->frame, pw_stack_now());
	if (alone) {
		pw_store_relaxed(&s->obj, obj);
		pw_compiler_barrier();
	} else {
		(void)pw_xchg_seq(&s->obj, obj); /* pairs with the retirer's fence */
	}
}

/* Steps 7 and 8. */
static inline void pw_hazard_clear(struct pw_hazard *s, bool alone)
{
	if (alone) {
		pw_compiler_barrier();
		pw_store_relaxed(&s->obj, NULL);
		pw_compiler_barrier();
	} else {
		(void)pw_xchg_seq(&s->obj, NULL); /* pairs with the retirer's fence */
	}
	/* A handler that fills and clears this slot between our two stores in filling it takes
	 * our frame with it. What it leaves must not look given up to a later jump. */
	pw_store_relaxed(&s->frame, UINTPTR_MAX);
}

/*
 * Steps 1 and 2. NULL if the thread is nested too deep: go to the kernel. The caller then
 * does step 3 itself.
 */
static inline struct pw_hazard *pw_hazard_enter(struct pw_reader *r, const void *obj)
{
	struct pw_hazard *s = &r->slot[0];

	if (pw_unlikely(pw_load_relaxed(&s->obj) != NULL)) {
		s = pw_hazard_nested(r);
		if (!s)
			return NULL;
	}
	pw_hazard_fill(s, obj, pw_single_threaded());
	return s;
}

static inline void pw_hazard_leave(struct pw_hazard *s)
{
	pw_hazard_clear(s, pw_single_threaded());
}

#endif
