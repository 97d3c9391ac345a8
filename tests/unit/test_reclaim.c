/*
 * test_reclaim.c - the bound on mapped pages: respected, whoever else maps; what is in use
 * keeps its place; what was given back is read again, exact.
 */
#include "unit.h"

UNIT_SUITE(reclaim);

#define CPS 256
#define SIZE (CPS * PW_CP)
#define EVERY 32 /* polls between two looks, and what the total may be over by */

static struct pw_reader *me;
static struct pw_window w;
static const struct pw_segment *s;
static const char *path;
static int fd = -1;
static unsigned char buf[2 * PW_CP];

static void start(bool with_segment)
{
	if (with_segment) {
		s = pw_segment_get();
		cr_assert_not_null(s);
		s->head->cost_call = 300;
		s->head->cost_touch = 10;
		s->head->cost_map = 10000;
		s->head->cost_rounds = UINT32_MAX;
	} else {
		cr_assert_eq(pw_segment_set_path("/dev/shm/no such folder/segment"), 0);
	}
	pw_costs();
	me = pw_reader_claim();
	unit_guard();
	path = unit_shm("file");
	fd = unit_file(path, SIZE);
	cr_assert_eq(unit_open(me, &w, fd), 0);
}

static uint64_t own(enum pw_stat what)
{
	uint64_t stats[PW_S_COUNT];

	pw_stat_own(stats);
	return stats[what];
}

static uint64_t touched(const struct pw_window *x)
{
	uint64_t n = 0;

	for (size_t cp = 0; cp < x->maplen >> PW_CP_SHIFT; cp++)
		n += (x->map[cp] & PW_M_TOUCHED) != 0;
	return n;
}

/* So much since the last question that the last cache page was really read. */
static uint64_t plenty(void)
{
	static uint64_t bytes;

	return bytes += PW_CP;
}

/* As the shim: touch, look at the bound, read. */
static void read_exact(size_t n, uint64_t off)
{
	struct pw_hazard *h = pw_hazard_enter(me, &w);
	enum pw_hit hit = pw_window_read(&w, buf, n, off);

	for (int i = 0; i < 64 * 200 && hit == PW_MISS_TOUCH; i++) {
		pw_window_touch(&w, fd, n, off, plenty());
		pw_reclaim_poll(me, &w);
		hit = pw_window_read(&w, buf, n, off);
	}
	pw_window_leave(h, &w);
	CHECK(hit == PW_HIT);
	CHECK(unit_exact(buf, n, off));
}

static void read_page(uint64_t cp)
{
	read_exact(4096, cp * PW_CP + 4096);
}

/* A look at the total happens at every so manieth poll. */
static void look(void)
{
	for (int i = 0; i <= EVERY; i++)
		pw_reclaim_poll(me, NULL);
}

static struct pw_shm_slot *my_slot(void)
{
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		if (s->slots[i].owner == (uint32_t)getpid())
			return &s->slots[i];
	return NULL;
}

static uint64_t my_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* Another process, as far as the segment knows. */
static struct pw_shm_slot *another(uint32_t pid, uint64_t pages)
{
	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		if (s->slots[i].owner)
			continue;
		s->slots[i].owner = pid;
		s->slots[i].pidns = my_pidns();
		s->slots[i].pages = pages;
		return &s->slots[i];
	}
	return NULL;
}

/* ---- the bound ------------------------------------------------------------------------------ */

static struct sysinfo memory;

static long say_memory(struct sysinfo *si)
{
	*si = memory;
	return 0;
}

UNIT_TEST(reclaim, half_of_memory_by_default)
{
	memory.totalram = 1000;
	memory.mem_unit = 4096;
	unit_sys.sysinfo = say_memory;
	cr_assert_eq(pw_reclaim_bound(), 500u * 4096);
	memory.totalram = 7;
	cr_assert_eq(pw_reclaim_bound(), 500u * 4096, "asked once");
	pw_reclaim_set_bound(123456789);
	cr_assert_eq(pw_reclaim_bound(), 123456789u);
	pw_reclaim_set_bound(0);
	cr_assert_eq(pw_reclaim_bound(), 7u * 4096 / 2);
}

UNIT_TEST(reclaim, unknown_memory)
{
	unit_fail(U_SYSINFO, 1, -EPERM);
	cr_assert_eq(pw_reclaim_bound(), (uint64_t)1 << 30);
}

