/*
 * test_stores.c - overwrites as stores (PAGEWELL_WRITE=map): what is never stored to, and what
 * a program may do beside its stores and find as it would be without them.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "calls.h"

#define PAGE 4096

static unsigned char bytes[PAGE];

/* How many write system calls this thread has made. */
static long write_calls(void)
{
	char text[512] = "";
	long fd = raw3(SYS_open, "/proc/thread-self/io", O_RDONLY | O_CLOEXEC, 0);
	char *at;

	if (fd < 0)
		return -1;
	raw3(SYS_read, fd, text, sizeof(text) - 1);
	raw1(SYS_close, fd);
	at = strstr(text, "syscw: ");
	return at ? strtol(at + 7, NULL, 10) : -1;
}

/* Overwrites at off, n bytes each; how many of them went to the kernel. */
static long overwrite(int fd, int times, size_t n, off_t off)
{
	long before = write_calls();
	int failed = 0;

	for (int i = 0; i < times; i++)
		failed += pwrite(fd, bytes, n, off) != (ssize_t)n;
	CHECK(!failed, "%d of %d", failed, times);
	return write_calls() - before;
}

/* Until most are stores. They pay after more or fewer of them, by the machine. */
static void hot_at(int fd, off_t off)
{
	memset(bytes, 'h', sizeof(bytes));
	for (int i = 0; i < 300; i++)
		if (overwrite(fd, 200, 64, off) < 150 && self_preloaded)
			return;
	CHECK(!self_preloaded, "no stores at %ld", (long)off);
}

static int hot(const char *path, int flags)
{
	int fd = open_made(path, 1, SIZE, flags);

	hot_at(fd, 0);
	return fd;
}

static void never(int fd, int times, size_t n)
{
	long calls = overwrite(fd, times, n, 0);

	CHECK(calls < 0 || calls >= times, "%ld of %d", calls, times);
	close(fd);
	say_file("a");
}

static void never_append(void)
{
	never(open_made("a", 1, SIZE, O_RDWR | O_APPEND), 1000, 16);
}

static void never_sync(void)
{
	never(open_made("a", 1, SIZE, O_RDWR | O_SYNC), 60, 16);
}

static void never_dsync(void)
{
	never(open_made("a", 1, SIZE, O_WRONLY | O_DSYNC), 60, 16);
}

static void never_direct(void)
{
	unsigned char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;
	long before;

	make_file("a", 1, SIZE);
	fd = open("a", O_RDWR | O_DIRECT);
	if (fd < 0)
		self_skip("no O_DIRECT here");
	before = write_calls();
	for (int i = 0; i < 60; i++)
		CHECK(pwrite(fd, at, PAGE, 0) == PAGE, "%d", i);
	CHECK(write_calls() - before >= 60, "stored");
	close(fd);
	say_file("a");
}

static void never_set_id(void)
{
	int fd = open_made("a", 1, SIZE, O_RDWR);

	say_ret("fchmod", fchmod(fd, 06755));
	never(fd, 1000, 16);
}

static void never_without_the_knob(void)
{
	if (getenv("PAGEWELL_WRITE")) {
		unsetenv("PAGEWELL_WRITE");
		execl(self_exe, self_exe, "--case", "never-without-the-knob",
		      self_preloaded ? "preloaded" : "plain", NULL);
	}
	never(open_made("a", 1, SIZE, O_RDWR), 1000, 16);
}

/* Does /proc/self/maps name the file as writable and shared? */
static bool writable_map_of(const char *name)
{
	char line[4096];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "r");

	NEED(f);
	while (fgets(line, sizeof(line), f))
		found |= strstr(line, " rw-s ") && strstr(line, name);
	fclose(f);
	return found;
}

static void windows(void)
{
	int fd = hot("some-file", O_RDWR);

	if (self_preloaded)
		CHECK(writable_map_of("/some-file"), "none");
	close(fd);
	CHECK(!writable_map_of("/some-file"), "left behind");
	say_file("some-file");
}

