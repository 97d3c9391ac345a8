/*
 * test_stats.c - counters are summed without a lock; each process has one slot, or none when
 * all are taken; the slots of the dead are found, those of other namespaces left alone.
 */
#include "unit.h"

UNIT_SUITE(stats);

#define GARBAGE UINT64_MAX

static const struct pw_segment *segment(void)
{
	const struct pw_segment *s = pw_segment_get();

	cr_assert_not_null(s);
	return s;
}

static uint64_t my_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

/* The slots this process owns; the last one found in *slot. */
static unsigned slots_of(const struct pw_segment *s, pid_t pid, struct pw_shm_slot **slot)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		if (pw_load_relaxed(&s->slots[i].owner) != (uint32_t)pid)
			continue;
		n++;
		if (slot)
			*slot = &s->slots[i];
	}
	return n;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* The number of a process that has been. */
static pid_t dead_pid(void)
{
	pid_t pid = unit_fork(nothing, NULL);

	unit_join(pid);
	return pid;
}

static void fill(const struct pw_segment *s, uint32_t owner, uint64_t pidns)
{
	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		s->slots[i].owner = owner;
		s->slots[i].pidns = pidns;
		s->slots[i].fills = 1000 + i;
	}
}

UNIT_TEST(stats, names)
{
	for (int i = 0; i < PW_S_COUNT; i++) {
		cr_assert_not_null(pw_stat_name[i]);
		for (int k = 0; k < i; k++)
			cr_assert_str_neq(pw_stat_name[i], pw_stat_name[k]);
	}
	cr_assert_str_eq(pw_stat_name[PW_S_PAGES], "pages");
	cr_assert_str_eq(pw_stat_name[PW_S_HIT_BYTES], "hit_bytes");
	cr_assert_str_eq(pw_stat_name[PW_S_MAPPED], "mapped");
}

/* The order of enum pw_stat is that of the slot's fields. */
UNIT_TEST(stats, order)
{
	struct pw_shm_slot slot = {0};
	uint64_t *v = pw_stat_of(&slot);

	for (uint64_t i = 0; i < PW_S_COUNT; i++)
		v[i] = i + 1;
	cr_assert_eq(slot.pages, PW_S_PAGES + 1u);
	cr_assert_eq(slot.windows, PW_S_WINDOWS + 1u);
	cr_assert_eq(slot.hits, PW_S_HITS + 1u);
	cr_assert_eq(slot.hit_bytes, PW_S_HIT_BYTES + 1u);
	cr_assert_eq(slot.seeks, PW_S_SEEKS + 1u);
	cr_assert_eq(slot.fills, PW_S_FILLS + 1u);
	cr_assert_eq(slot.waits, PW_S_WAITS + 1u);
	cr_assert_eq(slot.timeouts, PW_S_TIMEOUTS + 1u);
	cr_assert_eq(slot.reclaims, PW_S_RECLAIMS + 1u);
	cr_assert_eq(slot.doubts, PW_S_DOUBTS + 1u);
	cr_assert_eq(slot.mapped, PW_S_MAPPED + 1u);
}

UNIT_TEST(stats, without_a_segment)
{
	uint64_t own[PW_S_COUNT];
	uint32_t processes = 0;

	pw_stat_add(PW_S_PAGES, 12);
	pw_stat_add(PW_S_PAGES, -2);
	pw_stat_add(PW_S_FILLS, 3);
	pw_stat_publish();
	pw_stat_own(own);
	cr_assert_eq(own[PW_S_PAGES], 10u);
	cr_assert_eq(own[PW_S_FILLS], 3u);
	cr_assert_eq(pw_stat_total_pages(&processes), 10u);
	cr_assert_eq(processes, 1u);
	cr_assert_not(pw_stat_shrink_asked());
	pw_stat_leave(true);
	cr_assert_null(pw_segment_peek());
}

