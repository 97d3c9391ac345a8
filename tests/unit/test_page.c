/*
 * test_page.c - sleeping and waking on a word, and the life of a page word between real
 * processes: one fills, all others wait and touch, and nobody depends on the one who fills.
 */
#include "unit.h"

#include "cache/futex.h"
#include "cache/page.h"
#include "cache/word.h"

UNIT_SUITE(futex);
UNIT_SUITE(page);

#define ID 0x1234567890abcdefULL
#define CP 42
#define MS 1000000LL

/* A clock that stands still: whoever goes by it waits as long as it takes. */
static int64_t standing(void)
{
	return 1000 * MS;
}

static int64_t clock_ns;
static int64_t clock_step;

static int64_t stepping(void)
{
	return clock_ns += clock_step;
}

/* ---- futex ------------------------------------------------------------------------------- */

UNIT_TEST(futex, deadline_passed_does_not_sleep)
{
	uint32_t word = 1;

	cr_assert(pw_futex_sleep(&word, 1, pw_sys->now_ns()));
	cr_assert(pw_futex_sleep(&word, 1, pw_sys->now_ns() - 1));
	cr_assert(pw_futex_sleep(&word, 1, 0));
	cr_assert_eq(unit_count(U_FUTEX_WAIT), 0u);
}

UNIT_TEST(futex, another_value_does_not_sleep)
{
	uint32_t word = 1;

	/* An hour: it would be felt. */
	cr_assert_not(pw_futex_sleep(&word, 2, pw_sys->now_ns() + 3600000 * MS));
}

static struct timespec asked;

static long see_timeout(uint32_t *word, uint32_t seen, const struct timespec *rel)
{
	(void)word;
	(void)seen;
	asked = *rel;
	return -ETIMEDOUT;
}

UNIT_TEST(futex, sleeps_for_what_is_left)
{
	uint32_t word = 1;

	unit_sys.now_ns = standing;
	unit_sys.futex_wait = see_timeout;
	cr_assert_not(pw_futex_sleep(&word, 1, standing() + 2500 * MS + 7));
	cr_assert_eq(asked.tv_sec, 2);
	cr_assert_eq(asked.tv_nsec, 500 * MS + 7);
}

