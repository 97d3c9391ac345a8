/*
 * test_costs.c - what things cost is measured by a few for all processes, and never believed
 * beyond reason. The answer is for the life of a process, so each case is one of its own.
 */
#include "unit.h"

UNIT_SUITE(costs);

static bool sane(const struct pw_costs *c)
{
	return c->call >= 100 && c->call <= 20000 && c->touch >= 5 &&
	       c->touch <= 160000 && c->map >= 800 && c->map <= 8000000;
}

UNIT_TEST(costs, in_range)
{
	struct pw_costs c = {0};

	cr_assert(pw_costs_in_range(&c), "not measured yet");
	c = (struct pw_costs){300, 100, 15000};
	cr_assert(pw_costs_in_range(&c));
	c.call = 99;
	cr_assert_not(pw_costs_in_range(&c));
	c.call = 300;
	c.touch = 0;
	cr_assert_not(pw_costs_in_range(&c));
	c.touch = 5;
	c.map = 8000001;
	cr_assert_not(pw_costs_in_range(&c));
	c.map = UINT32_MAX;
	cr_assert_not(pw_costs_in_range(&c));
}

#define ROUNDS 4u /* processes that measure */
#define MAPPED 5u /* mappings that one of them makes */

static void measure(void *arg)
{
	const struct pw_costs *c = pw_costs();
	struct pw_costs first = *c;
	const struct pw_segment *s = pw_segment_peek();

	(void)arg;
	MUST(sane(c));
	MUST(unit_count(U_MUNMAP) == MAPPED); /* what was measured on is gone */
	MUST(s != NULL);		      /* attached, to share them */
	MUST(s->head->cost_call == c->call);
	MUST(s->head->cost_touch == c->touch);
	MUST(s->head->cost_map == c->map);
	unit_sys.now_ns = NULL; /* not measured again: that would end us */
	s->head->cost_map++;
	MUST(pw_costs() == c);
	MUST(!memcmp(c, &first, sizeof(first)));
	s->head->cost_map--;
}

static void find(void *arg)
{
	const struct pw_costs *want = arg;

	unit_sys.now_ns = NULL;
	MUST(pw_costs()->call == want->call);
	MUST(pw_costs()->touch == want->touch);
	MUST(pw_costs()->map == want->map);
}

/* The smallest of what the first few processes measured; never larger again. */
UNIT_TEST(costs, measured_by_a_few_for_all)
{
	const struct pw_segment *s = pw_segment_get();
	struct pw_costs best = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

	cr_assert_not_null(s);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		unit_child(measure, NULL);
		cr_assert_eq(s->head->cost_rounds, i);
		cr_assert_leq(s->head->cost_call, best.call);
		cr_assert_leq(s->head->cost_touch, best.touch);
		cr_assert_leq(s->head->cost_map, best.map);
		best.call = s->head->cost_call;
		best.touch = s->head->cost_touch;
		best.map = s->head->cost_map;
	}
	unit_child(find, &best);
	unit_child(find, &best);
	cr_assert_eq(s->head->cost_rounds, ROUNDS);
}

static void without_segment(void *arg)
{
	(void)arg;
	MUST(!pw_segment_set_path("/dev/shm/no such folder/segment"));
	MUST(sane(pw_costs()));
	MUST(pw_segment_peek() == NULL);
	MUST(pw_costs() == pw_costs());
}

UNIT_TEST(costs, without_a_segment)
{
	unit_child(without_segment, NULL);
}

/* ---- silly readings -------------------------------------------------------------------------- */

static int64_t step;

static int64_t by_steps(void)
{
	static int64_t now = INT64_MAX / 2;

	return now += step;
}

static void with_step(void *arg)
{
	const struct pw_costs *c;

	step = *(int64_t *)arg;
	unit_sys.now_ns = by_steps;
	c = pw_costs();
	MUST(sane(c));
	/* A touch and a mapping are worth so many calls on every machine there is. */
	MUST(c->touch >= c->call / 20 && c->touch <= 8 * c->call);
	MUST(c->map >= 8 * c->call && c->map <= 400 * c->call);
	if (step <= 0)
		MUST(c->call <= 120 && c->touch <= 6 && c->map <= 960);
	if (step == 1000000000)
		MUST(c->call == 20000);
}

UNIT_TEST(costs, silly_clocks)
{
	int64_t steps[] = {0, 1, -1000000, 1000000000, 30 * 86400 * 1000000000LL};

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		unlink(pw_segment_path());
		unit_child(with_step, &steps[i]);
	}
}