UNIT_TEST(stats, own_counts_those_of_the_threads)
{
	struct pw_reader *a = pw_reader_claim();
	struct pw_reader *b = pw_reader_claim();
	uint64_t own[PW_S_COUNT];

	a->hits = 5;
	a->hit_bytes = 500;
	b->hits = 6;
	b->seeks = 7;
	pw_reader_release(b); /* its thread has ended; its counts remain */
	pw_stat_add(PW_S_SEEKS, 1);
	pw_stat_own(own);
	cr_assert_eq(own[PW_S_HITS], 11u);
	cr_assert_eq(own[PW_S_HIT_BYTES], 500u);
	cr_assert_eq(own[PW_S_SEEKS], 8u);
}

UNIT_TEST(stats, publish)
{
	const struct pw_segment *s = segment();
	struct pw_shm_slot *slot = NULL;
	char comm[64] = "";
	FILE *f;

	cr_assert_eq(slots_of(s, getpid(), NULL), 0u);
	for (int i = 0; i < PW_S_COUNT; i++)
		pw_stat_add((enum pw_stat)i, 100 + i);
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), &slot), 1u);
	for (int i = 0; i < PW_S_COUNT; i++)
		cr_assert_eq(pw_stat_of(slot)[i], 100u + (unsigned)i);
	cr_assert_eq(slot->pidns, my_pidns());
	f = fopen("/proc/self/comm", "re");
	cr_assert_not_null(f);
	cr_assert_not_null(fgets(comm, sizeof(comm), f));
	fclose(f);
	comm[strcspn(comm, "\n")] = 0;
	cr_assert_str_eq(slot->comm, comm);
	pw_stat_add(PW_S_WAITS, 1);
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), NULL), 1u, "and stays there");
	cr_assert_eq(slot->waits, 101u + PW_S_WAITS);
	cr_assert_eq(unit_count(U_OPEN), unit_count(U_CLOSE));
}

UNIT_TEST(stats, a_used_slot_begins_at_nothing)
{
	const struct pw_segment *s = segment();
	struct pw_shm_slot *slot = NULL;

	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		memset(&s->slots[i], 0xee, sizeof(s->slots[i]));
		s->slots[i].owner = 0;
	}
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), &slot), 1u);
	for (int i = 0; i < PW_S_COUNT; i++)
		cr_assert_eq(pw_stat_of(slot)[i], 0u);
	cr_assert_eq(slot->shrink, 0u);
	cr_assert_lt(strlen(slot->comm), sizeof(slot->comm));
}

UNIT_TEST(stats, each_call_of_publish_fails_once)
{
	const struct pw_segment *s = segment();
	unsigned nth = 0;

	do {
		unit_fail(U_ANY, ++nth, -EACCES);
		pw_stat_fork_child(); /* forgets the slot */
		fill(s, 0, 0);
		pw_stat_publish();
		cr_assert_eq(slots_of(s, getpid(), NULL), 1u, "call %u", nth);
		cr_assert_eq(unit_count(U_OPEN), unit_count(U_CLOSE));
	} while (unit_failed());
	cr_assert_gt(nth, 3u, "stat open pread");
}

/* ---- slots ------------------------------------------------------------------------------------ */

UNIT_TEST(stats, all_slots_taken_by_the_living)
{
	const struct pw_segment *s = segment();
	uint32_t processes = 0;

	fill(s, (uint32_t)getppid(), my_pidns());
	pw_stat_add(PW_S_PAGES, 5);
	pw_stat_publish();
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), NULL), 0u);
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		CHECK(s->slots[i].fills == 1000 + i);
	cr_assert_eq(pw_stat_total_pages(&processes), 5u, "counts privately");
	cr_assert_not(pw_stat_shrink_asked());
	pw_stat_add(PW_S_FILLS, 8);
	pw_stat_leave(true);
	cr_assert_eq(s->head->past[PW_S_FILLS], 8u, "its sums are not lost");
}

UNIT_TEST(stats, slots_of_the_dead_are_taken)
{
	const struct pw_segment *s = segment();

	fill(s, (uint32_t)dead_pid(), my_pidns());
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), NULL), 1u);
}

