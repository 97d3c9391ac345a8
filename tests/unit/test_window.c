/*
 * test_window.c - the life of a window and the witnessed read from it: exact at every border,
 * never a byte that the file does not have, gone when it is retired and nobody is inside.
 */
#include "unit.h"

#include <setjmp.h>
#include <sys/resource.h>

UNIT_SUITE(window);

static struct pw_reader *me;
static struct pw_window w;
static const char *path;
static int fd = -1;
static unsigned char buf[1 << 20];

static unsigned deaths;
static struct pw_window *dead;

static void count_death(struct pw_window *x)
{
	deaths++;
	dead = x;
}

static void start(size_t size)
{
	if (!me) {
		me = pw_reader_claim();
		cr_assert_not_null(me);
		pw_window_dead = count_death;
		unit_guard();
		pw_costs();
		cr_assert_eq(pw_probe_kernel(), 0);
		/* From here on each mapping is a window's. */
		unit_fail(U_ANY, 0, 0);
	}
	if (!path)
		path = unit_shm("file");
	fd = unit_file(path, size);
}

static void start_open(size_t size)
{
	start(size);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert(pw_window_is_open(&w));
	cr_assert_eq(unit_maps(path), 1u);
}

static enum pw_hit read_at(size_t n, uint64_t off)
{
	return unit_read(me, &w, fd, buf, n, off);
}

static int64_t own(enum pw_stat what)
{
	uint64_t stats[PW_S_COUNT];

	pw_stat_own(stats);
	return (int64_t)stats[what];
}

/* Nothing of this window is left: no mapping, no count, and it may be used again. */
static void assert_gone(void)
{
	cr_assert_eq(unit_maps(path), 0u);
	cr_assert_not(pw_window_is_open(&w));
	cr_assert_eq(w.known, 0u);
	cr_assert_eq(w.state & PW_WIN_BITS, 0u);
	cr_assert_eq(own(PW_S_WINDOWS), 0);
	cr_assert_eq(own(PW_S_PAGES), 0);
	cr_assert_eq(unit_count(U_MMAP) - unit_count(U_MUNMAP), 0u);
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* A hit must be what pread says, and never more than there is. */
static void hit_is_exact(size_t n, uint64_t off)
{
	static unsigned char truth[sizeof(buf)];
	enum pw_hit hit;

	memset(buf, 0x5a, n);
	hit = read_at(n, off);
	if (hit != PW_HIT)
		return;
	if (pread(fd, truth, n, (off_t)off) != (ssize_t)n || memcmp(truth, buf, n))
		cr_assert_fail("%zu bytes at %llu", n, (unsigned long long)off);
}

static void borders_of(size_t size)
{
	const size_t lengths[] = {1, 2, 16, 511, 4096, 4097, 65535, 65536, 65537, 200000};
	const uint64_t places[] = {0, 1, 4095, 4096, 65535, 65536, 131072, size / 2};

	start_open(size);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i];

		for (size_t k = 0; k < 2 * sizeof(places) / sizeof(places[0]); k++) {
			/* From the beginning, and so as to end so many bytes before the end. */
			uint64_t off = k < 8 ? places[k] : size - places[k - 8] - n;
			bool inside = n <= size && off <= size - n;
			enum pw_hit hit = read_at(n, off);

			if (hit != (inside ? PW_HIT : PW_MISS_END) ||
			    (inside && !unit_exact(buf, n, off)))
				cr_assert_fail("%zu bytes at %llu of %zu: %d", n,
					       (unsigned long long)off, size, (int)hit);
		}
	}
	pw_window_retire(&w, false);
	assert_gone();
	close(fd);
}

