/*
 * test_races.c - windows among several threads: who comes in while another finishes, who
 * raises what another takes away, and all of it at once. The narrow places are reached
 * through the system calls that are made there; for the rest TSan is the judge, and the end
 * of the process where there is none.
 */
#include "unit.h"

UNIT_SUITE(races);

static struct pw_reader *me;
static struct pw_reader *other;
static struct pw_window w;
static const char *path;
static int fd = -1;
static unsigned char buf[100000];

static int64_t own(enum pw_stat what)
{
	uint64_t stats[PW_S_COUNT];

	pw_stat_own(stats);
	return (int64_t)stats[what];
}

static void start_open(size_t size)
{
	me = pw_reader_claim();
	other = pw_reader_claim();
	unit_guard();
	pw_costs();
	path = unit_shm("file");
	fd = unit_file(path, size);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert_eq(unit_read(me, &w, fd, buf, 100, 0), PW_HIT);
}

/*
 * A retirer stops after its first step (DYING is set, `known` not yet 0), and a reader leaves:
 * it finishes the window. Then another reader comes, and must not find `known` as it was.
 */
UNIT_TEST(races, finished_before_known_is_0)
{
	struct pw_hazard *s;

	start_open(100000);
	s = pw_hazard_enter(other, &w);
	pw_or_acq_rel(&w.state, PW_WIN_DYING);
	pw_window_leave(s, &w);
	cr_assert(pw_window_is_open(&w) || !w.known,
		  "unmapped, and still to be read from");
	cr_assert_eq(unit_read(me, &w, fd, buf, 100, 0), PW_MISS_END);
}

/*
 * The same, and the reader comes in when the finisher has looked through the slots, but has
 * not yet claimed the window: the mapping must stay until it leaves.
 */
static struct pw_hazard *came_in;
static enum pw_hit read_inside;

static void enter_and_read(uint64_t *saved)
{
	pw_sys_kernel.block_signals(saved);
	unit_sys.block_signals = pw_sys_kernel.block_signals;
	came_in = pw_hazard_enter(me, &w);
	read_inside = pw_window_read(&w, buf, 100, 0);
}

UNIT_TEST(races, finished_with_a_reader_inside)
{
	struct pw_hazard *s;

	start_open(100000);
	s = pw_hazard_enter(other, &w);
	unit_sys.block_signals = enter_and_read;
	pw_or_acq_rel(&w.state, PW_WIN_DYING);
	pw_window_leave(s, &w);
	cr_assert_not_null(came_in);
	cr_assert(read_inside != PW_HIT || unit_maps(path) == 1,
		  "unmapped during a read");
	pw_window_leave(came_in, &w);
	cr_assert_eq(unit_maps(path), 0u);
	cr_assert_eq(w.state & PW_WIN_BITS, 0u);
}

/*
 * Between the finisher's look and its claim the window is finished by another, opened anew,
 * read, and retired again: its state is the very same, and somebody is inside.
 */
static void another_life(uint64_t *saved)
{
	pw_sys_kernel.block_signals(saved);
	unit_sys.block_signals = pw_sys_kernel.block_signals;
	pw_window_finish(&w);
	CHECK(unit_open(me, &w, fd) == 0);
	came_in = pw_hazard_enter(me, &w);
	pw_window_retire(&w, false);
}

UNIT_TEST(races, finished_in_another_life)
{
	start_open(100000);
	unit_sys.block_signals = another_life;
	pw_window_retire(&w, false);
	cr_assert_not_null(came_in);
	cr_assert_eq(unit_maps(path), 1u, "somebody is inside");
	pw_window_leave(came_in, &w);
	cr_assert_eq(unit_maps(path), 0u);
	cr_assert_eq(w.state & PW_WIN_BITS, 0u);
	cr_assert_eq(own(PW_S_WINDOWS), 0);
}

/*
 * A reader that comes in at that place finds the window open, asks the kernel, and then the
 * file for its size: by now the window may be being unmapped, and `known` must stay 0.
 */
static bool was_open;

static void enter_only(uint64_t *saved)
{
	pw_sys_kernel.block_signals(saved);
	unit_sys.block_signals = pw_sys_kernel.block_signals;
	came_in = pw_hazard_enter(other, &w);
	was_open = pw_window_is_open(&w);
}

