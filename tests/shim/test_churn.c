/*
 * test_churn.c - numbers that are closed and opened again, or replaced, in one thread while
 * others read from them. Whatever a reader gets, it is a piece of one of the files, at the
 * place asked for; and where the number was not touched during the read, of the right one.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "words.h"

#define FILES 5
#define SIZE 300000U
#define NUMBERS 3
#define READERS 3
#define ROUNDS 800

/* A number and what it stands for; generation is odd while that changes. */
struct number {
	atomic_uint generation;
	atomic_int fd;
	atomic_uint id;
};

static struct number numbers[NUMBERS];
static atomic_bool stop;
static atomic_long reads_made;
static atomic_long certain; /* reads of which it was known what they had to give */

static void name_of(char name[8], unsigned id)
{
	snprintf(name, 8, "f%u", id);
}

static int open_file(unsigned id)
{
	char name[8];
	int fd;

	name_of(name, id);
	fd = open(name, O_RDONLY);
	NEED(fd >= 0);
	return fd;
}

static void close_open(int fd, unsigned to)
{
	int again;

	CHECK(!close(fd), "errno %d", errno);
	/* The number is free meanwhile; nobody else opens anything. */
	again = open_file(to);
	CHECK(again == fd, "%d", fd);
}

static void replace(int fd, unsigned to)
{
	int from = open_file(to);

	CHECK(dup2(from, fd) == fd, "errno %d", errno);
	CHECK(!close(from), "errno %d", errno);
}

struct seen {
	unsigned generation;
	int fd;
	unsigned id;
};

static struct seen look(struct number *x)
{
	struct seen s;

	s.generation = x->generation;
	s.fd = x->fd;
	s.id = x->id;
	return s;
}

/* got < 0: the number was closed just then. */
static void judge(struct number *x, const struct seen *s, const unsigned char *buf,
		  ssize_t got, size_t n, off_t at)
{
	bool sure = !(s->generation & 1) && x->generation == s->generation;
	unsigned id;
	int64_t where;

	reads_made++;
	certain += sure;
	if (got < 0) {
		CHECK(!sure && errno == EBADF, "errno %d", errno);
		return;
	}
	/* A position that wandered to the end. */
	if (at < 0 && (size_t)got < n) {
		CHECK(lseek(s->fd, 0, SEEK_SET) <= 0, "not 0");
		if (got < 7)
			return;
	} else {
		CHECK((size_t)got == n, "%zd of %zu", got, n);
	}
	where = words_find(buf, (size_t)got, &id);
	CHECK(where >= 0, "%zd bytes of no file's, fd %d", got, s->fd);
	CHECK(at < 0 || where == at, "bytes of %ld, not of %ld", (long)where, (long)at);
	CHECK(!sure || id == s->id, "bytes of file %u, not %u", id, s->id);
}

/* The changes are what is waited for; there may be fewer cores than threads. */
static void give_way(uint32_t *seed)
{
	if (!chance(seed, 32))
		sched_yield();
}

static void *read_preads(void *arg)
{
	static __thread unsigned char buf[2000];
	uint32_t seed = (uint32_t)(intptr_t)arg;

	while (!stop) {
		struct number *x = &numbers[chance(&seed, NUMBERS)];
		size_t n = 7 + chance(&seed, 600);
		off_t at = chance(&seed, SIZE - 700);
		struct seen s = look(x);

		judge(x, &s, buf, pread(s.fd, buf, n, at), n, at);
		give_way(&seed);
	}
	return NULL;
}

static void *read_reads(void *arg)
{
	static __thread unsigned char buf[2000];
	uint32_t seed = (uint32_t)(intptr_t)arg;

	while (!stop) {
		struct number *x = &numbers[chance(&seed, NUMBERS)];
		size_t n = 7 + chance(&seed, 600);
		struct seen s = look(x);

		if (!chance(&seed, 16)) {
			off_t to = lseek(s.fd, chance(&seed, SIZE / 2), SEEK_SET);

			CHECK(to >= 0 || x->generation != s.generation ||
				      (s.generation & 1),
			      "errno %d", errno);
		}
		judge(x, &s, buf, read(s.fd, buf, n), n, -1);
		s = look(x);
		judge(x, &s, buf, pread(s.fd, buf, n, (off_t)n), n, (off_t)n);
		give_way(&seed);
	}
	return NULL;
}

static void churn(void *(*reader)(void *), void (*change)(int fd, unsigned to))
{
	pthread_t t[READERS];
	uint32_t seed = 99;
	char name[8];
	long before;
	long calls;

	for (unsigned id = 1; id <= FILES; id++) {
		name_of(name, id);
		words_make(name, id, SIZE);
	}
	for (int i = 0; i < NUMBERS; i++) {
		numbers[i].id = 1;
		numbers[i].fd = open_file(1);
	}
	before = read_calls_all();
	for (intptr_t i = 0; i < READERS; i++)
		NEED(!pthread_create(&t[i], NULL, reader, (void *)(i + 1)));
	for (int i = 0; i < ROUNDS; i++) {
		struct number *x = &numbers[chance(&seed, NUMBERS)];
		unsigned to = 1 + chance(&seed, FILES);
		/* Mostly at once; sometimes only after windows have been earned. */
		long until = reads_made + (i % 20 ? chance(&seed, 8) : 4000);

		x->generation++;
		change(x->fd, to);
		x->id = to;
		x->generation++;
		while (reads_made < until)
			sched_yield();
	}
	stop = true;
	for (int i = 0; i < READERS; i++)
		NEED(!pthread_join(t[i], NULL));
	calls = read_calls_all() - before;
	CHECK(certain > reads_made / 4, "%ld of %ld", certain, reads_made);
	if (self_preloaded)
		CHECK(before < 0 || calls < reads_made * 9 / 10,
		      "state not reached: %ld system calls for %ld reads", calls,
		      reads_made);
	for (int i = 0; i < NUMBERS; i++)
		close(numbers[i].fd);
	for (unsigned id = 1; id <= FILES; id++) {
		name_of(name, id);
		need_unmapped_file(name);
	}
	fprintf(stderr, "%ld reads, %ld certain, %ld calls\n", reads_made, certain,
		calls);
	say("%d rounds", ROUNDS);
}

static void close_preads(void)
{
	churn(read_preads, close_open);
}

static void close_reads(void)
{
	churn(read_reads, close_open);
}

static void dup2_preads(void)
{
	churn(read_preads, replace);
}

static void dup2_reads(void)
{
	churn(read_reads, replace);
}

static const struct self_case cases[] = {
	{"close-open-preads", close_preads, SELF_BOTH},
	{"close-open-reads", close_reads, SELF_BOTH},
	{"dup2-preads", dup2_preads, SELF_BOTH},
	{"dup2-reads", dup2_reads, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
