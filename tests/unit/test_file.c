/*
 * test_file.c - what the segment knows of files: entries are found again, made at the cost
 * of others, and never outside the table; the size lock is never waited for long; what an
 * opening brings is learnt.
 */
#include "unit.h"

UNIT_SUITE(file);

#define ID 0x00010001u

static const struct pw_segment *segment(void)
{
	const struct pw_segment *s = pw_segment_get();

	cr_assert_not_null(s);
	return s;
}

UNIT_TEST(file, identity)
{
	struct stat a = {0};
	struct stat b;
	uint64_t ids[2000];

	cr_assert_neq(pw_file_id(&a), 0u);
	a.st_dev = 8;
	a.st_ino = 1000;
	b = a;
	b.st_size = 99;
	b.st_mtim.tv_sec = 99;
	cr_assert_eq(pw_file_id(&a), pw_file_id(&b), "a change makes it no other file");
	b.st_dev = 9;
	cr_assert_neq(pw_file_id(&a), pw_file_id(&b));
	for (size_t i = 0; i < 2000; i++) {
		a.st_ino = 1000 + i;
		ids[i] = pw_file_id(&a);
		CHECK(ids[i] != 0);
		for (size_t k = 0; k < i; k++)
			CHECK(ids[i] != ids[k]);
	}
}

UNIT_TEST(file, without_a_segment)
{
	cr_assert_null(pw_file_get(ID));
	cr_assert_eq(pw_file_expected_reads(ID), 0u);
	pw_file_learn(ID, 100);
	cr_assert_eq(pw_file_expected_reads(ID), 0u);
	cr_assert_null(pw_segment_peek());
}

static void find_it_there(void *arg)
{
	MUST(pw_file_get(ID) == arg);
	pw_store_relaxed(&pw_file_get(ID)->size, 4711);
}

UNIT_TEST(file, found_again)
{
	const struct pw_segment *s = segment();
	struct pw_shm_file *f = pw_file_get(ID);

	cr_assert_not_null(f);
	cr_assert_geq(f, s->files);
	cr_assert_lt(f, s->files + PW_FILES);
	cr_assert_eq(pw_file_get(ID), f);
	cr_assert_neq(pw_file_get(ID + 2), f);
	unit_child(find_it_there, f);
	cr_assert_eq(f->size, 4711u);
}

/* Identities that all begin at one place, as many as one likes. */
static uint64_t crowded(uint32_t i)
{
	return 77 + (uint64_t)i * PW_FILES;
}

UNIT_TEST(file, a_full_place_is_shared_by_replacing)
{
	struct pw_shm_file *f[4];
	struct pw_shm_file *fifth;
	int replaced = 0;

	segment();
	for (uint32_t i = 0; i < 4; i++) {
		pw_file_learn(crowded(i), 1000);
		f[i] = pw_file_get(crowded(i));
		for (uint32_t k = 0; k < i; k++)
			cr_assert_neq(f[k], f[i]);
		f[i]->size = 5;
	}
	fifth = pw_file_get(crowded(4));
	cr_assert_not_null(fifth);
	cr_assert_eq(pw_file_expected_reads(crowded(4)), 0u, "begins without a history");
	cr_assert_eq(fifth->reads, 0u);
	cr_assert_eq(fifth->size, 0u);
	for (uint32_t i = 0; i < 4; i++) {
		replaced += f[i] == fifth;
		if (f[i] != fifth) {
			cr_assert_eq(pw_file_get(crowded(i)), f[i]);
			cr_assert_eq(pw_file_expected_reads(crowded(i)), 1000u);
		}
	}
	cr_assert_eq(replaced, 1);
	cr_assert_eq(pw_file_get(crowded(4)), fifth);
}

UNIT_TEST(file, more_files_than_entries)
{
	const struct pw_segment *s = segment();

	for (uint64_t i = 0; i < 3 * PW_FILES; i++) {
		uint64_t id = pw_mix(i) | 1;
		struct pw_shm_file *f = pw_file_get(id);

		if (!CHECK(f >= s->files && f < s->files + PW_FILES && f->key == id))
			break;
		CHECK(pw_file_get(id) == f);
	}
}

