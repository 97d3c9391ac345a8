/*
 * test_handlers.c - signal handlers that use the very number the interrupted call was using,
 * or leave it by a jump; and what is left afterwards. A timer interrupts wherever it will.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "_self.h"

#define SIZE 300000

static int fd;
static unsigned id; /* of the file that fd stands for */
static volatile unsigned long ticks;
static sigjmp_buf back;
static volatile sig_atomic_t jumping;

static void timer(long us)
{
	struct itimerval t = {{0, us}, {0, us}};

	NEED(!setitimer(ITIMER_REAL, &t, NULL));
}

static void on_alarm(void (*handler)(int))
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = handler;
	a.sa_flags = SA_RESTART;
	NEED(!sigaction(SIGALRM, &a, NULL));
}

/* ---- handlers that return ---- */

static void reads_at(int sig)
{
	unsigned char buf[300];
	int saved = errno;
	off_t at = (off_t)(ticks * 131 % (SIZE - 300));

	(void)sig;
	CHECK(pread(fd, buf, 300, at) == 300 && is_content(buf, 300, 1, (uint64_t)at),
	      "pread");
	ticks++;
	errno = saved;
}

static void preads_interrupted(void)
{
	unsigned char buf[5000];

	fd = open_made("a", 1, SIZE, O_RDONLY);
	warm(fd);
	on_alarm(reads_at);
	timer(100);
	for (unsigned long i = 0; i < 4000 || ticks < 1000; i++) {
		uint64_t at = i * 977 % (SIZE - 5000);
		size_t n = 1 + i * 31 % 5000;

		CHECK(pread(fd, buf, n, (off_t)at) == (ssize_t)n &&
			      is_content(buf, n, 1, at),
		      "round %lu", i);
	}
	timer(0);
	need_hits(fd);
	close(fd);
	need_unmapped_file("a");
}

/*
 * The handler reads on from the position: together, loop and handler get every record once,
 * and each in an order of its own.
 */
#define RECORDS 60000u
static unsigned char seen[RECORDS + 1];
static uint32_t last_in_handler;

static void reads_on(int sig)
{
	uint32_t record = 0;
	int saved = errno;

	(void)sig;
	if (read(fd, &record, 4) == 4) {
		CHECK(record > last_in_handler, "%u after %u", record, last_in_handler);
		last_in_handler = record;
		if (record <= RECORDS)
			seen[record]++;
	}
	ticks++;
	errno = saved;
}

static void reads_shared(void)
{
	uint32_t last = 0;
	uint32_t record;
	unsigned once = 0;
	long calls;
	int made = open("records", O_RDWR | O_CREAT, 0600);

	for (uint32_t i = 1; i <= RECORDS; i++)
		NEED(write(made, &i, 4) == 4);
	close(made);
	fd = open("records", O_RDONLY);
	warm(fd);
	on_alarm(reads_on);
	calls = read_calls();
	timer(100);
	while (read(fd, &record, 4) == 4) {
		CHECK(record > last && record <= RECORDS, "%u after %u", record, last);
		last = record;
		if (record <= RECORDS)
			seen[record]++;
	}
	timer(0);
	calls = read_calls() - calls;
	for (unsigned i = 1; i <= RECORDS; i++)
		once += seen[i] == 1;
	CHECK(once == RECORDS, "%u of %u records exactly once", once, RECORDS);
	CHECK(ticks > 5, "only %lu signals", ticks);
	CHECK(calls < RECORDS / 10, "%ld reads went to the kernel", calls);
}

/* The handler seeks away, reads there, and seeks back. */
static void seeks_about(int sig)
{
	unsigned char buf[20];
	int saved = errno;
	off_t was = lseek(fd, 0, SEEK_CUR);
	off_t at = (off_t)(ticks * 137 % 200000);

	(void)sig;
	CHECK(lseek(fd, at, SEEK_SET) == at, "seek");
	CHECK(read(fd, buf, 20) == 20 && is_content(buf, 20, 1, (uint64_t)at), "bytes");
	CHECK(lseek(fd, -SIZE, SEEK_END) == 0, "seek to the end");
	CHECK(lseek(fd, was, SEEK_SET) == was, "seek back");
	ticks++;
	errno = saved;
}

