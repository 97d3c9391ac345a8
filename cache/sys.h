/*
 * sys.h - every system call of the engine goes through this table, so that a test can run
 * the logic with a failing nth call, and so that no libc wrapper (which may be ours) is
 * ever entered. Functions return what the kernel returns: a value, or -errno.
 */
#ifndef PW_CACHE_SYS_H
#define PW_CACHE_SYS_H

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/types.h>
#include <time.h>

#include "cache/base.h"

struct pw_sys {
	long (*open)(const char *path, int flags, unsigned mode);
	long (*close)(int fd);
	long (*pread)(int fd, void *buf, size_t n, int64_t off);
	long (*pwrite)(int fd, const void *buf, size_t n, int64_t off);
	long (*lseek)(int fd, int64_t off, int whence);
	long (*fstat)(int fd, struct stat *st);
	long (*stat)(const char *path, struct stat *st);
	long (*fstatfs)(int fd, struct statfs *st);
	long (*fallocate)(int fd, int mode, int64_t off, int64_t len);
	long (*memfd)(const char *name, unsigned flags);
	long (*ftruncate)(int fd, int64_t size);
	long (*fchmod)(int fd, unsigned mode);
	long (*link_fd)(int fd, const char *path);
	/* An address, or -errno in the same word. */
	long (*mmap)(void *at, size_t len, int prot, int flags, int fd, int64_t off);
	long (*munmap)(void *at, size_t len);
	long (*mprotect)(void *at, size_t len, int prot);
	long (*madvise)(void *at, size_t len, int advice);
	long (*mincore)(void *at, size_t len, unsigned char *vec);
	long (*readahead)(int fd, int64_t off, size_t n);
	/* rel: how long at the most; NULL is not allowed here, nobody waits for ever. */
	long (*futex_wait)(uint32_t *word, uint32_t seen, const struct timespec *rel);
	long (*futex_wake)(uint32_t *word, int n);
	long (*getrlimit)(int what, uint64_t *cur);
	long (*sysinfo)(struct sysinfo *si);
	long (*kill)(int pid, int sig);
	/* All signals of the calling thread; and back. */
	void (*block_signals)(uint64_t *saved);
	void (*restore_signals)(const uint64_t *saved);
	/* Of the same, SIGBUS only, is let through; restore_signals() ends that, too. */
	void (*unblock_sigbus)(uint64_t *saved);
	int64_t (*now_ns)(void);
};

/* The kernel's own. Tests put another table in its place before any other call. */
extern const struct pw_sys *pw_sys;
extern const struct pw_sys pw_sys_kernel;

/* The bare call: six words in, a value or -errno out. errno is not touched. */
static inline long pw_syscall6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define pw_syscall0(nr) pw_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define pw_syscall1(nr, a) pw_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define pw_syscall2(nr, a, b) pw_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define pw_syscall3(nr, a, b, c) pw_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define pw_syscall4(nr, a, b, c, d) \
	pw_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline bool pw_is_err(long r)
{
	return (unsigned long)r >= (unsigned long)-4095L;
}

#endif
