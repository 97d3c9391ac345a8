/*
 * test_store.c - the witnessed store: into open pages only, proved by a byte behind it or near
 * the end, never beyond `storable`; what opens pages, and what makes a window rest.
 */
#include "unit.h"

UNIT_SUITE(store);

#define SIZE (40 * PW_PAGE)

static struct pw_reader *me;
static struct pw_window w;
static int fd = -1;
static unsigned char bytes[4 * PW_PAGE];

static int64_t clock_ns; /* what the table's clock says; it goes on as it is asked */
static int64_t step_ns;

static int64_t now(void)
{
	return clock_ns += step_ns;
}

/* Touching looks to cost ns. */
static void price(int64_t ns)
{
	step_ns = ns;
}

static int open_window(enum pw_window_kind kind)
{
	struct pw_hazard *s = pw_hazard_enter(me, &w);
	struct stat st;
	int err;

	cr_assert_eq(fstat(fd, &st), 0);
	err = pw_window_open(&w, fd, kind, &st, NULL);
	pw_window_leave(s, &w);
	return err;
}

static void start_with(size_t size, enum pw_window_kind kind)
{
	me = pw_reader_claim();
	cr_assert_not_null(me);
	unit_guard();
	pw_costs();
	cr_assert_eq(pw_probe_kernel(), 0);
	unit_fail(U_ANY, 0, 0);
	unit_sys.now_ns = now;
	memset(bytes, 's', sizeof(bytes));
	fd = unit_file(unit_shm("file"), size);
	cr_assert_eq(open_window(kind), 0);
}

static void start(size_t size)
{
	start_with(size, PW_WIN_STORES);
}

static void written(size_t n, uint64_t off, int64_t took)
{
	struct pw_hazard *s = pw_hazard_enter(me, &w);

	pw_window_written(&w, n, off, took);
	pw_window_leave(s, &w);
}

static enum pw_hit store(size_t n, uint64_t off)
{
	struct pw_hazard *s = pw_hazard_enter(me, &w);
	enum pw_hit hit = pw_window_store(&w, bytes, n, off);

	pw_window_leave(s, &w);
	return hit;
}

/* The first write that is timed opens what it reached, to find out. */
static void open_at(uint64_t off)
{
	price(1);
	written(64, off, 2000);
}

static unsigned char byte_at(uint64_t off)
{
	unsigned char c = 0;

	cr_assert_eq(pread(fd, &c, 1, (off_t)off), 1);
	return c;
}

UNIT_TEST(store, only_into_open_pages)
{
	start(SIZE);
	cr_assert_eq(w.storable, SIZE);
	cr_assert_eq(store(64, 0), PW_MISS_TOUCH);
	open_at(0);
	cr_assert_eq(store(64, 0), PW_HIT);
	cr_assert_eq(byte_at(0), 's');
	cr_assert_eq(byte_at(63), 's');
	cr_assert_eq(byte_at(64), unit_byte(64));
	/* Over the page's end into one that is not. */
	cr_assert_eq(store(64, PW_PAGE - 32), PW_MISS_TOUCH);
	cr_assert_eq(byte_at(PW_PAGE - 32), unit_byte(PW_PAGE - 32));
	open_at(PW_PAGE);
	cr_assert_eq(store(64, PW_PAGE - 32), PW_HIT);
	cr_assert_eq(byte_at(PW_PAGE + 31), 's');
	/* Each page by itself, also where the bits are another cache page's. */
	for (uint64_t page = 0; page < 40; page++)
		cr_assert_eq(store(8, page * PW_PAGE), page < 2 ? PW_HIT : PW_MISS_TOUCH,
			     "page %lu", page);
	open_at(17 * PW_PAGE);
	for (uint64_t page = 2; page < 40; page++)
		cr_assert_eq(store(8, page * PW_PAGE),
			     page == 17 ? PW_HIT : PW_MISS_TOUCH, "page %lu", page);
}

/* A window for reading has no bits, and takes none. */
UNIT_TEST(store, not_in_other_windows)
{
	start_with(SIZE, PW_WIN_READ_WRITE);
	cr_assert_eq(w.storable, 0u);
	open_at(0);
	cr_assert_eq(store(64, 0), PW_MISS_END);
}

