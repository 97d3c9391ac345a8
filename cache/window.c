/* window.c - the life of a window: open, refresh, retire, finish. See window.h. */
#include "cache/window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "cache/costs.h"
#include "cache/file.h"
#include "cache/points.h"
#include "cache/probe.h"
#include "cache/reopen.h"
#include "cache/room.h"
#include "cache/stats.h"

#define COLOURED (4 * PW_PAGE) /* files of so many bytes; see map_file() */

PW_HOT_PAGE void (*pw_window_dead)(struct pw_window *w);

static PW_HOT_PAGE struct pw_window *registry; /* push only */
static PW_HOT_PAGE uint32_t forbidden;	       /* 0 or 1; never goes back */
static PW_HOT_PAGE uint32_t limit_checked;

struct pw_window *pw_windows(void)
{
	return pw_load_acquire(&registry); /* pairs with the push */
}

static void enroll(struct pw_window *w)
{
	struct pw_window *seen;
	uint32_t no = 0;

	if (pw_load_relaxed(&w->registered) || !pw_cas(&w->registered, &no, 1))
		return;
	seen = pw_load_acquire(&registry);
	do
		w->next = seen;
	while (!pw_cas(&registry, &seen, w));
}

/*
 * Under a limit on address space our mappings could be the one too many. Asked once; later
 * changes come through setrlimit and prlimit, which forbid windows before they happen.
 */
static bool allowed(void)
{
	uint64_t cur;

	if (pw_load_relaxed(&forbidden))
		return false;
	if (!pw_load_relaxed(&limit_checked)) {
		if (pw_sys->getrlimit(RLIMIT_AS, &cur) || cur != RLIM64_INFINITY) {
			pw_store_relaxed(&forbidden, 1);
			if (pw_note)
				pw_note("no windows: address space is limited",
					"RLIMIT_AS", 0);
			return false;
		}
		pw_store_relaxed(&limit_checked, 1);
	}
	return true;
}

/* The map's bytes, and behind them the bits of what was written, if need be. */
static size_t map_bytes(size_t cps, bool stores)
{
	return pw_round_up(cps, PW_PAGE) +
	       (stores ? pw_round_up(2 * cps * sizeof(uint16_t), PW_PAGE) : 0);
}

static bool map_make(struct pw_window *w, size_t cps, bool stores)
{
	long at;

	if (cps <= PW_INLINE_CPS) {
		memset(w->small_map, 0, sizeof(w->small_map));
		memset(w->small_written, 0, sizeof(w->small_written));
		w->map = w->small_map;
		w->written = stores ? w->small_written : NULL;
		w->open = w->small_written + PW_INLINE_CPS;
		return true;
	}
	at = pw_sys->mmap(NULL, map_bytes(cps, stores), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pw_is_err(at))
		return false;
	w->map = (uint8_t *)at;
	w->written = stores ? (uint16_t *)(w->map + pw_round_up(cps, PW_PAGE)) : NULL;
	w->open = w->written ? w->written + cps : NULL;
	return true;
}

static void map_free(struct pw_window *w)
{
	if (w->map && w->map != w->small_map)
		pw_sys->munmap(w->map,
			       map_bytes(w->maplen >> PW_CP_SHIFT, w->written != NULL));
	w->map = NULL;
	w->written = NULL;
	w->open = NULL;
}

/* Both ends, under W3: what is known to be there, as far as the window is for that. */
static void set_ends(struct pw_window *w, uint64_t size)
{
	if (!pw_load_relaxed(&w->blind))
		pw_store_release(&w->known, size);
	if (w->written && !pw_load_relaxed(&w->store_hold))
		pw_store_release(&w->storable, size);
}

static void no_ends(struct pw_window *w)
{
	pw_store_release(&w->known, 0);
	pw_store_release(&w->storable, 0);
}

static bool reaches(const struct pw_window *w, uint64_t end)
{
	if (w->written && !pw_load_relaxed(&w->store_hold) &&
	    end > pw_load_relaxed(&w->storable))
		return false;
	return pw_load_relaxed(&w->blind) || end <= pw_load_relaxed(&w->known);
}

