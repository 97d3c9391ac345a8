/*
 * alloc.c - jemalloc for what the kernel's pages are too coarse for. Only the slab comes
 * here, rarely, with all signals blocked, so jemalloc is never met twice by one thread.
 *
 * fork: jemalloc's own fork handlers are left out of the archive (they would be one more
 * thing that runs in programs that never need it). Instead one thread at a time is inside,
 * and a child made while one was does not go in again: it takes whole pages.
 */
#include "shim/alloc.h"

#include <string.h>
#include <sys/mman.h>

#include "shim/thread.h"

extern void *mallocx(size_t n, int flags);
extern void pw_je_thread_done(void); /* jemalloc_libc.c */

/* jemalloc.h's macros, spelled out: alignment 64 (its log in the low bits), no cache. */
#define MALLOCX_ALIGN_64 6
#define MALLOCX_NO_TCACHE (1 << 8)

static uint32_t busy;	/* 1: a thread is inside; by CAS */
static uint32_t spoilt; /* this child's jemalloc was copied in the middle of something */

static void *from_pages(size_t n)
{
	long at = pw_sys->mmap(NULL, pw_round_up(n, PW_PAGE), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pw_is_err(at) ? NULL : (void *)at;
}

void *pw_alloc(size_t n)
{
	uint64_t saved;
	uint32_t no = 0;
	void *p;

	if (pw_load_relaxed(&spoilt))
		return from_pages(n);
	pw_sys->block_signals(&saved);
	if (!pw_cas(&busy, &no, 1)) {
		pw_sys->restore_signals(&saved);
		return from_pages(n);
	}
	p = mallocx(n, MALLOCX_ALIGN_64 | MALLOCX_NO_TCACHE);
	pw_je_thread_done();
	pw_store_release(&busy, 0);
	pw_sys->restore_signals(&saved);
	if (!p)
		return from_pages(n);
	memset(p, 0, n);
	return p;
}

void pw_alloc_fork_child(void)
{
	if (pw_load_relaxed(&busy))
		pw_store_relaxed(&spoilt, 1);
}