UNIT_TEST(store, write_only_is_not_read)
{
	start_with(SIZE, PW_WIN_BLIND);
	cr_assert_eq(w.known, 0u);
	open_at(0);
	cr_assert_eq(store(64, 0), PW_HIT);
	cr_assert_eq(unit_read(me, &w, fd, bytes, 64, 0), PW_MISS_END);
}

UNIT_TEST(store, never_beyond_the_end)
{
	const uint64_t end = SIZE - 100;

	start(end);
	open_at(end - 64);
	cr_assert_eq(store(64, end - 65), PW_HIT);
	/* Nothing is behind the last byte. */
	cr_assert_eq(store(64, end - 64), PW_MISS_WITNESS);
	cr_assert_eq(store(64, end - 63), PW_MISS_END);
	cr_assert_eq(store(64, end), PW_MISS_END);
	cr_assert_eq(store(64, UINT64_MAX - 10), PW_MISS_END);
	cr_assert_eq(store(64, (uint64_t)-64), PW_MISS_END);
	/* Written beyond: no page that is not wholly the file's becomes open by it. */
	written(64, end, 2000);
	written(64, SIZE + PW_PAGE, 2000);
	cr_assert_eq(store(64, SIZE + PW_PAGE), PW_MISS_END);
}

/* It grew: the next real write beyond `storable` has it looked at. */
UNIT_TEST(store, growth)
{
	struct pw_hazard *s;

	start(SIZE);
	cr_assert_eq(pwrite(fd, bytes, 64, SIZE + 500), 64);
	cr_assert_eq(store(64, SIZE), PW_MISS_END);
	s = pw_hazard_enter(me, &w);
	cr_assert(pw_window_refresh(&w, fd, SIZE + 500, 64));
	pw_window_leave(s, &w);
	cr_assert_eq(w.storable, SIZE + 564u);
	open_at(SIZE);
	cr_assert_eq(store(64, SIZE + 400), PW_HIT);
	cr_assert_eq(byte_at(SIZE + 400), 's');
}

/* ---- witnesses ------------------------------------------------------------------------------ */

static void zeros(uint64_t off, size_t n)
{
	static const unsigned char none[PW_PAGE];

	for (size_t at = 0; at < n; at += PW_PAGE) {
		size_t some = n - at < PW_PAGE ? n - at : PW_PAGE;

		cr_assert_eq(pwrite(fd, none, some, (off_t)(off + at)), (ssize_t)some);
	}
}

/* What is in front of the bytes, or is being written over, proves nothing. */
UNIT_TEST(store, witness_is_behind_only)
{
	start(SIZE);
	open_at(0);
	w.witness = 0;
	zeros(64, PW_PAGE);
	cr_assert_eq(store(64, 0), PW_MISS_WITNESS);
	cr_assert_eq(byte_at(0), unit_byte(0), "nothing was stored");
	/* One byte, the last that is looked at; and one too far. */
	cr_assert_eq(pwrite(fd, "w", 1, 64 + PW_LOOK_AHEAD), 1);
	cr_assert_eq(store(64, 0), PW_MISS_WITNESS);
	cr_assert_eq(pwrite(fd, "w", 1, 64 + PW_LOOK_AHEAD - 1), 1);
	cr_assert_eq(store(64, 0), PW_HIT);
}

UNIT_TEST(store, far_witness)
{
	struct pw_hazard *s;
	bool found;

	start(SIZE);
	open_at(0);
	zeros(0, SIZE - 10);
	w.witness = 0;
	w.witness_end = 0;
	cr_assert_eq(store(64, 0), PW_MISS_WITNESS);
	s = pw_hazard_enter(me, &w);
	found = pw_window_find_witness(&w, 64, 0);
	pw_window_leave(s, &w);
	cr_assert(found);
	cr_assert_eq(w.witness, SIZE - 10 + 1u);
	cr_assert_eq(store(64, 0), PW_HIT);
	/* It is looked at each time. */
	zeros(SIZE - 10, 10);
	cr_assert_eq(store(64, 0), PW_MISS_WITNESS);
	/* And none in front of the bytes counts. */
	cr_assert_eq(pwrite(fd, "w", 1, 100), 1);
	w.witness = 101;
	cr_assert_eq(store(64, 80), PW_MISS_WITNESS);
	cr_assert_eq(store(64, 30), PW_HIT);
}

