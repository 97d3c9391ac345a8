/*
 * base.h - the words every other file may use: attributes, sizes, small arithmetic.
 * Nothing here has state, and nothing here may include another file of the engine.
 */
#ifndef PW_CACHE_BASE_H
#define PW_CACHE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define pw_likely(x) __builtin_expect(!!(x), 1)
#define pw_unlikely(x) __builtin_expect(!!(x), 0)
#define PW_COLD __attribute__((cold, noinline))
#define PW_UNUSED __attribute__((unused))

/*
 * Variables that start-up and every call look at lie together, behind .data and in one page
 * with it where they fit (tests/gates/start_pages): each page of ours that a short process
 * touches is a fault, and each that a call touches is an entry of the TLB, which some
 * machines empty at every system call.
 */
#define PW_HOT_PAGE __attribute__((section("pw_hot")))

/*
 * Functions that one call goes through on its usual ways lie together in a page of code, for the
 * same reason: where the TLB is emptied by each system call, a page more in a call's way took
 * 50 ns and more (tests/gates/start_pages holds them to it).
 */
#define PW_CODE_PAGE(call) __attribute__((section(".text.sorted.pw_" #call)))

#define PW_PAGE_SHIFT 12
#define PW_PAGE ((size_t)1 << PW_PAGE_SHIFT)

/*
 * A cache page: what one page word speaks for, and one step of a window's private map.
 * 64 KiB is the kernel's default fault-around, so the first touch of a cache page is one
 * fault. cache/README.md has the argument for the size.
 */
#define PW_CP_SHIFT 16
#define PW_CP ((size_t)1 << PW_CP_SHIFT)

#define PW_CACHELINE 64

static inline uint64_t pw_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t pw_round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

/* A 64-bit finaliser (the constants are those of MurmurHash3's): every input bit moves
 * every output bit, which is all the hashed tables here ask for. */
static inline uint64_t pw_mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	h ^= h >> 33;
	return h;
}

#endif