UNIT_TEST(window, exact_at_all_borders)
{
	const size_t sizes[] = {1,     2,     4095,  4096,   4097,
				65535, 65536, 65537, 300000, 2000000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		borders_of(sizes[i]);
}

UNIT_TEST(window, exact_on_disk)
{
	path = unit_tmp("file");
	borders_of(300000);
}

UNIT_TEST(window, beyond_the_end)
{
	start_open(100000);
	cr_assert_eq(read_at(1, 99999), PW_HIT);
	cr_assert_eq(read_at(1, 100000), PW_MISS_END);
	cr_assert_eq(read_at(2, 99999), PW_MISS_END);
	cr_assert_eq(read_at(100001, 0), PW_MISS_END);
	cr_assert_eq(read_at(1, UINT64_MAX), PW_MISS_END);
	cr_assert_eq(read_at(2, UINT64_MAX), PW_MISS_END);
	cr_assert_eq(read_at(100000, UINT64_MAX - 99999), PW_MISS_END);
	cr_assert_eq(read_at(SIZE_MAX, 1), PW_MISS_END);
	cr_assert_eq(read_at(SIZE_MAX, UINT64_MAX), PW_MISS_END);
	cr_assert_eq(own(PW_S_PAGES), 1, "none of these touched anything more");
}

/* W2: a non-zero byte at the last one read, or up to 256 later, but inside what is known. */
UNIT_TEST(window, witness)
{
	static unsigned char data[3 * 65536];

	start(0);
	memset(data, 1, 1000);
	cr_assert_eq(pwrite(fd, data, sizeof(data), 0), (ssize_t)sizeof(data));
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert_eq(read_at(1000, 0), PW_HIT);
	cr_assert_eq(read_at(1001, 0), PW_MISS_WITNESS);
	cr_assert_eq(read_at(1, 50000), PW_MISS_WITNESS);
	for (size_t n = 1; n < 10000; n = n * 3 + 1) {
		uint64_t off = 65536 - n / 2;
		unsigned char one = 1;
		unsigned char zero = 0;
		off_t last = (off_t)(off + n - 1);

		for (off_t after = 0; after < 300; after += after < 250 ? 25 : 1) {
			cr_assert_eq(pwrite(fd, &one, 1, last + after), 1);
			if (read_at(n, off) != (after <= 256 ? PW_HIT : PW_MISS_WITNESS))
				cr_assert_fail("%zu bytes, witness %d later", n,
					       (int)after);
			hit_is_exact(n, off);
			cr_assert_eq(pwrite(fd, &zero, 1, last + after), 1);
		}
	}
	/* The last byte of the file has nothing after it. */
	cr_assert_eq(read_at(100, sizeof(data) - 100), PW_MISS_WITNESS);
	cr_assert_eq(pwrite(fd, "1", 1, sizeof(data) - 1), 1);
	cr_assert_eq(read_at(100, sizeof(data) - 100), PW_HIT);
	cr_assert_eq(read_at(100, sizeof(data) - 356), PW_HIT, "at the edge of the look");
}

/* What the file has beyond the known size is no witness: it may be stale or another's. */
UNIT_TEST(window, no_witness_beyond_the_known_size)
{
	start(0);
	memset(buf, 0, 5000);
	cr_assert_eq(pwrite(fd, buf, 5000, 0), 5000);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert_eq(pwrite(fd, "1", 1, 5000), 1);
	cr_assert_eq(read_at(10, 4990), PW_MISS_WITNESS);
}

UNIT_TEST(window, writes_are_seen_at_once)
{
	start_open(200000);
	cr_assert_eq(read_at(1000, 70000), PW_HIT);
	for (int i = 1; i < 250; i++) {
		unsigned char one[1000];

		memset(one, i, sizeof(one));
		cr_assert_eq(pwrite(fd, one, sizeof(one), 70000), (ssize_t)sizeof(one));
		CHECK(read_at(1000, 70000) == PW_HIT);
		CHECK(!memcmp(buf, one, sizeof(one)));
	}
}

static void truncations(void)
{
	const off_t ends[] = {0,     1,	    100,    4095,   4096,  4097,
			      65536, 65537, 100000, 131071, 199999};
	const size_t lengths[] = {1, 2, 100, 4096, 10000};

	for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
		start_open(200000);
		cr_assert_eq(read_at(200000, 0), PW_HIT, "all of it is touched");
		cr_assert_eq(ftruncate(fd, ends[e]), 0);
		for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
			for (int d = -5; d < 6; d++) {
				off_t off = ends[e] - (off_t)lengths[l] + d * d * d;

				if (off < 0)
					continue;
				hit_is_exact(lengths[l], (uint64_t)off);
				/* Inside the new size everything still is. */
				if (off + (off_t)lengths[l] <= ends[e])
					CHECK(read_at(lengths[l], (uint64_t)off) ==
					      PW_HIT);
			}
		}
		/* Grown again: what was cut off is zeros now. */
		cr_assert_eq(ftruncate(fd, 200000), 0);
		for (uint64_t off = 0; off < 199000; off += 1777)
			hit_is_exact(777, off);
		pw_window_retire(&w, false);
		assert_gone();
		close(fd);
	}
}

