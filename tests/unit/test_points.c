/*
 * test_points.c - a test build does at a named point what it was asked to: at the nth passage
 * and no other, for each entry of a list.
 */
#include "unit.h"

UNIT_SUITE(points);

/* How many bytes have come through the pipe. */
static int come(int fd)
{
	char buf[16];
	ssize_t got = read(fd, buf, sizeof(buf));

	return got < 0 ? 0 : (int)got;
}

static int ask(const char *form)
{
	char want[100];
	int p[2];

	cr_assert_eq(pipe2(p, O_NONBLOCK | O_CLOEXEC), 0);
	snprintf(want, sizeof(want), form, p[1], p[1]);
	setenv("PAGEWELL_POINT", want, 1);
	return p[0];
}

UNIT_TEST(points, not_asked_for)
{
	unsetenv("PAGEWELL_POINT");
	PW_POINT("a");
	setenv("PAGEWELL_POINT", "", 1);
	PW_POINT("a");
	setenv("PAGEWELL_POINT", "ab:9,b:9,xa:9,a", 1);
	PW_POINT("a");
}

UNIT_TEST(points, a_byte_at_the_first_passage)
{
	int from = ask("a:w%d");

	PW_POINT("b");
	cr_assert_eq(come(from), 0);
	PW_POINT("a");
	cr_assert_eq(come(from), 1);
	PW_POINT("a");
	cr_assert_eq(come(from), 0);
}

UNIT_TEST(points, the_nth_of_each_in_a_list)
{
	int from = ask("a#3:w%d,b#2:w%d");

	for (int i = 1; i <= 5; i++) {
		PW_POINT("a");
		cr_assert_eq(come(from), i == 3);
		PW_POINT("b");
		cr_assert_eq(come(from), i == 2);
	}
}

static void pass(void *point)
{
	PW_POINT("a");
	unit_word[0]++;
	PW_POINT((const char *)point);
}

UNIT_TEST(points, killed_and_stopped)
{
	int status;
	pid_t child;

	setenv("PAGEWELL_POINT", "b:19,a#2:9", 1);
	child = unit_fork(pass, "b");
	cr_assert_eq(waitpid(child, &status, WUNTRACED), child);
	cr_assert(WIFSTOPPED(status));
	kill(child, SIGCONT);
	unit_join(child);
	child = unit_fork(pass, "a");
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cr_assert_eq(unit_word[0], 2u);
}
