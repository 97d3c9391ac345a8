/*
 * test_room.c - where a program has most of the mappings that it may have, or there are very
 * many windows, no more are made; and looking is rare.
 */
#include "unit.h"

#include "cache/room.h"

UNIT_SUITE(room);

#define FIRST 16u
#define MAPS 3
#define MOST 4

static unsigned looks;
static uint64_t has;	 /* mappings */
static const char *most; /* what the kernel says */

static long fake_open(const char *path, int flags, unsigned mode)
{
	(void)flags, (void)mode;
	if (strstr(path, "max_map_count"))
		return MOST;
	MUST(strstr(path, "/maps") != NULL);
	looks++;
	return MAPS;
}

/* A line is ten bytes. */
static long fake_pread(int fd, void *buf, size_t n, int64_t off)
{
	long got = 0;

	if (fd == MOST)
		return (long)strlen(strncpy(buf, most, n));
	for (; (size_t)got < n && (uint64_t)(off + got) < has * 10; got++)
		((char *)buf)[got] = (off + got) % 10 == 9 ? '\n' : 'x';
	return got;
}

static long no_close(int fd)
{
	MUST(fd == MAPS || fd == MOST);
	return 0;
}

static void fake(uint64_t mappings, const char *allowed)
{
	has = mappings;
	most = allowed;
	unit_sys.open = fake_open;
	unit_sys.pread = fake_pread;
	unit_sys.close = no_close;
}

UNIT_TEST(room, few_windows_are_not_asked_about)
{
	fake(65000, "65530\n");
	for (uint64_t n = 0; n < FIRST; n++)
		CHECK(pw_room_for_window(n) == 0);
	cr_assert_eq(looks, 0u);
}

UNIT_TEST(room, looks_when_they_have_doubled)
{
	unsigned want = 0;

	fake(300, "65530\n");
	for (uint64_t n = 0; n < 4096; n++) {
		want += n >= FIRST && !(n & (n - 1));
		CHECK(pw_room_for_window(n) == 0);
		CHECK(looks == want);
	}
	cr_assert_eq(looks, 8u);
	cr_assert_eq(pw_room_for_window(4096), -EPERM);
	cr_assert_eq(pw_room_for_window(100000), -EPERM);
	cr_assert_eq(pw_room_for_window(100), 0, "when there are fewer again");
	cr_assert_eq(looks, 8u);
}

UNIT_TEST(room, half_is_the_limit)
{
	fake(500, "1000\n");
	cr_assert_eq(pw_room_for_window(FIRST), 0);
	has = 501;
	cr_assert_eq(pw_room_for_window(2 * FIRST), -EPERM);
	cr_assert_eq(looks, 2u);
	has = 1;
	cr_assert_eq(pw_room_for_window(2 * FIRST), -EPERM, "for good");
	cr_assert_eq(looks, 2u);
}

UNIT_TEST(room, no_more_is_read_than_needed)
{
	fake(UINT64_MAX / 10, "65530\n"); /* would take for ever */
	cr_assert_eq(pw_room_for_window(FIRST), -EPERM);
}

UNIT_TEST(room, the_kernel_may_not_say)
{
	fake(300, "");
	cr_assert_eq(pw_room_for_window(FIRST), -EAGAIN);
	cr_assert_eq(looks, 0u);
	most = "65530\n";
	cr_assert_eq(pw_room_for_window(FIRST), 0);
}

UNIT_TEST(room, each_call_fails_once)
{
	unsigned nth = 0;

	do {
		int got;

		unit_fail(U_ANY, ++nth, -EMFILE);
		got = pw_room_for_window(FIRST);
		cr_assert_eq(got, unit_failed() ? -EAGAIN : 0, "call %u", nth);
		cr_assert_eq(unit_count(U_OPEN), unit_count(U_CLOSE));
	} while (unit_failed());
	cr_assert_gt(nth, 4u, "open pread open pread...");
}

UNIT_TEST(room, as_it_is)
{
	cr_assert_eq(pw_room_for_window(4095), 0);
	cr_assert_gt(unit_count(U_PREAD), 1u);
}
