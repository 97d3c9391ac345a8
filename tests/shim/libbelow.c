/* libbelow.c - an interposer that comes after the library, since test_bare is linked with it: it
 * counts what it sees, and goes on to libc. */
#include <dlfcn.h>

#include "loading.h"

long below_writes(void);
long below_preads(void);

static long writes;
static long preads;

ssize_t write(int fd, const void *buf, size_t n)
{
	static ssize_t (*next)(int, const void *, size_t);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	writes++;
	return next(fd, buf, n);
}

ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
	static ssize_t (*next)(int, void *, size_t, off_t);

	if (!next)
		next = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
	preads++;
	return next(fd, buf, n, off);
}

long below_writes(void)
{
	return writes;
}

long below_preads(void)
{
	return preads;
}