UNIT_TEST(window, truncation_never_a_wrong_byte)
{
	truncations();
}

UNIT_TEST(window, truncation_on_disk)
{
	path = unit_tmp("file");
	truncations();
}

UNIT_TEST(window, holes_and_punches)
{
	start_open(300000);
	cr_assert_eq(read_at(300000, 0), PW_HIT);
	for (int i = 0; i < 60; i++) {
		uint64_t at = (uint64_t)i * 5000 % 290000;

		cr_assert_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       (off_t)at, (off_t)(1 + i * 97)),
			     0);
		for (uint64_t off = at > 3000 ? at - 3000 : 0; off < at + 6000;
		     off += 613)
			hit_is_exact(100 + (size_t)i, off);
	}
}

/* ---- growth, doubt, rest --------------------------------------------------------------------------- */

static bool refresh(int of, uint64_t off, uint64_t got)
{
	struct pw_hazard *s = pw_hazard_enter(me, &w);
	bool ok = pw_window_refresh(&w, of, off, got);

	pw_window_leave(s, &w);
	return ok;
}

UNIT_TEST(window, growth)
{
	start_open(100000);
	cr_assert_eq(ftruncate(fd, 0), 0);
	close(fd);
	fd = unit_file(path, 150000);
	cr_assert_eq(read_at(1000, 99001), PW_MISS_END, "not known yet");
	unit_fail(U_FSTAT, 0, 0);
	cr_assert(refresh(fd, 99000, 1000), "nothing new in that");
	cr_assert_eq(unit_count(U_FSTAT), 0u);
	cr_assert(refresh(fd, 99001, 1000));
	cr_assert_eq(unit_count(U_FSTAT), 1u);
	cr_assert_eq(w.known, 150000u);
	cr_assert_eq(read_at(1000, 99001), PW_HIT);
	cr_assert(unit_exact(buf, 1000, 99001));
	cr_assert_eq(read_at(50000, 100000), PW_HIT);
	cr_assert(unit_exact(buf, 50000, 100000));
	cr_assert_eq(read_at(1, 150000), PW_MISS_END);
}

/* A window on a file of `size` bytes holds as much as its map speaks for. */
static void outgrown(uint64_t size)
{
	uint64_t room;

	start_open(size);
	room = w.maplen / PW_CP * PW_CP;
	cr_assert_geq(room, size + PW_CP);
	cr_assert_eq(ftruncate(fd, (off_t)room), 0);
	cr_assert(refresh(fd, size, 1), "just fits");
	cr_assert_eq(w.known, room);
	cr_assert_eq(pwrite(fd, "1", 1, (off_t)room - 1), 1);
	cr_assert_eq(read_at(1, room - 1), PW_HIT);
	cr_assert_eq(ftruncate(fd, (off_t)room + 1), 0);
	cr_assert_not(refresh(fd, room, 1));
	pw_window_retire(&w, false);
	assert_gone();
	cr_assert_eq(unit_open(me, &w, fd), 0, "and made anew");
	cr_assert_gt(w.maplen, room + PW_CP);
}

UNIT_TEST(window, outgrown)
{
	outgrown(100000);
}

/* Its mapping is a page longer than what its map speaks for. */
UNIT_TEST(window, a_small_one_is_outgrown)
{
	start_open(1000);
	cr_assert_eq(w.maplen % PW_CP, PW_PAGE);
	pw_window_retire(&w, true);
	assert_gone();
	outgrown(1000);
}