static long map_as(int fd, size_t len, enum pw_window_kind kind)
{
	int prot = PROT_READ | (kind >= PW_WIN_STORES ? PROT_WRITE : 0);
	int flags = kind == PW_WIN_READ_WRITE ? MAP_PRIVATE : MAP_SHARED;

	return kind == PW_WIN_BLIND
		       ? pw_reopen_map(fd, len)
		       : pw_sys->mmap(NULL, len, prot, flags | MAP_NORESERVE, fd, 0);
}

/* What the map speaks for. */
static uint64_t room(const struct pw_window *w)
{
	return w->maplen & ~(PW_CP - 1);
}

static int map_file(struct pw_window *w, int fd, enum pw_window_kind kind,
		    const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	/* Room to grow into without mapping anew. Pages past the end are not there until
	 * they are in the file: all this costs is address space. */
	uint64_t len = pw_round_up(size + size / 4 + PW_CP, PW_CP);
	long at;

	/* Of small files there may be many, mapped one beside the other: at distances of whole
	 * cache pages theirs would fall into few of the TLB's sets, where they drive each other
	 * out (a hit in one of 1,024 took 42 ns, with this 31). Not where the block that the
	 * kernel brings in around a fault would often end inside the file: two faults for one. */
	if (size <= COLOURED)
		len += PW_PAGE;

	at = map_as(fd, len, kind);
	if (pw_is_err(at) && kind == PW_WIN_STORES) {
		kind = PW_WIN_READ_WRITE; /* a seal, or the like: no stores */
		at = map_as(fd, len, kind);
	}
	if (pw_is_err(at))
		return (int)at;
	if (pw_sys->madvise((void *)at, len, MADV_DONTFORK)) {
		pw_sys->munmap((void *)at, len);
		return -EPERM;
	}
	/* Without this a fault on a cold page reads a whole readahead window around it,
	 * megabytes where a real read of 512 bytes would have read a page. Runs are asked
	 * for by ourselves (touch.c). One more system call, so not for small files. */
	if (len > 16 * PW_CP)
		pw_sys->madvise((void *)at, len, MADV_RANDOM);
	w->maplen = len;
	if (!map_make(w, len >> PW_CP_SHIFT, kind >= PW_WIN_STORES)) {
		pw_sys->munmap((void *)at, len);
		return -ENOMEM;
	}
	pw_store_relaxed(&w->blind, kind == PW_WIN_BLIND);
	pw_store_relaxed(&w->base, (unsigned char *)at);
	return 0;
}

static uint32_t touch_known(uint64_t id)
{
	uint64_t saved;
	uint32_t ns;

	pw_segment_enter_blocked(&saved);
	ns = pw_file_touch(id);
	pw_segment_leave_blocked(&saved);
	return ns;
}

static uint32_t cleared(uint32_t state)
{
	return (state & ~PW_WIN_BITS) + PW_WIN_GENERATION;
}

static void unmap(struct pw_window *w, unsigned char *base)
{
	uint64_t pages = pw_load_relaxed(&w->pages);
	bool telling =
		pages && pages <= 2; /* the pages of a larger one are paid for as such */
	int64_t began = telling ? pw_sys->now_ns() : 0;

	pw_store_relaxed(&w->base, NULL);
	pw_sys->munmap(base, w->maplen);
	if (telling)
		pw_costs_window_left(pw_sys->now_ns() - began);
	map_free(w);
}