UNIT_TEST(stats, sweep)
{
	const struct pw_segment *s = segment();
	uint32_t dead = (uint32_t)dead_pid();
	uint64_t ns = my_pidns();
	uint64_t sum = 0;
	uint32_t kept;

	cr_assert_eq(pw_stat_sweep(s), 0u, "nobody there");
	fill(s, dead, ns);
	s->slots[0].owner = (uint32_t)getpid();
	s->slots[1].owner = 1;
	s->slots[2].pidns = ns + 1;
	kept = 3;
	/* No pids, and kill(-1) would ask everybody: only damage can have left them. */
	s->slots[3].owner = UINT32_MAX;
	s->slots[4].owner = (uint32_t)INT32_MAX + 1;
	/* Its owner had not come to writing there: the counts are another's. */
	s->slots[5].pidns = 0;
	s->slots[6].owner = 0;
	cr_assert_eq(pw_stat_sweep(s), PW_SLOTS - kept - 1);
	for (uint32_t i = 7; i < PW_SLOTS; i++)
		sum += 1000 + i;
	cr_assert_eq(s->head->past[PW_S_FILLS], sum, "what the dead counted is not lost");
	cr_assert_eq(s->head->past[PW_S_PAGES], 0u);
	cr_assert_eq(s->slots[0].owner, (uint32_t)getpid());
	cr_assert_eq(s->slots[1].owner, 1u);
	cr_assert_eq(s->slots[2].owner, dead);
	for (uint32_t i = kept; i < PW_SLOTS; i++)
		CHECK(s->slots[i].owner == 0);
	cr_assert_eq(pw_stat_sweep(s), 0u);
}

static void die_at(const char *point, void (*doing)(void *arg))
{
	int status;
	pid_t child;

	setenv("PAGEWELL_POINT", point, 1);
	child = unit_fork(doing, NULL);
	unsetenv("PAGEWELL_POINT");
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%#x",
		  (unsigned)status);
}

static void take_one(void *arg)
{
	(void)arg;
	pw_stat_fork_child();
	pw_stat_publish();
}

/* What it held before the dead one took it was somebody else's, who has handed it in. */
UNIT_TEST(stats, killed_with_a_slot_just_taken)
{
	const struct pw_segment *s = segment();

	pw_stat_publish();
	pw_stat_add(PW_S_FILLS, 5);
	pw_stat_publish();
	pw_stat_leave(false);
	cr_assert_eq(s->head->past[PW_S_FILLS], 5u);
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		CHECK(s->slots[i].pidns == 0);
	fill(s, 0, 0);
	die_at("attach.slot:9", take_one);
	cr_assert_eq(pw_stat_sweep(s), 1u);
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		CHECK(s->slots[i].owner == 0);
	cr_assert_eq(s->head->past[PW_S_FILLS], 5u);
}

static void sweep_it(void *arg)
{
	(void)arg;
	pw_stat_sweep(pw_segment_peek());
}

UNIT_TEST(stats, killed_while_sweeping)
{
	const struct pw_segment *s = segment();

	s->slots[9].owner = (uint32_t)dead_pid();
	s->slots[9].pidns = my_pidns();
	die_at("sweep.claimed:9", sweep_it);
	cr_assert_neq(s->slots[9].owner, 0u);
	cr_assert_eq(pw_stat_sweep(s), 1u);
	cr_assert_eq(s->slots[9].owner, 0u);
	cr_assert_eq(s->slots[9].pidns, 0u);
}

static long not_permitted(int pid, int sig)
{
	(void)pid;
	MUST(sig == 0);
	return -EPERM;
}

UNIT_TEST(stats, another_users_process_is_alive)
{
	const struct pw_segment *s = segment();

	fill(s, 4711, my_pidns());
	unit_sys.kill = not_permitted;
	cr_assert_eq(pw_stat_sweep(s), 0u);
}

static uint32_t next_owner;

/* Between the look at the process and the freeing the slot goes to another one. */
static long reowned(int pid, int sig)
{
	const struct pw_segment *s = pw_segment_peek();

	(void)sig;
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		if (s->slots[i].owner == (uint32_t)pid)
			s->slots[i].owner = next_owner;
	return -ESRCH;
}

UNIT_TEST(stats, a_slot_taken_meanwhile_is_not_freed)
{
	const struct pw_segment *s = segment();

	s->slots[9].owner = (uint32_t)dead_pid();
	s->slots[9].pidns = my_pidns();
	next_owner = (uint32_t)getpid();
	unit_sys.kill = reowned;
	cr_assert_eq(pw_stat_sweep(s), 0u);
	cr_assert_eq(s->slots[9].owner, (uint32_t)getpid());
}