UNIT_TEST(window, another_files_number)
{
	int other;
	int fds[2];

	start_open(100000);
	other = unit_file(unit_shm("other"), 120000); /* would fit */
	cr_assert_not(refresh(other, 100000, 1000));
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	cr_assert_not(refresh(fds[0], 100000, 1000));
	cr_assert_not(refresh(-1, 100000, 1000));
	unit_fail(U_FSTAT, 1, -EIO);
	cr_assert_not(refresh(fd, 100000, 1000));
	cr_assert_eq(w.known, 100000u, "and nothing was raised");
}

static long retire_and_fstat(int of, struct stat *st)
{
	pw_window_retire(&w, false);
	return pw_sys_kernel.fstat(of, st);
}

/* What another thread takes away while the file is asked is not given back. */
UNIT_TEST(window, retired_during_a_refresh)
{
	struct pw_hazard *s;

	start_open(100000);
	cr_assert_eq(pwrite(fd, "1", 1, 100000), 1);
	unit_sys.fstat = retire_and_fstat;
	s = pw_hazard_enter(me, &w);
	cr_assert(pw_window_refresh(&w, fd, 100000, 1));
	cr_assert_eq(w.known, 0u);
	cr_assert_eq(unit_maps(path), 1u);
	pw_window_leave(s, &w);
	assert_gone();
}

UNIT_TEST(window, a_fault_lowers_and_a_look_raises)
{
	start_open(100000);
	cr_assert_eq(read_at(100000, 0), PW_HIT);
	cr_assert_eq(ftruncate(fd, 30000), 0);
	cr_assert_eq(read_at(100, 50000), PW_MISS_FAULT);
	pw_window_doubt(&w, PW_MISS_FAULT, 0);
	cr_assert_eq(own(PW_S_DOUBTS), 1);
	cr_assert_eq(read_at(100, 0), PW_MISS_END, "rests until the kernel was asked");
	unit_fail(U_FSTAT, 0, 0);
	for (int i = 0; i < 100 && !unit_count(U_FSTAT); i++)
		cr_assert(refresh(fd, 0, 100));
	cr_assert_eq(unit_count(U_FSTAT), 1u);
	cr_assert_eq(w.known, 30000u);
	cr_assert_eq(read_at(100, 29900), PW_HIT);
	cr_assert(unit_exact(buf, 100, 29900));
	cr_assert_eq(read_at(100, 29901), PW_MISS_END);
}

/* Real reads until a resting window is asked for again. */
static unsigned rest(void)
{
	unsigned n = 0;

	while (!w.known && n < 100000) {
		cr_assert(refresh(fd, 0, 100));
		n++;
	}
	return n;
}

UNIT_TEST(window, few_witnesses_a_rest)
{
	unsigned before;

	start_open(100000);
	cr_assert_eq(read_at(100, 0), PW_HIT);
	/* With hits in plenty in between nothing is held against it. */
	for (uint64_t i = 1; i <= 50; i++) {
		pw_window_doubt(&w, PW_MISS_WITNESS, i * 1000);
		CHECK(w.known == 100000);
	}
	for (int i = 0; i < 20; i++) {
		pw_window_doubt(&w, PW_MISS_END, 50000);
		pw_window_doubt(&w, PW_MISS_TOUCH, 50000);
	}
	cr_assert_eq(w.known, 100000u, "an end and a cold page are no reason");
	cr_assert_eq(own(PW_S_DOUBTS), 50);
	for (int i = 0; i < 7 && w.known; i++)
		pw_window_doubt(&w, PW_MISS_WITNESS, 50000);
	cr_assert_eq(w.known, 0u);
	before = rest();
	cr_assert_gt(before, 16u);
	cr_assert_eq(w.known, 100000u);
	/* And longer each time, but not for ever. */
	for (int i = 0; i < 20; i++) {
		unsigned now;

		pw_window_doubt(&w, PW_MISS_WITNESS, 50000);
		cr_assert_eq(w.known, 0u);
		now = rest();
		cr_assert(now > before || now > 4000);
		cr_assert_leq(now, 5000u);
		before = now;
	}
	cr_assert_eq(read_at(100, 0), PW_HIT);
}

/* ---- opening ---------------------------------------------------------------------------------------- */