int pw_window_open(struct pw_window *w, int fd, enum pw_window_kind kind,
		   const struct stat *st, bool (*same)(int fd, const struct pw_window *w))
{
	uint32_t seen = pw_load_relaxed(&w->state) & ~PW_WIN_BITS;
	uint64_t windows[PW_S_COUNT];
	int err;

	if (!allowed())
		return -EPERM;
	err = pw_probe_kernel();
	if (err)
		return err;
	pw_stat_own(windows);
	err = pw_room_for_window(windows[PW_S_WINDOWS]);
	if (err)
		return err;
	if (!pw_cas(&w->state, &seen, seen | PW_WIN_OPENING))
		return -EBUSY;
	pw_store_relaxed(&w->id, pw_file_id(st));
	pw_store_relaxed(&w->last_cp, UINT64_MAX - 1);
	pw_store_relaxed(&w->trail, 0);
	pw_store_relaxed(&w->touch_bytes, 0);
	pw_store_relaxed(&w->touch_missed, 0);
	pw_store_relaxed(&w->looked_at, 0);
	pw_store_relaxed(&w->hits_mark, 0);
	pw_store_relaxed(&w->doubts, 0);
	pw_store_relaxed(&w->no_wait, 0);
	pw_store_relaxed(&w->hold, 0);
	pw_store_relaxed(&w->store_hold, 0);
	pw_store_relaxed(&w->store_faults, 0);
	pw_store_relaxed(&w->store_doubts, 0);
	pw_store_relaxed(&w->stores_mark, 0);
	pw_store_relaxed(&w->write_ns, 0);
	pw_store_relaxed(&w->open_ns, 0);
	pw_store_relaxed(&w->store_vain, 0);
	pw_store_relaxed(&w->store_credit, 0);
	pw_store_relaxed(&w->write_next, 0);
	pw_store_relaxed(&w->witness, 0);
	pw_store_relaxed(&w->witness_end, 0);
	pw_store_relaxed(&w->touch_ns, touch_known(pw_load_relaxed(&w->id)));
	pw_store_relaxed(&w->samples, 0);
	pw_store_relaxed(&w->pages, 0);
	pw_store_relaxed(&w->clock_hand, 0);
	err = map_file(w, fd, kind, st);
	if (!err && same && !same(fd, w)) {
		unmap(w, w->base);
		err = -EBUSY;
	}
	if (!err) {
		enroll(w);
		pw_stat_add(PW_S_WINDOWS, 1);
		pw_stat_add(PW_S_MAPPED, 1);
		/* Before LIVE: a retirer sets DYING first and `known` to 0 after, so either
		 * it sees LIVE and its 0 comes last, or we see DYING below. */
		set_ends(w, (uint64_t)st->st_size);
	}
	seen = pw_load_relaxed(&w->state);
	while (!pw_cas(&w->state, &seen,
		       (seen & ~PW_WIN_OPENING) | (err ? 0 : PW_WIN_LIVE)))
		;
	if (!err &&
	    ((seen & (PW_WIN_DYING | PW_WIN_DEAD)) || pw_load_relaxed(&forbidden))) {
		/* Retired while opening: our own leave will unmap it. */
		no_ends(w);
		pw_or_acq_rel(&w->state, PW_WIN_DYING);
		err = -EBUSY;
	}
	return err;
}

static void dead(struct pw_window *w)
{
	if (pw_window_dead)
		pw_window_dead(w);
}

/*
 * CLOSING is claimed by one of those who come here. Only then does the look through the
 * slots count: between a look before it and the claim the window may have been finished,
 * opened and retired again, with somebody inside; and whoever set DYING may not have come to
 * setting `known` yet, so it is done here, before the look.
 */
static bool claim(struct pw_window *w)
{
	uint32_t seen;

	for (;;) {
		seen = pw_load_acquire(&w->state);
		if (!(seen & (PW_WIN_DYING | PW_WIN_DEAD)) ||
		    (seen & (PW_WIN_OPENING | PW_WIN_CLOSING)) || pw_hazard_held(w))
			return false;
		if (!pw_cas(&w->state, &seen,
			    (seen & ~PW_WIN_BITS) | PW_WIN_CLOSING |
				    (seen & PW_WIN_DEAD)))
			return false;
		no_ends(w);
		pw_fence_seq(); /* hazard.h, step 5 */
		if (!pw_hazard_held(w))
			return true;
		pw_or_acq_rel(&w->state,
			      seen & (PW_WIN_LIVE | PW_WIN_DYING | PW_WIN_DEAD));
		pw_and_acq_rel(&w->state, ~PW_WIN_CLOSING);
		pw_fence_seq(); /* who left meanwhile saw CLOSING, and relied on us */
	}
}