UNIT_TEST(file, the_tables_last_place)
{
	const struct pw_segment *s = segment();

	/* Its neighbours are at the beginning. */
	for (uint32_t i = 0; i < 8; i++) {
		struct pw_shm_file *f = pw_file_get((uint64_t)PW_FILES * (i + 1) - 1);

		cr_assert(f >= s->files && f < s->files + PW_FILES, "%u", i);
	}
}

/* ---- the size lock -------------------------------------------------------------------------- */

static int64_t clock_ms = 1000000;

static int64_t set_clock(void)
{
	return clock_ms * 1000000;
}

UNIT_TEST(file, lock_and_unlock)
{
	struct pw_shm_file *f;

	segment();
	f = pw_file_get(ID);
	cr_assert(pw_file_lock_size(f));
	pw_file_unlock_size(f, 123456789012345);
	cr_assert_eq(f->size, 123456789012345u);
	cr_assert_eq(f->lock, 0u);
	cr_assert(pw_file_lock_size(f));
	pw_file_unlock_size(f, 0);
	cr_assert_eq(f->size, 0u);
}

UNIT_TEST(file, a_held_lock_is_not_waited_for)
{
	struct pw_shm_file *f;
	uint32_t held;

	segment();
	f = pw_file_get(ID);
	unit_sys.now_ns = set_clock;
	cr_assert(pw_file_lock_size(f));
	held = f->lock;
	unit_fail(U_ANY, 1, -ENOSYS);
	for (int ms = 0; ms <= 100; ms += 10) {
		cr_assert_not(pw_file_lock_size(f), "after %d ms", ms);
		clock_ms += 10;
	}
	cr_assert_eq(f->lock, held);
	cr_assert_not(unit_failed(), "no system call at all");
}

UNIT_TEST(file, a_stale_lock_is_taken_over)
{
	struct pw_shm_file *f;

	segment();
	f = pw_file_get(ID);
	unit_sys.now_ns = set_clock;
	cr_assert(pw_file_lock_size(f));
	clock_ms += 103; /* stamps are odd, so up to 2 ms may be lost */
	cr_assert(pw_file_lock_size(f), "its holder is dead");
	cr_assert_not(pw_file_lock_size(f), "and now it is ours, and fresh");
	pw_file_unlock_size(f, 1);
	cr_assert(pw_file_lock_size(f));
}

/* 49.7 days after the machine's start the stamps begin again. */
UNIT_TEST(file, stamps_wrap)
{
	struct pw_shm_file *f;

	segment();
	f = pw_file_get(ID);
	unit_sys.now_ns = set_clock;
	clock_ms = UINT32_MAX - 20;
	cr_assert(pw_file_lock_size(f));
	clock_ms += 60;
	cr_assert_not(pw_file_lock_size(f));
	clock_ms += 60;
	cr_assert(pw_file_lock_size(f));
	/* At the very millisecond at which a stamp would be 0, which means free. */
	pw_file_unlock_size(f, 0);
	clock_ms = (int64_t)UINT32_MAX + 1;
	cr_assert(pw_file_lock_size(f));
	cr_assert_not(pw_file_lock_size(f));
}

/* Between our look at the clock and our try another process takes the lock, 4 ms later. */
static struct pw_shm_file *contested;

static int64_t overtaken(void)
{
	if (!contested->lock)
		contested->lock = 1000005;
	return 1000001LL * 1000000;
}

UNIT_TEST(file, a_lock_taken_after_our_look_is_fresh)
{
	segment();
	contested = pw_file_get(ID);
	unit_sys.now_ns = overtaken;
	cr_assert_not(pw_file_lock_size(contested), "its holder is alive");
	cr_assert_eq(contested->lock, 1000005u);
	/* But a time that is none is no reason to go without it for ever. */
	contested->lock = 900000000;
	cr_assert(pw_file_lock_size(contested));
}

#define CROWD 4
#define ROUNDS 3000

static void take_turns(void *arg)
{
	struct pw_shm_file *f = pw_file_get(ID);

	(void)arg;
	unit_sys.now_ns = set_clock; /* stands: no lock grows stale */
	for (int i = 0; i < ROUNDS; i++) {
		if (!pw_file_lock_size(f))
			continue;
		MUST(pw_add_acq_rel(&unit_word[0], 1) == 0);
		pw_add_relaxed(&unit_word[1], 1);
		if (i % 64 == 0)
			sched_yield();
		MUST(pw_sub_acq_rel(&unit_word[0], 1) == 1);
		pw_file_unlock_size(f, pw_load_relaxed(&f->size) + 1);
	}
}