UNIT_TEST(futex, deadline_ends_the_sleep)
{
	uint32_t word = 1;
	int64_t deadline = pw_sys->now_ns() + 20 * MS;

	while (!pw_futex_sleep(&word, 1, deadline))
		;
	cr_assert_geq(pw_sys->now_ns(), deadline);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static const struct pw_segment *segment(void)
{
	const struct pw_segment *s = pw_segment_get();

	cr_assert_not_null(s);
	return s;
}

/* Where (ID, CP) has its word, and its tag. The word is free afterwards. */
static uint32_t *find_word(uint32_t *tag)
{
	const struct pw_segment *s = segment();
	uint32_t *found = NULL;

	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	for (uint32_t i = 0; i < PW_WORDS; i++) {
		if (!s->words[i])
			continue;
		cr_assert_null(found, "one page, one word");
		found = &s->words[i];
	}
	cr_assert_not_null(found);
	cr_assert_eq(*found & 0xff, PW_W_LOCKED);
	*tag = pw_word_tag(*found);
	*found = 0;
	return found;
}

UNIT_TEST(page, forgotten_from_outside)
{
	const struct pw_segment *s = segment();
	uint32_t tag;
	uint32_t *word = find_word(&tag);

	cr_assert_not(pw_page_forget(s, ID, CP), "nothing is said");
	*word = pw_word_make(tag, PW_W_LOCKED);
	cr_assert_not(pw_page_forget(s, ID, CP), "somebody is at it");
	cr_assert_eq(*word, pw_word_make(tag, PW_W_LOCKED));
	*word = pw_word_make(tag + 1, PW_W_UPTODATE);
	cr_assert_not(pw_page_forget(s, ID, CP), "another page's");
	*word = pw_word_make(tag, PW_W_UPTODATE);
	cr_assert(pw_page_forget(s, ID, CP));
	cr_assert_eq(*word, 0u);
}

UNIT_TEST(page, freed_from_outside)
{
	const struct pw_segment *s = segment();
	uint32_t seen = pw_word_make(3, PW_W_LOCKED | PW_W_WAITERS);

	s->words[9] = seen;
	cr_assert_not(pw_page_free(s, 9, seen + 1));
	cr_assert_eq(s->words[9], seen);
	cr_assert(pw_page_free(s, 9, seen));
	cr_assert_eq(s->words[9] & 0xff, 0u);
	cr_assert_eq(unit_count(U_FUTEX_WAKE), 1u);
	s->words[9] = pw_word_make(3, PW_W_UPTODATE);
	cr_assert(pw_page_free(s, 9, s->words[9]));
	cr_assert_eq(s->words[9], 0u);
}

UNIT_TEST(page, nothing_to_do_without_a_segment)
{
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
	pw_page_end(ID, CP, true);
	cr_assert_null(pw_segment_peek(), "nobody made one behind our back");
}

UNIT_TEST(page, first_fills_later_ones_touch)
{
	segment();
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	pw_page_end(ID, CP, true);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
	cr_assert_eq(pw_page_begin(ID, CP + 1, true), PW_PAGE_MINE, "another page");
	cr_assert_eq(pw_page_begin(ID + 2, CP, true), PW_PAGE_MINE, "another file");
	cr_assert_eq(unit_count(U_FUTEX_WAIT), 0u);
	cr_assert_eq(unit_count(U_FUTEX_WAKE), 0u, "nobody sleeps, nobody is woken");
}

UNIT_TEST(page, a_failed_fill_is_for_the_next)
{
	segment();
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	pw_page_end(ID, CP, false);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	pw_page_end(ID, CP, true);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
}

UNIT_TEST(page, every_word_another_pages_may_hold)
{
	uint32_t tag;
	uint32_t *word = find_word(&tag);

	for (uint32_t bits = 0; bits < 8; bits++) {
		uint32_t other = pw_word_make(tag ^ 1, bits);
		bool locked = bits & PW_W_LOCKED;

		*word = other;
		cr_assert_eq(pw_page_begin(ID, CP, true),
			     locked ? PW_PAGE_TOUCH : PW_PAGE_MINE);
		cr_assert_eq(*word, locked ? other : pw_word_make(tag, PW_W_LOCKED));
		/* While we were filling the word was stolen, and taken for another page. */
		*word = other;
		pw_page_end(ID, CP, true);
		cr_assert_eq(*word, other);
	}
	cr_assert_eq(unit_count(U_FUTEX_WAIT), 0u, "nobody waits for a page not his");
	cr_assert_eq(unit_count(U_FUTEX_WAKE), 0u);
}

/* Anybody may write anything into the segment: a wait is bounded whatever is there. */
UNIT_TEST(page, garbage_in_the_word)
{
	uint32_t tag;
	uint32_t *word = find_word(&tag);
	const uint32_t low[] = {0xff, 0xf9, 0xf1, 0x81, 0xf8, 0x10, 0x06, 0x04};

	unit_sys.now_ns = stepping;
	clock_step = 30 * MS;
	for (size_t i = 0; i < sizeof(low) / sizeof(low[0]); i++) {
		*word = tag << 8 | low[i];
		pw_page_begin(ID, CP, true);
		pw_page_end(ID, CP, true);
		cr_assert_not(*word & PW_W_LOCKED);
	}
}

/* ---- waiting ------------------------------------------------------------------------------------ */

#define WAITERS 8

static uint32_t my_place; /* in unit_word */

static long noted_wait(uint32_t *word, uint32_t seen, const struct timespec *rel)
{
	pw_add_relaxed(&unit_word[my_place], 1);
	return pw_sys_kernel.futex_wait(word, seen, rel);
}

static void wait_patiently(void *arg)
{
	uint64_t stats[PW_S_COUNT];

	my_place = (uint32_t)(uintptr_t)arg;
	unit_sys.now_ns = standing;
	unit_sys.futex_wait = noted_wait;
	pw_stat_fork_child();
	MUST(pw_page_begin(ID, CP, true) == PW_PAGE_TOUCH);
	pw_stat_own(stats);
	MUST(stats[PW_S_WAITS] == 1);
	MUST(stats[PW_S_TIMEOUTS] == 0);
}

static void one_fill_wakes_all(bool uptodate)
{
	pid_t child[WAITERS];

	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	for (uintptr_t i = 0; i < WAITERS; i++)
		child[i] = unit_fork(wait_patiently, (void *)i);
	for (int i = 0; i < WAITERS; i++)
		unit_until(&unit_word[i], 1);
	pw_page_end(ID, CP, uptodate);
	for (int i = 0; i < WAITERS; i++)
		unit_join(child[i]);
	cr_assert_eq(unit_count(U_FUTEX_WAKE), 1u);
}

UNIT_TEST(page, one_fill_wakes_all)
{
	segment();
	one_fill_wakes_all(true);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
}

UNIT_TEST(page, one_failed_fill_wakes_all)
{
	segment();
	one_fill_wakes_all(false);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
}

static void fill_and_die_at(void *point)
{
	setenv("PAGEWELL_POINT", point, 1);
	MUST(pw_page_begin(ID, CP, true) == PW_PAGE_MINE);
	pw_add_relaxed(&unit_word[60], 1); /* mine */
	if (!strstr(point, "locked"))
		unit_until(&unit_word[61], 1); /* go on */
	pw_page_end(ID, CP, true);
}

static void join_killed(pid_t child)
{
	int status;

	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%#x",
		  (unsigned)status);
}