static void seeks_shared(void)
{
	unsigned char buf[100];
	uint64_t at = 0;

	fd = open_made("a", 1, SIZE, O_RDONLY);
	warm(fd);
	lseek(fd, 0, SEEK_SET);
	on_alarm(seeks_about);
	timer(150);
	while (ticks < 3000) {
		size_t n = 1 + ticks % 100;

		CHECK(read(fd, buf, n) == (ssize_t)n && is_content(buf, n, 1, at),
		      "at %lu", (unsigned long)at);
		at += n;
		if (at > SIZE - 200) {
			at = ticks % 1000;
			CHECK(lseek(fd, (off_t)at, SEEK_SET) == (off_t)at, "seek");
		}
	}
	timer(0);
	need_ours(fd);
}

/* The handler puts another file in the number's place; the loop reads whatever is there. */
static void exchanges(int sig)
{
	int saved = errno;
	int next;
	char name[8];

	(void)sig;
	ticks++;
	id = 1 + ticks % 3;
	snprintf(name, sizeof(name), "f%u", id);
	if (ticks % 2) {
		CHECK(!close(fd), "close: errno %d", errno);
		next = open(name, O_RDONLY);
		CHECK(next == fd, "number %d", next);
	} else {
		next = open(name, O_RDONLY);
		CHECK(dup2(next, fd) == fd && !close(next), "dup2: errno %d", errno);
	}
	errno = saved;
}

static void exchanged(void)
{
	unsigned char buf[64];
	long served = 0;
	long all = 0;
	long calls;

	make_file("f1", 1, SIZE);
	make_file("f2", 2, SIZE);
	make_file("f3", 3, SIZE);
	fd = open("f1", O_RDONLY);
	id = 1;
	warm(fd);
	on_alarm(exchanges);
	calls = read_calls();
	timer(400);
	while (ticks < 3000) {
		unsigned long t = ticks;
		uint64_t at = all * 37 % 4000;
		unsigned was = id;
		ssize_t n = pread(fd, buf, 64, (off_t)at);

		all++;
		CHECK(n == 64, "read %zd errno %d", n, errno);
		/* One tick in between: the one file or the other, whole. */
		if (t == ticks)
			CHECK(is_content(buf, 64, was, at), "not file %u's bytes", was);
		else
			CHECK(is_content(buf, 64, was, at) ||
				      is_content(buf, 64, id, at) || ticks > t + 1,
			      "neither file's bytes");
	}
	timer(0);
	served = all - (read_calls() - calls);
	CHECK(!self_preloaded || served > all / 20, "%ld of %ld reads served", served,
	      all);
	close(fd);
	need_unmapped_file("f1");
	need_unmapped_file("f2");
	need_unmapped_file("f3");
}

/* ---- handlers that jump ---- */

static void jumps(int sig)
{
	(void)sig;
	ticks++;
	if (jumping) {
		jumping = 0;
		siglongjmp(back, 1);
	}
}