/* ---- what may be done beside ------------------------------------------------------------ */

static void append_later(void)
{
	int fd = hot("a", O_RDWR);

	say_ret("F_SETFL", fcntl(fd, F_SETFL, O_APPEND));
	say_ret("pwrite", pwrite(fd, "appended", 8, 0));
	say_ret("write", write(fd, "again", 5));
	say_pos(fd);
	say_file("a");
}

/* libc sets O_APPEND by a call of its own. */
static void append_by_stream(void)
{
	int fd = hot("a", O_RDWR);
	FILE *f;

	lseek(fd, 50, SEEK_SET);
	write(fd, bytes, 20);
	f = fdopen(fd, "a+");
	say_ret("write", write(fd, "appended", 8));
	say_pos(fd);
	say_ret("pwrite", pwrite(fd, "again", 5, 0));
	fprintf(f, "more");
	fclose(f);
	say_file("a");
}

/* Each kind of write at the position, and what stands after it. */
static void go_on_writing(int fd)
{
	struct iovec v[3] = {{bytes, 100}, {NULL, 0}, {bytes + 200, 33}};

	for (int i = 0; i < 40; i++) {
		memset(bytes, i, sizeof(bytes));
		say_ret("write", write(fd, bytes, 7));
		say_ret("writev", writev(fd, v, 3));
		say_ret("pwritev", pwritev(fd, v, 3, 900));
		if (i % 8 == 0)
			say_pos(fd);
	}
}

static void positions(void)
{
	int fd = hot("a", O_RDWR);

	lseek(fd, 10, SEEK_SET);
	go_on_writing(fd);
	say_read(fd, 50);
	go_on_writing(fd);
	say_ret("write of nothing", write(fd, bytes, 0));
	say_ret("before the start", pwrite(fd, bytes, 5, -5));
	say_ret("far", pwrite(fd, bytes, 5, INT64_MAX - 4));
	say_pos(fd);
	close(fd);
	say_file("a");
}

static void duplicates(void)
{
	int fd = hot("a", O_RDWR);
	int other = dup(fd);

	for (int i = 0; i < 100; i++) {
		lseek(i % 2 ? fd : other, i * 11, SEEK_SET);
		write(fd, "one", 3);
		write(other, "two", 3);
	}
	say_pos(other);
	close(fd);
	go_on_writing(other);
	say_file("a");
}

static void reused_number(void)
{
	int fd = hot("a", O_RDWR);
	int other;

	make_file("b", 2, SIZE);
	close(fd);
	other = open("b", O_RDWR);
	CHECK(other == fd, "%d", other);
	go_on_writing(other);
	say_file("a");
	say_file("b");
}

static void at_the_end(void)
{
	int fd = hot("a", O_RDWR);

	/* Nothing behind the last byte could show that it lasted. */
	hot_at(fd, SIZE - 65);
	say_ret("to the end", pwrite(fd, bytes, 64, SIZE - 64));
	say_ret("over the end", pwrite(fd, bytes, 64, SIZE - 32));
	say_file("a");
	say_ret("behind the end", pwrite(fd, bytes, 64, SIZE + 9000));
	say_file("a");
	hot_at(fd, SIZE - 64);
	say_ret("all of the rest", pwrite(fd, bytes, 1000, SIZE - 100));
	lseek(fd, -3, SEEK_END);
	go_on_writing(fd);
	say_file("a");
}

static void cut_short(void)
{
	int fd = hot("a", O_RDWR);

	hot_at(fd, 100000);
	say_ret("ftruncate", ftruncate(fd, 100010));
	say_ret("pwrite", pwrite(fd, bytes, 64, 100000));
	say_file("a");
	say_ret("truncate", truncate("a", 5));
	say_ret("pwrite", pwrite(fd, bytes, 64, 0));
	say_ret("pwrite", pwrite(fd, bytes, 64, 100000));
	say_file("a");
	say_ret("pwrite", pwrite(fd, bytes, 64, 50000));
	say_file("a");
}

