/*
 * test_touch.c - the first touch of a cache page: when it pays, who brings it in, how far
 * ahead is read, and what happens when any of that goes wrong.
 */
#include "unit.h"

#include "cache/page.h"
#include "cache/word.h"

UNIT_SUITE(touch);

#define CPS 48
#define SIZE (CPS * PW_CP)
#define MS 1000000LL

static struct pw_reader *me;
static struct pw_window w;
static const struct pw_segment *s;
static int fd = -1;
static unsigned char buf[4 * PW_CP];

static int64_t clock_now;
static int64_t clock_step;

static int64_t stepped(void)
{
	return clock_now += clock_step;
}

/* Costs are given, so that what pays is known, and the clock stands still; then a window on a file of SIZE. */
static void start(const char *path, uint32_t call, uint32_t touch)
{
	s = pw_segment_get();
	cr_assert_not_null(s);
	s->head->cost_call = call;
	s->head->cost_touch = touch;
	s->head->cost_map = 10000;
	s->head->cost_rounds = UINT32_MAX;
	cr_assert_eq(pw_costs()->call, call);
	me = pw_reader_claim();
	unit_guard();
	unit_sys.now_ns = stepped;
	fd = unit_file(path, SIZE);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	unit_fail(U_ANY, 0, 0);
}

static uint64_t bytes; /* that hits have read, as a thread counts them */

/* One read, and if need be one question whether to touch, as one call of the shim makes. */
static enum pw_hit once(size_t n, uint64_t off)
{
	struct pw_hazard *h = pw_hazard_enter(me, &w);
	enum pw_hit hit = pw_window_read(&w, buf, n, off);

	if (hit == PW_MISS_TOUCH && pw_window_touch(&w, fd, n, off, bytes))
		hit = pw_window_read(&w, buf, n, off);
	pw_window_leave(h, &w);
	if (hit == PW_HIT) {
		bytes += n;
		CHECK(unit_exact(buf, n, off));
	}
	return hit;
}

static bool ask(size_t n, uint64_t off)
{
	struct pw_hazard *h = pw_hazard_enter(me, &w);
	bool yes = pw_window_touch(&w, fd, n, off, bytes);

	pw_window_leave(h, &w);
	return yes;
}

static uint64_t own(enum pw_stat what)
{
	uint64_t stats[PW_S_COUNT];

	pw_stat_own(stats);
	return stats[what];
}

static unsigned words_with(uint32_t bits)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < PW_WORDS; i++)
		n += s->words[i] && (s->words[i] & 0xff) == bits;
	return n;
}

/* ---- when ----------------------------------------------------------------------------------- */

UNIT_TEST(touch, in_sequence_at_once)
{
	start(unit_shm("file"), 300, 50);
	once(4096, 0);
	for (uint64_t off = 4096; off < SIZE; off += 4096)
		CHECK(once(4096, off) == PW_HIT);
	cr_assert_eq(own(PW_S_PAGES), (uint64_t)CPS);
	cr_assert_eq(w.pages, (uint64_t)CPS);
}

static void read_in_sequence(void)
{
	for (uint64_t off = 0; off < SIZE; off += PW_CP)
		once(PW_CP, off);
}

/* Where touching is dear and a read is large, the kernel is the better choice. That this file
 * is as dear as others is found out with the first few; the next window knows. */
UNIT_TEST(touch, not_where_it_does_not_pay)
{
	start(unit_shm("file"), 100, 20000);
	clock_step = 1000000;
	cr_assert(pw_window_gains(&w, PW_CP), "not known yet");
	read_in_sequence();
	cr_assert_eq(own(PW_S_PAGES), 4u);
	cr_assert_not(pw_window_gains(&w, PW_CP));
	cr_assert(pw_window_gains(&w, 16), "small reads gain all the same");
	cr_assert_eq(pw_file_touch(w.id), 800u, "eight calls are as dear as it gets");

	pw_window_retire(&w, false);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	read_in_sequence();
	cr_assert_eq(own(PW_S_PAGES), 0u);
}

