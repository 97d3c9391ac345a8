/*
 * points.c - test builds only. PAGEWELL_POINT is a list of `NAME[#NTH]:ACTION`, with commas
 * between: what this process does to itself at the NTH passage (default: the first) of the
 * point. ACTION is the number of a signal, which this thread is sent, or wFD: a byte is
 * written to that descriptor.
 */
#include "cache/points.h"

#ifdef PW_DEBUG

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/sys.h"

#define WANTS 4

static void act(const char *action)
{
	if (*action == 'w')
		pw_syscall3(SYS_write, strtol(action + 1, NULL, 10), "", 1);
	else
		pw_syscall3(SYS_tgkill, getpid(), pw_syscall0(SYS_gettid),
			    strtol(action, NULL, 10));
}

void pw_point(const char *name)
{
	static uint32_t passed[WANTS];
	const char *want = getenv("PAGEWELL_POINT");
	size_t n = strlen(name);

	for (int i = 0; want && i < WANTS; i++) {
		uint32_t nth = 1;
		char *rest;

		if (strncmp(want, name, n) == 0 && (want[n] == '#' || want[n] == ':')) {
			rest = (char *)want + n;
			if (*rest == '#')
				nth = (uint32_t)strtoul(rest + 1, &rest, 10);
			if (__atomic_add_fetch(&passed[i], 1, __ATOMIC_RELAXED) == nth)
				act(rest + 1);
		}
		want = strchr(want, ',');
		want += want != NULL;
	}
}

#else
typedef int pw_points_not_empty;
#endif