static void with_failures(void *call)
{
	const struct pw_costs *c;

	MUST(pw_segment_get() != NULL);
	unit_fail(*(enum unit_call *)call, 1, -ENOMEM);
	c = pw_costs();
	MUST(unit_failed());
	MUST(sane(c));
	MUST(unit_count(U_MMAP) == unit_count(U_MUNMAP));
	if (*(enum unit_call *)call == U_MMAP)
		MUST(c->touch == 8 * c->call); /* the worst */
}

UNIT_TEST(costs, calls_fail)
{
	enum unit_call calls[] = {U_MMAP, U_MADVISE, U_LSEEK};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		unlink(pw_segment_path());
		unit_child(with_failures, &calls[i]);
	}
}

static void believe(void *arg)
{
	const uint32_t *is = arg;
	const struct pw_costs *c;

	MUST(pw_segment_get() != NULL);
	pw_segment_peek()->head->cost_call = is[0];
	pw_segment_peek()->head->cost_touch = is[1];
	pw_segment_peek()->head->cost_map = is[2];
	pw_segment_peek()->head->cost_rounds = ROUNDS;
	unit_sys.now_ns = NULL;
	c = pw_costs();
	MUST(sane(c));
	MUST(c->call == is[3]);
	MUST(c->touch == is[4]);
	MUST(c->map == is[5]);
}

UNIT_TEST(costs, garbage_in_the_segment)
{
	uint32_t cases[][6] = {
		{0, 0, 1, 100, 5, 800},
		{1, 1, 1, 100, 5, 800},
		{UINT32_MAX, UINT32_MAX, UINT32_MAX, 20000, 160000, 8000000},
		{300, 50, 7000, 300, 50, 7000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		unit_child(believe, cases[i]);
}

/* Each window that is opened is a better reading: quickly down, slowly up, never silly. */
static void windows_took(void *arg)
{
	uint32_t call;
	uint32_t before;

	(void)arg;
	MUST(pw_segment_get() != NULL);
	pw_costs_window_took(1); /* not known yet: nothing to correct */
	call = pw_costs()->call;
	before = pw_costs()->map;
	for (int i = 0; i < 40; i++)
		pw_costs_window_took(0);
	MUST(pw_costs()->map == before); /* nobody knows what unmapping takes */
	for (int i = 0; i < 40; i++) {
		pw_costs_window_left(0);
		pw_costs_window_took(0);
	}
	MUST(pw_costs()->map < before && pw_costs()->map <= 8 * call + 1);
	before = pw_costs()->map;
	pw_costs_window_took(INT64_MAX / 4);
	MUST(pw_costs()->map > before && pw_costs()->map < 2 * before);
	for (int i = 0; i < 400; i++)
		pw_costs_window_took(INT64_MAX / 4);
	MUST(pw_costs()->map >= 375 * call && pw_costs()->map <= 400 * call);
	for (int i = 0; i < 40; i++)
		pw_costs_window_took(0);
	before = pw_costs()->map;
	for (int i = 0; i < 400; i++) {
		pw_costs_window_left(100LL * call);
		pw_costs_window_took(0);
	}
	MUST(pw_costs()->map > before && pw_costs()->map >= 80 * call);
	pw_costs_window_took(-1000000);
	MUST(sane(pw_costs()));
	MUST(pw_segment_peek()->head->cost_map == pw_costs()->map);
}

UNIT_TEST(costs, each_window_is_a_reading)
{
	unit_child(windows_took, NULL);
}

/* ---- several at once ------------------------------------------------------------------ */

/* Another thread, or a handler, asks while they are being measured, and gets its answer. */
static const struct pw_costs *handed_out;
static struct pw_costs early;

static int64_t asking_clock(void)
{
	if (!handed_out) {
		handed_out = &early; /* not once more inside */
		handed_out = pw_costs();
		early = *handed_out;
		step = 2000;
	}
	return by_steps();
}

UNIT_TEST(costs, what_was_handed_out_does_not_change)
{
	cr_assert_not_null(pw_segment_get());
	step = 100;
	unit_sys.now_ns = asking_clock;
	cr_assert(sane(pw_costs()));
	cr_assert_not_null(handed_out);
	cr_assert_eq(handed_out->call, early.call);
	cr_assert_eq(handed_out->touch, early.touch);
	cr_assert_eq(handed_out->map, early.map);
	cr_assert(sane(&early));
}

static pthread_barrier_t together;

static void *ask(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	CHECK(sane(pw_costs()));
	return NULL;
}

UNIT_TEST(costs, threads_at_once)
{
	pthread_t t[4];

	pthread_barrier_init(&together, NULL, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, ask, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	cr_assert_eq(unit_count(U_MUNMAP), MAPPED, "measured by one of them");
}