/* A file in large pieces: dear as others, by the machine's costs; cheap, as it turns out. */
UNIT_TEST(touch, cheaper_than_it_looked)
{
	start(unit_shm("file"), 100, 20000);
	once(PW_CP, 0);
	for (uint64_t off = PW_CP; off < SIZE; off += PW_CP)
		CHECK(once(PW_CP, off) == PW_HIT);
	cr_assert(pw_window_gains(&w, PW_CP));
	cr_assert_eq(pw_file_touch(w.id), 1u);
}

/* The kernel may map much at the first touch and nothing at those that follow. */
UNIT_TEST(touch, one_dear_page_in_a_row)
{
	start(unit_shm("file"), 1000, 20000);
	clock_step = 5000;
	once(PW_CP, 0);
	clock_step = 1;
	for (uint64_t off = PW_CP; off < SIZE; off += PW_CP)
		CHECK(once(PW_CP, off) == PW_HIT);
	cr_assert_lt(pw_file_touch(w.id), 100u);
}

/* Known for many openings: found out again, for the file may have been written anew. */
UNIT_TEST(touch, found_out_again)
{
	unsigned unknown = 0;

	start(unit_shm("file"), 100, 20000);
	pw_file_set_touch(w.id, 7);
	for (int i = 0; i < 320; i++) {
		unknown += !pw_file_touch(w.id);
		pw_file_learn(w.id, 1);
	}
	cr_assert_eq(unknown, 10u);
	cr_assert_eq(pw_file_touch(0), 0u, "no file");
	pw_file_set_touch(w.id, UINT32_MAX);
	cr_assert_leq(pw_file_touch(w.id), 160000u);
}

/* Elsewhere each read pays a part, the sum at most some twice what touching costs. */
static unsigned reads_until_touched(uint64_t cp)
{
	unsigned n = 0;

	do {
		n++;
		if (once(100, cp * PW_CP + n) == PW_HIT)
			return n;
		once(100, (cp + 10) * PW_CP); /* no sequence */
	} while (n < 1000);
	return n;
}

UNIT_TEST(touch, dear_pages_are_paid_off)
{
	unsigned n;

	start(unit_shm("file"), 100, 20000);
	n = reads_until_touched(3);
	cr_assert_gt(n, 32u);
	cr_assert_leq(n, 64u);
	cr_assert_eq(once(100, 3 * PW_CP + 5000), PW_HIT);
}

UNIT_TEST(touch, cheap_pages_soon)
{
	start(unit_shm("file"), 300, 10);
	cr_assert_eq(reads_until_touched(3), 1u);
}

UNIT_TEST(touch, middling_pages_after_their_price)
{
	start(unit_shm("file"), 1000, 500); /* a cache page is the price of eight reads */
	unsigned n = reads_until_touched(3);

	cr_assert_geq(n, 5u);
	cr_assert_leq(n, 9u);
}

/* ---- the short way ---- */

static bool pays(size_t n, uint64_t off)
{
	struct pw_hazard *h = pw_hazard_enter(me, &w);
	bool yes = pw_window_pay(&w, n, off, bytes);

	pw_window_leave(h, &w);
	return yes;
}

UNIT_TEST(touch, the_short_way_costs_the_same)
{
	unsigned n;

	start(unit_shm("file"), 100, 20000);
	once(100, 20 * PW_CP); /* the window's first page may be a sequence */
	n = reads_until_touched(3);
	for (unsigned i = 1; i < n; i++) {
		CHECK(pays(100, 5 * PW_CP + i));
		once(100, 15 * PW_CP);
	}
	cr_assert_not(pays(100, 5 * PW_CP), "nothing is left to be paid");
	cr_assert_eq(w.map[5] & PW_M_TOUCHED, 0u, "and nothing else was done");
	cr_assert(ask(100, 5 * PW_CP));
	cr_assert_eq(once(100, 5 * PW_CP), PW_HIT);
}