/* Out of served reads, then straight to the close: nothing may be left. */
static void jumped_then_closed(void)
{
	static unsigned char buf[60000];
	volatile unsigned lingering = 0;
	volatile unsigned mapped = 0;
	volatile unsigned rounds = 0;
	volatile uint64_t at = 0;

	make_file("a", 1, SIZE);
	on_alarm(jumps);
	fd = open("a", O_RDONLY);
	warm(fd);
	close(fd);
	for (volatile int i = 0; i < 1500 && !lingering; i++) {
		rounds++;
		fd = open("a", O_RDONLY);
		for (int k = 0; k < 100; k++) {
			pread(fd, buf, 64, 0);
			lseek(fd, k, SEEK_SET);
		}
		for (int k = 0; k < 10; k++)
			pread(fd, buf, sizeof(buf), 0);
		at = 5;
		lseek(fd, 5, SEEK_SET);
		if (sigsetjmp(back, 1) == 0) {
			jumping = 1;
			timer(100 + i % 50);
			for (;;) {
				if (i % 2)
					pread(fd, buf, sizeof(buf), 0);
				else if (read(fd, buf, 7) == 7)
					at += 7;
				else
					lseek(fd, (off_t)(at = 0), SEEK_SET);
			}
		}
		timer(0);
		mapped += is_mapped_file("a");
		if (i % 3 == 0) {
			/* the position is what was read, with or without the last one */
			uint64_t now = (uint64_t)lseek(fd, 0, SEEK_CUR);

			CHECK(now == at || now == at + 7 || now == 0, "%lu, not %lu",
			      (unsigned long)now, (unsigned long)at);
		}
		close(fd);
		lingering += is_mapped_file("a");
	}
	CHECK(!lingering, "round %u: closed, and the file is still mapped", rounds);
	CHECK(lingering || mapped > 1000, "state not reached: %u windows of 1500",
	      mapped);
}

/* Out of anything, thousands of times, on one number: it goes on being served. */
static void jumped_thousands(void)
{
	static unsigned char buf[20000];
	volatile int round = 0;
	volatile unsigned bad = 0;

	fd = open_made("a", 1, SIZE, O_RDONLY);
	warm(fd);
	on_alarm(jumps);
	timer(120);
	while (round < 4000) {
		round++;
		if (sigsetjmp(back, 1))
			continue;
		jumping = 1;
		for (int k = 0;; k++) {
			off_t at = k * 517L % 200000;
			ssize_t n;

			if (lseek(fd, at, SEEK_SET) != at)
				bad++;
			n = pread(fd, buf, 1 + (size_t)k % 20000, at);
			if (n != 1 + k % 20000 ||
			    !is_content(buf, 8 < n ? 8 : (size_t)n, 1, (uint64_t)at))
				bad++;
			if (k % 64 == 0)
				lseek(fd, 0, SEEK_END);
			if (k % 50 == 0 && dup2(fd, 100) != 100)
				bad++;
		}
	}
	timer(0);
	CHECK(!bad, "%u wrong answers", bad);
	close(100);
	warm_window(fd);
	need_hits(fd);
	lseek(fd, 50, SEEK_SET);
	CHECK(read(fd, buf, 10) == 10 && is_content(buf, 10, 1, 50), "bytes");
	close(fd);
	need_unmapped_file("a");
}