UNIT_TEST(window, shared_or_private)
{
	char line[512];
	const char *want = "r--p";
	FILE *f;

	start_open(100000); /* read-write */
	for (int i = 0; i < 2; i++) {
		bool found = false;

		f = fopen("/proc/self/maps", "re");
		cr_assert_not_null(f);
		while (fgets(line, sizeof(line), f))
			found |= strstr(line, path) && strstr(line, want);
		fclose(f);
		cr_assert(found, "%s", want);
		pw_window_retire(&w, false);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		cr_assert_eq(unit_open(me, &w, fd), 0);
		want = "r--s";
	}
}

UNIT_TEST(window, open_twice)
{
	start_open(100000);
	cr_assert_eq(unit_open(me, &w, fd), -EBUSY);
	cr_assert_eq(unit_maps(path), 1u);
	cr_assert_eq(read_at(100, 0), PW_HIT);
	cr_assert_eq(own(PW_S_WINDOWS), 1);
	cr_assert_eq(own(PW_S_MAPPED), 1);
}

UNIT_TEST(window, limit_cannot_be_asked_for)
{
	start(100000);
	unit_fail(U_GETRLIMIT, 1, -EPERM);
	cr_assert_eq(unit_open(me, &w, fd), -EPERM);
	cr_assert_eq(unit_open(me, &w, fd), -EPERM, "none, for good");
	assert_gone();
}

UNIT_TEST(window, mappings_of_open_fail)
{
	const struct {
		enum unit_call call;
		unsigned nth;
		int err;
	} f[] = {
		{U_MMAP, 1, -ENOMEM},
		{U_MMAP, 2, -ENOMEM},
		{U_MADVISE, 1, -EPERM},
		{U_MADVISE, 2, 0 /* MADV_RANDOM is only good manners */},
	};

	start(40 * PW_CP);
	for (size_t i = 0; i < sizeof(f) / sizeof(f[0]); i++) {
		unit_fail(f[i].call, f[i].nth, f[i].err ? -ENOMEM : -EINVAL);
		cr_assert_eq(unit_open(me, &w, fd), f[i].err);
		cr_assert(unit_failed());
		if (f[i].err) {
			assert_gone();
			cr_assert_null(pw_windows(), "never was one");
		}
	}
	cr_assert_eq(read_at(PW_CP + 1, PW_CP - 1), PW_HIT);
	pw_window_retire(&w, false);
	assert_gone();
}

UNIT_TEST(window, too_many)
{
	start(100000);
	pw_stat_add(PW_S_WINDOWS, 4096);
	cr_assert_eq(unit_open(me, &w, fd), -EPERM);
	pw_stat_add(PW_S_WINDOWS, -1);
	cr_assert_eq(unit_open(me, &w, fd), 0);
}

static unsigned notes;

static void keep_note(const char *what, const char *where, long err)
{
	(void)what;
	(void)where;
	(void)err;
	notes++;
}

static void limited(void *arg)
{
	struct rlimit r = {(rlim_t)1 << 46, RLIM_INFINITY};

	(void)arg;
	pw_note = keep_note;
	MUST(!setrlimit(RLIMIT_AS, &r));
	MUST(unit_open(me, &w, fd) == -EPERM);
	MUST(unit_open(me, &w, fd) == -EPERM);
	MUST(notes == 1);
	MUST(unit_maps(path) == 0);
	MUST((w.state & PW_WIN_BITS) == 0);
}

UNIT_TEST(window, address_space_is_limited)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cr_skip_test("a sanitizer needs more than any limit");
#endif
	start(100000);
	unit_child(limited, NULL);
	cr_assert_eq(unit_open(me, &w, fd), 0);
}

UNIT_TEST(window, forbidden)
{
	static struct pw_window second;

	start_open(100000);
	cr_assert_eq(unit_open(me, &second, fd), 0);
	cr_assert_eq(read_at(100, 0), PW_HIT);
	pw_windows_forbid();
	assert_gone();
	cr_assert_eq(read_at(100, 0), PW_MISS_END);
	cr_assert_eq(unit_open(me, &w, fd), -EPERM);
	cr_assert_eq(deaths, 0u, "their owners still have them");
}

UNIT_TEST(window, dropped)
{
	static struct pw_window second;

	start_open(100000);
	cr_assert_eq(unit_open(me, &second, fd), 0);
	pw_windows_drop();
	assert_gone();
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert_eq(read_at(100, 0), PW_HIT);
}

