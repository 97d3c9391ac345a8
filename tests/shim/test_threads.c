/*
 * test_threads.c - several threads on one description, on many, and on numbers that change
 * hands meanwhile; forks among them. The bytes say where they are from (words.h).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "words.h"

#define THREADS 8
#define SIZE (1U << 20)
#define MAX_READ 5000

static int the_fd;

static void start(pthread_t *t, int n, void *(*body)(void *))
{
	for (int i = 0; i < n; i++)
		NEED(!pthread_create(&t[i], NULL, body, (void *)(intptr_t)(i + 1)));
}

static void join(const pthread_t *t, int n)
{
	for (int i = 0; i < n; i++)
		NEED(!pthread_join(t[i], NULL));
}

static void run_threads(void *(*body)(void *))
{
	pthread_t t[THREADS];

	start(t, THREADS, body);
	join(t, THREADS);
}

/* Most of the reads made since `before` must have been hits. */
static void need_served(long before, long reads)
{
	long calls = read_calls_all() - before;

	say("reads were made: %d", reads > 0);
	if (self_preloaded)
		CHECK(before < 0 || calls < reads / 2, "%ld system calls for %ld reads",
		      calls, reads);
}

static void open_warm(void)
{
	words_make("w", 1, SIZE);
	the_fd = open("w", O_RDONLY);
	warm(the_fd);
}

/* ---- reads hand out the file ---- */

/* Small: larger ones need not be worth a window where pages are dear, and with all threads in
 * real calls at once the position is not taken again. */
#define MAX_TAKE 1000

static atomic_uchar taken[SIZE];
static atomic_long reads_made;

static void *take(void *arg)
{
	static __thread unsigned char buf[MAX_TAKE];
	uint32_t seed = (uint32_t)(intptr_t)arg;

	for (;;) {
		size_t n = 8 + chance(&seed, MAX_TAKE - 8);
		ssize_t got = read(the_fd, buf, n);
		unsigned id = 1;
		int64_t at;

		reads_made++;
		NEED(got >= 0);
		if (!got)
			return NULL;
		at = got < 8 ? SIZE - got : words_find(buf, (size_t)got, &id);
		CHECK(id == 1 && at >= 0, "%zd bytes not of one piece", got);
		CHECK((size_t)got == n || at + got == SIZE, "%zd of %zu", got, n);
		CHECK(is_words(buf, (size_t)got, 1, (uint64_t)at), "at %ld", (long)at);
		for (ssize_t i = 0; i < got && at >= 0; i++)
			taken[at + i]++;
	}
}

static void disjoint(void)
{
	long before;
	int wrong = 0;

	open_warm();
	before = read_calls_all();
	for (int pass = 1; pass <= 15; pass++) {
		NEED(!lseek(the_fd, 0, SEEK_SET));
		run_threads(take);
		for (unsigned i = 0; i < SIZE; i++)
			wrong += taken[i] != pass;
		say("pass %d: %d wrong", pass, wrong);
		say_pos(the_fd);
	}
	CHECK(!wrong, "%d bytes not read exactly once", wrong);
	need_served(before, reads_made);
}

/* ---- seek and read ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *seek_read(void *arg)
{
	static __thread unsigned char buf[MAX_READ];
	uint32_t seed = (uint32_t)(intptr_t)arg;

	for (int i = 0; i < 4000; i++) {
		size_t n = 1 + chance(&seed, MAX_READ - 1);
		off_t at = chance(&seed, SIZE - MAX_READ);
		ssize_t got;
		off_t then;

		pthread_mutex_lock(&lock);
		NEED(lseek(the_fd, at, SEEK_SET) == at);
		got = read(the_fd, buf, n);
		then = lseek(the_fd, 0, SEEK_CUR);
		pthread_mutex_unlock(&lock);
		CHECK((size_t)got == n && then == at + got, "%zd, at %ld", got, then);
		CHECK(is_words(buf, n, 1, (uint64_t)at), "at %ld", (long)at);
	}
	return NULL;
}

static void seeks_locked(void)
{
	long before;

	open_warm();
	before = read_calls_all();
	run_threads(seek_read);
	need_served(before, 4000L * THREADS);
}

/* Nobody can say what each gets, but it is a piece of the file. */
static void *seek_read_wild(void *arg)
{
	static __thread unsigned char buf[MAX_READ];
	uint32_t seed = (uint32_t)(intptr_t)arg;
	unsigned id;

	for (int i = 0; i < 8000; i++) {
		size_t n = 7 + chance(&seed, 300);
		off_t at = chance(&seed, SIZE / 2);
		ssize_t got;

		if (chance(&seed, 2))
			CHECK(lseek(the_fd, at, SEEK_SET) == at, "errno %d", errno);
		got = read(the_fd, buf, n);
		CHECK((size_t)got == n, "%zd", got);
		CHECK(words_find(buf, n, &id) >= 0 && id == 1, "%zu bytes", n);
	}
	return NULL;
}

static void seeks_wild(void)
{
	long before;

	open_warm();
	before = read_calls_all();
	run_threads(seek_read_wild);
	need_served(before, 8000L * THREADS);
}

static void *pread_at(void *arg)
{
	static __thread unsigned char buf[MAX_READ];
	uint32_t seed = (uint32_t)(intptr_t)arg;

	for (int i = 0; i < 8000; i++) {
		size_t n = 1 + chance(&seed, MAX_READ - 1);
		off_t at = chance(&seed, SIZE - MAX_READ);

		CHECK(pread(the_fd, buf, n, at) == (ssize_t)n, "errno %d", errno);
		CHECK(is_words(buf, n, 1, (uint64_t)at), "at %ld", (long)at);
	}
	return NULL;
}

