/* probe.c - see probe.h. */
#include "cache/probe.h"

#include <errno.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define CUT 100

enum { UNTRIED, GOOD, BAD };

static uint32_t known; /* only ever UNTRIED to one of the others */

static bool put(int fd, int64_t off)
{
	return pw_sys->pwrite(fd, "x", 1, off) == 1;
}

/* A write is seen through the mapping, a truncation zeroes the rest of the page that holds
 * the new end, and nothing is left beyond: asked by having the kernel read there, which
 * answers with an error where a load of ours would be a signal. */
static bool holds(int fd, const volatile char *map)
{
	if (!put(fd, CUT - 1) || !put(fd, CUT) || !put(fd, PW_PAGE - 1) ||
	    !put(fd, PW_PAGE))
		return false;
	if (map[CUT - 1] != 'x' || map[CUT] != 'x' || map[PW_PAGE - 1] != 'x' ||
	    map[PW_PAGE] != 'x')
		return false;
	if (pw_sys->ftruncate(fd, CUT))
		return false;
	if (map[CUT - 1] != 'x' || map[CUT] || map[PW_PAGE - 1])
		return false;
	if (pw_sys->pwrite(fd, (const char *)map + PW_PAGE, 1, 0) != -EFAULT)
		return false;
	if (pw_sys->ftruncate(fd, 2L * PW_PAGE))
		return false;
	return map[CUT - 1] == 'x' && !map[CUT] && !map[PW_PAGE - 1] && !map[PW_PAGE];
}

/* -errno if it could not be tried. */
static int try(void)
{
	uint64_t limit;
	long at;
	long fd;
	int verdict;

	/* A file longer than the limit would be a signal. */
	if (pw_sys->getrlimit(RLIMIT_FSIZE, &limit) || limit < 2 * PW_PAGE)
		return -EFBIG;
	fd = pw_sys->memfd("pagewell", MFD_CLOEXEC);
	if (fd < 0)
		return (int)fd;
	verdict = (int)pw_sys->ftruncate((int)fd, 2L * PW_PAGE);
	if (!verdict) {
		at = pw_sys->mmap(NULL, 2L * PW_PAGE, PROT_READ, MAP_SHARED, (int)fd, 0);
		if (pw_is_err(at)) {
			verdict = (int)at;
		} else {
			verdict = holds((int)fd, (const volatile char *)at) ? GOOD : BAD;
			pw_sys->munmap((void *)at, 2L * PW_PAGE);
		}
	}
	pw_sys->close((int)fd);
	return verdict;
}

/* Does the segment say so? With `now`, it does from now on. */
static bool noted(bool now)
{
	const struct pw_segment *s;
	uint64_t saved;
	bool yes = false;

	pw_segment_enter_blocked(&saved);
	s = pw_segment_get();
	if (s && now)
		pw_store_relaxed(&s->head->kernel, PW_PROBE_HOLDS);
	if (s)
		yes = pw_load_relaxed(&s->head->kernel) == PW_PROBE_HOLDS;
	pw_segment_leave_blocked(&saved);
	return yes;
}

int pw_probe_kernel(void)
{
	int verdict;

	if (pw_likely(pw_load_relaxed(&known) != UNTRIED))
		return pw_load_relaxed(&known) == GOOD ? 0 : -EPERM;
	if (noted(false)) {
		pw_store_relaxed(&known, GOOD);
		return 0;
	}
	verdict = try();
	if (verdict < 0) {
		if (pw_note)
			pw_note("no window: the kernel could not be tried out",
				"memfd_create", -verdict);
		return -EAGAIN;
	}
	if (verdict == BAD && pw_note)
		pw_note("no windows: this kernel leaves bytes beyond a truncated end",
			"ftruncate", 0);
	if (verdict == GOOD)
		noted(true);
	pw_store_relaxed(&known, (uint32_t)verdict);
	return verdict == GOOD ? 0 : -EPERM;
}
