/*
 * test_client.c - windows for C programs: what client.h promises. Exact at every border and
 * while the file changes, right without a window too, and no SIGBUS that is not ours is kept.
 */
#include "unit.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include "cache/client.h"

UNIT_SUITE(client);

static const char *path;
static int fd = -1;
static struct pw_client *c;
static unsigned char buf[1 << 20];

static void start(size_t size)
{
	unsetenv("PAGEWELL_SEGMENT");
	unsetenv("PAGEWELL_DISABLE");
	path = unit_shm("file");
	fd = unit_file(path, size);
}

static void start_open(size_t size)
{
	start(size);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	cr_assert(pw_client_mapped(c));
	cr_assert_eq(unit_maps(path), 1u);
}

/* Until it is served: a cache page's price is paid in at most 64 reads. */
static void warm(uint64_t off)
{
	uint64_t before = pw_client_hits();

	for (int i = 0; i < 100 && pw_client_hits() == before; i++)
		CHECK(pw_client_pread(c, buf, 1, (off_t)off) == 1);
	CHECK(pw_client_hits() > before);
}

/* As pread, whoever answers. */
static bool same(size_t n, off_t off)
{
	static unsigned char want[sizeof(buf)];
	ssize_t wanted = pw_sys_kernel.pread(fd, want, n, off);
	ssize_t got;

	memset(buf, 0xee, sizeof(buf));
	got = pw_client_pread(c, buf, n, off);
	return got == wanted && (got <= 0 || !memcmp(buf, want, (size_t)got)) &&
	       buf[got > 0 ? got : 0] == 0xee;
}

UNIT_TEST(client, reads_are_exact)
{
	static const size_t sizes[] = {0,    1,	   2,	 15,	16,    100,
				       4095, 4096, 4097, 65536, 200000};
	uint64_t before;

	start_open(300000);
	for (uint64_t at = 0; at < 300000; at += PW_CP)
		warm(at);
	before = pw_client_hits();
	for (off_t off = 0; off <= 300010; off += 4999)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			CHECK(same(sizes[i], off));
	CHECK(pw_client_hits() > before + 300);
	for (off_t off = 299990; off < 300010; off++)
		CHECK(same(10, off));
	CHECK(same(10, -1));
	CHECK(same(10, (off_t)1 << 62));
	cr_assert_eq(lseek(fd, 0, SEEK_CUR), 300000, "the position was moved");
	pw_client_close(c);
	cr_assert_eq(unit_maps(path), 0u);
}

UNIT_TEST(client, errno_is_left_alone)
{
	start(100000);
	errno = 77;
	cr_assert_eq(pw_client_open(fd, &c), 0);
	warm(0);
	cr_assert_eq(pw_client_pread(c, buf, 10, -1), -EINVAL);
	cr_assert_eq(pw_client_open(-1, &c), -EBADF);
	pw_client_close(NULL);
	cr_assert_eq(errno, 77);
}

UNIT_TEST(client, what_cannot_be_read)
{
	int out;

	start(1000);
	out = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_eq(pw_client_open(out, &c), -EBADF);
	close(out);
	out = open(path, O_PATH | O_CLOEXEC);
	cr_assert_eq(pw_client_open(out, &c), -EBADF);
	close(out);
	cr_assert_eq(pw_client_open(out, &c), -EBADF);
}

UNIT_TEST(client, what_cannot_be_mapped)
{
	int ends[2];
	int proc = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

	start(1000);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(pw_client_open(ends[0], &c), 0);
	cr_assert_not(pw_client_mapped(c));
	cr_assert_eq(pw_client_pread(c, buf, 10, 0), -ESPIPE);
	pw_client_close(c);
	cr_assert_eq(pw_client_open(proc, &c), 0);
	cr_assert_not(pw_client_mapped(c));
	for (int i = 0; i < 50; i++)
		cr_assert_gt(pw_client_pread(c, buf, 10, 0), 0);
	cr_assert_not(pw_client_mapped(c));
	pw_client_close(c);
	cr_assert_eq(pw_client_hits(), 0u);
}