static void stays_below(uint64_t bound)
{
	uint64_t most = 0;

	pw_reclaim_set_bound(bound * PW_CP);
	for (int round = 0; round < 3; round++) {
		for (uint64_t cp = 0; cp < CPS; cp++) {
			read_page(cp);
			if (own(PW_S_PAGES) > most)
				most = own(PW_S_PAGES);
			CHECK(own(PW_S_PAGES) == touched(&w));
			CHECK(w.pages == touched(&w));
		}
	}
	cr_assert_leq(most, bound + EVERY + 1);
	cr_assert_geq(most, bound, "and all of it is used");
	cr_assert_gt(own(PW_S_RECLAIMS), 0u);
	look();
	cr_assert_leq(own(PW_S_PAGES), bound);
}

/* What the kernel has mapped for us, in KiB. */
static unsigned long rss(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	bool here = false;
	unsigned long kb = 0;
	unsigned long n;
	unsigned long end;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &n, &end) == 2)
			here = strstr(line, path) != NULL;
		else if (here && sscanf(line, "Rss: %lu", &n) == 1)
			kb += n;
	}
	fclose(f);
	return kb;
}

UNIT_TEST(reclaim, bound_is_respected)
{
	start(true);
	stays_below(64);
	/* A fault maps what lies around it, which may be half of the next cache page. */
	cr_assert_leq(rss(), 2 * own(PW_S_PAGES) * (PW_CP >> 10));
	cr_assert_eq(my_slot()->pages, own(PW_S_PAGES));
	cr_assert_eq(my_slot()->reclaims, own(PW_S_RECLAIMS));
	pw_window_retire(&w, false);
	cr_assert_eq(own(PW_S_PAGES), 0u);
}

UNIT_TEST(reclaim, without_a_segment)
{
	start(false);
	stays_below(50);
}

UNIT_TEST(reclaim, tiny_bounds)
{
	start(true);
	pw_reclaim_set_bound(1);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
	look();
	cr_assert_eq(own(PW_S_PAGES), 0u);
	read_page(7);
}

static uint64_t reads_at_random(uint64_t cps, unsigned n)
{
	static uint64_t rng = 88172645463325252ULL;
	uint64_t hits = 0;

	for (unsigned i = 0; i < n; i++) {
		struct pw_hazard *h = pw_hazard_enter(me, &w);
		uint64_t off;

		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		off = rng % cps * PW_CP;
		if (pw_window_read(&w, buf, 512, off) == PW_HIT) {
			hits++;
		} else if (pw_window_touch(&w, fd, 512, off, 0)) {
			pw_reclaim_poll(me, &w);
		}
		pw_window_leave(h, &w);
	}
	return hits;
}

/* At random over four times the bound each page drives out one as good, and so few do. When fewer
 * are read than there is room for, most come in, in time, though others are there already. */
UNIT_TEST(reclaim, crowded)
{
	uint64_t before;
	uint64_t hits;

	start(true);
	pw_reclaim_set_bound(CPS / 4 * PW_CP);
	reads_at_random(CPS, 40000);
	before = pw_touched_ever;
	hits = reads_at_random(CPS, 20000);
	before = pw_touched_ever - before;
	/* Elsewhere a page's price is paid in at most 64 reads. */
	cr_assert_gt(20000 - hits, 4 * 64 * before, "%lu for %lu", 20000 - hits, before);
	cr_assert_gt(hits, 3000u, "%lu", hits);
	reads_at_random(CPS / 8, 100000);
	hits = reads_at_random(CPS / 8, 1000);
	cr_assert_gt(hits, 500u, "%lu", hits);
}

/* Asked by another process, whatever the bound says; and read again, if wanted. */
UNIT_TEST(reclaim, gives_up_all_when_asked)
{
	start(true);
	pw_reclaim_set_bound(CPS * PW_CP);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
	look();
	pw_reclaim_heed();
	cr_assert(pw_window_is_open(&w), "not asked");
	my_slot()->shrink = PW_SHRINK_FAIR;
	pw_reclaim_heed();
	cr_assert(pw_window_is_open(&w), "asked for less");
	my_slot()->shrink = PW_SHRINK_ALL;
	pw_reclaim_poll(me, NULL);
	cr_assert_not(pw_window_is_open(&w));
	cr_assert_eq(own(PW_S_PAGES), 0u);
	cr_assert_eq(own(PW_S_WINDOWS), 0u);
	cr_assert_eq(my_slot()->windows, 0u, "published");
	cr_assert_eq(my_slot()->shrink, 0u);
	cr_assert_eq(unit_open(me, &w, fd), 0);
	read_page(7);
}