/* Cut: in the same page the zeros show it, further behind the fault does. */
UNIT_TEST(store, cut)
{
	start(SIZE);
	open_at(0);
	open_at(5 * PW_PAGE);
	cr_assert_eq(ftruncate(fd, 10), 0);
	cr_assert_eq(store(64, 100), PW_MISS_FAULT, "the witness near the end is gone");
	w.witness = 0;
	cr_assert_eq(store(64, 100), PW_MISS_WITNESS);
	cr_assert_neq(store(64, 5 * PW_PAGE), PW_HIT);
	cr_assert_eq(lseek(fd, 0, SEEK_END), 10);
	cr_assert_eq(ftruncate(fd, SIZE), 0);
	cr_assert_eq(byte_at(100), 0);
}

/* ---- prices --------------------------------------------------------------------------------- */

UNIT_TEST(store, opens_where_it_pays)
{
	start(SIZE);
	price(3000); /* twice asked: a page costs 3000 */
	written(64, 0, 1000);
	cr_assert_eq(store(64, 0), PW_HIT, "the first is a trial");
	cr_assert_eq(w.open_ns, 3000u);
	/* Ground that was written before: three writes of 1000 less a copy's price pay. */
	written(64, 8 * PW_PAGE, 0);
	written(64, 7 * PW_PAGE, 0);
	w.store_credit = 0;
	for (int i = 0; i < 2; i++) {
		written(64, 7 * PW_PAGE, 0);
		cr_assert_eq(store(64, 7 * PW_PAGE), PW_MISS_TOUCH, "%d", i);
	}
	for (int i = 0; i < 3; i++)
		written(64, 7 * PW_PAGE, 0);
	cr_assert_eq(store(64, 7 * PW_PAGE), PW_HIT);
}

/* A pass over new ground, by much of a page at a time, would only pay faults. */
UNIT_TEST(store, passes_are_not_opened)
{
	start(SIZE);
	price(3000);
	written(64, 0, 1000);
	w.store_credit = 0;
	for (uint64_t off = 4 * PW_PAGE; off < 30 * PW_PAGE; off += PW_PAGE)
		written(PW_PAGE, off, 0);
	for (uint64_t page = 4; page < 30; page++)
		cr_assert_eq(store(8, page * PW_PAGE), PW_MISS_TOUCH, "page %lu", page);
	/* By little it does. */
	written(16, 31 * PW_PAGE, 0);
	cr_assert_eq(store(16, 31 * PW_PAGE + 16), PW_HIT);
}

/* One place, written again and again with nothing behind it, pays for its page in the end, however
 * dear that is. */
UNIT_TEST(store, counter)
{
	struct pw_hazard *s;
	int writes = 0;

	start(SIZE);
	price(100000);
	written(64, 0, 1000);
	w.store_credit = 0;
	for (; writes < 1000 && store(64, 20 * PW_PAGE) != PW_HIT; writes++) {
		written(64, 20 * PW_PAGE, 0);
		s = pw_hazard_enter(me, &w); /* after a rest */
		cr_assert(pw_window_refresh(&w, fd, 20 * PW_PAGE, 64));
		pw_window_leave(s, &w);
	}
	cr_assert_geq(writes, 100);
	cr_assert_lt(writes, 1000);
}

/* A record here and there, once in each page, pays for none. */
UNIT_TEST(store, strides_are_not_opened)
{
	start(SIZE);
	price(40000);
	written(64, 0, 1000);
	w.store_credit = 39900;
	for (uint64_t page = 4; page < 30; page++)
		written(64, page * PW_PAGE + page * 64, 0);
	for (uint64_t page = 4; page < 30; page++)
		cr_assert_eq(store(8, page * PW_PAGE), PW_MISS_TOUCH, "page %lu", page);
}

/* A write that is no dearer than a store is left as it is. */
UNIT_TEST(store, cheap_writes_stay)
{
	start(SIZE);
	price(1);
	for (int i = 0; i < 50; i++)
		written(64, 0, 30);
	cr_assert_eq(store(64, 0), PW_MISS_TOUCH);
}