/* Each call of the opening may fail: the reads are right all the same. */
UNIT_TEST(client, calls_that_fail)
{
	start(100000);
	for (unsigned nth = 1; nth < 60; nth++) {
		unit_fail(U_ANY, nth, nth % 2 ? -ENOMEM : -EPERM);
		int err = pw_client_open(fd, &c);

		CHECK(!err || err == -ENOMEM);
		if (err)
			continue;
		for (int i = 0; i < 100; i++) {
			ssize_t got = pw_client_pread(c, buf, 100, 5000);

			CHECK(got == 100 ? unit_exact(buf, 100, 5000)
					 : got == -ENOMEM || got == -EPERM);
		}
		pw_client_close(c);
		CHECK(unit_maps(path) == 0);
	}
	unit_fail(U_ANY, 0, 0);
}

UNIT_TEST(client, the_file_gets_shorter_and_longer)
{
	start_open(300000);
	for (uint64_t at = 0; at < 300000; at += PW_CP)
		warm(at);
	static const int sizes[] = {250001, 5000, 0, 4096, 100, 300000, 70000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cr_assert_eq(ftruncate(fd, sizes[i]), 0);
		for (off_t off = 0; off < 300000; off += 7777) {
			CHECK(same(100, off));
			CHECK(same(9000, off));
		}
	}
	cr_assert_eq(pwrite(fd, "written", 7, 60000), 7);
	CHECK(same(7, 60000));
	cr_assert_eq(memcmp(buf, "written", 7), 0);
}

/* An empty file has no window; one comes when it has grown, and another when it has outgrown
 * that. */
UNIT_TEST(client, the_file_outgrows_its_window)
{
	start(0);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	cr_assert_not(pw_client_mapped(c));
	cr_assert_eq(pw_client_pread(c, buf, 10, 0), 0);
	for (off_t size = 50000; size < 100000000; size *= 20) {
		cr_assert_eq(ftruncate(fd, size), 0);
		memset(buf, 'x', 50000);
		cr_assert_eq(pwrite(fd, buf, 50000, size - 50000), 50000);
		cr_assert_eq(fallocate(fd, 0, 0, size), 0); /* on tmpfs no holes */
		for (int i = 0; i < 100; i++)
			CHECK(same(100, size - 300));
		warm((uint64_t)size - 50000);
	}
	cr_assert_eq(unit_maps(path), 1u);
	pw_client_close(c);
	cr_assert_eq(unit_maps(path), 0u);
}

UNIT_TEST(client, clients_are_used_again)
{
	static struct pw_client *many[700];
	unsigned maps;

	start_open(100000);
	pw_client_close(c);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 700; i++)
			cr_assert_eq(pw_client_open(fd, &many[i]), 0);
		cr_assert_gt(unit_maps(path), 600u);
		for (int i = 0; i < 700; i++) {
			CHECK(pw_client_pread(many[i], buf, 100, i) == 100);
			CHECK(unit_exact(buf, 100, (uint64_t)i));
			pw_client_close(many[i]);
		}
		cr_assert_eq(unit_maps(path), 0u);
		maps = unit_count(U_MMAP) - unit_count(U_MUNMAP);
		if (round == 0)
			*unit_word = maps;
		cr_assert_eq(maps, *unit_word, "memory grows from round to round");
	}
}

/* ---- threads and processes ---------------------------------------------------------------- */

