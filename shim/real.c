/* real.c - see real.h. */
#include "shim/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <stddef.h>

#include "cache/base.h"

PW_HOT_PAGE void *pw_real_at[PW_N_COUNT];

static const char *const names[PW_N_COUNT] = {
#define PW_SERVED(name) #name,
#define PW_WATCHED(name) #name,
#include "shim/symbols.def"
};

/* dlsym allocates only to report an error, and then through malloc, which may be anyone's;
 * a name libc lacks is asked for again each time, which no name of ours is. */
void *pw_real_lookup(const char *name, const char *version)
{
	int saved = errno;
	void *p = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);

	errno = saved;
	return p;
}

void *pw_real_find(enum pw_name n)
{
	void *p = __atomic_load_n(&pw_real_at[n], __ATOMIC_RELAXED);

	if (!p) {
		p = pw_real_lookup(names[n], NULL);
		__atomic_store_n(&pw_real_at[n], p, __ATOMIC_RELAXED);
	}
	return p;
}

/*
 * What a handler may call, and what a program with nothing to gain calls anyway. The
 * others (streams, memory) wait until they are used, which keeps start-up short.
 */
void pw_real_start(void)
{
	static const enum pw_name early[] = {
		PW_N_read,
		PW_N_pread,
		PW_N_lseek,
		PW_N_write,
		PW_N_open,
		PW_N_openat,
		PW_N_close,
		PW_N_dup,
		PW_N_dup2,
		PW_N_fcntl,
		PW_N_sigaction,
		PW_N_sigprocmask,
		PW_N_pthread_sigmask,
	};

	for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++)
		pw_real_find(early[i]);
}

void pw_real_rest(void)
{
	for (unsigned n = 0; n < PW_N_COUNT; n++)
		pw_real_find(n);
}

/* Where libc is loaded; written at start-up. */
static PW_HOT_PAGE struct extent {
	uintptr_t from;
	uintptr_t to;
} libc;

/* Of the object that holds extent->from: all of it. */
static int whole(struct dl_phdr_info *info, size_t size, void *extent)
{
	struct extent *e = extent;
	struct extent all = {UINTPTR_MAX, 0};

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		all.from = at < all.from ? at : all.from;
		all.to = at + p->p_memsz > all.to ? at + p->p_memsz : all.to;
	}
	if (e->from < all.from || e->from >= all.to)
		return 0;
	*e = all;
	return 1;
}

static bool in_libc(const void *at)
{
	return (uintptr_t)at >= libc.from && (uintptr_t)at < libc.to;
}

bool pw_real_in_libc(enum pw_name n)
{
	return in_libc(pw_real_find(n));
}

bool pw_real_is_libcs(const char *name)
{
	return in_libc(pw_real_lookup(name, NULL));
}

/* Not by dladdr, which looks through all of libc's symbols for the nearest: a hundred
 * microseconds for the four, the third part of what start-up took. */
bool pw_real_is_libc(void)
{
	struct extent e = {(uintptr_t)gnu_get_libc_version, 0};

	if (dl_iterate_phdr(whole, &e))
		libc = e;
	return pw_real_in_libc(PW_N_read) && pw_real_in_libc(PW_N_lseek) &&
	       pw_real_in_libc(PW_N_open) && pw_real_in_libc(PW_N_close);
}
