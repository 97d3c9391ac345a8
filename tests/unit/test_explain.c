/* test_explain.c - the table of `pagewell explain`: places for files, names, many at once. */
#include "unit.h"

UNIT_SUITE(explain);

static struct pw_shm_explain *table_new(void)
{
	struct pw_shm_explain *e = mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(e, MAP_FAILED);
	pw_explain_format(e);
	return e;
}

static uint64_t id_of(uint64_t i)
{
	return pw_mix(i + 1) | 1;
}

UNIT_TEST(explain, every_reason_has_a_name)
{
	for (int i = 0; i < PW_WHY_COUNT; i++) {
		cr_assert_not_null(pw_why_name[i]);
		cr_assert_eq(strspn(pw_why_name[i], "abcdefghijklmnopqrstuvwxyz-"),
			     strlen(pw_why_name[i]));
		for (int k = 0; k < i; k++)
			cr_assert_str_neq(pw_why_name[i], pw_why_name[k]);
	}
}

UNIT_TEST(explain, valid)
{
	struct pw_shm_explain *e = table_new();

	cr_assert(pw_explain_valid(e, sizeof(*e)));
	cr_assert_not(pw_explain_valid(e, sizeof(*e) - 1));
	cr_assert_not(pw_explain_valid(e, sizeof(*e) + 4096));
	e->layout++;
	cr_assert_not(pw_explain_valid(e, sizeof(*e)));
	e->layout--;
	e->magic++;
	cr_assert_not(pw_explain_valid(e, sizeof(*e)));
	e->magic--;
	e->bytes--;
	cr_assert_not(pw_explain_valid(e, sizeof(*e)));
}

UNIT_TEST(explain, a_file_has_one_record)
{
	struct pw_shm_explain *e = table_new();
	unsigned at[500];
	bool mine;

	for (unsigned i = 0; i < 500; i++) {
		at[i] = pw_explain_record(e, id_of(i), &mine);
		cr_assert(mine);
		cr_assert(at[i] >= PW_TOLD_FIRST && at[i] < PW_EXPLAIN_FILES);
		for (unsigned k = 0; k < i; k++)
			CHECK(at[k] != at[i]);
	}
	for (unsigned i = 0; i < 500; i++) {
		CHECK(pw_explain_record(e, id_of(i), &mine) == at[i]);
		CHECK(!mine);
	}
}

/* Ids that all want the last place: it goes on from the front, and not for ever. */
UNIT_TEST(explain, places_run_out)
{
	struct pw_shm_explain *e = table_new();
	uint64_t places = PW_EXPLAIN_FILES - PW_TOLD_FIRST;
	unsigned got = 0;
	bool mine;

	for (uint64_t i = 1; i <= 100; i++) {
		unsigned at = pw_explain_record(e, i * places + places - 1, &mine);

		cr_assert(at < PW_EXPLAIN_FILES);
		cr_assert_eq(mine, at != PW_TOLD_REST);
		cr_assert(at == PW_TOLD_REST || at >= PW_TOLD_FIRST);
		got += mine;
	}
	cr_assert_eq(got, 32);
	for (unsigned i = 0; i < PW_TOLD_FIRST; i++)
		cr_assert_eq(e->file[i].id, 0);
}

UNIT_TEST(explain, a_full_table)
{
	struct pw_shm_explain *e = table_new();
	unsigned got = 0;
	bool mine;

	for (uint64_t i = 0; i < 4 * PW_EXPLAIN_FILES; i++) {
		pw_explain_record(e, id_of(i), &mine);
		got += mine;
	}
	cr_assert_eq(got, PW_EXPLAIN_FILES - PW_TOLD_FIRST);
	cr_assert_eq(pw_explain_record(e, id_of(1u << 20), &mine), PW_TOLD_REST);
	cr_assert_not(mine);
}

UNIT_TEST(explain, names_keep_their_ends)
{
	struct pw_shm_explain *e = table_new();
	struct pw_shm_told *t = &e->file[PW_TOLD_FIRST];
	char path[2 * PW_EXPLAIN_PATH];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)('a' + i % 26);
	for (size_t n = 0; n < sizeof(path); n++) {
		size_t kept = n < PW_EXPLAIN_PATH ? n : PW_EXPLAIN_PATH - 1;

		memset(t->path, 0, sizeof(t->path));
		t->named = 0;
		memset(&t[1], 0x5a, sizeof(t[1]));
		pw_explain_name(t, path, n, 77);
		CHECK(strlen(t->path) == kept);
		CHECK(memcmp(t->path, path + n - kept, kept) == 0);
		CHECK(t->named == 1 && t->magic == 77);
		CHECK(*(unsigned char *)&t[1] == 0x5a);
	}
}

enum { MEMBERS = 4, IDS = 1000 };

/* Each id, over and over; who claims counts that, and everybody counts a call. */
static void *claim_all(void *arg)
{
	struct pw_shm_explain *e = arg;
	bool mine;

	for (unsigned round = 0; round < 20; round++)
		for (uint64_t i = 0; i < IDS; i++) {
			struct pw_shm_told *t =
				&e->file[pw_explain_record(e, id_of(i), &mine)];

			pw_add_relaxed(&t->calls[PW_CALL_READ], 1);
			if (mine)
				pw_add_relaxed(&unit_word[0], 1);
		}
	return NULL;
}

static void claim_in_child(void *arg)
{
	claim_all(arg);
}

UNIT_TEST(explain, many_at_once)
{
	struct pw_shm_explain *e = table_new();
	pthread_t thread[MEMBERS];
	pid_t child[MEMBERS];
	bool mine;

	for (int i = 0; i < MEMBERS; i++)
		child[i] = unit_fork(claim_in_child, e);
	for (int i = 0; i < MEMBERS; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, claim_all, e), 0);
	for (int i = 0; i < MEMBERS; i++) {
		pthread_join(thread[i], NULL);
		unit_join(child[i]);
	}
	cr_assert_eq(unit_word[0], IDS);
	for (uint64_t i = 0; i < IDS; i++)
		CHECK(e->file[pw_explain_record(e, id_of(i), &mine)]
			      .calls[PW_CALL_READ] == 20ULL * 2 * MEMBERS);
}