static void *read_on(void *arg)
{
	unsigned char mine[100];
	uint64_t x = (uintptr_t)arg * 7919;

	for (int i = 0; i < 20000; i++) {
		x = pw_mix(x + 1);
		off_t off = (off_t)(x % 60000);
		ssize_t got = pw_client_pread(c, mine, sizeof(mine), off);

		/* Cut at 50000 and grown again by zeros: never anything else. */
		CHECK(got >= 0 && got <= 100);
		for (ssize_t k = 0; k < got; k++)
			CHECK(mine[k] == unit_byte((uint64_t)(off + k)) ||
			      (off + k >= 50000 && !mine[k]));
	}
	return NULL;
}

UNIT_TEST(client, threads_read_while_it_is_cut)
{
	pthread_t thread[3];

	start_open(60000);
	for (uintptr_t i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, read_on, (void *)i), 0);
	for (int i = 0; i < 200; i++) {
		CHECK(!ftruncate(fd, 50000));
		usleep(100);
		CHECK(!ftruncate(fd, 60000));
		usleep(100);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	CHECK(pw_client_hits() > 0);
	pw_client_close(c);
	cr_assert_eq(unit_maps(path), 0u);
}

static void in_child(void *arg)
{
	struct pw_client *other;

	(void)arg;
	MUST(!unit_maps(path)); /* it begins without windows */
	MUST(!pw_client_hits());
	for (int i = 0; i < 100; i++)
		MUST(same(100, i));
	warm(0);
	MUST(unit_maps(path) == 1);
	MUST(!pw_client_open(fd, &other));
	MUST(pw_client_pread(other, buf, 100, 50) == 100 && unit_exact(buf, 100, 50));
	pw_client_close(other);
	pw_client_close(c);
	MUST(!unit_maps(path));
}

UNIT_TEST(client, a_fork_child_has_windows_of_its_own)
{
	start_open(100000);
	warm(0);
	unit_child(in_child, NULL);
	cr_assert(pw_client_mapped(c));
	CHECK(same(100, 0));
}

/* No handler of ours runs; nothing of the parent's mappings is there. */
UNIT_TEST(client, a_child_by_the_bare_call)
{
	int status;
	pid_t pid;

	start_open(100000);
	warm(0);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		for (int i = 0; i < 100; i++)
			MUST(pw_client_pread(c, buf, 100, 7) == 100 &&
			     unit_exact(buf, 100, 7));
		_exit(pw_client_hits() > 1 ? 1 : 0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
}

static void *read_blocked(void *arg)
{
	uint64_t before = pw_client_hits();
	sigset_t bus;

	(void)arg;
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &bus, NULL);
	CHECK(!ftruncate(fd, 100));
	for (int i = 0; i < 100; i++)
		CHECK(same(10, 50000) && same(10, 50));
	CHECK(pw_client_hits() == before);
	return NULL;
}

UNIT_TEST(client, a_thread_that_blocks_sigbus)
{
	pthread_t thread;

	start_open(100000);
	warm(50000);
	cr_assert_eq(pthread_create(&thread, NULL, read_blocked, NULL), 0);
	pthread_join(thread, NULL);
}

/* ---- SIGBUS ---------------------------------------------------------------------------------- */

/* Truncated under a window that was touched: the copy faults. */
static bool survives(void)
{
	for (size_t i = 0; i < 200000; i++)
		buf[i] = unit_byte(i);
	MUST(pwrite(fd, buf, 200000, 0) == 200000);
	warm(0);
	warm(150000);
	MUST(!ftruncate(fd, 5000));
	return same(100, 150000) && same(100, 4990);
}

/* A fault of the program's own. */
static void own_fault(void)
{
	const char *other_path = unit_shm("other");
	int other = unit_file(other_path, 2 * PW_PAGE);
	volatile char *map = mmap(NULL, 2 * PW_PAGE, PROT_READ, MAP_SHARED, other, 0);

	unlink(other_path);
	MUST(map != MAP_FAILED && !ftruncate(other, 0));
	(void)map[PW_PAGE];
}

static void fault_after(void *arg)
{
	(void)arg;
	MUST(survives());
	own_fault();
}

static void sent_after(void *arg)
{
	(void)arg;
	MUST(survives());
	raise(SIGBUS);
}