UNIT_TEST(file, one_holder_at_a_time)
{
	pid_t child[CROWD];

	segment();
	for (int i = 0; i < CROWD; i++)
		child[i] = unit_fork(take_turns, NULL);
	for (int i = 0; i < CROWD; i++)
		unit_join(child[i]);
	cr_assert_gt(unit_word[1], 0u);
	cr_assert_eq(pw_file_get(ID)->size, unit_word[1], "no store of a size was lost");
}

static void die_with_the_lock(void *arg)
{
	(void)arg;
	MUST(pw_file_lock_size(pw_file_get(ID)));
	pw_add_relaxed(&unit_word[0], 1);
	raise(SIGKILL);
}

UNIT_TEST(file, holder_killed)
{
	pid_t child;
	int status;

	segment();
	child = unit_fork(die_with_the_lock, NULL);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(unit_word[0], 1u);
	/* By the real clock: free for the next soon, and until then nobody waits. */
	while (!pw_file_lock_size(pw_file_get(ID)))
		usleep(5000);
	pw_file_unlock_size(pw_file_get(ID), 9);
	cr_assert(pw_file_lock_size(pw_file_get(ID)));
}

/* ---- history ------------------------------------------------------------------------------------ */

UNIT_TEST(file, history_converges)
{
	const uint64_t habits[] = {1, 7, 1000, 3, 0, 65536, 20};

	segment();
	cr_assert_eq(pw_file_expected_reads(ID), 0u, "unknown");
	pw_file_learn(ID, 50);
	cr_assert_eq(pw_file_expected_reads(ID), 50u, "the first is all one knows");
	for (size_t h = 0; h < sizeof(habits) / sizeof(habits[0]); h++) {
		uint32_t before = pw_file_expected_reads(ID);

		pw_file_learn(ID, habits[h]);
		/* One opening alone does not overturn what many have taught. */
		if (habits[h] > before)
			cr_assert_lt(pw_file_expected_reads(ID), habits[h]);
		for (int i = 0; i < 80; i++)
			pw_file_learn(ID, habits[h]);
		cr_assert_eq(pw_file_expected_reads(ID), habits[h]);
	}
}

UNIT_TEST(file, history_of_monsters)
{
	struct pw_shm_file *f;

	segment();
	pw_file_learn(ID, UINT64_MAX);
	cr_assert_eq(pw_file_expected_reads(ID), 1u << 20, "capped");
	for (int i = 0; i < 100; i++)
		pw_file_learn(ID, UINT64_MAX - (uint64_t)i);
	cr_assert_leq(pw_file_expected_reads(ID), 1u << 20);
	cr_assert_geq(pw_file_expected_reads(ID), (1u << 20) - 1);
	/* Garbage in the segment wears off. */
	f = pw_file_get(ID);
	f->reads = UINT32_MAX;
	for (int i = 0; i < 100; i++)
		pw_file_learn(ID, 10);
	cr_assert_eq(pw_file_expected_reads(ID), 10u);
}

/* Entries are replaced under other threads' hands: hints get lost, and that is all. */
static void *replace_all_the_time(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;
	const struct pw_segment *s = pw_segment_peek();

	for (uint32_t i = 0; i < 4000; i++) {
		uint64_t id = crowded((i * 7 + seed * 13) % 12);
		struct pw_shm_file *f = pw_file_get(id);

		if (!f)
			continue; /* another thread replaced the same one */
		CHECK(f >= s->files && f < s->files + PW_FILES);
		if (pw_file_lock_size(f))
			pw_file_unlock_size(f, i);
		pw_file_learn(id, i);
		CHECK(pw_file_expected_reads(id) <= 1u << 20);
	}
	return NULL;
}

UNIT_TEST(file, replaced_by_many_threads)
{
	pthread_t t[4];

	segment();
	for (uintptr_t i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, replace_all_the_time, (void *)i),
			     0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}
