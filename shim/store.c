/* store.c - see store.h. */
#include "shim/store.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "shim/real.h"

static int64_t by_call(void)
{
	struct timespec t = {0, 0};

	pw_syscall2(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long (*vdso_clock)(clockid_t which, struct timespec *to);

static int64_t by_vdso(void)
{
	struct timespec t = {0, 0};

	vdso_clock(CLOCK_REALTIME_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t (*pw_store_clock)(void) = by_call;
PW_HOT_PAGE uint64_t pw_store_epoch;

/*
 * The vdso's own, not libc's clock_gettime: a library that lies about the time to the program
 * may stand before that one, and the kernel does not ask it either.
 */
static void find_clock(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *f = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;

	if (vdso)
		dlclose(vdso); /* it stays: nothing can unload it */
	if (!f)
		return;
	vdso_clock = (long (*)(clockid_t, struct timespec *))f;
	pw_store_clock = by_vdso;
}

void pw_store_start(void)
{
	if (!pw_knobs.stores)
		return;
	if (!pw_real_is_libcs("write") || !pw_real_is_libcs("pwrite")) {
		if (pw_note)
			pw_note("no stores: another library wants to see writes", "write",
				0);
		pw_knobs.stores = false;
		return;
	}
	find_clock();
}

static bool unlimited(void)
{
	uint64_t cur;

	return !pw_sys->getrlimit(RLIMIT_FSIZE, &cur) && cur == RLIM64_INFINITY;
}

enum pw_window_kind pw_store_kind(const struct pw_handle *h, int fd,
				  const struct stat *st)
{
	uint32_t flags = pw_load_relaxed(&h->flags);

	if (!(flags & (PW_H_WRITABLE | PW_H_WRITE_ONLY)))
		return PW_WIN_READ_ONLY;
	if (pw_load_relaxed(&pw_knobs.stores) && !(flags & PW_H_SYNC) && unlimited() &&
	    pw_place_stores(fd, st))
		return flags & PW_H_WRITE_ONLY ? PW_WIN_BLIND : PW_WIN_STORES;
	return flags & PW_H_WRITE_ONLY ? PW_WIN_NONE : PW_WIN_READ_WRITE;
}

void pw_store_times_set(void)
{
	pw_add_relaxed(&pw_store_epoch, 1);
}

void pw_store_forbid(void)
{
	if (!pw_load_relaxed(&pw_knobs.stores))
		return;
	pw_store_relaxed(&pw_knobs.stores, false);
	pw_windows_drop();
}