/* There before the first window, in place of Criterion's own. */
static void (*disposition)(void);

static void dies_by_sigbus(void (*f)(void *))
{
	struct rlimit none = {0, 0};
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGBUS, SIG_DFL);
		if (disposition)
			disposition();
		MUST(!pw_client_open(fd, &c));
		MUST(pw_client_mapped(c));
		f(NULL);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "status %#x",
		  (unsigned)status);
}

UNIT_TEST(client, the_default_stays_the_default)
{
	start(200000);
	dies_by_sigbus(fault_after);
	dies_by_sigbus(sent_after);
}

static void count_signal(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	pw_add_relaxed(unit_word, sig == SIGBUS && si->si_code <= 0);
}

static void handler(int flags)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_sigaction = count_signal;
	act.sa_flags = SA_SIGINFO | flags;
	cr_assert_eq(sigaction(SIGBUS, &act, NULL), 0);
}

UNIT_TEST(client, the_handler_that_was_there_is_called)
{
	start(200000);
	handler(0);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	CHECK(survives());
	cr_assert_eq(*unit_word, 0u);
	raise(SIGBUS);
	raise(SIGBUS);
	cr_assert_eq(*unit_word, 2u);
	CHECK(survives());
}

static void reset_after(void *arg)
{
	(void)arg;
	MUST(survives());
	raise(SIGBUS);
	MUST(*unit_word == 1);
	MUST(survives());
	raise(SIGBUS);
}

static void once_only(void)
{
	handler((int)SA_RESETHAND);
}

UNIT_TEST(client, a_handler_that_is_called_once)
{
	start(200000);
	disposition = once_only;
	dies_by_sigbus(reset_after);
}

UNIT_TEST(client, sigbus_is_ignored)
{
	start(100000);
	signal(SIGBUS, SIG_IGN);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	cr_assert_not(pw_client_mapped(c));
	CHECK(same(100, 100));
}

UNIT_TEST(client, another_took_our_place)
{
	start_open(100000);
	pw_client_close(c);
	handler(0);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	cr_assert_not(pw_client_mapped(c));
	CHECK(same(100, 100));
}

static void ask_first(int sig, siginfo_t *si, void *uc)
{
	if (!pw_client_sigbus(si, uc))
		count_signal(sig, si, uc);
	else
		pw_add_relaxed(unit_word + 1, 1);
}

UNIT_TEST(client, a_handler_of_ones_own)
{
	struct sigaction act;

	start(200000);
	pw_client_own_handler();
	memset(&act, 0, sizeof(act));
	act.sa_sigaction = ask_first;
	act.sa_flags = SA_SIGINFO;
	cr_assert_eq(sigaction(SIGBUS, &act, NULL), 0);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	cr_assert(pw_client_mapped(c));
	CHECK(survives());
	cr_assert_gt(unit_word[1], 0u);
	raise(SIGBUS);
	cr_assert_eq(*unit_word, 1u);
	cr_assert_eq(sigaction(SIGBUS, NULL, &act), 0);
	cr_assert(act.sa_sigaction == ask_first);
}

/* ---- the environment ---------------------------------------------------------------------------- */

UNIT_TEST(client, disabled)
{
	start(100000);
	setenv("PAGEWELL_DISABLE", "1", 1);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	cr_assert_not(pw_client_mapped(c));
	for (int i = 0; i < 100; i++)
		CHECK(same(100, i));
	cr_assert_eq(pw_client_hits(), 0u);
	pw_client_close(c);
}

UNIT_TEST(client, the_segment_is_where_it_says)
{
	const char *mine = unit_shm("mine");

	start(100000);
	setenv("PAGEWELL_SEGMENT", mine, 1);
	cr_assert_eq(pw_client_open(fd, &c), 0);
	warm(0);
	cr_assert_eq(access(mine, F_OK), 0);
}