/* Who is inside at that moment takes it along when he leaves. */
UNIT_TEST(reclaim, gives_up_what_is_in_use_later)
{
	struct pw_hazard *h;

	start(true);
	read_page(7);
	look();
	h = pw_hazard_enter(me, &w);
	my_slot()->shrink = PW_SHRINK_ALL;
	pw_reclaim_poll(me, &w);
	cr_assert_eq(pw_window_read(&w, buf, 100, 7 * PW_CP), PW_MISS_END);
	cr_assert(pw_window_is_open(&w));
	pw_window_leave(h, &w);
	cr_assert_not(pw_window_is_open(&w));
}

UNIT_TEST(reclaim, below_the_bound_nothing_happens)
{
	start(true);
	pw_reclaim_set_bound(CPS * PW_CP);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
	look();
	cr_assert_eq(own(PW_S_PAGES), (uint64_t)CPS);
	cr_assert_eq(own(PW_S_RECLAIMS), 0u);
	/* Right after a look, for a while a poll asks nobody. */
	my_slot()->pages = 12345;
	while (my_slot()->pages == 12345)
		pw_reclaim_poll(me, &w);
	cr_assert_eq(my_slot()->pages, (uint64_t)CPS, "published at each look");
	unit_fail(U_ANY, 1, -EIO);
	my_slot()->pages = 12345;
	for (int i = 0; i < EVERY - 1; i++)
		pw_reclaim_poll(me, &w);
	cr_assert_eq(my_slot()->pages, 12345u);
	cr_assert_not(unit_failed());
}

UNIT_TEST(reclaim, exact_after_all_was_given_back)
{
	start(true);
	for (int round = 0; round < 4; round++) {
		pw_reclaim_set_bound(CPS * PW_CP);
		for (uint64_t off = 0; off + 100000 <= SIZE; off += 100000)
			read_exact(100000, off);
		pw_reclaim_set_bound(PW_CP);
		while (own(PW_S_PAGES) > 1)
			look();
		CHECK(rss() <= 3 * (PW_CP >> 10));
	}
}

/* ---- who keeps his place -------------------------------------------------------------------- */

UNIT_TEST(reclaim, a_second_chance_for_what_is_used)
{
	start(true);
	pw_reclaim_set_bound(CPS * PW_CP);
	for (uint64_t cp = 0; cp < 200; cp++)
		read_page(cp);
	/* The first clock takes all reference bits and gives back some. */
	pw_reclaim_set_bound(190 * PW_CP);
	look();
	cr_assert_lt(own(PW_S_PAGES), 200u);
	cr_assert_gt(own(PW_S_PAGES), 100u);
	/* Of those that are left, right where the clock goes on, every third is used. */
	for (uint64_t cp = 60; cp < 159; cp += 3)
		read_page(cp);
	pw_reclaim_set_bound(100 * PW_CP);
	look();
	look();
	cr_assert_leq(own(PW_S_PAGES), 100u);
	for (uint64_t cp = 60; cp < 159; cp += 3)
		CHECK(w.map[cp] & PW_M_TOUCHED);
	cr_assert_eq(own(PW_S_PAGES), touched(&w));
}

UNIT_TEST(reclaim, several_windows)
{
	static struct pw_window second;
	static struct pw_window third;

	start(true);
	cr_assert_eq(unit_open(me, &second, fd), 0);
	cr_assert_eq(unit_open(me, &third, fd), 0);
	pw_reclaim_set_bound(3 * CPS * PW_CP);
	for (uint64_t cp = 0; cp < CPS; cp++) {
		CHECK(unit_read(me, &second, fd, buf, 4096, cp * PW_CP) == PW_HIT);
		CHECK(unit_read(me, &third, fd, buf, 4096, cp * PW_CP) == PW_HIT);
		read_page(cp);
	}
	/* One that is closed is in the registry still. */
	pw_window_retire(&third, false);
	cr_assert_eq(own(PW_S_PAGES), 2u * CPS);
	pw_reclaim_set_bound(100 * PW_CP);
	while (own(PW_S_PAGES) > 100)
		look();
	cr_assert_eq(own(PW_S_PAGES), touched(&w) + touched(&second));
	for (uint64_t cp = 0; cp < CPS; cp++) {
		CHECK(unit_read(me, &second, fd, buf, 4096, cp * PW_CP) == PW_HIT);
		CHECK(unit_exact(buf, 4096, cp * PW_CP));
	}
}

/* ---- others ------------------------------------------------------------------------------------ */

