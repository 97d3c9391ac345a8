/*
 * test_linger_copy.c - the last number of a description is closed by one thread while another
 * is in the middle of a read: what hangs on it stays as long as that read, as without the
 * library, and is gone when it ends. The read is held up by a page of its buffer that is
 * missing: a userfaultfd says when it has come there, and lets it go on.
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "linger.h"

#define PAGE 4096L
#define N (4 * PAGE)

static unsigned char *dest;
static int fd;
static ssize_t got;

static void *reader(void *arg)
{
	got = pread(fd, dest, N, PAGE);
	return arg;
}

static int fault_on(unsigned char *page)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register reg = {.range = {(uintptr_t)page, PAGE},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};
	int u = (int)raw1(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (u < 0)
		self_skip("no userfaultfd for faults in the kernel here");
	NEED(!raw3(SYS_ioctl, u, UFFDIO_API, &api));
	NEED(!raw3(SYS_ioctl, u, UFFDIO_REGISTER, &reg));
	/* Raw: the library still takes it for a page that may be stored into. */
	NEED(!raw3(SYS_madvise, page, PAGE, MADV_DONTNEED));
	return u;
}

static void await_fault(int u)
{
	struct pollfd p = {.fd = u, .events = POLLIN};
	struct uffd_msg m;

	NEED(poll(&p, 1, 20000) == 1);
	NEED(raw3(SYS_read, u, &m, sizeof(m)) == sizeof(m));
	NEED(m.event == UFFD_EVENT_PAGEFAULT);
}

static void in_the_middle(const struct check *c, const char *path)
{
	struct uffdio_zeropage zero = {0};
	pthread_t t;
	long calls;
	int u;

	dest = mmap(NULL, N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fd = prepared(c, path);
	for (int i = 0; i < 100; i++)
		NEED(pread(fd, dest, N, PAGE) == N);
	calls = read_calls();
	NEED(pread(fd, dest, N, PAGE) == N);
	CHECK(!self_preloaded || calls < 0 || read_calls() == calls + 1, "not served");
	u = fault_on(dest + PAGE);
	NEED(!pthread_create(&t, NULL, reader, NULL));
	await_fault(u);
	close(fd);
	CHECK(!self_preloaded || access(path, F_OK) || is_mapped_file(path),
	      "pulled from under the reader");
	say("---- in the middle");
	c->after(path);
	zero.range = (struct uffdio_range){(uintptr_t)dest + PAGE, PAGE};
	NEED(!raw3(SYS_ioctl, u, UFFDIO_ZEROPAGE, &zero));
	pthread_join(t, NULL);
	raw1(SYS_close, u);
	say("read: %zd, right: %d", got, c->make || is_content(dest, N, 1, PAGE));
	say("---- at the end");
	c->after(path);
	need_unmapped_file(path);
}

static void flocks(void)
{
	in_the_middle(&(struct check){O_RDONLY, NULL, take_flock, try_flock}, "file");
}

static void ofd_locks(void)
{
	in_the_middle(&(struct check){O_RDWR, NULL, take_ofd, try_ofd}, "file");
}

static void leases(void)
{
	in_the_middle(&(struct check){O_RDONLY, NULL, NULL, try_lease}, "file");
}

static void close_write(void)
{
	in_the_middle(&(struct check){O_RDWR, NULL, watch, see_events}, "file");
}

static void executes(void)
{
	in_the_middle(&(struct check){O_RDWR, copy_program, NULL, execute}, "file");
}

static void space(void)
{
	mount_small();
	in_the_middle(&(struct check){O_RDONLY, NULL, remove_it, see_space},
		      MOUNTED "/file");
}

static void unmount(const char *path)
{
	(void)path;
	say("umount: %ld", raw2(SYS_umount2, MOUNTED, 0));
}

static void umounts(void)
{
	mount_small();
	in_the_middle(&(struct check){O_RDWR, NULL, NULL, unmount}, MOUNTED "/file");
}

static const struct self_case cases[] = {
	{"flock", flocks, SELF_BOTH},
	{"ofd-lock", ofd_locks, SELF_BOTH},
	{"lease", leases, SELF_BOTH},
	{"close-write", close_write, SELF_BOTH},
	{"exec-after-rdwr", executes, SELF_BOTH},
	{"space", space, SELF_BOTH},
	{"umount", umounts, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
