/* sys.c - the kernel's side of the table in sys.h. */
#include "cache/sys.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static long k_open(const char *path, int flags, unsigned mode)
{
	return pw_syscall4(SYS_openat, AT_FDCWD, path, flags, mode);
}

static long k_close(int fd)
{
	return pw_syscall1(SYS_close, fd);
}

static long k_pread(int fd, void *buf, size_t n, int64_t off)
{
	return pw_syscall4(SYS_pread64, fd, buf, n, off);
}

static long k_pwrite(int fd, const void *buf, size_t n, int64_t off)
{
	return pw_syscall4(SYS_pwrite64, fd, buf, n, off);
}

static long k_lseek(int fd, int64_t off, int whence)
{
	return pw_syscall3(SYS_lseek, fd, off, whence);
}

static long k_fstat(int fd, struct stat *st)
{
	return pw_syscall2(SYS_fstat, fd, st);
}

static long k_stat(const char *path, struct stat *st)
{
	return pw_syscall2(SYS_stat, path, st);
}

static long k_fstatfs(int fd, struct statfs *st)
{
	return pw_syscall2(SYS_fstatfs, fd, st);
}

static long k_fallocate(int fd, int mode, int64_t off, int64_t len)
{
	return pw_syscall4(SYS_fallocate, fd, mode, off, len);
}

static long k_memfd(const char *name, unsigned flags)
{
	return pw_syscall2(SYS_memfd_create, name, flags);
}

static long k_ftruncate(int fd, int64_t size)
{
	return pw_syscall2(SYS_ftruncate, fd, size);
}

static long k_fchmod(int fd, unsigned mode)
{
	return pw_syscall2(SYS_fchmod, fd, mode);
}

/* linkat through /proc: AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH (open(2), O_TMPFILE). */
static long k_link_fd(int fd, const char *path)
{
	char self[32] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0;
	size_t at = 14;
	unsigned v = (unsigned)fd;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		self[at++] = digits[--n];
	self[at] = 0;
	return pw_syscall6(SYS_linkat, AT_FDCWD, (long)self, AT_FDCWD, (long)path,
			   AT_SYMLINK_FOLLOW, 0);
}

static long k_mmap(void *at, size_t len, int prot, int flags, int fd, int64_t off)
{
	return pw_syscall6(SYS_mmap, (long)at, (long)len, prot, flags, fd, off);
}

static long k_munmap(void *at, size_t len)
{
	return pw_syscall2(SYS_munmap, at, len);
}

static long k_mprotect(void *at, size_t len, int prot)
{
	return pw_syscall3(SYS_mprotect, at, len, prot);
}

static long k_madvise(void *at, size_t len, int advice)
{
	return pw_syscall3(SYS_madvise, at, len, advice);
}

static long k_mincore(void *at, size_t len, unsigned char *vec)
{
	return pw_syscall3(SYS_mincore, at, len, vec);
}

static long k_readahead(int fd, int64_t off, size_t n)
{
	return pw_syscall3(SYS_readahead, fd, off, n);
}

static long k_futex_wait(uint32_t *word, uint32_t seen, const struct timespec *rel)
{
	return pw_syscall4(SYS_futex, word, FUTEX_WAIT, seen, rel);
}

static long k_futex_wake(uint32_t *word, int n)
{
	return pw_syscall3(SYS_futex, word, FUTEX_WAKE, n);
}

static long k_getrlimit(int what, uint64_t *cur)
{
	struct rlimit64 r;
	long e = pw_syscall4(SYS_prlimit64, 0, what, 0, &r);

	if (!e)
		*cur = r.rlim_cur;
	return e;
}

static long k_sysinfo(struct sysinfo *si)
{
	return pw_syscall1(SYS_sysinfo, si);
}

static long k_kill(int pid, int sig)
{
	return pw_syscall2(SYS_kill, pid, sig);
}

static void k_block_signals(uint64_t *saved)
{
	uint64_t all = ~0ULL;

	pw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, saved, sizeof(all));
}

static void k_restore_signals(const uint64_t *saved)
{
	pw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, sizeof(*saved));
}

static void k_unblock_sigbus(uint64_t *saved)
{
	uint64_t bus = 1ULL << (SIGBUS - 1);

	pw_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bus, saved, sizeof(bus));
}

/* The vDSO's clock; no interposable name, no errno on success. */
static int64_t k_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

const struct pw_sys pw_sys_kernel = {
	.open = k_open,
	.close = k_close,
	.pread = k_pread,
	.pwrite = k_pwrite,
	.lseek = k_lseek,
	.fstat = k_fstat,
	.stat = k_stat,
	.fstatfs = k_fstatfs,
	.fallocate = k_fallocate,
	.memfd = k_memfd,
	.ftruncate = k_ftruncate,
	.fchmod = k_fchmod,
	.link_fd = k_link_fd,
	.mmap = k_mmap,
	.munmap = k_munmap,
	.mprotect = k_mprotect,
	.madvise = k_madvise,
	.mincore = k_mincore,
	.readahead = k_readahead,
	.futex_wait = k_futex_wait,
	.futex_wake = k_futex_wake,
	.getrlimit = k_getrlimit,
	.sysinfo = k_sysinfo,
	.kill = k_kill,
	.block_signals = k_block_signals,
	.restore_signals = k_restore_signals,
	.unblock_sigbus = k_unblock_sigbus,
	.now_ns = k_now_ns,
};

const struct pw_sys *pw_sys = &pw_sys_kernel;