UNIT_TEST(reclaim, down_to_the_fair_share)
{
	start(true);
	pw_reclaim_set_bound(100 * PW_CP);
	another((uint32_t)getppid(), 100);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
	for (int i = 0; i < 20; i++)
		look();
	cr_assert_eq(own(PW_S_PAGES), 50u, "the half, though the other keeps too much");
	for (int i = 0; i < 5; i++)
		look();
	cr_assert_eq(own(PW_S_PAGES), 50u);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
}

UNIT_TEST(reclaim, a_smaller_process_gives_nothing)
{
	start(true);
	pw_reclaim_set_bound(100 * PW_CP);
	another((uint32_t)getppid(), 1000);
	for (uint64_t cp = 0; cp < 40; cp++)
		read_page(cp);
	look();
	cr_assert_eq(own(PW_S_PAGES), 40u);
	cr_assert_eq(own(PW_S_RECLAIMS), 0u);
}

static void nothing(void *arg)
{
	(void)arg;
}

UNIT_TEST(reclaim, the_dead_do_not_count)
{
	pid_t child;
	struct pw_shm_slot *slot;

	start(true);
	child = unit_fork(nothing, NULL);
	unit_join(child);
	slot = another((uint32_t)child, 1000000);
	pw_reclaim_set_bound(200 * PW_CP);
	for (uint64_t cp = 0; cp < 190; cp++)
		read_page(cp);
	look();
	cr_assert_eq(own(PW_S_PAGES), 190u);
	cr_assert_eq(own(PW_S_RECLAIMS), 0u);
	cr_assert_eq(slot->owner, 0u, "swept");
}

UNIT_TEST(reclaim, asked_to_shrink)
{
	start(true);
	pw_reclaim_set_bound(200 * PW_CP);
	another((uint32_t)getppid(), 10);
	for (uint64_t cp = 0; cp < 150; cp++)
		read_page(cp);
	look();
	cr_assert_eq(own(PW_S_PAGES), 150u);
	my_slot()->shrink = 1;
	look();
	cr_assert_lt(own(PW_S_PAGES), 150u, "below the bound, but over its share");
	cr_assert_geq(own(PW_S_PAGES), 100u);
	cr_assert_eq(my_slot()->shrink, 0u);
	uint64_t now = own(PW_S_PAGES);

	look();
	cr_assert_eq(own(PW_S_PAGES), now, "once");
}

/* ---- in between --------------------------------------------------------------------------------- */

static long retire_and_advise(void *at, size_t len, int advice)
{
	if (advice == MADV_DONTNEED)
		pw_window_retire(&w, false);
	return pw_sys_kernel.madvise(at, len, advice);
}

UNIT_TEST(reclaim, window_retired_meanwhile)
{
	start(true);
	pw_reclaim_set_bound(CPS * PW_CP);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
	unit_sys.madvise = retire_and_advise;
	pw_reclaim_set_bound(10 * PW_CP);
	look();
	cr_assert_eq(unit_maps(path), 0u, "who left it last unmapped it");
	cr_assert_eq(own(PW_S_PAGES), 0u);
	cr_assert_eq(own(PW_S_WINDOWS), 0u);
}

UNIT_TEST(reclaim, no_slot_left_to_look_through)
{
	start(true);
	pw_reclaim_set_bound(CPS * PW_CP);
	for (uint64_t cp = 0; cp < CPS; cp++)
		read_page(cp);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++) {
		me->slot[i].obj = &w;
		me->slot[i].frame = UINTPTR_MAX;
	}
	pw_reclaim_set_bound(10 * PW_CP);
	look();
	cr_assert_eq(own(PW_S_PAGES), (uint64_t)CPS);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		cr_assert_eq(me->slot[i].obj, &w);
}

/* Large reads touch many cache pages before each poll. */
UNIT_TEST(reclaim, bound_under_large_reads)
{
	const uint64_t n = 1 << 20;
	uint64_t most = 0;

	start(true);
	pw_reclaim_set_bound(64 * PW_CP);
	for (uint64_t i = 0; i < 4 * SIZE / n; i++) {
		struct pw_hazard *h = pw_hazard_enter(me, &w);

		for (int k = 0;
		     k < 64 && !pw_window_touch(&w, fd, n, i * n % SIZE, plenty()); k++)
			;
		pw_reclaim_poll(me, &w);
		pw_window_leave(h, &w);
		if (own(PW_S_PAGES) > most)
			most = own(PW_S_PAGES);
	}
	cr_assert_leq(most, 64u + EVERY + n / PW_CP, "%u", (unsigned)most);
}