UNIT_TEST(window, registry)
{
	static struct pw_window many[50];
	unsigned n = 0;

	start(100000);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 50; i++)
			cr_assert_eq(unit_open(me, &many[i], fd), 0);
		pw_windows_drop();
	}
	for (struct pw_window *x = pw_windows(); x; x = x->next) {
		CHECK(x >= many && x < many + 50);
		n++;
	}
	cr_assert_eq(n, 50u, "each of them once");
}

/* ---- retiring ----------------------------------------------------------------------------------------- */

UNIT_TEST(window, retire)
{
	start_open(100000);
	cr_assert_eq(read_at(100000, 0), PW_HIT);
	cr_assert_eq(own(PW_S_PAGES), 2);
	pw_window_retire(&w, true);
	assert_gone();
	cr_assert_eq(deaths, 1u);
	cr_assert_eq(dead, &w);
	cr_assert_eq(read_at(1, 0), PW_MISS_END);
	/* W5: used again, for another life. */
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert_eq(read_at(100000, 0), PW_HIT);
	cr_assert(unit_exact(buf, 100000, 0));
	pw_window_retire(&w, true);
	assert_gone();
	cr_assert_eq(deaths, 2u);
}

UNIT_TEST(window, retire_what_was_never_open)
{
	start(100);
	pw_window_retire(&w, false);
	cr_assert_eq(deaths, 0u);
	pw_window_retire(&w, true);
	cr_assert_eq(deaths, 1u);
	assert_gone();
}

UNIT_TEST(window, retire_first_and_die_later)
{
	start_open(100000);
	pw_window_retire(&w, false);
	assert_gone();
	cr_assert_eq(deaths, 0u);
	pw_window_retire(&w, true);
	cr_assert_eq(deaths, 1u);
	assert_gone();
}

UNIT_TEST(window, retire_while_held)
{
	struct pw_reader *other;
	struct pw_hazard *s;

	start(100000);
	other = pw_reader_claim(); /* the second one needs a page */
	unit_fail(U_ANY, 0, 0);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	cr_assert_eq(read_at(100000, 0), PW_HIT);
	s = pw_hazard_enter(other, &w);
	pw_window_retire(&w, true);
	cr_assert_eq(unit_maps(path), 1u, "somebody is inside");
	cr_assert_eq(deaths, 0u);
	/* Whoever comes now finds nothing to use. */
	cr_assert_eq(read_at(100, 0), PW_MISS_END);
	cr_assert_eq(unit_open(me, &w, fd), -EBUSY);
	cr_assert_eq(unit_maps(path), 1u);
	/* A second retirer changes nothing. */
	pw_window_retire(&w, true);
	pw_window_finish(&w);
	cr_assert_eq(deaths, 0u);
	cr_assert_eq(unit_maps(path), 1u);
	/* Nor does a look at the file from inside raise what was taken away. */
	cr_assert(pw_window_refresh(&w, fd, 0, 100000));
	cr_assert_eq(w.known, 0u);
	pw_window_leave(s, &w);
	assert_gone();
	cr_assert_eq(deaths, 1u);
}

UNIT_TEST(window, held_twice_by_one_thread)
{
	struct pw_hazard *outer;
	struct pw_hazard *inner;

	start_open(100000);
	outer = pw_hazard_enter(me, &w);
	inner = pw_hazard_enter(me, &w);
	cr_assert_neq(outer, inner);
	pw_window_retire(&w, true);
	pw_window_leave(inner, &w);
	cr_assert_eq(unit_maps(path), 1u);
	cr_assert_eq(deaths, 0u);
	pw_window_leave(outer, &w);
	assert_gone();
	cr_assert_eq(deaths, 1u);
}

UNIT_TEST(window, nested_too_deep)
{
	struct pw_hazard *s[PW_HAZARD_DEPTH];

	start_open(100000);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++) {
		s[i] = pw_hazard_enter(me, &w);
		cr_assert_not_null(s[i]);
	}
	cr_assert_null(pw_hazard_enter(me, &w), "go to the kernel");
	pw_window_retire(&w, false);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++) {
		cr_assert_eq(unit_maps(path), 1u);
		pw_window_leave(s[i], &w);
	}
	assert_gone();
}