static void holes(void)
{
	int fd = hot("a", O_RDWR);

	say_ret("fallocate",
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE - 3));
	for (int i = 0; i < 2000; i++)
		pwrite(fd, bytes, 10, (i % 50) * 5000);
	say_file("a");
	say_ret("fallocate",
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE - 50));
	for (int i = 0; i < 2000; i++)
		pwrite(fd, bytes, 10, (i % 50) * 5000 + 20);
	say_file("a");
}

static void write_only(void)
{
	int fd = hot("a", O_WRONLY);

	lseek(fd, 10, SEEK_SET);
	for (int i = 0; i < 200; i++) {
		write(fd, bytes, 5);
		if (i % 50)
			continue;
		say_ret("read", read(fd, bytes, 10));
		say_ret("pread", pread(fd, bytes, 10, 0));
		say_pos(fd);
	}
	go_on_writing(fd);
	say_kernel_pos(fd + 100); /* no such number */
	close(fd);
	say_file("a");
}

/* Our opening the file once more, and closing it, must not take this lock away. */
static void record_lock(void)
{
	struct flock l = {.l_type = F_WRLCK, .l_start = 100, .l_len = 10};
	int fd = open_made("a", 1, SIZE, O_WRONLY);
	pid_t pid;

	say_ret("F_SETLK", fcntl(fd, F_SETLK, &l));
	hot_at(fd, 0);
	pid = fork();
	if (!pid) {
		int mine = open("a", O_RDWR);
		struct flock seen = {.l_type = F_WRLCK};

		NEED(!fcntl(mine, F_GETLK, &seen));
		say("lock %d at %ld, %ld", seen.l_type, (long)seen.l_start,
		    (long)seen.l_len);
		_exit(0);
	}
	say_wait(pid);
}

/* A program that was written by stores can be executed as soon as it is closed. */
static void executed(void)
{
	static unsigned char whole[1 << 20];
	int from = open("/bin/true", O_RDONLY);
	ssize_t n = read(from, whole, sizeof(whole));
	int fd;
	pid_t pid;

	NEED(n > 0 && n < (ssize_t)sizeof(whole));
	fd = open("a", O_WRONLY | O_CREAT, 0700);
	NEED(write(fd, whole, (size_t)n) == n);
	hot_at(fd, 0);
	for (ssize_t i = 0; i < n; i += 100)
		pwrite(fd, whole + i, (size_t)(n - i < 100 ? n - i : 100), i);
	close(fd);
	pid = fork();
	if (!pid) {
		execl("a", "a", NULL);
		_exit(90);
	}
	say_wait(pid);
}

/* Stores and reads of one's own, of either kind, and a mapping of the program's. */
static void seen_at_once(void)
{
	int fd = hot("a", O_RDWR);
	unsigned char *m = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	unsigned char got[8];
	int wrong = 0;

	warm_try(fd);
	for (int i = 0; i < 3000; i++) {
		unsigned char b = (unsigned char)(i * 7);

		memset(bytes, b, 8);
		pwrite(fd, bytes, 8, 40);
		pread(fd, got, 8, 40);
		wrong += got[3] != b || m[47] != b;
		raw4(SYS_pread64, fd, got, 8, 40);
		wrong += got[3] != b;
	}
	CHECK(!wrong, "%d", wrong);
	say_file("a");
}

static void sent_into(void)
{
	int fd = hot("a", O_RDWR);
	int from = open_made("b", 2, SIZE, O_RDONLY);

	lseek(fd, 50, SEEK_SET);
	go_on_writing(fd);
	say_ret("sendfile", sendfile(fd, from, NULL, 100));
	say_pos(fd);
	say_kernel_pos(fd);
	say_file("a");
}

static void by_stream(void)
{
	FILE *f;

	make_file("a", 1, SIZE);
	f = fopen("a", "r+");
	for (int i = 0; i < 2000; i++) {
		fseek(f, (i % 20) * 30, SEEK_SET);
		fprintf(f, "%d|", i);
		fflush(f);
	}
	say("%ld", ftell(f));
	fclose(f);
	say_file("a");
}

