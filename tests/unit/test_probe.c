/*
 * test_probe.c - a kernel that does not zero beyond a truncated end, or does not fault there,
 * gets no windows; one that does is tried out once for all processes.
 */
#include "unit.h"

#include <sys/resource.h>

UNIT_SUITE(probe);

static char *mapped;
static char saved[2 * PW_PAGE];

static long watch_mmap(void *at, size_t len, int prot, int flags, int fd, int64_t off)
{
	long got = pw_sys_kernel.mmap(at, len, PROT_READ | PROT_WRITE, flags, fd, off);

	(void)prot;
	if (len == sizeof(saved) && (flags & MAP_SHARED))
		mapped = (char *)got;
	return got;
}

/* The kernel cuts and zeroes; then the bytes are back, as if it had not zeroed. */
static long forget_zeroing(int fd, int64_t size)
{
	long ret;

	if (mapped && size < (int64_t)PW_PAGE)
		memcpy(saved, mapped, PW_PAGE);
	ret = pw_sys_kernel.ftruncate(fd, size);
	if (mapped && size < (int64_t)PW_PAGE)
		memcpy(mapped, saved, PW_PAGE);
	return ret;
}

/* A page beyond the end is there. */
static long no_fault(int fd, const void *buf, size_t n, int64_t off)
{
	long ret = pw_sys_kernel.pwrite(fd, buf, n, off);

	return ret == -EFAULT ? (long)n : ret;
}

static long lost_write(int fd, const void *buf, size_t n, int64_t off)
{
	(void)fd, (void)buf, (void)off;
	return (long)n;
}

static long nothing_left(const char *name, unsigned flags)
{
	(void)name, (void)flags;
	return -EMFILE;
}

static long must_not(const char *name, unsigned flags)
{
	(void)name, (void)flags;
	_exit(99);
}

static unsigned fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void find_good(void *arg)
{
	(void)arg;
	unit_sys.memfd = must_not;
	MUST(pw_probe_kernel() == 0);
}

UNIT_TEST(probe, tried_once_for_all)
{
	unsigned before;

	cr_assert_not_null(pw_segment_get());
	before = fds();
	cr_assert_eq(pw_probe_kernel(), 0);
	cr_assert_eq(fds(), before);
	unit_sys.memfd = must_not;
	cr_assert_eq(pw_probe_kernel(), 0);
	unit_child(find_good, NULL);
}

static void refuse(void)
{
	cr_assert_eq(pw_probe_kernel(), -EPERM);
	cr_assert_eq(pw_segment_get()->head->kernel, 0u);
	unit_sys.memfd = must_not; /* not again in this process */
	cr_assert_eq(pw_probe_kernel(), -EPERM);
}

UNIT_TEST(probe, no_zeroing)
{
	unit_sys.mmap = watch_mmap;
	unit_sys.ftruncate = forget_zeroing;
	refuse();
}

UNIT_TEST(probe, no_fault_beyond)
{
	unit_sys.pwrite = no_fault;
	refuse();
}

UNIT_TEST(probe, writes_not_seen)
{
	unit_sys.pwrite = lost_write;
	refuse();
}

/* Stray bits in the segment are not a good kernel. */
UNIT_TEST(probe, stray_word)
{
	pw_segment_get()->head->kernel = UINT32_MAX;
	unit_sys.pwrite = no_fault;
	cr_assert_eq(pw_probe_kernel(), -EPERM);
}

/* What could not be tried may be tried later. */
UNIT_TEST(probe, later)
{
	unsigned before;

	pw_segment_get();
	before = fds();
	unit_sys.memfd = nothing_left;
	cr_assert_eq(pw_probe_kernel(), -EAGAIN);
	unit_sys.memfd = pw_sys_kernel.memfd;
	unit_fail(U_MMAP, 1, -ENOMEM);
	cr_assert_eq(pw_probe_kernel(), -EAGAIN);
	cr_assert_eq(fds(), before);
	unit_fail(U_MMAP, 0, 0);
	cr_assert_eq(pw_probe_kernel(), 0);
}

/* A file beyond the limit on file size would be a signal. */
UNIT_TEST(probe, file_size_is_limited)
{
	struct rlimit r = {100, RLIM_INFINITY};

	pw_segment_get();
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
	cr_assert_eq(pw_probe_kernel(), -EAGAIN);
	r.rlim_cur = RLIM_INFINITY;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
	cr_assert_eq(pw_probe_kernel(), 0);
}