/* What comes before the next look, and page tables, fit in where the bound is large. */
UNIT_TEST(reclaim, a_large_bound_is_never_passed)
{
	static struct pw_window large;
	const char *other = unit_shm("large");
	const uint64_t cps = 1200;
	uint64_t most = 0;
	int other_fd;

	start(true);
	other_fd = unit_file(other, cps * PW_CP);
	cr_assert_eq(unit_open(me, &large, other_fd), 0);
	pw_reclaim_set_bound(1024 * PW_CP);
	for (uint64_t i = 0; i < cps; i++) {
		unit_read(me, &large, other_fd, buf, 4096, i * 7 % cps * PW_CP);
		pw_reclaim_poll(me, NULL);
		if (own(PW_S_PAGES) > most)
			most = own(PW_S_PAGES);
	}
	cr_assert_leq(most, 1024 - EVERY, "%u", (unsigned)most);
	cr_assert_geq(most, 1024 - 3 * EVERY, "%u", (unsigned)most);
}

#define TABLE ((uintptr_t)2 << 20)
static unsigned tables; /* asked for whole */

static long note_tables(void *at, size_t len, int advice)
{
	tables += (uintptr_t)at % TABLE == 0 && len == TABLE && advice == MADV_DONTNEED;
	return pw_sys_kernel.madvise(at, len, advice);
}

/* A pass over much more than the bound pays with its own trail; what others use, and what this
 * process used before, stays. */
UNIT_TEST(reclaim, a_long_pass_drops_behind_itself)
{
	static struct pw_window hot;
	const char *other = unit_shm("hot");
	const uint64_t hots = 24;
	uint64_t most = 0;
	uint64_t stayed = 0;
	int hot_fd;

	start(true);
	hot_fd = unit_file(other, hots * PW_CP);
	cr_assert_eq(unit_open(me, &hot, hot_fd), 0);
	pw_reclaim_set_bound(2 * hots * PW_CP);
	for (uint64_t cp = 0; cp < hots; cp++)
		unit_read(me, &hot, hot_fd, buf, 4096, cp * PW_CP);
	cr_assert_eq(touched(&hot), hots);
	unit_sys.madvise = note_tables;
	for (uint64_t cp = 0; cp < CPS; cp++) {
		read_page(cp);
		if (own(PW_S_PAGES) > most)
			most = own(PW_S_PAGES);
	}
	cr_assert_leq(most, 2 * hots + EVERY, "%u", (unsigned)most);
	for (uint64_t cp = 0; cp < hots; cp++)
		stayed += (hot.map[cp] & (PW_M_TOUCHED | PW_M_REF)) ==
			  (PW_M_TOUCHED | PW_M_REF);
	cr_assert_eq(stayed, hots);
	cr_assert(w.map[CPS - 1] & PW_M_TOUCHED, "where the pass is");
	cr_assert_not(w.map[CPS / 2] & PW_M_TOUCHED);
	cr_assert_geq(tables, CPS * PW_CP / TABLE - 4,
		      "page tables that are left: but %u", tables);
	/* Back to the beginning: another sequence, whose trail begins there. */
	read_page(0);
	cr_assert_eq(w.trail, 0u);
	cr_assert(w.map[0] & PW_M_TOUCHED);
}

/* ---- threads ---------------------------------------------------------------------------- */

#define THREADS 3

static void *read_and_poll(void *arg)
{
	struct pw_reader *r = pw_reader_claim();
	static unsigned char bufs[THREADS][20000];
	unsigned char *mine = bufs[(uintptr_t)arg];

	for (uint64_t i = 0; i < 1500; i++) {
		uint64_t x = pw_mix(i * THREADS + (uintptr_t)arg);
		size_t n = 1 + x % sizeof(bufs[0]);
		uint64_t off = (x >> 20) % (SIZE - n);

		/* Between the touch and the read another thread may give it back. */
		if (unit_read(r, &w, fd, mine, n, off) == PW_HIT)
			CHECK(unit_exact(mine, n, off));
		pw_reclaim_poll(r, NULL);
	}
	pw_reader_release(r);
	return NULL;
}

/* Exact, and the counts still mean something afterwards. */
UNIT_TEST(reclaim, by_several_threads)
{
	pthread_t t[THREADS];

	start(true);
	pw_reclaim_set_bound(60 * PW_CP);
	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, read_and_poll, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cr_assert_gt(own(PW_S_RECLAIMS), 0u);
	cr_assert_eq(own(PW_S_PAGES), touched(&w));
	cr_assert_eq(w.pages, touched(&w));
}
