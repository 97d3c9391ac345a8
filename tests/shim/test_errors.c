/*
 * test_errors.c - wrong numbers, offsets and buffers, on windowed files and on others, give
 * what the kernel gives; success leaves errno alone.
 */
#include <limits.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "_self.h"

#define SIZE 300000
#define PAGE 4096

static int ready(int flags)
{
	int fd = open_made("a", 1, SIZE, flags);

	warm(fd);
	say_seek(fd, 100, SEEK_SET);
	return fd;
}

/* One read and one pread, with a buffer of the caller's. */
static void into(int fd, void *buf, size_t n)
{
	ssize_t got;

	errno = 77;
	got = read(fd, buf, n);
	say("read = %zd errno %d", got, errno);
	say("pos = %ld", (long)lseek(fd, 0, SEEK_CUR));
	errno = 77;
	got = pread(fd, buf, n, 200);
	say("pread = %zd errno %d", got, errno);
	errno = 77;
	got = pread(fd, buf, n, SIZE - 3);
	say("pread at the end = %zd errno %d", got, errno);
	errno = 77;
	got = pread(fd, buf, n, SIZE + 3);
	say("pread past the end = %zd errno %d", got, errno);
}

static void numbers(void)
{
	int wronly = open_made("w", 2, SIZE, O_WRONLY);
	int path = open("w", O_PATH);
	int folder;
	int p[2];
	int s[2];
	char buf[16];
	int some[] = {-1,   -2, 900, 1 << 20, INT32_MAX, INT32_MIN, wronly,
		      path, 0,	0,   0,	      0,	 0};

	mkdir("folder", 0700);
	folder = open("folder", O_RDONLY);
	NEED(!pipe(p) && !socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	some[8] = folder;
	some[9] = p[1];
	some[10] = open("/dev/null", O_RDONLY);
	some[11] = open("/proc/self/comm", O_RDONLY);
	some[12] = open("/dev/zero", O_RDWR);
	ready(O_RDONLY);
	/* often enough for a look to be taken */
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
			say("number %zu", i);
			into(some[i], buf, round % 2 ? 5 : 0);
			say_seek(some[i], 3, SEEK_SET);
			say_seek(some[i], -1, SEEK_SET);
			say_seek(some[i], 0, SEEK_END);
		}
	say_pread(p[0], 1, 0);
	say_seek(p[0], 1, SEEK_CUR);
	say_pread(s[0], 1, 0);
	say_seek(s[0], 1, SEEK_CUR);
	say_ret("close", close(-1));
	say_ret("close", close(900));
	say_ret("dup", dup(-1));
	say_ret("dup2", dup2(p[0], INT32_MIN));
	say_ret("F_DUPFD", fcntl(-1, F_DUPFD, 0));
}

static void offsets(void)
{
	off_t odd[] = {-1,
		       INT64_MIN,
		       INT64_MAX,
		       (off_t)1 << 44,
		       (off_t)1 << 47,
		       (off_t)1 << 48,
		       SIZE,
		       SIZE - 1,
		       SIZE + 1,
		       INT64_MAX - 5,
		       INT64_MIN + 5};
	int fd = ready(O_RDWR);

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		say("offset %ld", (long)odd[i]);
		say_pread(fd, 10, odd[i]);
		for (int whence = 0; whence < 7; whence++) {
			say_seek(fd, 300, SEEK_SET);
			say_read(fd, 5);
			say_seek(fd, odd[i], whence);
			say_read(fd, 10);
			say_pos(fd);
			for (int k = 0; k < 30; k++) /* ours again */
				lseek(fd, k, SEEK_SET);
		}
	}
	/* writing there makes the file as long as the kernel allows */
	say_seek(fd, (off_t)1 << 43, SEEK_SET);
	say_ret("write", write(fd, "x", 1));
	say_pos(fd);
	say_seek(fd, INT64_MAX, SEEK_SET);
	say_ret("write", write(fd, "x", 1));
	say_pread(fd, 10, 5);
	say_seek(fd, -10, SEEK_END);
	say_read(fd, 20);
	say_ret("truncate", ftruncate(fd, SIZE));
}