UNIT_TEST(touch, the_short_way_and_sequences)
{
	start(unit_shm("file"), 1000, 500);
	once(100, 20 * PW_CP);
	cr_assert_eq(once(100, 20 * PW_CP), PW_HIT, "a window's first may be a sequence");
	cr_assert(pays(100, 7 * PW_CP));
	cr_assert(pays(100, 7 * PW_CP + 100));
	cr_assert(pays(100, 8 * PW_CP), "the next one, but little of this was read");
	for (unsigned i = 0; i < PW_CP / 4096; i++)
		once(4096, 9 * PW_CP + i * 4096ULL);
	cr_assert_not(pays(4096, 10 * PW_CP), "goes on");
	cr_assert(ask(4096, 10 * PW_CP));
}

UNIT_TEST(touch, what_the_short_way_leaves)
{
	uint8_t before;

	start(unit_shm("file"), 100, 20000);
	cr_assert(pays(100, 7 * PW_CP));
	before = w.map[7];
	cr_assert_gt(before, 0u);
	cr_assert_not(pays(2, 8 * PW_CP - 1), "two pages");
	cr_assert_not(pays(1, SIZE));
	cr_assert_not(pays(2, SIZE - 1));
	cr_assert_not(pays(1, UINT64_MAX));
	cr_assert_not(pays(SIZE_MAX, 7 * PW_CP));
	w.map[9] = PW_M_TOUCHED;
	cr_assert_not(pays(100, 9 * PW_CP), "only lost its reference bit");
	cr_assert_eq(w.map[9], PW_M_TOUCHED);
	w.known = 0;
	cr_assert_not(pays(100, 7 * PW_CP));
	cr_assert_eq(w.map[7], before);
	cr_assert_eq(own(PW_S_PAGES), 0u);
}

UNIT_TEST(touch, nothing_beyond_the_known_size)
{
	start(unit_shm("file"), 300, 10);
	cr_assert_not(ask(1, SIZE));
	cr_assert_not(ask(2, SIZE - 1));
	cr_assert_not(ask(SIZE + 1, 0));
	cr_assert_not(ask(1, UINT64_MAX));
	cr_assert_not(ask(SIZE_MAX, 2));
	w.known = 0;
	cr_assert_not(ask(1, 0));
	cr_assert_eq(own(PW_S_PAGES), 0u);
	cr_assert_eq(words_with(PW_W_UPTODATE), 0u);
}

UNIT_TEST(touch, all_that_a_read_spans)
{
	start(unit_shm("file"), 300, 10);
	cr_assert_eq(once(2 * PW_CP + 2, 3 * PW_CP - 1), PW_HIT);
	cr_assert_eq(own(PW_S_PAGES), 4u);
	cr_assert_eq(once(1, 2 * PW_CP), PW_HIT);
	cr_assert_eq(once(1, 6 * PW_CP - 1), PW_HIT);
	cr_assert_eq(own(PW_S_PAGES), 4u, "once each");
	cr_assert_eq(words_with(PW_W_UPTODATE), 4u);
	cr_assert_eq(words_with(PW_W_LOCKED), 0u);
}

UNIT_TEST(touch, a_page_that_lost_its_reference_bit)
{
	start(unit_shm("file"), 300, 10);
	cr_assert_eq(once(10, 5 * PW_CP), PW_HIT);
	pw_store_relaxed(&w.map[5], PW_M_TOUCHED);
	unit_fail(U_ANY, 1, -EIO);
	cr_assert_eq(once(10, 5 * PW_CP), PW_HIT);
	cr_assert_eq(w.map[5], PW_M_TOUCHED | PW_M_REF);
	cr_assert_eq(own(PW_S_PAGES), 1u);
	cr_assert_not(unit_failed(), "no system call for that");
}

/* ---- who ------------------------------------------------------------------------------------- */

