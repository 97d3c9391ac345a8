/*
 * System calls by inline assembly: what the writer does, and what the reader
 * asks the kernel as a check, must reach the kernel past any preloaded library.
 * Results are the kernel's own: a value, or -errno.
 */
#ifndef TORTURE_RAW_H
#define TORTURE_RAW_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define RAW_(nr, a, b, c, d, e, f, ...) \
	raw6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define raw(...) RAW_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

static inline long raw_pread(int fd, void *to, size_t n, int64_t off)
{
	return raw(SYS_pread64, fd, to, n, off);
}

static inline long raw_pwrite(int fd, const void *from, size_t n, int64_t off)
{
	return raw(SYS_pwrite64, fd, from, n, off);
}

static inline long raw_open(const char *path, int flags, int mode)
{
	return raw(SYS_openat, AT_FDCWD, path, flags, mode);
}

static inline int64_t raw_size(int fd)
{
	struct stat st;
	long ret = raw(SYS_fstat, fd, &st);

	return ret < 0 ? ret : st.st_size;
}

static inline uint64_t raw_now_ns(void)
{
	struct timespec ts;

	raw(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void raw_sleep_ns(long ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	raw(SYS_nanosleep, &ts, NULL);
}

#endif