UNIT_TEST(page, owner_killed)
{
	uint64_t stats[PW_S_COUNT];
	int64_t began;

	segment();
	join_killed(unit_fork(fill_and_die_at, "page.locked:9"));
	pid_t other = unit_fork(wait_patiently, (void *)0);

	unit_until(&unit_word[0], 1);
	began = pw_sys->now_ns();
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_LATE);
	cr_assert_geq(pw_sys->now_ns() - began, PW_PAGE_DEADLINE_NS);
	cr_assert_eq(unit_count(U_FUTEX_WAKE), 1u, "and wakes who else sleeps there");
	unit_join(other);
	pw_stat_own(stats);
	cr_assert_eq(stats[PW_S_WAITS], 1u);
	cr_assert_eq(stats[PW_S_TIMEOUTS], 1u);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE, "the word serves again");
	pw_page_end(ID, CP, true);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
}

/* Of many pages whose owners died one is paid for; the others' words are put right as well. */
UNIT_TEST(page, who_has_waited_once_frees_at_once)
{
	uint32_t tag;
	uint32_t *word = find_word(&tag);

	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	pid_t other = unit_fork(wait_patiently, (void *)0);

	unit_until(&unit_word[0], 1);
	cr_assert_eq(pw_page_begin(ID, CP, false), PW_PAGE_TOUCH);
	cr_assert_eq(unit_count(U_FUTEX_WAIT), 0u);
	cr_assert_eq(*word, pw_word_make(tag, 0));
	unit_join(other);
	/* Another page's is left to those who read that one. */
	*word = pw_word_make(tag ^ 1, PW_W_LOCKED);
	cr_assert_eq(pw_page_begin(ID, CP, false), PW_PAGE_TOUCH);
	cr_assert_eq(*word, pw_word_make(tag ^ 1, PW_W_LOCKED));
}

/* The word is unlocked, but the one who should wake is no more. */
UNIT_TEST(page, owner_killed_before_the_wake)
{
	segment();
	pid_t owner = unit_fork(fill_and_die_at, "page.before_wake:9");

	unit_until(&unit_word[60], 1);
	/* Its clock stands, so only its sleep's own end lets it look again. */
	pid_t waiter = unit_fork(wait_patiently, (void *)0);

	unit_until(&unit_word[0], 1);
	pw_store_release(&unit_word[61], 1);
	join_killed(owner);
	unit_join(waiter);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
}

UNIT_TEST(page, owner_stopped_and_back_again)
{
	uint32_t tag;
	uint32_t *word = find_word(&tag);
	pid_t owner = unit_fork(fill_and_die_at, "page.locked:19"); /* SIGSTOP */
	int status;

	cr_assert_eq(waitpid(owner, &status, WUNTRACED), owner);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_LATE);
	cr_assert_eq(*word, pw_word_make(tag, 0));
	kill(owner, SIGCONT);
	unit_join(owner);
	cr_assert_eq(*word, pw_word_make(tag, 0),
		     "stolen: no longer the owner's to change");
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
}