static long cold(void *at, size_t len, unsigned char *vec)
{
	(void)at;
	/* The other bits are reserved. */
	memset(vec, 0xfe, (len + PW_PAGE - 1) / PW_PAGE);
	return 0;
}

static long half_cold(void *at, size_t len, unsigned char *vec)
{
	(void)at;
	memset(vec, 1, (len + PW_PAGE - 1) / PW_PAGE);
	vec[3] = 0;
	return 0;
}

static long warm(void *at, size_t len, unsigned char *vec)
{
	(void)at;
	memset(vec, 1, (len + PW_PAGE - 1) / PW_PAGE);
	return 0;
}

static long unsaid(void *at, size_t len, unsigned char *vec)
{
	(void)at;
	(void)len;
	(void)vec;
	return -EPERM;
}

#define ASKED 200
static struct {
	int64_t off;
	size_t n;
} asked[ASKED];
static unsigned asks;

static long note_readahead(int f, int64_t off, size_t n)
{
	(void)f;
	if (asks < ASKED) {
		asked[asks].off = off;
		asked[asks].n = n;
	}
	asks++;
	return 0;
}

UNIT_TEST(touch, resident_pages_are_not_read_again)
{
	start(unit_shm("file"), 300, 10);
	unit_sys.readahead = note_readahead;
	unit_sys.mincore = warm;
	cr_assert_eq(once(10, 5 * PW_CP), PW_HIT);
	unit_sys.mincore = unsaid;
	cr_assert_eq(once(10, 15 * PW_CP), PW_HIT);
	cr_assert_eq(asks, 0u);
	cr_assert_eq(unit_count(U_MADVISE), 0u);
	cr_assert_eq(own(PW_S_FILLS), 2u, "found in counts as well");
	cr_assert_eq(words_with(PW_W_UPTODATE), 2u);
}

UNIT_TEST(touch, a_cold_page_at_random)
{
	start(unit_shm("file"), 300, 10);
	unit_sys.readahead = note_readahead;
	unit_sys.mincore = cold;
	cr_assert_eq(once(10, 5 * PW_CP + 77), PW_HIT);
	cr_assert_eq(asks, 0u, "nothing is read ahead of it");
	cr_assert_eq(unit_count(U_MADVISE), 1u);
	unit_sys.mincore = half_cold;
	cr_assert_eq(once(10, 25 * PW_CP), PW_HIT);
	cr_assert_eq(unit_count(U_MADVISE), 2u, "one cold page in it is enough");
	cr_assert_eq(own(PW_S_FILLS), 2u);
	cr_assert_eq(words_with(PW_W_UPTODATE), 2u);
}

/* The words say that another process has it in: nobody asks the kernel again. */
UNIT_TEST(touch, another_process_has_it_in)
{
	start(unit_shm("file"), 300, 10);
	cr_assert_eq(pw_page_begin(w.id, 5, true), PW_PAGE_MINE);
	pw_page_end(w.id, 5, true);
	unit_fail(U_ANY, 1, -EIO);
	cr_assert_eq(once(10, 5 * PW_CP), PW_HIT);
	cr_assert_not(unit_failed());
	cr_assert_eq(own(PW_S_PAGES), 1u);
	cr_assert_eq(own(PW_S_FILLS), 0u);
}

UNIT_TEST(touch, cold_in_sequence)
{
	uint64_t end = 0;

	start(unit_shm("file"), 300, 50);
	unit_sys.readahead = note_readahead;
	unit_sys.mincore = cold;
	once(4096, 0);
	for (uint64_t off = 4096; off < SIZE; off += 4096)
		CHECK(once(4096, off) == PW_HIT);
	cr_assert_eq(own(PW_S_FILLS), (uint64_t)CPS);
	/* Runs, each asked for half a run before the last one ends. */
	cr_assert_leq(asks, SIZE / (1 << 19) + 2u);
	cr_assert_gt(asks, 1u);
	for (unsigned i = 0; i < asks; i++) {
		CHECK(asked[i].off <= (int64_t)end);
		if (asked[i].off + asked[i].n > end)
			end = (uint64_t)asked[i].off + asked[i].n;
	}
	cr_assert_geq(end, SIZE);
}

