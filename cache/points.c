/*
 * points.c - test builds only: PAGEWELL_POINT="NAME:SIGNAL" sends that signal (a number) to
 * the process itself when it reaches the point for the first time.
 */
#include "cache/points.h"

#ifdef PW_DEBUG

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/sys.h"

void pw_point(const char *name)
{
	static uint32_t done;
	const char *want = getenv("PAGEWELL_POINT");
	size_t n = strlen(name);

	if (!want || strncmp(want, name, n) != 0 || want[n] != ':')
		return;
	if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
		return;
	pw_syscall2(SYS_kill, getpid(), strtol(want + n + 1, NULL, 10));
}

#else
typedef int pw_points_not_empty;
#endif