/* ---- totals --------------------------------------------------------------------------------------- */

UNIT_TEST(stats, total_of_all)
{
	const struct pw_segment *s = segment();
	uint32_t processes;

	pw_stat_add(PW_S_PAGES, 7);
	pw_stat_publish();
	cr_assert_eq(pw_stat_total_pages(&processes), 7u,
		     "its own slot is not counted twice");
	cr_assert_eq(processes, 1u);
	pw_stat_add(PW_S_PAGES, 1);
	cr_assert_eq(pw_stat_total_pages(&processes), 8u,
		     "its own count is of this moment");
	for (uint32_t i = 0, n = 0; n < 3; i++) {
		if (s->slots[i].owner)
			continue;
		s->slots[i].owner = 1;
		s->slots[i].pages = n++ * 100;
	}
	cr_assert_eq(pw_stat_total_pages(&processes), 308u);
	cr_assert_eq(processes, 3u, "who has nothing mapped has no share");
}

UNIT_TEST(stats, garbage_does_not_wrap_the_total)
{
	const struct pw_segment *s = segment();
	uint32_t processes;

	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		s->slots[i].owner = 1;
		s->slots[i].pages = i % 2 ? GARBAGE : 1;
	}
	pw_stat_add(PW_S_PAGES, 1000);
	/* Half of them would be -1 each, and all together 1000. */
	cr_assert_gt(pw_stat_total_pages(&processes), (uint64_t)1 << 40);
	cr_assert_leq(processes, PW_SLOTS + 1);
}

#define CROWD 20

static void publish_and_wait(void *arg)
{
	int64_t me = (int64_t)(intptr_t)arg;

	MUST(pw_segment_get() != NULL);
	pw_stat_fork_child();
	pw_stat_add(PW_S_PAGES, me + 1);
	pw_stat_add(PW_S_FILLS, me + 1);
	pw_stat_publish();
	pw_add_acq_rel(&unit_word[0], 1);
	unit_until(&unit_word[1], 1);
	pw_stat_leave(true);
}

UNIT_TEST(stats, a_crowd)
{
	const struct pw_segment *s = segment();
	const int64_t sum = CROWD * (CROWD + 1) / 2;
	pid_t child[CROWD];
	uint32_t processes;

	for (intptr_t i = 0; i < CROWD; i++)
		child[i] = unit_fork(publish_and_wait, (void *)i);
	unit_until(&unit_word[0], CROWD);
	cr_assert_eq(pw_stat_total_pages(&processes), (uint64_t)sum);
	cr_assert_eq(processes, CROWD + 1u);
	for (int i = 0; i < CROWD; i++)
		cr_assert_eq(slots_of(s, child[i], NULL), 1u);
	/* One of them is killed: counted until somebody sweeps. */
	kill(child[0], SIGKILL);
	cr_assert_eq(waitpid(child[0], NULL, 0), child[0]);
	cr_assert_eq(pw_stat_total_pages(&processes), (uint64_t)sum);
	cr_assert_eq(pw_stat_sweep(s), 1u);
	cr_assert_eq(pw_stat_total_pages(&processes), (uint64_t)sum - 1);
	pw_store_release(&unit_word[1], 1);
	for (int i = 1; i < CROWD; i++)
		unit_join(child[i]);
	cr_assert_eq(pw_stat_total_pages(&processes), 0u);
	cr_assert_eq(processes, 1u);
	cr_assert_eq(s->head->past[PW_S_FILLS], (uint64_t)sum,
		     "that of the dead as well");
	cr_assert_eq(s->head->past[PW_S_PAGES], 0u, "the past has nothing mapped");
}

/* ---- the end, and a child's beginning ----------------------------------------------------------------- */