/* Writes for which nothing was ever opened are not looked at for a while, then for longer. */
UNIT_TEST(store, rests_where_nothing_pays)
{
	struct pw_hazard *s;
	int rest;

	start(SIZE);
	price(3000);
	written(64, 0, 1000);
	for (int tries = 1; tries <= 20; tries++) {
		for (int i = 0; i < 64; i++) {
			cr_assert_eq(store(8, 4 * PW_PAGE), PW_MISS_TOUCH, "%d", i);
			w.store_credit = 0;
			written(PW_PAGE, 4 * PW_PAGE, 0);
		}
		for (rest = 1; pw_window_store_rests(&w); rest++)
			cr_assert_eq(store(8, 0), PW_MISS_END, "open pages rest as well");
		cr_assert_eq(rest, 64 * (tries < 16 ? tries : 16));
		s = pw_hazard_enter(me, &w);
		cr_assert(pw_window_refresh(&w, fd, 0, 64));
		pw_window_leave(s, &w);
		cr_assert_eq(store(8, 0), PW_HIT);
	}
	/* One page that is worth it, and they are looked at as at first. */
	w.store_credit = 1 << 20;
	written(64, 5 * PW_PAGE, 0);
	cr_assert_eq(store(8, 5 * PW_PAGE), PW_HIT);
	cr_assert_eq(w.store_vain, 0u);
}

UNIT_TEST(store, opening_that_fails)
{
	start(SIZE);
	unit_fail(U_MADVISE, 1, -EFAULT);
	open_at(0);
	cr_assert(unit_failed());
	cr_assert_eq(store(64, 0), PW_MISS_TOUCH);
}

/* ---- rest ------------------------------------------------------------------------------------- */

static void look_again(void)
{
	struct pw_hazard *s = pw_hazard_enter(me, &w);

	cr_assert(pw_window_refresh(&w, fd, 0, 64));
	pw_window_leave(s, &w);
}

/* After a fault, twice as long each time. */
UNIT_TEST(store, rests_after_a_fault)
{
	start(SIZE);
	open_at(0);
	for (unsigned round = 0; round < 3; round++) {
		unsigned writes = 0;

		pw_window_store_doubt(&w, PW_MISS_FAULT, 100);
		while (store(64, 0) != PW_HIT && writes < 1000) {
			cr_assert_eq(w.storable, 0u);
			written(64, 0, 0);
			look_again();
			writes++;
		}
		cr_assert_eq(writes, 4u << round);
		cr_assert_eq(w.known, SIZE, "reads go on");
	}
}

UNIT_TEST(store, rests_where_witnesses_are_rare)
{
	start(SIZE);
	open_at(0);
	for (int i = 0; i < 7; i++)
		pw_window_store_doubt(&w, PW_MISS_WITNESS, 10);
	cr_assert_eq(w.storable, SIZE);
	/* Many stores in between: it is forgotten. */
	pw_window_store_doubt(&w, PW_MISS_LOST, 100000);
	cr_assert_eq(w.storable, SIZE);
	for (int i = 0; i < 7; i++)
		pw_window_store_doubt(&w, PW_MISS_WITNESS, 100000);
	cr_assert_eq(w.storable, 0u);
	cr_assert_gt(w.store_hold, 0u);
	/* These are no doubts. */
	w.store_hold = 0;
	look_again();
	for (int i = 0; i < 100; i++) {
		pw_window_store_doubt(&w, PW_MISS_TOUCH, 0);
		pw_window_store_doubt(&w, PW_MISS_END, 0);
	}
	cr_assert_eq(w.storable, SIZE);
}

/* The reclaimer had the page's count: it is counted again, and only where it is open. */
UNIT_TEST(store, touched_again)
{
	struct pw_hazard *s;

	start(SIZE);
	open_at(0);
	w.map[0] = 0;
	cr_assert_eq(store(64, 0), PW_MISS_TOUCH);
	s = pw_hazard_enter(me, &w);
	cr_assert(pw_window_store_touch(&w, 64, 0));
	cr_assert_not(pw_window_store_touch(&w, 64, PW_PAGE));
	cr_assert_not(pw_window_store_touch(&w, 64, SIZE - 10));
	pw_window_leave(s, &w);
	cr_assert_eq(store(64, 0), PW_HIT);
}

UNIT_TEST(store, retired)
{
	start(SIZE);
	open_at(0);
	pw_window_retire(&w, false);
	cr_assert_eq(w.storable, 0u);
	cr_assert_eq(store(64, 0), PW_MISS_END);
	cr_assert_null(w.written);
	cr_assert_eq(open_window(PW_WIN_STORES), 0);
	cr_assert_eq(store(64, 0), PW_MISS_TOUCH, "nothing is open in the next life");
}
