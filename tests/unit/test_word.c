/* test_word.c - each transition of a page word, and each refusal, from every state. */
#include "unit.h"

#include "cache/word.h"

UNIT_SUITE(word);

#define L PW_W_LOCKED
#define U PW_W_UPTODATE
#define W PW_W_WAITERS

#define MINE 0xabcdefu
#define OTHERS 0x123456u

static uint32_t at(uint32_t tag, uint32_t bits)
{
	return tag << 8 | bits;
}

UNIT_TEST(word, layout)
{
	cr_assert_eq(pw_word_make(MINE, L | W), 0xabcdef05u);
	cr_assert_eq(pw_word_tag(0xabcdef05u), MINE);
	cr_assert_eq(pw_word_tag(pw_word_make(0xffffff, 7)), 0xffffffu);
}

UNIT_TEST(word, try_lock)
{
	for (uint32_t bits = 0; bits < 8; bits++) {
		uint32_t tags[] = {MINE, OTHERS, 0};

		for (int i = 0; i < 3; i++) {
			uint32_t word = at(tags[i], bits);
			bool got = pw_word_try_lock(&word, word, MINE);

			cr_assert_eq(got, !(bits & L));
			cr_assert_eq(word, got ? at(MINE, L) : at(tags[i], bits));
		}
	}
}

UNIT_TEST(word, try_wait)
{
	for (uint32_t bits = 0; bits < 8; bits++) {
		uint32_t word = at(MINE, bits);
		bool got = pw_word_try_wait(&word, word);

		cr_assert_eq(got, !!(bits & L));
		cr_assert_eq(word, got ? at(MINE, bits | W) : at(MINE, bits));
	}
}

UNIT_TEST(word, unlock)
{
	for (int up = 0; up < 2; up++) {
		for (uint32_t bits = 0; bits < 8; bits++) {
			uint32_t word = at(MINE, bits);
			bool wake = pw_word_unlock(&word, MINE, up);

			cr_assert_eq(wake, (bits & L) && (bits & W));
			cr_assert_eq(word,
				     bits & L ? at(MINE, up ? U : 0) : at(MINE, bits));
			/* Stolen, and locked by somebody who has another page in mind. */
			word = at(OTHERS, bits);
			cr_assert_not(pw_word_unlock(&word, MINE, up));
			cr_assert_eq(word, at(OTHERS, bits));
		}
	}
}

UNIT_TEST(word, try_steal)
{
	for (uint32_t bits = 0; bits < 8; bits++) {
		uint32_t word = at(MINE, bits);
		bool got = pw_word_try_steal(&word, word);

		cr_assert_eq(got, !!(bits & L));
		cr_assert_eq(word, at(MINE, bits & L ? 0 : bits));
	}
}

/* Whoever acts on what it saw a while ago changes nothing. */
UNIT_TEST(word, a_stale_look_changes_nothing)
{
	uint32_t now = at(MINE, U);
	uint32_t word = now;

	cr_assert_not(pw_word_try_lock(&word, at(MINE, 0), MINE));
	cr_assert_eq(word, now);
	cr_assert_not(pw_word_try_wait(&word, at(MINE, L)));
	cr_assert_eq(word, now);
	cr_assert_not(pw_word_try_steal(&word, at(MINE, L)));
	cr_assert_eq(word, now);
	word = now = at(MINE, L | W);
	cr_assert_not(pw_word_try_steal(&word, at(MINE, L)),
		      "it has got a sleeper since");
	cr_assert_eq(word, now);
}

UNIT_TEST(word, cleared_from_outside)
{
	uint32_t word = pw_word_make(7, 0) | L;

	cr_assert_not(pw_word_try_clear(&word, word), "locked");
	word = pw_word_make(7, 0) | U;
	cr_assert_not(pw_word_try_clear(&word, pw_word_make(7, 0)));
	cr_assert(pw_word_try_clear(&word, word));
	cr_assert_eq(word, 0u);
}

UNIT_TEST(word, wild)
{
	for (uint32_t bits = 0; bits < 256; bits++) {
		bool fine = bits == 0 || bits == U || bits == L || bits == (L | W);

		CHECK(pw_word_is_wild(pw_word_make(7, 0) | bits) == !fine);
	}
}

#define THREADS 4
#define ROUNDS 5000

static uint32_t shared_word;
static uint32_t inside;
static uint64_t turns;

static void *locker(void *arg)
{
	uint32_t tag = (uint32_t)(uintptr_t)arg;
	uint64_t mine = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (!pw_word_try_lock(&shared_word, pw_load_relaxed(&shared_word), tag))
			continue;
		CHECK(pw_add_relaxed(&inside, 1) == 0);
		mine++;
		CHECK(pw_add_relaxed(&inside, (uint32_t)-1) == 1);
		CHECK(!pw_word_unlock(&shared_word, tag, i & 1));
	}
	pw_add_relaxed(&turns, mine);
	return NULL;
}

UNIT_TEST(word, one_owner_at_a_time)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, locker, (void *)(i / 2 + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cr_assert_gt(turns, 0u);
	cr_assert_not(shared_word & L);
}
