/*
 * window.h - a mapping of one open file description, and the witnessed read from it; where
 * the program wants that, the witnessed store into it. The rules (cite them by number):
 *
 *  W1  A window is used only between pw_hazard_enter() and pw_hazard_leave() naming it, and
 *      only after `known` has been loaded inside.
 *  W2  A read is a hit only if, after the copy, a non-zero byte was loaded from the window
 *      at its last byte or later, inside `known`: one of PW_LOOK_AHEAD bytes, or else the one
 *      that is remembered as `witness`.
 *  W3  `known` is raised only by a fresh fstat, by a thread that names the window in its
 *      slot; anyone may lower it.
 *  W4  A window ends before its description does: the last number's close retires it, then
 *      closes. If a reader is in the middle of a copy, that reader unmaps as it leaves.
 *  W6  A store counts only if, after it and a full barrier, a non-zero byte was loaded from the
 *      window behind its last byte, inside `storable`; and only into pages that a real write of
 *      ours to this description reached before. `storable` follows W1 and W3 as `known` does.
 *  W5  The memory of a struct pw_window is never given back, only used again for another,
 *      and not before no slot names it.
 */
#ifndef PW_CACHE_WINDOW_H
#define PW_CACHE_WINDOW_H

#include <assert.h>

#include "cache/copy.h"
#include "cache/hazard.h"
#include "cache/sys.h"

#define PW_LOOK_AHEAD 256u
#define PW_INLINE_CPS 24u

/* Bits of a window's private map, one byte per cache page. */
#define PW_M_TOUCHED 0x80u /* its pages may be loaded from */
#define PW_M_REF 0x40u	   /* used since the reclaimer last passed */
#define PW_M_CREDIT 0x3fu  /* untouched: how much of a touch's price reads have paid */

struct pw_window {
	/* Set before `known` is raised from 0, stay until no slot names the window. */
	unsigned char *base;
	uint8_t *
		map; /* bytes: plain atomic loads and stores, any thread; races lose hints */
	uint64_t known; /* bytes that may be served; 0: none (W3) */
	uint32_t state; /* bits below; by atomic operations, window.c only */
	uint32_t hold;	/* reads to leave to the kernel before trying again; slow path */
	/* Where map points to in a window of up to so many cache pages: then a hit needs no other
	 * cache line of the window. */
	uint8_t small_map[PW_INLINE_CPS];
	uint64_t storable; /* bytes that may be stored into; 0: none (W6) */

	/* A bit for each page, set by atomic or: was really written to through this
	 * description; and is open to stores. */
	uint16_t *written;
	uint16_t *open;

	/* Slow path only; racy words, hints all of them. */
	uint64_t id;
	/* A place near the end where a byte was not zero, plus 1; 0: none is known. A hint: it is
	 * looked at before it proves anything. And the end at which it was looked for. */
	uint64_t witness;
	uint64_t witness_end;
	uint64_t last_cp; /* where the last slow read was */
	/* What the thread's hits had read when it came there, and reads there since that were no
	 * hits: bytes. */
	uint64_t touch_bytes;
	uint64_t touch_missed;
	uint64_t trail; /* where this sequence began, or what of it was dropped ends */
	uint64_t looked_at; /* the cache page at which to look ahead again */
	uint64_t hits_mark; /* the thread's hits at the last doubt */
	uint32_t doubts;    /* since then */
	/* What a page's first touch was seen to cost, in ns, 0: unknown; and the same while
	 * there are few samples (touch.c). */
	uint32_t touch_ns;
	uint32_t touch_avg;
	uint32_t samples;
	uint32_t no_wait;	/* a deadline was met: no more sleeping in this window */
	uint64_t maplen;	/* of the mapping; whole cache pages, or a page more */
	uint64_t pages;		/* cache pages touched; atomic add */
	uint64_t clock_hand;	/* the reclaimer's; racy */
	uint32_t dice;		/* for parts of a step of credit; racy */
	struct pw_window *next; /* registry: set once */
	uint32_t registered;	/* by CAS 0 -> 1 */
	uint32_t blind;		/* 1: never read from; set with base */
	uint32_t store_hold;	/* writes to leave to the kernel before storing again */
	uint32_t store_faults;	/* how often that was because of a fault */
	uint32_t store_doubts;	/* as doubts, of stores */
	uint64_t stores_mark;	/* as hits_mark */
	/* Prices in ns, measured, 0: not yet; and what real writes have laid by (store.c). */
	uint32_t write_ns;
	uint32_t open_ns;
	uint32_t store_vain; /* real writes since a page was opened, where none paid */
	uint64_t store_credit;
	uint64_t write_next; /* where the last real write that was looked at ended */
	uint16_t small_written[2 * PW_INLINE_CPS];
} __attribute__((aligned(PW_CACHELINE)));