/* Found retired and mapped, with nobody inside. */
static __attribute__((noinline)) void finish_mapped(struct pw_window *w)
{
	unsigned char *base;
	uint64_t saved;
	uint32_t seen;

	/* A handler that came in the middle and jumped away would leave it closing for ever. */
	pw_sys->block_signals(&saved);
	if (claim(w)) {
		PW_POINT("window.closing");
		/* Nobody is inside, and nobody comes in: `known` is 0 (W1). */
		base = w->base;
		if (base) {
			unmap(w, base);
			pw_stat_add(PW_S_WINDOWS, -1);
			pw_stat_add(PW_S_PAGES, -(int64_t)pw_load_relaxed(&w->pages));
		}
		/* Not dead at once: who came in while it was being unmapped may still be
		 * inside, and then it falls to him. */
		seen = pw_load_relaxed(&w->state);
		while (!pw_cas(&w->state, &seen, cleared(seen) | (seen & PW_WIN_DEAD)))
			;
		pw_sys->restore_signals(&saved);
		if (seen & PW_WIN_DEAD)
			pw_window_finish(w);
		return;
	}
	pw_sys->restore_signals(&saved);
}

PW_CODE_PAGE(number) void pw_window_finish(struct pw_window *w)
{
	uint32_t seen = pw_load_acquire(&w->state);

	if (!(seen & (PW_WIN_DYING | PW_WIN_DEAD)) ||
	    (seen & (PW_WIN_OPENING | PW_WIN_CLOSING)) || pw_hazard_held(w))
		return;
	if (seen & PW_WIN_LIVE)
		finish_mapped(w);
	else if (pw_cas(&w->state, &seen, cleared(seen)) && (seen & PW_WIN_DEAD))
		dead(w); /* nothing was mapped: the usual close */
}

PW_CODE_PAGE(number) void pw_window_retire(struct pw_window *w, bool dead)
{
	pw_or_acq_rel(&w->state, PW_WIN_DYING | (dead ? PW_WIN_DEAD : 0));
	no_ends(w);
	if (pw_single_threaded())
		pw_compiler_barrier();
	else
		pw_fence_seq(); /* hazard.h, step 5 */
	pw_window_finish(w);
}

uint32_t pw_window_rest(uint32_t *doubts, uint64_t *mark, uint64_t served)
{
	uint32_t now = pw_load_relaxed(doubts);
	uint64_t then = pw_load_relaxed(mark);

	/* Threads have counts of their own: only the largest tells of those in between. */
	if (served > then) {
		if (served - then > 32ULL * now)
			now = 0;
		pw_store_relaxed(mark, served);
	}
	pw_store_relaxed(doubts, ++now);
	return now < 8 ? 0 : 1u << pw_min_u64(now - 2, 12);
}

void pw_window_doubt(struct pw_window *w, enum pw_hit why, uint64_t hits)
{
	uint32_t reads;

	if (why != PW_MISS_FAULT && why != PW_MISS_WITNESS)
		return;
	pw_stat_add(PW_S_DOUBTS, 1);
	if (why == PW_MISS_FAULT) {
		/* Shorter than we thought, or unreadable. The next real read will tell. */
		pw_store_release(&w->known, 0);
		pw_store_relaxed(&w->hold, 4);
		return;
	}
	reads = pw_window_rest(&w->doubts, &w->hits_mark, hits);
	if (!reads)
		return;
	/* A place without witnesses: leave it alone for longer and longer. */
	pw_store_release(&w->known, 0);
	pw_store_relaxed(&w->hold, reads);
}