UNIT_TEST(stats, leave)
{
	const struct pw_segment *s = segment();
	struct pw_reader *r = pw_reader_claim();

	for (int i = 0; i < PW_S_COUNT; i++)
		pw_stat_add((enum pw_stat)i, 100);
	pw_stat_publish();
	r->hits = 11;
	s->head->past[PW_S_HITS] = 1000;
	pw_stat_leave(true);
	cr_assert_eq(slots_of(s, getpid(), NULL), 0u);
	cr_assert_eq(s->head->past[PW_S_HITS], 1111u,
		     "what was not published yet as well");
	cr_assert_eq(s->head->past[PW_S_MAPPED], 100u);
	cr_assert_eq(s->head->past[PW_S_PAGES], 0u);
	cr_assert_eq(s->head->past[PW_S_WINDOWS], 0u);
	/* Destructors of others may still read. */
	pw_stat_add(PW_S_DOUBTS, 1);
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), NULL), 0u);
}

/* Handed in before an exec that then fails: the process lives on, counted only once. */
UNIT_TEST(stats, leave_and_come_back)
{
	const struct pw_segment *s = segment();
	struct pw_shm_slot *slot = NULL;
	struct pw_reader *r = pw_reader_claim();

	pw_stat_add(PW_S_FILLS, 10);
	pw_stat_add(PW_S_PAGES, 10);
	r->hits = 100;
	pw_stat_publish();
	pw_stat_leave(false);
	cr_assert_eq(slots_of(s, getpid(), NULL), 0u);
	cr_assert_eq(s->head->past[PW_S_FILLS], 10u);
	cr_assert_eq(s->head->past[PW_S_HITS], 100u);
	pw_stat_leave(false);
	cr_assert_eq(s->head->past[PW_S_FILLS], 10u, "nothing new to hand in");
	pw_stat_add(PW_S_FILLS, 1);
	r->hits += 5;
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), &slot), 1u);
	cr_assert_eq(slot->fills, 1u, "what is in the past is not here as well");
	cr_assert_eq(slot->hits, 5u);
	cr_assert_eq(slot->pages, 10u, "but what is mapped is mapped");
	pw_stat_leave(true);
	cr_assert_eq(s->head->past[PW_S_FILLS], 11u);
	cr_assert_eq(s->head->past[PW_S_HITS], 105u);
}

static void forked(void *arg)
{
	const struct pw_segment *s = pw_segment_peek();
	struct pw_shm_slot *slot = arg;
	uint64_t own[PW_S_COUNT];
	struct pw_shm_slot *mine = NULL;

	pw_stat_fork_child();
	pw_stat_own(own);
	for (int i = 0; i < PW_S_COUNT; i++)
		MUST(own[i] == 0);
	pw_stat_add(PW_S_FILLS, 1);
	pw_stat_publish();
	MUST(slots_of(s, getpid(), &mine) == 1);
	MUST(mine != slot);
	MUST(mine->fills == 1);
	MUST(slot->owner == (uint32_t)getppid());
	MUST(slot->fills == 40);
	pw_stat_leave(true);
	MUST(slot->owner == (uint32_t)getppid());
}

UNIT_TEST(stats, fork_child)
{
	const struct pw_segment *s = segment();
	struct pw_shm_slot *slot = NULL;

	struct pw_reader *r = pw_reader_claim();

	r->hits = r->hit_bytes = r->seeks = r->stores = 3;
	pw_stat_add(PW_S_FILLS, 40);
	pw_stat_publish();
	cr_assert_eq(slots_of(s, getpid(), &slot), 1u);
	unit_child(forked, slot);
	cr_assert_eq(s->head->past[PW_S_FILLS], 1u);
	for (int i = 0; i < PW_S_COUNT; i++)
		cr_assert(i == PW_S_FILLS || !s->head->past[i], "%s", pw_stat_name[i]);
}

/* What a parent had handed in is no business of its child's. */
static void forked_late(void *arg)
{
	struct pw_shm_slot *mine = NULL;

	pw_stat_fork_child();
	pw_stat_add(PW_S_FILLS, 3);
	pw_stat_publish();
	MUST(slots_of(arg, getpid(), &mine) == 1);
	MUST(mine->fills == 3);
	pw_stat_leave(true);
}