static void limited(void)
{
	struct rlimit l = {4096, RLIM_INFINITY};
	int fd = hot("a", O_RDWR);

	signal(SIGXFSZ, SIG_IGN);
	hot_at(fd, 4096);
	say_ret("setrlimit", setrlimit(RLIMIT_FSIZE, &l));
	say_ret("inside", pwrite(fd, bytes, 64, 0));
	say_ret("over", pwrite(fd, bytes, 64, 4090));
	say_ret("beyond", pwrite(fd, bytes, 64, 4096));
	lseek(fd, 4090, SEEK_SET);
	say_ret("over", write(fd, bytes, 64));
	say_ret("beyond", write(fd, bytes, 64));
	say_pos(fd);
}

/* ---- sources ------------------------------------------------------------------------------ */

/* Not a constant: the compiler knows better. */
static void *volatile nowhere = (void *)8;

static void bad_sources(void)
{
	int fd = hot("a", O_RDWR);
	unsigned char *m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec v[2] = {{m + 10, 20}, {nowhere, 20}};

	memset(m, 's', 2 * PAGE);
	for (int i = 0; i < 300; i++)
		pwrite(fd, m + PAGE - 32, 64, 0);
	lseek(fd, 0, SEEK_SET);
	say_ret("nowhere", pwrite(fd, nowhere, 10, 0));
	say_ret("nowhere", write(fd, nowhere, 10));
	say_ret("vector nowhere", pwritev(fd, nowhere, 2, 0));
	say_ret("vector to nowhere", pwritev(fd, v, 2, 0));
	say_pos(fd);
	say_ret("mprotect", mprotect(m + PAGE, PAGE, PROT_NONE));
	say_ret("half", pwrite(fd, m + PAGE - 32, 64, 0));
	say_ret("half", write(fd, m + PAGE - 32, 64));
	say_pos(fd);
	say_ret("none", pwrite(fd, m + PAGE, 64, 0));
	say_ret("munmap", munmap(m, 2 * PAGE));
	say_ret("gone", pwrite(fd, m, 64, 0));
	say_file("a");
}

static void same_file_sources(void)
{
	int fd = hot("a", O_RDWR);
	unsigned char *m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	for (int i = 0; i < 1000; i++)
		pwrite(fd, m + 20000 + i % 100, 500, 30);
	/* What overlaps may come out in one way or another, but not where it is moved by 0. */
	for (int i = 0; i < 1000; i++)
		pwrite(fd, m + 30, 500, 30);
	say_file("a");
}

/* The source is a mapping whose file ends before it: the kernel's EFAULT, where our own copy
 * meets SIGBUS. */
static void cut_sources(void)
{
	int fd = hot("a", O_RDWR);
	int other = open_made("b", 2, 3 * PAGE, O_RDWR);
	unsigned char *m = mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, other, 0);

	for (int i = 0; i < 1000; i++)
		pwrite(fd, m + 2 * PAGE - 100, 200, 0);
	raw2(SYS_ftruncate, other, 2 * PAGE);
	say_ret("half", pwrite(fd, m + 2 * PAGE - 100, 200, 0));
	say_ret("all", pwrite(fd, m + 2 * PAGE, 200, 0));
	raw2(SYS_ftruncate, other, 0);
	for (int i = 0; i < 5; i++)
		say_ret("all", pwrite(fd, m + 2 * PAGE - 100, 200, 0));
	hot_at(fd, 0);
	say_file("a");
}

/* ---- others ------------------------------------------------------------------------------- */

static void forked(void)
{
	int fd = hot("a", O_RDWR);
	pid_t pid;

	lseek(fd, 100, SEEK_SET);
	write(fd, "before", 6);
	pid = fork();
	if (!pid) {
		go_on_writing(fd);
		hot_at(fd, 8192);
		say_file("a");
		_exit(0);
	}
	say_wait(pid);
	say_pos(fd);
	go_on_writing(fd);
	say_kernel_pos(fd);
	close(fd);
	say_file("a");
}

