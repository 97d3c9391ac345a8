/*
 * test_hazard.c - records of threads are claimed, given back and used again, however many
 * there are; what a slot names is seen by whoever asks; calls nest.
 */
#include "unit.h"

UNIT_SUITE(hazard);

#define MANY 200 /* the first 16, and several pages of records after them */

static int objs[MANY];

static unsigned records(void)
{
	unsigned n = 0;

	for (struct pw_reader *r = pw_readers(); r; r = r->next)
		n++;
	return n;
}

static bool listed(const struct pw_reader *what)
{
	for (struct pw_reader *r = pw_readers(); r; r = r->next)
		if (r == what)
			return true;
	return false;
}

UNIT_TEST(hazard, claim_many_and_again)
{
	static struct pw_reader *r[MANY];
	unsigned all;

	for (int i = 0; i < MANY; i++) {
		r[i] = pw_reader_claim();
		cr_assert_not_null(r[i]);
		cr_assert_eq((uintptr_t)r[i] % PW_CACHELINE, 0u);
		CHECK(listed(r[i]));
		for (int k = 0; k < i; k++)
			CHECK(r[k] != r[i]);
		for (int k = 0; k < PW_HAZARD_DEPTH; k++)
			CHECK(!r[i]->slot[k].obj);
	}
	all = records();
	cr_assert_geq(all, (unsigned)MANY);
	for (int i = 0; i < MANY; i++)
		pw_reader_release(r[i]);
	for (int i = 0; i < MANY; i++)
		CHECK(pw_reader_claim() != NULL);
	cr_assert_eq(records(), all, "given back, used again");
	cr_assert_eq(unit_count(U_MUNMAP), 0u, "never freed");
}

UNIT_TEST(hazard, held_sees_every_record)
{
	static struct pw_hazard *s[MANY];

	for (int i = 0; i < MANY; i++) {
		struct pw_reader *r = pw_reader_claim();

		cr_assert_not_null(r);
		s[i] = pw_hazard_enter(r, &objs[i]);
		cr_assert_not_null(s[i]);
	}
	for (int i = 0; i < MANY; i++)
		CHECK(pw_hazard_held(&objs[i]));
	for (int i = 0; i < MANY; i++) {
		pw_hazard_leave(s[i]);
		CHECK(!pw_hazard_held(&objs[i]));
		CHECK(i + 1 == MANY || pw_hazard_held(&objs[i + 1]));
	}
}

UNIT_TEST(hazard, the_first_needs_no_memory)
{
	unit_sys.mmap = NULL; /* a call would end us */
	cr_assert_not_null(pw_reader_claim());
	pw_readers_reset(NULL);
	cr_assert_not_null(pw_reader_claim());
	cr_assert_eq(records(), 1u);
}

/* Memory with nothing to touch on either side of it. */
static long lonely_mmap(void *at, size_t len, int prot, int flags, int fd, int64_t off)
{
	long got = pw_sys_kernel.mmap(at, len + 2 * PW_PAGE, PROT_NONE, flags, fd, off);

	CHECK(!pw_is_err(got));
	CHECK(!pw_sys_kernel.mprotect((char *)got + PW_PAGE, len, prot));
	return got + (long)PW_PAGE;
}

UNIT_TEST(hazard, records_stay_in_their_memory)
{
	unit_sys.mmap = lonely_mmap;
	for (int i = 0; i < MANY; i++) {
		struct pw_reader *r = pw_reader_claim();

		cr_assert_not_null(r);
		memset((char *)r + offsetof(struct pw_reader, hits), 0,
		       4 * sizeof(r->hits));
	}
	cr_assert_leq(records(), MANY + 2 * PW_PAGE / (unsigned)sizeof(struct pw_reader),
		      "and use it");
}

UNIT_TEST(hazard, mmap_fails)
{
	cr_assert_not_null(pw_reader_claim());
	unit_fail(U_MMAP, 1, -ENOMEM);
	cr_assert_null(pw_reader_claim());
	cr_assert(unit_failed());
	cr_assert_not_null(pw_reader_claim(), "and the next one gets one");
}

UNIT_TEST(hazard, release_clears_the_slots)
{
	struct pw_reader *r = pw_reader_claim();

	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		r->slot[i].obj = &objs[i];
	pw_reader_release(r);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		cr_assert_not(pw_hazard_held(&objs[i]));
}

UNIT_TEST(hazard, reset_leaves_only_mine)
{
	struct pw_reader *mine = pw_reader_claim();
	struct pw_reader *other = pw_reader_claim();

	pw_hazard_enter(mine, &objs[0]);
	pw_hazard_enter(other, &objs[1]);
	pw_readers_reset(mine);
	cr_assert(pw_hazard_held(&objs[0]));
	cr_assert_not(pw_hazard_held(&objs[1]));
	cr_assert_eq(pw_reader_claim(), other, "it is free again");
	pw_readers_reset(NULL);
	cr_assert_not(pw_hazard_held(&objs[0]));
}

/* ---- nesting ---------------------------------------------------------------------------------- */

/* Each level is a call deeper on the stack, as a signal handler's is. */
static __attribute__((noinline)) int nest(struct pw_reader *r, int level)
{
	struct pw_hazard *s = pw_hazard_enter(r, &objs[level]);
	volatile int deeper;

	if (!s)
		return level;
	for (int i = 0; i <= level; i++)
		CHECK(pw_hazard_held(&objs[i]));
	deeper = nest(r, level + 1);
	for (int i = 0; i <= level; i++)
		CHECK(pw_hazard_held(&objs[i]));
	pw_hazard_leave(s);
	CHECK(!pw_hazard_held(&objs[level]));
	return deeper;
}