static void *parked(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

/* Out of dup2 and close where there is another thread, so that nobody can count numbers anew:
 * no window outlives them. */
static void jumped_among_threads(void)
{
	static unsigned char buf[60000];
	volatile unsigned lingering = 0;
	volatile unsigned mapped = 0;
	pthread_t other;
	sigset_t set;

	make_file("a", 1, SIZE);
	on_alarm(jumps);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	NEED(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	NEED(!pthread_create(&other, NULL, parked, NULL));
	NEED(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	fd = open("a", O_RDONLY);
	warm(fd);
	close(fd);
	for (volatile int i = 0; i < 1000 && !lingering; i++) {
		fd = open("a", O_RDONLY);
		for (int k = 0; k < 1000; k++)
			pread(fd, buf, 64, k);
		for (int k = 0; k < 10; k++)
			pread(fd, buf, sizeof(buf), 0);
		if (sigsetjmp(back, 1) == 0) {
			jumping = 1;
			timer(50 + i % 50);
			for (;;) {
				dup2(fd, 100);
				close(100);
			}
		}
		timer(0);
		mapped += is_mapped_file("a");
		close(100);
		close(fd);
		lingering += is_mapped_file("a");
	}
	CHECK(!lingering, "closed, and the file is still mapped");
	CHECK(lingering || mapped > 300, "state not reached: %u windows of 1000", mapped);
}

/*
 * Out of open and close, once in each child. If the number is closed then, a pipe takes its
 * place, and reads from it are the pipe's.
 */
static int jumped_once(int i)
{
	unsigned char buf[16] = "";
	volatile int last;
	int p[2];

	last = fd = open("a", O_RDONLY);
	if (sigsetjmp(back, 1) == 0) {
		jumping = 1;
		timer(200 + i % 100);
		for (;;) {
			for (int k = 0; k < 20; k++)
				lseek(last, k, SEEK_SET);
			close(last);
			last = open("a", O_RDONLY);
		}
	}
	timer(0);
	if (raw2(SYS_fcntl, fd, F_GETFD) >= 0)
		return 0;
	NEED(!pipe(p) && p[0] == fd);
	NEED(write(p[1], "0123456789", 10) == 10);
	CHECK(read(p[0], buf, 10) == 10 && !memcmp(buf, "0123456789", 10),
	      "round %d: the pipe gave '%.10s', errno %d", i, buf, errno);
	CHECK(lseek(p[0], 0, SEEK_CUR) < 0, "round %d: the pipe has a position", i);
	return 1;
}

static void jumped_out_of_close(void)
{
	unsigned closed = 0;

	make_file("a", 1, SIZE);
	on_alarm(jumps);
	for (int i = 0; i < 3000 && closed < 40; i++) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(jumped_once(i));
		waitpid(pid, &status, 0);
		CHECK(WIFEXITED(status), "status %x", status);
		closed += WEXITSTATUS(status) == 1;
	}
	CHECK(closed >= 40, "state not reached: out of close %u times", closed);
}

/* On the alternate stack, and from handler to handler. */
static void nested(int sig)
{
	unsigned char buf[40];
	int saved = errno;

	CHECK(pread(fd, buf, 40, sig) == 40 && is_content(buf, 40, 1, (uint64_t)sig),
	      "pread");
	if (sig < SIGRTMIN + 8)
		raise(sig + 1);
	CHECK(pread(fd, buf, 40, sig) == 40 && is_content(buf, 40, 1, (uint64_t)sig),
	      "pread");
	ticks++;
	errno = saved;
}

static void starts_nested(int sig)
{
	(void)sig;
	raise(SIGRTMIN);
}

static void deep(void)
{
	static unsigned char buf[30000];
	static char alt[1 << 17];
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof(alt)};
	struct sigaction a;

	fd = open_made("a", 1, SIZE, O_RDONLY);
	warm(fd);
	NEED(!sigaltstack(&ss, NULL));
	memset(&a, 0, sizeof(a));
	a.sa_handler = nested;
	for (int sig = SIGRTMIN; sig <= SIGRTMIN + 8; sig++) {
		a.sa_flags = sig % 2 ? SA_ONSTACK : 0;
		NEED(!sigaction(sig, &a, NULL));
	}
	on_alarm(starts_nested);
	timer(200);
	for (unsigned long i = 0; i < 3000 || ticks < 2000; i++)
		CHECK(pread(fd, buf, sizeof(buf), 10) == sizeof(buf) &&
			      is_content(buf, 100, 1, 10),
		      "round %lu", i);
	timer(0);
	need_ours(fd);
	need_hits(fd);
	close(fd);
	need_unmapped_file("a");
}

static const struct self_case cases[] = {
	{"preads-interrupted", preads_interrupted, SELF_OURS},
	{"reads-on", reads_shared, SELF_OURS},
	{"seeks-about", seeks_shared, SELF_OURS},
	{"exchanges", exchanged, SELF_OURS},
	{"jump-then-close", jumped_then_closed, SELF_OURS},
	{"jump-thousands", jumped_thousands, SELF_OURS},
	{"jump-among-threads", jumped_among_threads, SELF_OURS},
	{"jump-out-of-close", jumped_out_of_close, SELF_OURS},
	{"handlers-deep", deep, SELF_OURS},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