static_assert(offsetof(struct pw_window, storable) < PW_CACHELINE,
	      "a hit looks at one line");

/* What a window is made from. */
enum pw_window_kind {
	PW_WIN_NONE,	  /* not to be had */
	PW_WIN_READ_ONLY, /* a read-only description: a shared mapping */
	PW_WIN_READ_WRITE, /* a read-write one: private, never written to, so that seals and
			    * writeback are as without us */
	PW_WIN_STORES,	   /* a read-write one, to be stored into */
	PW_WIN_BLIND,	   /* a write-only one, to be stored into and never read from */
};

enum pw_hit {
	PW_HIT = 0,
	PW_MISS_END,	 /* not wholly inside `known` */
	PW_MISS_TOUCH,	 /* a cache page not touched yet: pw_window_touch() */
	PW_MISS_WITNESS, /* W2 not met */
	PW_MISS_FAULT,
	PW_MISS_LOST, /* stores only: some of the bytes may have been lost behind the end */
};

/*
 * After PW_MISS_TOUCH: decides, page by page, whether touching pays, and does what the page
 * words ask for. True: read again. False: let the kernel do this one; the price paid is
 * remembered. `bytes`: how many the calling thread's hits have read. May sleep (bounded,
 * page.h). fd: the description's, used for readahead only.
 * W1 applies.
 */
bool pw_window_touch(struct pw_window *w, int fd, size_t n, uint64_t off, uint64_t bytes);

/*
 * The short way to the answer that pw_window_touch() mostly gives where reads go here and there
 * and pages are dear: true if this read is the kernel's, and has paid its part of the one page it
 * lies in, which is not touched. False: nothing is done, ask there. `bytes` as there. Never
 * sleeps, no system call. W1 applies.
 */
bool pw_window_pay(struct pw_window *w, size_t n, uint64_t off, uint64_t bytes);

/*
 * Is it cheaper to touch new pages than to leave reads of n bytes in sequence to the kernel?
 * True as long as it is not known what touching costs here.
 */
bool pw_window_gains(const struct pw_window *w, size_t n);

/*
 * After any other miss: notes the doubt; `hits` is the calling thread's hit count. Many
 * doubts among few hits: the window rests, `known` is 0 for a while.
 */
void pw_window_doubt(struct pw_window *w, enum pw_hit why, uint64_t hits);

/*
 * A read at a time when none is served for a while (pw_window_doubt): true, and it is counted
 * against that. A hint; nothing of the window is used.
 */
static inline bool pw_window_read_rests(struct pw_window *w)
{
	uint32_t hold = pw_load_relaxed(&w->hold);

	if (pw_load_relaxed(&w->known) || hold <= 1 || !pw_load_relaxed(&w->base))
		return false;
	pw_store_relaxed(&w->hold, hold - 1);
	return true;
}

/*
 * After a real read that returned `got` bytes at off: raises `known` by an fstat of fd if
 * the file turns out longer, or if a rest is over. False: the file has outgrown the window
 * or is another one: retire it. W1 applies.
 */
bool pw_window_refresh(struct pw_window *w, int fd, uint64_t off, uint64_t got);

/*
 * Maps fd, whose fresh fstat is st and which pw_place_served() has passed. 0; -EBUSY: another
 * thread is at it, or the window is retired;
 * -EPERM: limits say no (finite RLIMIT_AS, mlockall, too many windows), or the kernel is not
 * as it should be; -EAGAIN: that could not be tried now (probe.h); or mmap's error.
 * same (or NULL) is asked when the mapping is made and nobody sees it yet: does fd still stand
 * for what w is for? Another thread may have closed it, and the number be another file's.
 * Call with signals blocked: a jump out of a handler would leave it half open. W1 applies.
 */
int pw_window_open(struct pw_window *w, int fd, enum pw_window_kind kind,
		   const struct stat *st,
		   bool (*same)(int fd, const struct pw_window *w));

static inline bool pw_window_is_open(const struct pw_window *w)
{
	return pw_load_relaxed(&w->base) != NULL;
}

