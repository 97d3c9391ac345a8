/* window.c - the life of a window: open, refresh, retire, finish. See window.h. */
#include "cache/window.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "cache/file.h"
#include "cache/points.h"
#include "cache/probe.h"
#include "cache/room.h"
#include "cache/stats.h"

void (*pw_window_dead)(struct pw_window *w);

static struct pw_window *registry; /* push only */
static uint32_t forbidden;	   /* 0 or 1; never goes back */
static uint32_t limit_checked;

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

static uint8_t *map_make(struct pw_window *w, size_t cps)
{
	long at;

	if (cps <= PW_INLINE_CPS) {
		memset(w->small_map, 0, sizeof(w->small_map));
		return w->small_map;
	}
	at = pw_sys->mmap(NULL, pw_round_up(cps, PW_PAGE), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return pw_is_err(at) ? NULL : (uint8_t *)at;
}

static void map_free(struct pw_window *w)
{
	if (w->map && w->map != w->small_map)
		pw_sys->munmap(w->map, pw_round_up(w->maplen >> PW_CP_SHIFT, PW_PAGE));
	w->map = NULL;
}

static int map_file(struct pw_window *w, int fd, bool writable, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	/* Room to grow into without mapping anew. Pages past the end are not there until
	 * they are in the file: all this costs is address space. */
	uint64_t len = pw_round_up(size + size / 4 + PW_CP, PW_CP);
	long at;

	at = pw_sys->mmap(NULL, len, PROT_READ,
			  (writable ? MAP_PRIVATE : MAP_SHARED) | MAP_NORESERVE, fd, 0);
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
	w->map = map_make(w, len >> PW_CP_SHIFT);
	if (!w->map) {
		pw_sys->munmap((void *)at, len);
		return -ENOMEM;
	}
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
	pw_store_relaxed(&w->base, NULL);
	pw_sys->munmap(base, w->maplen);
	map_free(w);
}

int pw_window_open(struct pw_window *w, int fd, bool writable, const struct stat *st,
		   bool (*same)(int fd, const struct pw_window *w))
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
	pw_store_relaxed(&w->looked_at, 0);
	pw_store_relaxed(&w->hits_mark, 0);
	pw_store_relaxed(&w->doubts, 0);
	pw_store_relaxed(&w->no_wait, 0);
	pw_store_relaxed(&w->hold, 0);
	pw_store_relaxed(&w->touch_ns, touch_known(pw_load_relaxed(&w->id)));
	pw_store_relaxed(&w->samples, 0);
	pw_store_relaxed(&w->pages, 0);
	pw_store_relaxed(&w->clock_hand, 0);
	err = map_file(w, fd, writable, st);
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
		pw_store_release(&w->known, (uint64_t)st->st_size);
	}
	seen = pw_load_relaxed(&w->state);
	while (!pw_cas(&w->state, &seen,
		       (seen & ~PW_WIN_OPENING) | (err ? 0 : PW_WIN_LIVE)))
		;
	if (!err &&
	    ((seen & (PW_WIN_DYING | PW_WIN_DEAD)) || pw_load_relaxed(&forbidden))) {
		/* Retired while opening: our own leave will unmap it. */
		pw_store_release(&w->known, 0);
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
		pw_store_release(&w->known, 0);
		pw_fence_seq(); /* hazard.h, step 5 */
		if (!pw_hazard_held(w))
			return true;
		pw_or_acq_rel(&w->state,
			      seen & (PW_WIN_LIVE | PW_WIN_DYING | PW_WIN_DEAD));
		pw_and_acq_rel(&w->state, ~PW_WIN_CLOSING);
		pw_fence_seq(); /* who left meanwhile saw CLOSING, and relied on us */
	}
}

void pw_window_finish(struct pw_window *w)
{
	uint32_t seen = pw_load_acquire(&w->state);
	unsigned char *base;
	uint64_t saved;

	if (!(seen & (PW_WIN_DYING | PW_WIN_DEAD)) ||
	    (seen & (PW_WIN_OPENING | PW_WIN_CLOSING)) || pw_hazard_held(w))
		return;
	if (!(seen & PW_WIN_LIVE)) { /* nothing is mapped: the usual close */
		if (pw_cas(&w->state, &seen, cleared(seen)) && (seen & PW_WIN_DEAD))
			dead(w);
		return;
	}
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

void pw_window_retire(struct pw_window *w, bool dead)
{
	pw_or_acq_rel(&w->state, PW_WIN_DYING | (dead ? PW_WIN_DEAD : 0));
	pw_store_release(&w->known, 0);
	if (pw_single_threaded())
		pw_compiler_barrier();
	else
		pw_fence_seq(); /* hazard.h, step 5 */
	pw_window_finish(w);
}

void pw_window_doubt(struct pw_window *w, enum pw_hit why, uint64_t hits)
{
	uint32_t doubts;
	uint64_t mark;

	if (why != PW_MISS_FAULT && why != PW_MISS_WITNESS)
		return;
	pw_stat_add(PW_S_DOUBTS, 1);
	if (why == PW_MISS_FAULT) {
		/* Shorter than we thought, or unreadable. The next real read will tell. */
		pw_store_release(&w->known, 0);
		pw_store_relaxed(&w->hold, 4);
		return;
	}
	/* Threads have counts of their own: only the largest tells of hits in between. */
	doubts = pw_load_relaxed(&w->doubts);
	mark = pw_load_relaxed(&w->hits_mark);
	if (hits > mark) {
		if (hits - mark > 32ULL * doubts)
			doubts = 0;
		pw_store_relaxed(&w->hits_mark, hits);
	}
	pw_store_relaxed(&w->doubts, ++doubts);
	if (doubts < 8)
		return;
	/* A place without witnesses: leave it alone for longer and longer. */
	pw_store_release(&w->known, 0);
	pw_store_relaxed(&w->hold, 1u << pw_min_u64(doubts - 2, 12));
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
	if (!known && hold) {
		pw_store_relaxed(&w->hold, hold - 1);
		return true;
	}
	if (off + got <= known)
		return true;
	/* The number may have been closed and reused behind our back: look whose it is. */
	if (pw_sys->fstat(fd, &st) || !S_ISREG(st.st_mode) || pw_file_id(&st) != w->id)
		return false;
	if ((uint64_t)st.st_size > w->maplen)
		return false;
	pw_store_release(&w->known, (uint64_t)st.st_size); /* W3 */
	/* A retirer that came between set DYING, then `known` to 0, then looked and found
	 * us inside: it is for us to undo the raise before we leave. */
	pw_fence_seq();
	if (pw_load_acquire(&w->state) & (PW_WIN_DYING | PW_WIN_DEAD))
		pw_store_release(&w->known, 0);
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
		w->base, w->maplen, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

void pw_windows_fork_child(void)
{
	for (struct pw_window *w = pw_windows(); w; w = w->next) {
		uint32_t was = w->state & PW_WIN_DEAD;

		w->known = 0;
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