bool pw_window_find_witness(struct pw_window *w, size_t n, uint64_t off)
{
	uint64_t end = pw_load_acquire(&w->known); /* W1 */
	uint64_t at = pw_load_relaxed(&w->witness);
	const unsigned char *q;
	unsigned char in = 0;
	uint64_t page;

	if (!end)
		end = pw_load_acquire(&w->storable);
	if (n >= end || off >= end - n)
		return false;
	/* Once for each size; and again when the one that was found is a zero by now. */
	if (pw_load_relaxed(&w->witness_end) == end &&
	    (!at || at > end || pw_copy_look_ahead(w->base + at - 1, 1)))
		return false;
	page = (end - 1) & ~(uint64_t)(PW_PAGE - 1);
	if (pw_sys->mincore(w->base + page, 1, &in) || !(in & 1))
		return false; /* no reading from the disk for this */
	q = pw_copy_look_ahead(w->base + page, end - page);
	pw_store_relaxed(&w->witness, q ? (uint64_t)(q - w->base) + 1 : 0);
	pw_store_relaxed(&w->witness_end, end);
	return q && (uint64_t)(q - w->base) >= off + n;
}

bool pw_window_refresh(struct pw_window *w, int fd, uint64_t off, uint64_t got)
{
	uint64_t known = pw_load_relaxed(&w->known);
	uint32_t hold = pw_load_relaxed(&w->hold);
	struct stat st;

	/* Found alive by one who is inside, it stays mapped while he is. Else it may be going
	 * or gone: `known` must not be raised, and id and maplen may be in the making. */
	if ((pw_load_acquire(&w->state) &
	     (PW_WIN_LIVE | PW_WIN_DYING | PW_WIN_DEAD | PW_WIN_CLOSING)) != PW_WIN_LIVE)
		return true;
	if (!known && hold && !pw_load_relaxed(&w->blind)) {
		pw_store_relaxed(&w->hold, hold - 1);
		return true;
	}
	if (reaches(w, off + got))
		return true;
	/* The number may have been closed and reused behind our back: look whose it is. */
	if (pw_sys->fstat(fd, &st) || !S_ISREG(st.st_mode) || pw_file_id(&st) != w->id)
		return false;
	if ((uint64_t)st.st_size > room(w))
		return false;
	set_ends(w, (uint64_t)st.st_size); /* W3 */
	/* A retirer that came between set DYING, then `known` to 0, then looked and found
	 * us inside: it is for us to undo the raise before we leave. */
	pw_fence_seq();
	if (pw_load_acquire(&w->state) & (PW_WIN_DYING | PW_WIN_DEAD))
		no_ends(w);
	return true;
}

void pw_windows_drop(void)
{
	for (struct pw_window *w = pw_windows(); w; w = w->next)
		if (pw_window_is_open(w))
			pw_window_retire(w, false);
}

void pw_windows_forbid(void)
{
	pw_store_release(&forbidden, 1);
	pw_fence_seq(); /* an opener either sees it or is in the registry below */
	pw_windows_drop();
}

/*
 * The child of a fork made by a signal handler comes back into the call that the handler
 * interrupted, which may be in the middle of a copy from a mapping that is not there any
 * more. Zero pages in its place: no witness, so the kernel is asked. They go when that call
 * leaves.
 */
static bool stand_in(struct pw_window *w)
{
	return !pw_is_err(pw_sys->mmap(
		w->base, w->maplen, PROT_READ | (w->written ? PROT_WRITE : 0),
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

void pw_windows_fork_child(void)
{
	for (struct pw_window *w = pw_windows(); w; w = w->next) {
		uint32_t was = w->state & PW_WIN_DEAD;

		w->known = 0;
		w->storable = 0;
		w->pages = 0;
		if (w->base && pw_hazard_held(w) && stand_in(w)) {
			w->state = cleared(w->state) | was | PW_WIN_LIVE | PW_WIN_DYING;
			pw_stat_add(PW_S_WINDOWS, 1);
			continue;
		}
		w->base = NULL;
		map_free(w);
		w->state = cleared(w->state);
		if (was)
			dead(w);
	}
}