/*
 * Takes the window out of use, from any thread. dead: its owner is done with the struct,
 * and pw_window_dead() will be called for it once. If somebody is inside, whoever leaves
 * last unmaps; else it is done on return. The caller's own slot must not name it any more.
 */
void pw_window_retire(struct pw_window *w, bool dead);

/* Unmaps a retired window if nobody is inside; one of those who try wins. */
void pw_window_finish(struct pw_window *w);

/*
 * A real write through this description put `n` > 0 bytes at off, and took so many ns (0: was
 * not timed): pages inside `storable` that it reached may be open to stores from now on, if
 * that pays. W1 applies.
 */
void pw_window_written(struct pw_window *w, size_t n, uint64_t off, int64_t took);

/*
 * A real write that the window was not told of. True: stores rest; it has been counted against
 * that. W1 applies.
 */
bool pw_window_store_rests(struct pw_window *w);

/*
 * After PW_MISS_TOUCH of a store: true if all its pages are open to stores, and counted again
 * if the reclaimer had them: store again. W1 applies.
 */
bool pw_window_store_touch(struct pw_window *w, size_t n, uint64_t off);

/*
 * After any other miss of a store; `stores` is the calling thread's count of them. After a
 * fault, or where witnesses are rare, some real writes have to go well first.
 */
void pw_window_store_doubt(struct pw_window *w, enum pw_hit why, uint64_t stores);

/*
 * The law of doubt, for reads and for stores: where many go without a witness and few are served
 * in between (`served`: the calling thread's count of those; *mark: at the last doubt), so many
 * are to be left to the kernel; 0: none yet. The engine's own.
 */
uint32_t pw_window_rest(uint32_t *doubts, uint64_t *mark, uint64_t served);

/* Cache page cp is touched, by loads or stores, and counted if it was not. The engine's own. */
void pw_window_map(struct pw_window *w, uint64_t cp);

/*
 * Where there are only zeros after a read or a store, one byte near the end of the file proves
 * as much: it is where a witness is looked for last. NULL: none in [from, end). W1 applies.
 */
static inline const unsigned char *pw_window_far_witness(const struct pw_window *w,
							 uint64_t from, uint64_t end)
{
	uint64_t at = pw_load_relaxed(&w->witness);

	return at > from && at <= end ? w->base + at - 1 : NULL;
}

/*
 * After PW_MISS_WITNESS: looks for such a byte, in the last page of what is known, if that is
 * in memory. True: there is one, beyond off + n; try again. W1 applies.
 */
bool pw_window_find_witness(struct pw_window *w, size_t n, uint64_t off);

/* Ends what pw_hazard_enter() began. */
static inline void pw_window_leave(struct pw_hazard *s, struct pw_window *w);

/* Called, from any thread, when a dead struct is free for reuse. Set before first use. */
extern void (*pw_window_dead)(struct pw_window *w);

/* No more windows in this process from now on (RLIMIT_AS, mlockall, ids...): retires all. */
void pw_windows_forbid(void);

/* As forbid, but new ones may follow. */
void pw_windows_drop(void);

/* In a fork child, after pw_readers_reset() and pw_stat_fork_child(): the mappings are not
 * there (MADV_DONTFORK). */
void pw_windows_fork_child(void);

/* Cache pages touched since the process began; only grows. For reclaim.c. */
extern uint64_t pw_touched_ever;

/*
 * How much of what the reclaimer met lately, on its way to what it dropped, was in use: 0 to 255,
 * a moving average. Where all is in use, a page that comes in drives out one as good as itself.
 * Any thread of this process, plain loads and stores: a hint.
 */
extern uint32_t pw_crowded;

/* All structs that ever were windows; follow ->next. */
struct pw_window *pw_windows(void);

#define PW_WIN_OPENING 1u
#define PW_WIN_LIVE 2u
#define PW_WIN_DYING 4u	  /* to be unmapped when nobody is inside */
#define PW_WIN_CLOSING 8u /* being unmapped, by one thread */
#define PW_WIN_DEAD 16u	  /* the owner is done with the struct */
#define PW_WIN_BITS 31u
/* Above the bits: counted up each time they are all cleared, so that a state from an earlier
 * life is not taken for the same. */
#define PW_WIN_GENERATION 32u

static inline void pw_window_leave(struct pw_hazard *s, struct pw_window *w)
{
	pw_hazard_leave(s);
	if (pw_unlikely(pw_load_acquire(&w->state) & (PW_WIN_DYING | PW_WIN_DEAD)))
		pw_window_finish(w);
}

#endif
