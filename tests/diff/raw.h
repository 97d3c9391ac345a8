/*
 * System calls that no library can see: the tester's own business (whose turn
 * it is, the trace, the other writer's changes, what the kernel says) must not
 * be touched by what is under test. Nothing here sets errno.
 */
#ifndef PW_DIFF_RAW_H
#define PW_DIFF_RAW_H

#include <sys/syscall.h>

static inline long pw_raw(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define PW_RAW0(n) pw_raw(n, 0, 0, 0, 0, 0, 0)
#define PW_RAW1(n, a) pw_raw(n, (long)(a), 0, 0, 0, 0, 0)
#define PW_RAW2(n, a, b) pw_raw(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define PW_RAW3(n, a, b, c) pw_raw(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define PW_RAW4(n, a, b, c, d) pw_raw(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define PW_RAW6(n, a, b, c, d, e, f) \
	pw_raw(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