static void preads(void)
{
	long before;

	open_warm();
	lseek(the_fd, 77, SEEK_SET);
	before = read_calls_all();
	run_threads(pread_at);
	need_served(before, 8000L * THREADS);
	say_pos(the_fd);
}

/* ---- numbers that change hands among threads ---- */

/* dup2 while another thread is there: both numbers share one position afterwards. */
static void dup2_threads(void)
{
	pthread_t t;
	int a;
	int b;

	open_warm();
	a = open_made("a", 2, SIZE, O_RDONLY);
	b = open_made("b", 3, SIZE, O_RDONLY);
	NEED(!pthread_create(&t, NULL, pread_at, (void *)9));
	warm(a);
	warm(b);
	say_seek(a, 500, SEEK_SET);
	say_seek(b, 900, SEEK_SET);
	say_ret("dup2 same", dup2(a, a) == a);
	say_ret("dup2", dup2(a, b) == b);
	need_unmapped_file("b");
	say_read(b, 9);
	say_pos(a);
	say_seek(a, 7, SEEK_CUR);
	say_read(b, 9);
	say_read(a, 9);
	say_kernel_pos(b);
	close(a);
	say_read(b, 9);
	say_ret("dup3", dup3(the_fd, b, O_CLOEXEC) == b);
	need_unmapped_file("a");
	say_pread(b, 9, 100);
	NEED(!pthread_join(t, NULL));
}

/* ---- forks among threads ---- */

static atomic_bool stop;

/* On a description of its own, and on others that come and go. */
static void *work_alone(void *arg)
{
	unsigned id = (unsigned)(intptr_t)arg;
	static __thread unsigned char buf[512];
	uint32_t seed = id;
	char name[16];
	int own;

	snprintf(name, sizeof(name), "w%u", id);
	words_make(name, id, SIZE);
	own = open(name, O_RDONLY);
	NEED(own >= 0);
	for (int i = 0; !stop; i++) {
		off_t at = chance(&seed, SIZE - 1024);
		size_t n = 1 + chance(&seed, sizeof(buf) - 1);
		int other;

		CHECK(lseek(own, at, SEEK_SET) == at, "errno %d", errno);
		for (int k = 0; k < 2; k++) {
			CHECK(read(own, buf, n) == (ssize_t)n, "errno %d", errno);
			CHECK(is_words(buf, n, id, (uint64_t)at + (uint64_t)k * n), "%ld",
			      at);
		}
		if (i % 64)
			continue;
		other = open("f", O_RDONLY);
		NEED(other >= 0);
		for (int k = 0; k < 40; k++) {
			CHECK(read(other, buf, 16) == 16, "errno %d", errno);
			CHECK(is_words(buf, 16, 100, (uint64_t)k * 16), "%d", k);
		}
		CHECK(!close(other), "errno %d", errno);
	}
	CHECK(!close(own), "errno %d", errno);
	return NULL;
}

#define FORKS 60

static void forks(void)
{
	pthread_t t[3];

	words_make("f", 100, SIZE);
	start(t, 3, work_alone);
	for (int i = 0; i < FORKS; i++) {
		int fd = open("f", O_RDONLY);
		unsigned char buf[32];
		off_t at = 1000 + i * 37;
		int status;
		pid_t pid;

		warm(fd);
		lseek(fd, at, SEEK_SET);
		pid = fork();
		NEED(pid >= 0);
		if (!pid) {
			CHECK(raw3(SYS_lseek, fd, 0, SEEK_CUR) == at, "round %d", i);
			CHECK(read(fd, buf, 20) == 20 &&
				      is_words(buf, 20, 100, (uint64_t)at),
			      "round %d", i);
			CHECK(pread(fd, buf, 20, 5) == 20 && is_words(buf, 20, 100, 5),
			      "round %d", i);
			CHECK(lseek(fd, at + 21, SEEK_SET) == at + 21, "round %d", i);
			_exit(0);
		}
		NEED(waitpid(pid, &status, 0) == pid);
		CHECK(!status, "round %d: status %x", i, (unsigned)status);
		CHECK(lseek(fd, 0, SEEK_CUR) == at + 21, "round %d", i);
		CHECK(read(fd, buf, 9) == 9 && is_words(buf, 9, 100, (uint64_t)at + 21),
		      "round %d", i);
		close(fd);
	}
	stop = true;
	join(t, 3);
	need_unmapped_file("f");
	for (int i = 1; i <= 3; i++)
		need_unmapped_file((char[]){'w', (char)('0' + i), 0});
	say("%d forks", FORKS);
}

/* ---- threads that open much, and end ---- */

static void *open_many(void *arg)
{
	int fd[64];

	for (int i = 0; i < 64; i++)
		fd[i] = open("many", O_RDONLY);
	usleep(1000); /* many at once: the handles have to be made */
	for (int i = 0; i < 64; i++)
		close(fd[i]);
	return arg;
}

/* What an allocator keeps by thread must not outlive the thread. */
static void threads_that_end(void)
{
	pthread_t t[100];
	struct rlimit r = {8192, 8192};

	make_file("many", 1, 8192);
	if (setrlimit(RLIMIT_NOFILE, &r))
		self_skip("8192 numbers are not allowed");
	for (int round = 0; round < 8; round++) {
		start(t, 100, open_many);
		join(t, 100);
	}
	say("done");
}

static const struct self_case cases[] = {
	{"reads-hand-out", disjoint, SELF_BOTH},
	{"seeks-locked", seeks_locked, SELF_BOTH},
	{"seeks-wild", seeks_wild, SELF_BOTH},
	{"preads", preads, SELF_BOTH},
	{"dup2", dup2_threads, SELF_BOTH},
	{"forks", forks, SELF_BOTH},
	{"threads-that-end", threads_that_end, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