static void handed_on(void)
{
	char *argv[6];
	int fd = hot("a", O_RDWR);
	pid_t pid;

	lseek(fd, 100, SEEK_SET);
	go_on_writing(fd);
	pid = fork();
	if (!pid) {
		reader_args(argv, self_static, fd, 20, "static");
		execv(argv[0], argv);
		_exit(90);
	}
	say_wait(pid);
	say_pos(fd);
	go_on_writing(fd);
	say_file("a");
}

static int shared_fd;
static volatile int handled;

static void on_alarm(int sig)
{
	static unsigned char of_handler[16];

	(void)sig;
	memset(of_handler, 0xee, sizeof(of_handler));
	of_handler[0] = (unsigned char)handled;
	handled++;
	CHECK(write(shared_fd, of_handler, 16) == 16, "errno %d", errno);
}

/* Each record is there, whole, once, in order; whoever wrote it. */
static void check_lap(int written, int by_handler)
{
	static unsigned char got[65536];
	int mine = 0, theirs = 0;

	CHECK(lseek(shared_fd, 0, SEEK_CUR) == 16 * (written + by_handler), "%ld, %d, %d",
	      (long)lseek(shared_fd, 0, SEEK_CUR), written, by_handler);
	raw4(SYS_pread64, shared_fd, got, sizeof(got), 0);
	for (int i = 0; i < written + by_handler; i++) {
		unsigned char *r = got + (ptrdiff_t)16 * i;

		if (r[5] == 0xee)
			theirs++;
		else
			mine += r[5] == mine % 200 && r[15] == r[5];
	}
	CHECK(mine == written && theirs == by_handler, "%d of %d, %d of %d", mine,
	      written, theirs, by_handler);
}

static void handlers(void)
{
	const struct itimerval often = {{0, 300}, {0, 300}};
	struct sigaction act = {.sa_handler = on_alarm};
	sigset_t alarm_set;
	unsigned char record[16];

	shared_fd = hot("a", O_RDWR);
	sigemptyset(&alarm_set);
	sigaddset(&alarm_set, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm_set, NULL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int lap = 0; lap < 1500; lap++) {
		int before = handled;

		lseek(shared_fd, 0, SEEK_SET);
		sigprocmask(SIG_UNBLOCK, &alarm_set, NULL);
		for (int i = 0; i < 600; i++) {
			memset(record, i % 200, 16);
			CHECK(write(shared_fd, record, 16) == 16, "errno %d", errno);
		}
		sigprocmask(SIG_BLOCK, &alarm_set, NULL);
		check_lap(600, handled - before);
	}
	CHECK(handled > 20, "%d", handled);
}

/* ---- a fork in the middle of a store -------------------------------------------------------- */

#define AT 512
#define LEN 64

static unsigned char *trap;
static pid_t born;

/* The source can be read again; but first there is a child, which is late. */
static void on_trap(int sig)
{
	struct timespec late = {0, 100000000};

	(void)sig;
	raw3(SYS_mprotect, trap, PAGE, PROT_READ | PROT_WRITE);
	born = fork();
	if (!born)
		raw3(SYS_nanosleep, &late, NULL, 0);
}

static ssize_t by_pwrite(int fd)
{
	return pwrite(fd, trap, LEN, AT);
}

static ssize_t by_write(int fd)
{
	lseek(fd, AT, SEEK_SET);
	return write(fd, trap, LEN);
}

static ssize_t by_writev(int fd)
{
	static struct iovec v[2];

	v[0] = (struct iovec){trap, 16};
	v[1] = (struct iovec){trap + 16, LEN - 16};
	lseek(fd, AT, SEEK_SET);
	return writev(fd, v, 2);
}

/* The parent's store ends as any; the child's is the parent's, is not made again over what the
 * parent wrote since, and the child's next write is its own. */