static long refresh_and_unmap(void *at, size_t len)
{
	unit_sys.munmap = pw_sys_kernel.munmap;
	if (was_open)
		CHECK(pw_window_refresh(&w, fd, 0, 100));
	return pw_sys_kernel.munmap(at, len);
}

UNIT_TEST(races, raised_while_closing)
{
	start_open(100000);
	unit_sys.block_signals = enter_only;
	unit_sys.munmap = refresh_and_unmap;
	pw_window_retire(&w, false);
	cr_assert_not_null(came_in);
	pw_window_leave(came_in, &w);
	cr_assert_eq(unit_maps(path), 0u);
	cr_assert_eq(w.known, 0u, "%llu bytes to be read from nowhere",
		     (unsigned long long)w.known);
	cr_assert_eq(unit_read(me, &w, fd, buf, 100, 0), PW_MISS_END);
}

/* Two threads read where there are no witnesses; each has its own number of hits. */
UNIT_TEST(races, few_witnesses_for_two_threads)
{
	start_open(100000);
	for (int i = 0; i < 64 && w.known; i++)
		pw_window_doubt(&w, PW_MISS_WITNESS, i % 2 ? 100 : 5000);
	cr_assert_eq(w.known, 0u, "64 doubts and not one hit in between");
}

#define READERS 3
#define ROUNDS 150

static size_t size;
static uint32_t stop;
static uint64_t hits;

/* As the shim does it: touch, doubt, ask the kernel, refresh, retire what was outgrown. */
static void *read_as_the_shim(void *arg)
{
	struct pw_reader *r = pw_reader_claim();
	static unsigned char bufs[READERS][10000];
	unsigned char *mine = bufs[(uintptr_t)arg];
	uint64_t seed = (uintptr_t)arg;
	uint64_t got = 0;

	while (!pw_load_acquire(&stop)) {
		uint64_t x = pw_mix(++seed);
		size_t n = 1 + x % sizeof(bufs[0]);
		uint64_t off = (x >> 20) % (size - n);
		struct pw_hazard *s = pw_hazard_enter(r, &w);
		bool outgrown = false;
		enum pw_hit hit = PW_MISS_END;

		if (pw_window_is_open(&w)) {
			hit = pw_window_read(&w, mine, n, off);
			for (int i = 0; i < 64 && hit == PW_MISS_TOUCH; i++) {
				pw_window_touch(&w, fd, n, off, got);
				hit = pw_window_read(&w, mine, n, off);
			}
			if (hit != PW_HIT)
				pw_window_doubt(&w, hit, got);
		}
		if (hit != PW_HIT && pw_window_is_open(&w))
			outgrown = !pw_window_refresh(&w, fd, off, n);
		pw_window_leave(s, &w);
		if (outgrown)
			pw_window_retire(&w, false);
		if (hit != PW_HIT) {
			usleep(50); /* if somebody always is inside it never ends */
			continue;
		}
		got++;
		if (!CHECK(unit_exact(mine, n, off)))
			break;
	}
	pw_add_relaxed(&hits, got);
	pw_reader_release(r);
	return NULL;
}

static void reopen_under_readers(size_t bytes)
{
	pthread_t t[READERS];
	uint64_t opened = 0;

	size = bytes;
	start_open(size);
	for (uintptr_t i = 0; i < READERS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, read_as_the_shim, (void *)i), 0);
	for (int i = 0; i < ROUNDS; i++) {
		int err = unit_open(me, &w, fd);

		opened += !err;
		CHECK(err == 0 || err == -EBUSY);
		usleep(i % 7 * 100);
		pw_window_retire(&w, false);
		if (i % 3 == 0)
			sched_yield();
	}
	pw_store_release(&stop, 1);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	pw_window_retire(&w, false);
	cr_assert_eq(unit_maps(path), 0u);
	cr_assert_eq(w.state & PW_WIN_BITS, 0u);
	cr_assert_eq(own(PW_S_WINDOWS), 0);
	cr_assert_eq(own(PW_S_PAGES), 0);
	cr_assert_gt(opened, 0u);
	cr_assert_gt(hits, 0u);
}

UNIT_TEST(races, retired_and_opened_under_readers)
{
	reopen_under_readers(6 * PW_CP);
}

UNIT_TEST(races, a_larger_one_under_readers)
{
	reopen_under_readers(40 * PW_CP);
}