static sigjmp_buf back;

static void enter_and_jump(int sig)
{
	struct pw_hazard *s = pw_hazard_enter(me, &w);

	(void)sig;
	CHECK(s != NULL && pw_window_read(&w, buf, 100, 0) == PW_HIT);
	siglongjmp(back, 1);
}

/* A handler read, and jumped away in the middle of it. Who knows that says so. */
UNIT_TEST(window, left_by_a_jump)
{
	start_open(100000);
	cr_assert_eq(read_at(100, 0), PW_HIT);
	unit_on_signal(SIGUSR1, enter_and_jump);
	if (!sigsetjmp(back, 1))
		raise(SIGUSR1);
	cr_assert(pw_hazard_held(&w));
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		if (me->slot[i].obj)
			pw_window_leave(&me->slot[i], &w);
	cr_assert_not(pw_hazard_held(&w));
	cr_assert_eq(unit_maps(path), 1u, "not retired, not unmapped");
	if (!sigsetjmp(back, 1))
		raise(SIGUSR1);
	pw_window_retire(&w, true);
	cr_assert_eq(unit_maps(path), 1u);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		if (me->slot[i].obj)
			pw_window_leave(&me->slot[i], &w);
	assert_gone();
	cr_assert_eq(deaths, 1u);
}

/* Retired in the middle of being opened, at each of the calls made there. */
static bool die_too;

static long retiring_mmap(void *at, size_t len, int prot, int flags, int f, int64_t off)
{
	long got = pw_sys_kernel.mmap(at, len, prot, flags, f, off);

	pw_window_retire(&w, die_too);
	return got;
}

static long retiring_madvise(void *at, size_t len, int advice)
{
	pw_window_retire(&w, die_too);
	return pw_sys_kernel.madvise(at, len, advice);
}

static long failing_mmap(void *at, size_t len, int prot, int flags, int f, int64_t off)
{
	(void)at;
	(void)len;
	(void)prot;
	(void)flags;
	(void)f;
	(void)off;
	pw_window_retire(&w, die_too);
	return -ENOMEM;
}

static void retire_in(bool in_mmap, bool in_madvise, int want)
{
	unit_sys.mmap = in_mmap ? want == -ENOMEM ? failing_mmap : retiring_mmap
				: pw_sys_kernel.mmap;
	unit_sys.madvise = in_madvise ? retiring_madvise : pw_sys_kernel.madvise;
	for (int i = 0; i < 2; i++) {
		die_too = i;
		deaths = 0;
		cr_assert_eq(unit_open(me, &w, fd), want);
		cr_assert_eq(deaths, (unsigned)i);
		cr_assert_eq(unit_maps(path), 0u);
		cr_assert_eq(w.state & PW_WIN_BITS, 0u);
		cr_assert_eq(w.known, 0u);
		cr_assert_eq(own(PW_S_WINDOWS), 0);
	}
}

UNIT_TEST(window, retired_while_opening)
{
	start(100000);
	retire_in(true, false, -EBUSY);
	retire_in(false, true, -EBUSY);
	retire_in(true, true, -EBUSY);
	retire_in(true, false, -ENOMEM);
	unit_sys.mmap = pw_sys_kernel.mmap;
	unit_sys.madvise = pw_sys_kernel.madvise;
	cr_assert_eq(unit_open(me, &w, fd), 0, "and it can be opened after all that");
	cr_assert_eq(read_at(100, 0), PW_HIT);
}

static long forbidding_mmap(void *at, size_t len, int prot, int flags, int f, int64_t off)
{
	pw_windows_forbid();
	return pw_sys_kernel.mmap(at, len, prot, flags, f, off);
}

UNIT_TEST(window, forbidden_while_opening)
{
	start(100000);
	unit_sys.mmap = forbidding_mmap;
	cr_assert_eq(unit_open(me, &w, fd), -EBUSY);
	cr_assert_eq(unit_maps(path), 0u);
	cr_assert_eq(w.known, 0u);
}

/* ---- fork -------------------------------------------------------------------------------------------- */

