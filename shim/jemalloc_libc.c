/*
 * jemalloc_libc.c - the libc that our copy of jemalloc sees. The Makefile renames its
 * references (JE_NAMES) so that they land here: memory comes from the kernel, without
 * passing through our own exports; and what has no place inside somebody else's program is
 * refused: settings, files, threads, handlers, keys, the break.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/pagewell.h"

/* jemalloc looks at errno after some of these. It runs with signals blocked, in a call
 * whose own errno is not decided yet; alloc.c's callers keep the program's. */
static long with_errno(long r)
{
	if (!pw_is_err(r))
		return r;
	errno = (int)-r;
	return -1;
}

void *pw_je_mmap(void *at, size_t len, int prot, int flags, int fd, long off)
{
	return (void *)with_errno(pw_sys->mmap(at, len, prot, flags, fd, off));
}

int pw_je_munmap(void *at, size_t len)
{
	return (int)with_errno(pw_sys->munmap(at, len));
}

int pw_je_mprotect(void *at, size_t len, int prot)
{
	return (int)with_errno(pw_sys->mprotect(at, len, prot));
}

int pw_je_madvise(void *at, size_t len, int advice)
{
	return (int)with_errno(pw_sys->madvise(at, len, advice));
}

void *pw_je_sbrk(intptr_t by)
{
	(void)by;
	return (void *)with_errno(-ENOMEM);
}

long pw_je_syscall(long nr, ...)
{
	(void)nr;
	return with_errno(-ENOSYS);
}

int pw_je_open(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	return (int)with_errno(-ENOENT);
}

int pw_je_creat(const char *path, unsigned mode)
{
	(void)path;
	(void)mode;
	return (int)with_errno(-EACCES);
}

int pw_je_close(int fd)
{
	(void)fd;
	return (int)with_errno(-EBADF);
}

ssize_t pw_je_readlink(const char *path, char *buf, size_t n)
{
	(void)path;
	(void)buf;
	(void)n;
	return with_errno(-ENOENT);
}

/* One processor: one arena is plenty for a slab. */
long pw_je_sysconf(int name)
{
	if (name == _SC_PAGESIZE)
		return (long)PW_PAGE;
	return name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF ? 1 : -1;
}

void *pw_je_dlsym(void *lib, const char *name)
{
	(void)lib;
	(void)name;
	return NULL;
}

int pw_je_atexit(void (*fn)(void))
{
	(void)fn;
	return 0;
}

int pw_je_pthread_create(void *thread, const void *attr, void *(*fn)(void *), void *arg)
{
	(void)thread;
	(void)attr;
	(void)fn;
	(void)arg;
	return EAGAIN;
}

/* For its threads. libc chooses this one when it is loaded, a page of libc for nothing. */
int pw_je_gettimeofday(void *tv, void *tz)
{
	(void)tv;
	(void)tz;
	return (int)with_errno(-ENOSYS);
}

int pw_je_pthread_sigmask(int how, const void *set, void *old)
{
	(void)how;
	(void)set;
	(void)old;
	return 0; /* alloc.c has blocked them all */
}

/* MALLOC_CONF is for the program's own jemalloc; ours wants no caches by thread (which
 * would never be given back: it gets no key), one arena, and nothing from the break. */
char *pw_je_secure_getenv(const char *name)
{
	static char conf[] = "tcache:false,narenas:1,dss:disabled";

	return strcmp(name, "MALLOC_CONF") == 0 ? conf : NULL;
}

int pw_je_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	(void)prepare;
	(void)parent;
	(void)child;
	return 0; /* alloc.c says why it is not needed */
}

/*
 * What jemalloc keeps by thread lies in the thread's own memory and is chained to that of
 * others. Nobody tells it when a thread ends, so alloc.c ends it after each call, while it is
 * still alone inside. These two are called by that one thread only.
 */
static void (*tsd_destroy)(void *);
static void *tsd;

int pw_je_pthread_key_create(unsigned *key, void (*destroy)(void *))
{
	tsd_destroy = destroy;
	*key = 0;
	return 0;
}

int pw_je_pthread_setspecific(unsigned key, const void *value)
{
	(void)key;
	tsd = (void *)value;
	return 0;
}

void pw_je_thread_done(void)
{
	void *of = tsd;

	tsd = NULL; /* set again by destroying it; that one is not chained */
	if (of)
		tsd_destroy(of);
	tsd = NULL;
}

/* Its profiler's, which is off. */
double pw_je_exp(double x)
{
	return x;
}

double pw_je_log(double x)
{
	return x;
}

double pw_je_round(double x)
{
	return x;
}

int pw_je__Unwind_Backtrace(void *step, void *arg)
{
	(void)step;
	(void)arg;
	return 0;
}

uintptr_t pw_je__Unwind_GetIP(void *context)
{
	(void)context;
	return 0;
}