static void forked_inside(ssize_t (*call)(int fd))
{
	struct sigaction act = {.sa_handler = on_trap};
	unsigned char seen[LEN] = "";
	int fd = hot("a", O_RDWR);
	ssize_t put = -1;
	int status = 0;

	trap = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	NEED(trap != MAP_FAILED && !sigaction(SIGSEGV, &act, NULL));
	memset(trap, 'f', PAGE);
	/* The first of a tick is the kernel's, and fails: once more. */
	for (int i = 0; i < 1000 && put < 0; i++) {
		for (int k = 0; k < 20; k++)
			NEED(call(fd) == LEN);
		raw3(SYS_mprotect, trap, PAGE, PROT_NONE);
		put = call(fd);
		raw3(SYS_mprotect, trap, PAGE, PROT_READ | PROT_WRITE);
	}
	NEED(put == LEN);
	if (!born) {
		bool own = call == by_pwrite || lseek(fd, 0, SEEK_CUR) == AT + LEN;

		own = own && pwrite(fd, "child", 5, 6000) == 5 &&
		      pread(fd, seen, 5, 6000) == 5 && !memcmp(seen, "child", 5);
		_exit(own ? 0 : 1);
	}
	memset(bytes, 'z', LEN);
	NEED(pwrite(fd, bytes, LEN, AT) == LEN);
	NEED(waitpid(born, &status, 0) == born);
	CHECK(!status, "the child's own write or position was lost: %x", status);
	NEED(pread(fd, seen, LEN, AT) == LEN);
	CHECK(!memcmp(seen, bytes, LEN), "the child wrote the parent's once more");
	close(fd);
}

static void forked_inside_pwrite(void)
{
	forked_inside(by_pwrite);
}

static void forked_inside_write(void)
{
	forked_inside(by_write);
}

static void forked_inside_writev(void)
{
	forked_inside(by_writev);
}

static const struct self_case cases[] = {
	{"never-append", never_append, SELF_BOTH},
	{"never-sync", never_sync, SELF_BOTH},
	{"never-dsync", never_dsync, SELF_BOTH},
	{"never-direct", never_direct, SELF_BOTH},
	{"never-set-id", never_set_id, SELF_BOTH},
	{"never-without-the-knob", never_without_the_knob, SELF_BOTH},
	{"windows", windows, SELF_BOTH},
	{"append-later", append_later, SELF_BOTH},
	{"append-by-stream", append_by_stream, SELF_BOTH},
	{"positions", positions, SELF_BOTH},
	{"duplicates", duplicates, SELF_BOTH},
	{"reused-number", reused_number, SELF_BOTH},
	{"at-the-end", at_the_end, SELF_BOTH},
	{"cut-short", cut_short, SELF_BOTH},
	{"holes", holes, SELF_BOTH},
	{"write-only", write_only, SELF_BOTH},
	{"record-lock", record_lock, SELF_BOTH},
	{"executed", executed, SELF_BOTH},
	{"seen-at-once", seen_at_once, SELF_BOTH},
	{"sent-into", sent_into, SELF_BOTH},
	{"by-stream", by_stream, SELF_BOTH},
	{"limited", limited, SELF_BOTH},
	{"bad-sources", bad_sources, SELF_BOTH},
	{"same-file-sources", same_file_sources, SELF_BOTH},
	{"cut-sources", cut_sources, SELF_BOTH},
	{"forked", forked, SELF_BOTH},
	{"handed-on", handed_on, SELF_BOTH},
	{"handlers", handlers, SELF_OURS},
	{"forked-inside-pwrite", forked_inside_pwrite, SELF_OURS},
	{"forked-inside-write", forked_inside_write, SELF_OURS},
	{"forked-inside-writev", forked_inside_writev, SELF_OURS},
};

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--case") != 0)
		setenv("PAGEWELL_WRITE", "map", 1);
	return SELF_RUN(argc, argv, cases);
}
