/*
 * word.h - the page word: 32 bits, futex-sized, one per cache page, hashed and tagged.
 *
 *   31            8 7       3   2       1        0
 *  +---------------+---------+-------+--------+--------+
 *  | tag           | 0       |WAITERS|UPTODATE| LOCKED |
 *  +---------------+---------+-------+--------+--------+
 *
 * Every change is one CAS in one of the functions below; there is no other writer. What a
 * word says is a hint about the kernel's page cache: a wrong one costs time, never bytes.
 * The states and the table of transitions are in cache/README.md.
 *
 * Orders: a page's bytes are published by the kernel, not by the word, so acquire and
 * release here only order the word with itself (WAITERS set before sleeping, seen by the
 * one who unlocks).
 */
#ifndef PW_CACHE_WORD_H
#define PW_CACHE_WORD_H

#include "cache/atomic.h"

#define PW_W_LOCKED 1u
#define PW_W_UPTODATE 2u
#define PW_W_WAITERS 4u
#define PW_W_TAG_SHIFT 8

static inline uint32_t pw_word_tag(uint32_t w)
{
	return w >> PW_W_TAG_SHIFT;
}

static inline uint32_t pw_word_make(uint32_t tag, uint32_t bits)
{
	return tag << PW_W_TAG_SHIFT | bits;
}

/* Free (or another page's, and not locked) to LOCKED by me. */
static inline bool pw_word_try_lock(uint32_t *word, uint32_t seen, uint32_t tag)
{
	if (seen & PW_W_LOCKED)
		return false;
	return pw_cas(word, &seen, pw_word_make(tag, PW_W_LOCKED));
}

/* LOCKED to LOCKED|WAITERS: only then may one sleep, so the owner knows whom to wake. */
static inline bool pw_word_try_wait(uint32_t *word, uint32_t seen)
{
	if (!(seen & PW_W_LOCKED))
		return false;
	return (seen & PW_W_WAITERS) || pw_cas(word, &seen, seen | PW_W_WAITERS);
}

/*
 * The owner lets go: UPTODATE, or free if it could not bring the page in. True if someone
 * sleeps there. A word that was stolen meanwhile is not the owner's to change: left alone.
 */
static inline bool pw_word_unlock(uint32_t *word, uint32_t tag, bool uptodate)
{
	uint32_t seen = pw_load_relaxed(word);
	uint32_t next = pw_word_make(tag, uptodate ? PW_W_UPTODATE : 0);

	do
		if (pw_word_tag(seen) != tag || !(seen & PW_W_LOCKED))
			return false;
	while (!pw_cas(word, &seen, next));
	return seen & PW_W_WAITERS;
}

/* The deadline has passed: LOCKED to free, by whoever waited. True if it was me. */
static inline bool pw_word_try_steal(uint32_t *word, uint32_t seen)
{
	if (!(seen & PW_W_LOCKED))
		return false;
	return pw_cas(word, &seen, pw_word_make(pw_word_tag(seen), 0));
}

/* Not locked: its hint is given up, and the word is nobody's. */
static inline bool pw_word_try_clear(uint32_t *word, uint32_t seen)
{
	if (seen & PW_W_LOCKED)
		return false;
	return pw_cas(word, &seen, 0);
}

/* Bits that no transition leaves, or not together: only damage can have set them. */
static inline bool pw_word_is_wild(uint32_t w)
{
	uint32_t bits = w & ((1u << PW_W_TAG_SHIFT) - 1);

	return bits != 0 && bits != PW_W_UPTODATE && bits != PW_W_LOCKED &&
	       bits != (PW_W_LOCKED | PW_W_WAITERS);
}

#endif