/* What is there is not asked for, though it be looked at now and then. */
UNIT_TEST(touch, warm_in_sequence)
{
	start(unit_shm("file"), 300, 50);
	unit_sys.readahead = note_readahead;
	once(4096, 0);
	for (uint64_t off = 4096; off < SIZE; off += 4096)
		CHECK(once(4096, off) == PW_HIT);
	cr_assert_eq(asks, 0u);
	/* One look a page whose word we have, and one a run. */
	cr_assert_leq(unit_count(U_MINCORE), CPS + SIZE / (1 << 20) + 2u);
}

/* A sequence that begins anew elsewhere, and one that goes back. */
UNIT_TEST(touch, another_sequence)
{
	start(unit_shm("file"), 300, 10);
	unit_sys.readahead = note_readahead;
	unit_sys.mincore = cold;
	once(PW_CP, 30 * PW_CP);
	once(10, 31 * PW_CP);
	cr_assert_eq(asks, 1u);
	cr_assert_eq(asked[0].off, (int64_t)(31 * PW_CP));
	once(PW_CP, 2 * PW_CP);
	once(10, 3 * PW_CP);
	cr_assert_eq(asks, 2u);
	cr_assert_eq(asked[1].off, (int64_t)(3 * PW_CP));
}

/* A few bytes of every cache page, in order: nothing says that any of them will be read whole,
 * so each has to pay for itself. */
UNIT_TEST(touch, strides_are_no_sequence)
{
	start(unit_shm("file"), 300, 500);
	once(10, 10);
	for (uint64_t cp = 1; cp < CPS; cp++)
		CHECK(once(10, cp * PW_CP) == PW_MISS_TOUCH);
	for (uint64_t cp = 1; cp < CPS; cp++)
		CHECK(once(10, cp * PW_CP + 10) == PW_MISS_TOUCH);
	cr_assert_leq(own(PW_S_PAGES), 1u);
}

UNIT_TEST(touch, the_last_page_is_shorter)
{
	const size_t tail = 5000;

	start(unit_shm("file"), 300, 10);
	for (size_t i = 0; i < tail; i++)
		buf[i] = unit_byte(SIZE + i);
	cr_assert_eq(pwrite(fd, buf, tail, SIZE), (ssize_t)tail);
	struct pw_hazard *h = pw_hazard_enter(me, &w);

	cr_assert(pw_window_refresh(&w, fd, SIZE, tail));
	pw_window_leave(h, &w);
	unit_sys.readahead = note_readahead;
	unit_sys.mincore = cold;
	cr_assert_eq(once(tail, SIZE), PW_HIT);
	cr_assert_eq(words_with(PW_W_UPTODATE), 1u, "brought in, whatever its length");
}

/* ---- what goes wrong -------------------------------------------------------------------------- */

static long populate_fails(void *at, size_t len, int advice)
{
	(void)at;
	(void)len;
	(void)advice;
	return -EIO;
}

UNIT_TEST(touch, a_fill_that_fails_is_for_the_next)
{
	start(unit_shm("file"), 300, 10);
	unit_sys.mincore = cold;
	unit_sys.madvise = populate_fails;
	cr_assert_eq(once(10, 5 * PW_CP), PW_HIT, "it reads for itself all the same");
	cr_assert_eq(words_with(PW_W_UPTODATE), 0u);
	cr_assert_eq(words_with(PW_W_LOCKED), 0u);
	cr_assert_eq(pw_page_begin(w.id, 5, true), PW_PAGE_MINE);
}

UNIT_TEST(touch, a_file_that_got_shorter)
{
	start(unit_shm("file"), 300, 10);
	cr_assert_eq(ftruncate(fd, 4 * PW_CP), 0);
	cr_assert_eq(once(10, 5 * PW_CP), PW_MISS_FAULT);
	cr_assert_eq(once(10, 4 * PW_CP - 10), PW_HIT);
	cr_assert_eq(words_with(PW_W_LOCKED), 0u);
}