static void child_without(void *arg)
{
	struct pw_window *dying = arg;

	MUST(unit_maps(path) == 0); /* MADV_DONTFORK */
	pw_readers_reset(me);
	pw_stat_fork_child();
	pw_windows_fork_child();
	for (struct pw_window *x = pw_windows(); x; x = x->next) {
		MUST(!pw_window_is_open(x));
		MUST(x->known == 0 && (x->state & PW_WIN_BITS) == 0 && !x->map);
	}
	MUST(deaths == 1 && dead == dying);
	MUST(read_at(100, 0) == PW_MISS_END);
	MUST(unit_open(me, &w, fd) == 0);
	MUST(read_at(100000, 30 * PW_CP) == PW_HIT);
	MUST(unit_exact(buf, 100000, 30 * PW_CP));
	pw_window_retire(&w, false);
	MUST(own(PW_S_WINDOWS) == 0 && own(PW_S_PAGES) == 0);
}

UNIT_TEST(window, fork)
{
	static struct pw_window dying;
	struct pw_hazard *s;
	struct pw_reader *other;

	start_open(40 * PW_CP);
	cr_assert_eq(read_at(100000, 0), PW_HIT);
	cr_assert_eq(unit_open(me, &dying, fd), 0);
	other = pw_reader_claim();
	s = pw_hazard_enter(other, &dying);
	pw_window_retire(&dying, true);
	cr_assert_eq(unit_maps(path), 2u);
	unit_child(child_without, &dying);
	/* None of that was ours. */
	cr_assert_eq(deaths, 0u);
	cr_assert_eq(read_at(100000, 100), PW_HIT);
	pw_window_leave(s, &dying);
	cr_assert_eq(deaths, 1u);
	cr_assert_eq(unit_maps(path), 1u);
}

/* A handler interrupted a read and forked: the child comes back into that read. */
static void child_inside(void *arg)
{
	pw_readers_reset(me);
	pw_stat_fork_child();
	pw_windows_fork_child();
	MUST(unit_maps(path) == 0);
	/* What the read had loaded before may still be copied from: zeros, no witness. */
	for (size_t i = 0; i < 100000; i += 1000)
		MUST(((volatile unsigned char *)arg)[i] == 0);
	MUST(pw_copy_witnessed(buf, arg, 1000, (unsigned char *)arg + 999) ==
	     PW_COPY_NO_WITNESS);
	MUST(pw_window_read(&w, buf, 100, 0) == PW_MISS_END);
	pw_window_leave(&me->slot[0], &w);
	MUST((w.state & PW_WIN_BITS) == 0 && !pw_window_is_open(&w));
	MUST(own(PW_S_WINDOWS) == 0 && own(PW_S_PAGES) == 0);
	MUST(deaths == 0);
	MUST(unit_open(me, &w, fd) == 0);
	MUST(read_at(100000, 0) == PW_HIT);
	MUST(unit_exact(buf, 100000, 0));
}

UNIT_TEST(window, fork_inside_a_read)
{
	struct pw_hazard *s;

	start_open(40 * PW_CP);
	cr_assert_eq(read_at(100000, 0), PW_HIT);
	s = pw_hazard_enter(me, &w);
	cr_assert_eq(s, &me->slot[0]);
	unit_child(child_inside, w.base);
	cr_assert_eq(pw_window_read(&w, buf, 100000, 0), PW_HIT);
	cr_assert(unit_exact(buf, 100000, 0));
	pw_window_leave(s, &w);
	cr_assert_eq(unit_maps(path), 1u);
}

/* ---- with one thread ----------------------------------------------------------------------------------- */

static void alone(void *arg)
{
	struct pw_hazard *s;

	(void)arg;
	__libc_single_threaded = 1;
	MUST(unit_open(me, &w, fd) == 0);
	MUST(read_at(100000, 0) == PW_HIT);
	MUST(unit_exact(buf, 100000, 0));
	s = pw_hazard_enter(me, &w);
	pw_window_retire(&w, true);
	MUST(unit_maps(path) == 1);
	pw_window_leave(s, &w);
	MUST(unit_maps(path) == 0);
	MUST(deaths == 1);
}

UNIT_TEST(window, one_thread)
{
	start(100000);
	unit_child(alone, NULL);
}
