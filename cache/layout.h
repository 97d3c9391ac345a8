/*
 * layout.h - what lies in the shared segment. "struct pw_shm_X" is there for all to see
 * and to damage; nothing in it can make an answer wrong. PW_ABI names this layout: change
 * anything here and it must change, so that two builds never misread one another.
 */
#ifndef PW_CACHE_LAYOUT_H
#define PW_CACHE_LAYOUT_H

#include <assert.h>

#include "cache/base.h"

#define PW_MAGIC 0x6c6c657765676170ULL /* "pagewell" */

#define PW_WORDS ((uint32_t)1 << 18) /* 1 MiB: 16 GiB of cache pages, one word each */
#define PW_FILES ((uint32_t)1 << 12)
#define PW_SLOTS ((uint32_t)512)

/*
 * One process. Claimed by CAS of owner 0 -> pid; after that only the owner writes, with
 * plain stores, but for `shrink`, which anyone may set and the owner clears. Read by
 * anyone, at any time, without a lock: a sum may be a moment old.
 */
struct pw_shm_slot {
	uint32_t owner; /* pid, 0: free */
	uint32_t shrink;
	uint64_t
		pidns; /* inode of the pid namespace in which owner means something; 0: the
			 * owner has not said yet, and nothing below is its own */
	uint64_t pages; /* cache pages mapped now */
	uint64_t windows;
	uint64_t hits;
	uint64_t hit_bytes;
	uint64_t seeks;
	uint64_t fills;
	uint64_t waits;
	uint64_t timeouts;
	uint64_t reclaims;
	uint64_t doubts;
	uint64_t mapped; /* windows made in all */
	uint64_t stores; /* writes that were stores */
	char comm[16];
};

/*
 * One file: its size, as last seen by a SEEK_END, and its history. Written by any process
 * with plain stores, each word on its own; `lock` by CAS.
 */
struct pw_shm_file {
	uint64_t key; /* mixed identity, 0: free; taken by CAS */
	uint64_t size;
	uint32_t lock;	/* 0, or the millisecond at which it was taken */
	uint32_t reads; /* reads an opening brings: moving average, 1/16ths */
	uint32_t opens;
	uint32_t
		touch; /* ns that a page's first touch was last measured to cost; 0: never */
	uint32_t spare[4];
	uint64_t spare2[2];
};

struct pw_shm_head {
	uint64_t magic;
	uint32_t abi;
	uint32_t bytes; /* of the whole segment */
	uint32_t words_at, words;
	uint32_t files_at, files;
	uint32_t slots_at, slots;
	/* This machine's costs in ns: 0 until measured (cache/costs.h). */
	uint32_t cost_call, cost_touch, cost_map;
	uint32_t cost_rounds; /* how often they were measured */
	/* Written by whoever has tried out the kernel (cache/probe.h). The one word here that
	 * could matter: an exact value, so that no stray bit makes a bad kernel good. */
	uint32_t kernel;
	uint32_t spare;
	/* Sums of the processes that have ended. Added to atomically. */
	uint64_t past[12];
};

#define PW_HEAD_BYTES 4096u

/* Sizes, places and the layout's own version in one number. */
#define PW_LAYOUT_VERSION 3u
#define PW_ABI                                         \
	(PW_LAYOUT_VERSION << 24 | PW_CP_SHIFT << 16 | \
	 (uint32_t)(sizeof(struct pw_shm_slot) + sizeof(struct pw_shm_file)))

#define PW_WORDS_AT PW_HEAD_BYTES
#define PW_FILES_AT (PW_WORDS_AT + PW_WORDS * 4u)
#define PW_SLOTS_AT (PW_FILES_AT + PW_FILES * (uint32_t)sizeof(struct pw_shm_file))
#define PW_SEGMENT_BYTES (PW_SLOTS_AT + PW_SLOTS * (uint32_t)sizeof(struct pw_shm_slot))

static_assert(sizeof(struct pw_shm_slot) == 128, "a slot is two cache lines");
static_assert(sizeof(struct pw_shm_file) == 64, "a file entry is one cache line");
static_assert(sizeof(struct pw_shm_head) <= PW_HEAD_BYTES, "the head fits its page");
static_assert(offsetof(struct pw_shm_slot, pages) == 16, "counters follow the identity");
static_assert(PW_SEGMENT_BYTES % 4096 == 0, "whole pages");

#endif