/* The owner of two pages is dead. One deadline is met, and no second one. */
static int64_t stepping(void)
{
	static int64_t now;

	return now += 10 * MS;
}

UNIT_TEST(touch, waits_out_one_deadline_only)
{
	unsigned waits;

	start(unit_shm("file"), 300, 10);
	cr_assert_eq(pw_page_begin(w.id, 5, true), PW_PAGE_MINE);
	cr_assert_eq(pw_page_begin(w.id, 15, true), PW_PAGE_MINE);
	unit_sys.now_ns = stepping;
	cr_assert_eq(once(10, 5 * PW_CP), PW_HIT);
	waits = (unsigned)own(PW_S_WAITS);
	cr_assert_eq(waits, 1u);
	cr_assert_eq(own(PW_S_TIMEOUTS), 1u);
	cr_assert_eq(once(10, 15 * PW_CP), PW_HIT);
	cr_assert_eq(own(PW_S_WAITS), 1u, "not in this window any more");
	cr_assert_eq(own(PW_S_PAGES), 2u);
}

/* ---- many -------------------------------------------------------------------------------------- */

static int64_t standing(void)
{
	return 1000 * MS;
}

/* A process of its own: reads all of the file in steps, through a window of its own. */
static void read_it_all(void *arg)
{
	struct pw_window *mine = &w;

	pw_readers_reset(me);
	pw_stat_fork_child();
	pw_windows_fork_child();
	unit_sys.now_ns = standing; /* whoever waits does so until it is in */
	MUST(unit_open(me, mine, fd) == 0);
	unit_until(&unit_word[0], 1);
	for (uint64_t off = 0; off < SIZE; off += 4096) {
		MUST(unit_read(me, mine, fd, buf, 4096, off) == PW_HIT);
		MUST(unit_exact(buf, 4096, off));
	}
	pw_add_relaxed(&unit_word[1], (uint32_t)own(PW_S_FILLS));
	pw_add_relaxed(&unit_word[2], (uint32_t)own(PW_S_TIMEOUTS));
	(void)arg;
}

static void crowd_reads(bool pretend)
{
	enum { CROWD = 6 };
	pid_t child[CROWD];
	unsigned char vec[SIZE / PW_PAGE];
	unsigned resident = 0;

	start(unit_tmp("file"), 300, 50);
	pw_window_retire(&w, false);
	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	if (pretend) {
		unit_sys.mincore = cold;
		unit_sys.readahead = note_readahead;
	} else {
		void *m = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

		cr_assert_eq(mincore(m, SIZE, vec), 0);
		for (size_t i = 0; i < sizeof(vec); i++)
			resident += vec[i] & 1;
		munmap(m, SIZE);
		if (resident > sizeof(vec) / 2)
			cr_skip_test("this file system keeps what it should drop");
	}
	for (int i = 0; i < CROWD; i++)
		child[i] = unit_fork(read_it_all, NULL);
	pw_store_release(&unit_word[0], 1);
	for (int i = 0; i < CROWD; i++)
		unit_join(child[i]);
	cr_assert_eq(unit_word[2], 0u);
	/* The table is lossy: one time in two hundred two of the pages share a word, which they
	 * then take from one another. */
	cr_assert_geq(words_with(PW_W_UPTODATE), (unsigned)CPS - 1);
	if (words_with(PW_W_UPTODATE) == (unsigned)CPS)
		cr_assert_eq(unit_word[1], (uint32_t)CPS, "each filled once, not %u",
			     unit_word[1]);
}

UNIT_TEST(touch, a_crowd_fills_each_page_once)
{
	crowd_reads(true);
}

UNIT_TEST(touch, a_crowd_and_a_cold_file)
{
	crowd_reads(false);
}