UNIT_TEST(page, a_fatal_signal_ends_the_wait)
{
	int status;

	segment();
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	pid_t waiter = unit_fork(wait_patiently, (void *)0);

	unit_until(&unit_word[0], 1);
	kill(waiter, SIGTERM);
	cr_assert_eq(waitpid(waiter, &status, 0), waiter);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "%#x",
		  (unsigned)status);
}

static unsigned woken_for_nothing;

static long interrupted(uint32_t *word, uint32_t seen, const struct timespec *rel)
{
	(void)word;
	(void)seen;
	(void)rel;
	woken_for_nothing++;
	return woken_for_nothing % 2 ? -EINTR : 0;
}

UNIT_TEST(page, interruptions_do_not_move_the_deadline)
{
	segment();
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	unit_sys.now_ns = stepping;
	unit_sys.futex_wait = interrupted;
	clock_step = 10 * MS;
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_LATE);
	cr_assert_leq(woken_for_nothing, (unsigned)(PW_PAGE_DEADLINE_NS / clock_step));
	cr_assert_gt(woken_for_nothing, 1u);
}

/* The owner is done in the moment in which the waiter's deadline passes. */
static int64_t unlocking(void)
{
	if (clock_ns)
		pw_page_end(ID, CP, true);
	return clock_ns += 100 * MS;
}

UNIT_TEST(page, unlocked_at_the_deadline)
{
	uint32_t tag;
	uint32_t *word = find_word(&tag);

	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	unit_sys.now_ns = unlocking;
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_LATE);
	cr_assert_eq(*word, pw_word_make(tag, PW_W_UPTODATE), "not stolen from nobody");
}

/* In that moment the word has become another page's, whose owner is alive. */
static uint32_t *changing;

static int64_t changing_hands(void)
{
	if (clock_ns)
		*changing = pw_word_make(pw_word_tag(*changing) ^ 1, PW_W_LOCKED);
	return clock_ns += 100 * MS;
}

UNIT_TEST(page, another_pages_at_the_deadline)
{
	uint32_t tag;

	changing = find_word(&tag);
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	unit_sys.now_ns = changing_hands;
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_LATE);
	cr_assert_eq(*changing, pw_word_make(tag ^ 1, PW_W_LOCKED));
	cr_assert_eq(unit_count(U_FUTEX_WAKE), 0u);
}

/* The word goes to another page while somebody sleeps on it. */
static long taken_by_another(uint32_t *word, uint32_t seen, const struct timespec *rel)
{
	(void)seen;
	(void)rel;
	*word = pw_word_make(pw_word_tag(*word) ^ 1, PW_W_LOCKED);
	return 0;
}

UNIT_TEST(page, word_taken_by_another_page_meanwhile)
{
	uint32_t tag;
	uint32_t *word = find_word(&tag);

	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_MINE);
	unit_sys.futex_wait = taken_by_another;
	cr_assert_eq(pw_page_begin(ID, CP, true), PW_PAGE_TOUCH);
	cr_assert_eq(*word, pw_word_make(tag ^ 1, PW_W_LOCKED));
}

#define THREADS 4
#define PAGES 64
#define ROUNDS 20

static uint32_t fills[ROUNDS][PAGES];

static void *fill_all(void *arg)
{
	(void)arg;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t cp = 0; cp < PAGES; cp++) {
			if (pw_page_begin(ID + round, cp, true) != PW_PAGE_MINE)
				continue;
			pw_add_relaxed(&fills[round][cp], 1);
			sched_yield();
			pw_page_end(ID + round, cp, true);
		}
	}
	return NULL;
}

UNIT_TEST(page, many_threads_one_fill_each)
{
	const struct pw_segment *s = segment();
	pthread_t t[THREADS];
	unsigned used = 0;

	unit_sys.now_ns = standing;
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, fill_all, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (uint32_t i = 0; i < PW_WORDS; i++) {
		used += s->words[i] != 0;
		CHECK(!(s->words[i] & (PW_W_LOCKED | PW_W_WAITERS)));
	}
	/* The hash is fixed, and so is the number of pages that share a word with another
	 * one, a few of 1280. Those may be filled again. */
	unsigned shared_words = ROUNDS * PAGES - used;
	unsigned again = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int cp = 0; cp < PAGES; cp++) {
			CHECK(fills[round][cp] >= 1);
			again += fills[round][cp] > 1;
		}
	}
	cr_assert_leq(again, 2 * shared_words);
	cr_assert_lt(shared_words, 12u);
}
