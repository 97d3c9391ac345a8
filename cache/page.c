/*
 * page.c - see page.h. The protocol and why nobody is lost in it are in cache/README.md;
 * tests/model has it in Promela.
 *
 * A LOCKED word is never held across a copy to or from the application's memory, which may
 * fault, lie in a mapping of the same file, or belong to another thread.
 */
#include "cache/page.h"

#include "cache/futex.h"
#include "cache/points.h"
#include "cache/stats.h"
#include "cache/word.h"

static uint32_t *word_of(const struct pw_segment *s, uint64_t id, uint64_t cp,
			 uint32_t *tag)
{
	uint64_t h = pw_mix(id ^ (cp + 1) * 0x9e3779b97f4a7c15ULL);

	*tag = (uint32_t)(h >> 40);
	return &s->words[h & (PW_WORDS - 1)];
}

/*
 * The lock is taken from its owner, who is dead or stopped or slow (nobody needs to know
 * which: the kernel has its own lock on the page, this one is only good manners), and all who
 * sleep there are woken.
 */
static void steal(uint32_t *word, uint32_t tag)
{
	uint32_t seen = pw_load_acquire(word);

	if (pw_word_tag(seen) == tag && pw_word_try_steal(word, seen))
		pw_futex_wake_all(word);
}

/*
 * Sleeps until the word is no longer locked by the one we saw. True: it is not. False: the
 * deadline passed, and the lock was stolen.
 */
static bool wait_unlocked(uint32_t *word, uint32_t tag, int64_t deadline)
{
	for (;;) {
		uint32_t seen = pw_load_acquire(word); /* pairs with the owner's unlock */

		if (!(seen & PW_W_LOCKED) || pw_word_tag(seen) != tag)
			return true;
		if (!pw_word_try_wait(word, seen))
			continue;
		/* The kernel compares again under its own lock: an unlock between our CAS
		 * and the sleep changes the word, and the sleep does not begin. */
		if (pw_futex_sleep(word, seen | PW_W_WAITERS, deadline)) {
			steal(word, tag);
			return false;
		}
	}
}

enum pw_page_state pw_page_begin(uint64_t id, uint64_t cp, bool wait)
{
	const struct pw_segment *s = pw_segment_peek();
	uint32_t tag;
	uint32_t *word;
	uint32_t seen;

	if (!s)
		return PW_PAGE_TOUCH;
	word = word_of(s, id, cp, &tag);
	seen = pw_load_acquire(word);
	if (pw_word_tag(seen) == tag) {
		if (seen & PW_W_UPTODATE)
			return PW_PAGE_TOUCH;
		if (seen & PW_W_LOCKED) {
			/* Where many were killed, each left a word locked: one deadline
			 * is paid for all that are met after it. */
			if (!wait) {
				steal(word, tag);
				return PW_PAGE_TOUCH;
			}
			pw_stat_add(PW_S_WAITS, 1);
			if (wait_unlocked(word, tag,
					  pw_sys->now_ns() + PW_PAGE_DEADLINE_NS))
				return PW_PAGE_TOUCH;
			pw_stat_add(PW_S_TIMEOUTS, 1);
			return PW_PAGE_LATE;
		}
	}
	/* Free, or another page's: that page loses a hint. If it is locked (try_lock says
	 * no), or somebody is quicker, we do without. */
	if (!pw_word_try_lock(word, seen, tag))
		return PW_PAGE_TOUCH;
	PW_POINT("page.locked");
	return PW_PAGE_MINE;
}

void pw_page_end(uint64_t id, uint64_t cp, bool uptodate)
{
	const struct pw_segment *s = pw_segment_peek();
	uint32_t tag;
	uint32_t *word;

	if (!s)
		return;
	word = word_of(s, id, cp, &tag);
	PW_POINT("page.filled");
	if (pw_word_unlock(word, tag, uptodate)) {
		PW_POINT("page.before_wake");
		pw_futex_wake_all(word);
	}
	PW_POINT("page.done");
}

bool pw_page_forget(const struct pw_segment *s, uint64_t id, uint64_t cp)
{
	uint32_t tag;
	uint32_t *word = word_of(s, id, cp, &tag);
	uint32_t seen = pw_load_relaxed(word);

	/* Free or up to date, it is nobody's to unlock, and nobody sleeps there. */
	return seen && pw_word_tag(seen) == tag && pw_word_try_clear(word, seen);
}

bool pw_page_free(const struct pw_segment *s, uint32_t at, uint32_t seen)
{
	uint32_t *word = &s->words[at];

	if (!pw_word_try_clear(word, seen) && !pw_word_try_steal(word, seen))
		return false;
	pw_futex_wake_all(word);
	return true;
}