UNIT_TEST(hazard, nested_calls)
{
	struct pw_reader *r = pw_reader_claim();

	cr_assert_eq(nest(r, 0), PW_HAZARD_DEPTH, "one slot each, and then none");
	cr_assert_eq(nest(r, 0), PW_HAZARD_DEPTH, "all free again");
}

UNIT_TEST(hazard, nested_takes_an_empty_one)
{
	struct pw_reader *r = pw_reader_claim();

	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		r->slot[i].obj = &objs[i];
	cr_assert_null(pw_hazard_nested(r));
	for (int i = 0; i < PW_HAZARD_DEPTH; i++) {
		r->slot[i].obj = NULL;
		cr_assert_eq(pw_hazard_nested(r), &r->slot[i]);
		r->slot[i].obj = &objs[i];
	}
}

UNIT_TEST(hazard, busy)
{
	struct pw_reader *r = pw_reader_claim();

	cr_assert_not(pw_reader_busy(r));
	for (int i = 0; i < PW_HAZARD_DEPTH; i++) {
		r->slot[i].obj = &objs[i];
		cr_assert(pw_reader_busy(r));
		r->slot[i].obj = NULL;
	}
	cr_assert_not(pw_reader_busy(r));
}

/* Which calls a jump has left is told by where the stack was (shim/jump.c). */
UNIT_TEST(hazard, a_slot_says_where_the_stack_was)
{
	struct pw_reader *r = pw_reader_claim();
	char here;
	struct pw_hazard *s = pw_hazard_enter(r, &objs[0]);

	cr_assert_leq(s->frame, (uintptr_t)&here);
	cr_assert_gt(s->frame, (uintptr_t)&here - 65536);
}

/* ---- threads ------------------------------------------------------------------------------------- */

#define THREADS 24
#define ROUNDS 200

static uint32_t go;

static void *claim_and_use(void *arg)
{
	int me = (int)(uintptr_t)arg;

	while (!pw_load_acquire(&go))
		sched_yield();
	for (int i = 0; i < ROUNDS; i++) {
		struct pw_reader *r = pw_reader_claim();
		struct pw_hazard *s;

		CHECK(r != NULL);
		if (!r)
			break;
		/* A plain store: TSan says so if two threads have one record. */
		r->hits++;
		s = pw_hazard_enter(r, &objs[me]);
		CHECK(s == &r->slot[0]);
		CHECK(pw_hazard_held(&objs[me]));
		if (i % 16 == 0)
			sched_yield();
		pw_hazard_leave(s);
		CHECK(!pw_hazard_held(&objs[me]));
		pw_reader_release(r);
	}
	return NULL;
}

UNIT_TEST(hazard, threads_share_no_record)
{
	pthread_t t[THREADS];
	uint64_t sum = 0;

	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, claim_and_use, (void *)i), 0);
	pw_store_release(&go, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (struct pw_reader *r = pw_readers(); r; r = r->next) {
		sum += r->hits;
		CHECK(!r->taken);
	}
	cr_assert_eq(sum, (uint64_t)THREADS * ROUNDS, "none lost");
}

/* All at once hold one, so that pages of records are pushed by several threads. */
static uint32_t holding;

static void *claim_and_hold(void *arg)
{
	int me = (int)(uintptr_t)arg;
	struct pw_reader *r = pw_reader_claim();
	struct pw_hazard *s = r ? pw_hazard_enter(r, &objs[me]) : NULL;

	CHECK(s != NULL);
	pw_add_acq_rel(&holding, 1);
	while (pw_load_acquire(&go) < 2)
		usleep(500);
	if (s)
		pw_hazard_leave(s);
	return r;
}

UNIT_TEST(hazard, threads_beyond_a_page_of_records)
{
	enum { N = 90 };
	pthread_t t[N];
	void *got[N];

	for (uintptr_t i = 0; i < N; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, claim_and_hold, (void *)i), 0);
	while (pw_load_acquire(&holding) < N)
		usleep(500);
	for (int i = 0; i < N; i++)
		CHECK(pw_hazard_held(&objs[i]));
	pw_store_release(&go, 2);
	for (int i = 0; i < N; i++) {
		pthread_join(t[i], &got[i]);
		CHECK(listed(got[i]));
		for (int k = 0; k < i; k++)
			CHECK(got[k] != got[i]);
	}
	for (int i = 0; i < N; i++)
		CHECK(!pw_hazard_held(&objs[i]));
}

/* With one thread there are no fences, but the same answers. */
static void alone(void *arg)
{
	struct pw_reader *r = pw_reader_claim();

	(void)arg;
	__libc_single_threaded = 1;
	MUST(nest(r, 0) == PW_HAZARD_DEPTH);
	struct pw_hazard *s = pw_hazard_enter(r, &objs[0]);

	MUST(pw_hazard_held(&objs[0]));
	pw_hazard_leave(s);
	MUST(!pw_hazard_held(&objs[0]));
}

UNIT_TEST(hazard, one_thread)
{
	unit_child(alone, NULL);
}

/* The claim of a thread's record and its end, over fork: only the forking thread lives on. */
static void child_of_threads(void *arg)
{
	pw_readers_reset(arg);
	for (int i = 0; i < MANY; i++)
		MUST(!pw_hazard_held(&objs[i]) || i == 50);
	MUST(pw_hazard_held(&objs[50]));
}

UNIT_TEST(hazard, fork_child)
{
	struct pw_reader *mine = pw_reader_claim();

	pw_hazard_enter(mine, &objs[50]);
	for (int i = 0; i < 40; i++)
		pw_hazard_enter(pw_reader_claim(), &objs[i]);
	unit_child(child_of_threads, mine);
	for (int i = 0; i < 40; i++)
		CHECK(pw_hazard_held(&objs[i]));
}