UNIT_TEST(stats, fork_after_handing_in)
{
	const struct pw_segment *s = segment();

	pw_stat_add(PW_S_FILLS, 40);
	pw_stat_publish();
	pw_stat_leave(false);
	unit_child(forked_late, (void *)(uintptr_t)s);
	cr_assert_eq(s->head->past[PW_S_FILLS], 43u);
}

UNIT_TEST(stats, asked_to_shrink)
{
	const struct pw_segment *s = segment();
	struct pw_shm_slot *slot = NULL;

	pw_stat_publish();
	cr_assert_not(pw_stat_shrink_asked());
	cr_assert_eq(slots_of(s, getpid(), &slot), 1u);
	slot->shrink = 1;
	cr_assert_eq(pw_stat_shrink_asked(), PW_SHRINK_FAIR);
	cr_assert_not(pw_stat_shrink_asked(), "once");
	slot->shrink = 2;
	cr_assert(pw_stat_shrink_is(PW_SHRINK_ALL));
	cr_assert_not(pw_stat_shrink_is(PW_SHRINK_FAIR));
	cr_assert_eq(pw_stat_shrink_asked(), PW_SHRINK_ALL);
	cr_assert_not(pw_stat_shrink_is(PW_SHRINK_ALL));
	slot->shrink = 77; /* damage */
	cr_assert_eq(pw_stat_shrink_asked(), PW_SHRINK_FAIR);
	cr_assert_eq(slot->shrink, 0u);
}

UNIT_TEST(stats, free_from_outside)
{
	const struct pw_segment *s = segment();

	fill(s, 4711, 5);
	cr_assert_not(pw_stat_free(s, 0, 4712), "another's");
	cr_assert_eq(s->slots[0].owner, 4711u);
	cr_assert(pw_stat_free(s, 1, 4711));
	cr_assert_eq(s->slots[1].owner, 0u);
	cr_assert_eq(s->slots[1].pidns, 0u);
	cr_assert_eq(s->head->past[PW_S_FILLS], 1001u);
	/* Nobody's, what can't be a pid, and who has not said what is his: no counts. */
	s->slots[2].owner = 0;
	cr_assert(pw_stat_free(s, 2, 0));
	s->slots[3].owner = UINT32_MAX;
	cr_assert(pw_stat_free(s, 3, UINT32_MAX));
	s->slots[4].pidns = 0;
	cr_assert(pw_stat_free(s, 4, 4711));
	for (uint32_t i = 1; i < 5; i++)
		CHECK(s->slots[i].owner == 0 && s->slots[i].pidns == 0);
	cr_assert_eq(s->head->past[PW_S_FILLS], 1001u);
}

/* ---- threads --------------------------------------------------------------------------------------------- */

#define THREADS 8
static pthread_barrier_t together;

static void *count_up(void *arg)
{
	uint64_t own[PW_S_COUNT];

	(void)arg;
	pthread_barrier_wait(&together);
	for (int i = 0; i < 2000; i++) {
		pw_stat_add(PW_S_FILLS, 1);
		pw_stat_add(PW_S_PAGES, i % 2 ? -1 : 1);
		if (i % 500 == 0)
			pw_stat_own(own);
	}
	return NULL;
}

UNIT_TEST(stats, threads_lose_no_count)
{
	pthread_t t[THREADS];
	uint64_t own[PW_S_COUNT];

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, count_up, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	pw_stat_own(own);
	cr_assert_eq(own[PW_S_FILLS], THREADS * 2000u);
	cr_assert_eq(own[PW_S_PAGES], 0u);
}

static void *publish_at_once(void *arg)
{
	uint32_t processes;

	(void)arg;
	pthread_barrier_wait(&together);
	for (int i = 0; i < 20; i++) {
		pw_stat_publish();
		pw_stat_total_pages(&processes);
	}
	return NULL;
}

UNIT_TEST(stats, threads_share_one_slot)
{
	const struct pw_segment *s = segment();
	pthread_t t[THREADS];

	pw_stat_add(PW_S_FILLS, 3);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, publish_at_once, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	struct pw_shm_slot *slot = NULL;

	cr_assert_eq(slots_of(s, getpid(), &slot), 1u);
	cr_assert_eq(slot->fills, 3u);
}