static void sizes(void)
{
	size_t odd[] = {0,
			SIZE,
			SIZE + 1,
			(size_t)1 << 31,
			0x7ffff000,
			SSIZE_MAX,
			(size_t)SSIZE_MAX + 1,
			SIZE_MAX,
			SIZE_MAX - 4096};
	int fd = ready(O_RDONLY);
	/* what is read from a small file cannot run past a big buffer */
	char *buf = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(buf != MAP_FAILED);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
			volatile size_t n = odd[i];

			say("size %zu", i);
			into(fd, buf, n);
			into(fd, NULL, n);
			into(-1, buf, n);
			say_seek(fd, 100, SEEK_SET);
		}
}

static void *pages(size_t n, int prot)
{
	void *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(p != MAP_FAILED);
	memset(p, 1, n * PAGE);
	NEED(!mprotect(p, n * PAGE, prot));
	return p;
}

static void buffers(void)
{
	int fd = ready(O_RDONLY);
	char *half = pages(3, PROT_READ | PROT_WRITE);
	char *volatile odd[] = {
		NULL,
		(char *)1,
		(char *)PAGE - 3,
		(char *)0x7ffffffff000,
		(char *)0x800000000000,
		(char *)0xffff800000000000,
		(char *)-1L,
		(char *)-8L,
		(char *)-4096L,
		(char *)"text",
		pages(2, PROT_READ),
		pages(2, PROT_NONE),
		half + PAGE - 8,
	};

	NEED(!munmap(half + PAGE, PAGE));
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
			say("buffer %zu", i);
			into(fd, odd[i], 5);
			into(fd, odd[i], 20);
			into(fd, odd[i], 9000);
			into(fd, odd[i], 0);
		}
	CHECK(is_content(half + PAGE - 8, 3, 1, SIZE - 3),
	      "the good half was not written");
	need_ours(fd);
}

/* Buffers that were good, so that the table knows them, and then are not. */
static void hot(int fd, void *buf, size_t n)
{
	for (int i = 0; i < 50; i++)
		if (pread(fd, buf, n, 0) != (ssize_t)n)
			say("hot buffer %d: errno %d", i, errno);
	say_seek(fd, 100, SEEK_SET);
}

static void buffers_going(void)
{
	int fd = ready(O_RDONLY);
	char *buf = pages(4, PROT_READ | PROT_WRITE);
	char *to;
	int ro;

	hot(fd, buf, 4 * PAGE);
	say_ret("mprotect", mprotect(buf, PAGE, PROT_READ));
	into(fd, buf, 10);
	into(fd, buf + PAGE - 5, 10);
	into(fd, buf + PAGE, 10);
	say_ret("mprotect", mprotect(buf, PAGE, PROT_READ | PROT_WRITE));
	hot(fd, buf, 4 * PAGE);
	say_ret("munmap", munmap(buf + PAGE, PAGE));
	into(fd, buf + PAGE, 10);
	into(fd, buf, 2 * PAGE);
	ro = open("a", O_RDONLY);
	to = mmap(buf + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, ro, 0);
	NEED(to == buf + PAGE);
	into(fd, buf + PAGE, 10);
	to = mmap(buf + PAGE, PAGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	NEED(to == buf + PAGE);
	hot(fd, buf, 4 * PAGE);
	to = mremap(buf, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    pages(4, PROT_READ | PROT_WRITE));
	NEED(to != MAP_FAILED);
	into(fd, buf, 10);
	hot(fd, to, 4 * PAGE);
	to = mremap(to, 4 * PAGE, PAGE, 0);
	into(fd, to + PAGE, 10);
	into(fd, to, 10);
	say_ret("mprotect", mprotect(to, PAGE, PROT_NONE));
	into(fd, to, 10);
	need_mapped(fd);
}

static void buffers_shm(void)
{
	int fd = ready(O_RDONLY);
	int id = shmget(IPC_PRIVATE, 4 * PAGE, IPC_CREAT | 0600);
	char *buf;

	if (id < 0)
		self_skip("no System V shared memory");
	buf = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	NEED(buf != (void *)-1);
	hot(fd, buf, 4 * PAGE);
	say("shmat %d", shmat(id, buf, SHM_RDONLY | SHM_REMAP) == buf);
	into(fd, buf, 10);
	say_ret("shmdt", shmdt(buf));
	into(fd, buf, 10);
}

static void buffers_brk(void)
{
	int fd = ready(O_RDONLY);
	char *top = sbrk(0);
	char *buf;

	top += PAGE - (uintptr_t)top % PAGE;
	NEED(!brk(top + 4 * PAGE));
	buf = top + PAGE;
	hot(fd, buf, PAGE);
	NEED(!brk(top));
	into(fd, buf, 10);
	NEED(sbrk(4 * PAGE) != (void *)-1);
	hot(fd, buf, PAGE);
	NEED(sbrk(-4 * PAGE) != (void *)-1);
	into(fd, buf, 10);
}

static void buffers_pkey(void)
{
	int fd = ready(O_RDONLY);
	char *buf = pages(2, PROT_READ | PROT_WRITE);
	int key = pkey_alloc(0, 0);

	if (key < 0)
		self_skip("no memory protection keys");
	NEED(!pkey_mprotect(buf, PAGE, PROT_READ | PROT_WRITE, key));
	hot(fd, buf, 2 * PAGE);
	say_ret("pkey_set", pkey_set(key, PKEY_DISABLE_WRITE));
	into(fd, buf, 10);
	say_ret("pkey_set", pkey_set(key, 0));
	into(fd, buf, 10);
}

/* The buffer lies in a shared mapping of a file that gets shorter. */
static void buffers_truncated(void)
{
	int fd = ready(O_RDONLY);
	int b = open_made("b", 2, 4 * PAGE, O_RDWR);
	char *buf = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);

	NEED(buf != MAP_FAILED);
	hot(fd, buf, 4 * PAGE);
	say_ret("ftruncate", ftruncate(b, PAGE));
	into(fd, buf + PAGE, 10);
	into(fd, buf, 2 * PAGE);
	say_ret("ftruncate", ftruncate(b, 4 * PAGE));
	into(fd, buf + PAGE, 10);
}

