/*
 * atomic.h - the memory orders of the project are named here and nowhere else. Each use
 * says in a comment what it pairs with.
 *
 * "local" operations are for words that only this process can reach and that are touched
 * by one thread and its own signal handlers: one instruction, so that a handler sees it
 * done or not begun, but without the bus lock. Callers choose them only where
 * pw_single_threaded() holds.
 */
#ifndef PW_CACHE_ATOMIC_H
#define PW_CACHE_ATOMIC_H

#include <sys/single_threaded.h>

#include "cache/base.h"

#define pw_load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define pw_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define pw_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define pw_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define pw_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define pw_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define pw_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define pw_or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define pw_and_acq_rel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)
#define pw_xchg_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define pw_xchg_seq(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/* A count that one thread keeps and any may read: no bus lock. What a signal handler counts
 * between the load and the store is lost, which a report can bear. */
#define pw_tally(p, n) pw_store_relaxed((p), pw_load_relaxed(p) + (uint64_t)(n))

/* Success: acquire and release. Failure: acquire, so that the value handed back in *seen
 * may be followed. */
#define pw_cas(p, seen, v)                                                     \
	__atomic_compare_exchange_n((p), (seen), (v), false, __ATOMIC_ACQ_REL, \
				    __ATOMIC_ACQUIRE)

#define pw_fence_seq() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define pw_compiler_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* glibc's __libc_single_threaded, by a pointer of our own: the GOT, where the compiler would
 * look for one, is a page more in every call (base.h, PW_HOT_PAGE). */
extern char *const pw_single_threaded_at __attribute__((visibility("hidden")));

/*
 * glibc clears this byte before the first pthread_create starts a thread, and for a
 * process that was once threaded may set it again when all others have been joined; both
 * happen in the only thread there is at that moment, never in the middle of a hit.
 */
static inline bool pw_single_threaded(void)
{
	return *pw_single_threaded_at != 0;
}

/* cmpxchg without the lock prefix; true if *p was seen and now is v. */
static inline bool pw_cas_local(uint64_t *p, uint64_t seen, uint64_t v)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	bool done;

	__asm__ volatile("cmpxchgq %3, %1"
			 : "=@ccz"(done), "+m"(*p), "+a"(seen)
			 : "r"(v)
			 : "memory");
	return done;
#else
	return pw_cas(p, &seen, v);
#endif
}

/* Private word, one owner in a single-threaded process; else the full operation. */
static inline bool pw_cas_private(uint64_t *p, uint64_t seen, uint64_t v)
{
	if (pw_likely(pw_single_threaded()))
		return pw_cas_local(p, seen, v);
	return pw_cas(p, &seen, v);
}

#endif
