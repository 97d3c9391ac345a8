/*
 * entry_mem.c - calls that may take away a page's writability: the destination table is
 * void before and after. Calls that only add memory pass through.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "shim/dest.h"
#include "shim/export.h"
#include "shim/real.h"

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

PW_EXPORT void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	/* Without MAP_FIXED the place was free; but it may have been freed inside libc
	 * (free, thread stacks), unseen, and what comes now may not be writable. */
	bool matters = (flags & MAP_FIXED) || !(prot & PROT_WRITE);
	void *p;

	if (matters)
		pw_dest_move();
	p = PW_REAL(mmap)(at, len, prot, flags, fd, off);
	if (matters)
		pw_dest_move();
	return p;
}

PW_EXPORT int munmap(void *at, size_t len)
{
	int ret;

	pw_dest_move();
	ret = PW_REAL(munmap)(at, len);
	pw_dest_move();
	return ret;
}

PW_EXPORT int mprotect(void *at, size_t len, int prot)
{
	int ret;

	pw_dest_move();
	ret = PW_REAL(mprotect)(at, len, prot);
	pw_dest_move();
	return ret;
}

PW_EXPORT int pkey_mprotect(void *at, size_t len, int prot, int pkey)
{
	int ret;

	pw_dest_move();
	ret = PW_REAL(pkey_mprotect)(at, len, prot, pkey);
	pw_dest_move();
	return ret;
}

/* From now on a page's writability can change without a call (pkey_set). */
PW_EXPORT int pkey_alloc(unsigned flags, unsigned access)
{
	int key = PW_REAL(pkey_alloc)(flags, access);

	if (key >= 0)
		pw_dest_close();
	return key;
}

PW_EXPORT void *mremap(void *at, size_t old, size_t len, int flags, ...)
{
	va_list ap;
	void *to;
	void *p;

	va_start(ap, flags);
	to = (flags & MREMAP_FIXED) ? va_arg(ap, void *) : NULL;
	va_end(ap);
	pw_dest_move();
	p = PW_REAL(mremap)(at, old, len, flags, to);
	pw_dest_move();
	return p;
}

PW_EXPORT int madvise(void *at, size_t len, int advice)
{
	bool matters = advice == MADV_REMOVE || advice == MADV_HWPOISON ||
		       advice == MADV_SOFT_OFFLINE || advice == MADV_GUARD_INSTALL;
	int ret;

	if (matters)
		pw_dest_move();
	ret = PW_REAL(madvise)(at, len, advice);
	if (matters)
		pw_dest_move();
	return ret;
}

PW_EXPORT void *shmat(int id, const void *at, int flags)
{
	void *p;

	pw_dest_move();
	p = PW_REAL(shmat)(id, at, flags);
	pw_dest_move();
	return p;
}

PW_EXPORT int shmdt(const void *at)
{
	int ret;

	pw_dest_move();
	ret = PW_REAL(shmdt)(at);
	pw_dest_move();
	return ret;
}

PW_EXPORT int brk(void *end)
{
	int ret;

	pw_dest_move();
	ret = PW_REAL(brk)(end);
	pw_dest_move();
	return ret;
}

PW_EXPORT void *sbrk(intptr_t by)
{
	void *p;

	if (by < 0)
		pw_dest_move();
	p = PW_REAL(sbrk)(by);
	if (by < 0)
		pw_dest_move();
	return p;
}

PW_TWIN(mmap64, mmap)
PW_INTERNAL(pw_our_sbrk, sbrk)