/* Reading a file into a mapping of itself. */
static void buffers_own(void)
{
	int fd = ready(O_RDWR);
	char *buf = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	NEED(buf != MAP_FAILED);
	hot(fd, buf + PAGE, 100);
	into(fd, buf + 2 * PAGE, 300);
	say_file("a");
	into(fd, buf + 150, 100);
	say_file("a");
}

/* From the first read of a file to the thousandth, and over every slow way. */
static void errno_kept(void)
{
	unsigned char buf[64];
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int wrong = 0;

	errno = 4711;
	for (int i = 0; i < 3000; i++) {
		off_t at = i * 90 % SIZE;

		if (pread(fd, buf, 64, at) < 0 || errno != 4711)
			wrong++;
		if (lseek(fd, at, SEEK_SET) != at || errno != 4711)
			wrong++;
		if (read(fd, buf, 1) != 1 || errno != 4711)
			wrong++;
		if (lseek(fd, 0, SEEK_CUR) != at + 1 || errno != 4711)
			wrong++;
		if (i % 100 == 0) {
			int d = dup(fd);

			if (errno != 4711 || close(d) || errno != 4711)
				wrong++;
			if (lseek(fd, 0, SEEK_END) != SIZE || errno != 4711)
				wrong++;
		}
	}
	CHECK(!wrong, "%d calls changed errno", wrong);
	need_mapped(fd);
	errno = 4711;
	CHECK(!close(fd) && errno == 4711, "close: errno %d", errno);
	for (int i = 0; i < 40; i++) {
		fd = open("a", O_RDONLY);
		CHECK(fd >= 0 && errno == 4711, "open: errno %d", errno);
		CHECK(read(fd, buf, 64) == 64 && errno == 4711, "read: errno %d", errno);
		CHECK(!close(fd) && errno == 4711, "close: errno %d", errno);
	}
}

static const struct self_case cases[] = {
	{"numbers", numbers, SELF_BOTH},
	{"offsets", offsets, SELF_BOTH},
	{"sizes", sizes, SELF_BOTH},
	{"buffers", buffers, SELF_BOTH},
	{"buffers-going", buffers_going, SELF_BOTH},
	{"buffers-shm", buffers_shm, SELF_BOTH},
	{"buffers-brk", buffers_brk, SELF_BOTH},
	{"buffers-pkey", buffers_pkey, SELF_BOTH},
	{"buffers-truncated", buffers_truncated, SELF_BOTH},
	{"buffers-own-file", buffers_own, SELF_BOTH},
	{"errno-kept", errno_kept, SELF_OURS},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
