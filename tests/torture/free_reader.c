/*
 * A reader process of the free-running mode, under the library: some threads
 * that read the file while it is being changed, at random by the library or
 * by a raw system call, and count what no moment between call and return
 * explains (enum kind in exact.h). The two columns of counts are made by the
 * same threads at the same places in the same minutes.
 */
#include "exact.h"
#include "free_word.h"
#include "raw.h"
#include "rng.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FULL ((int64_t)RECORD * RECORDS)
#define TOUCHED (FREE_MAX_READ / RECORD + 2)

struct free_reader {
	struct exact *x;
	struct free_state *f;
	uint32_t number;
	uint64_t rng;
	char path[1100];
	int fd, own; /* shared by the threads; this thread's own */
	unsigned char *buf, *usual, *unmapped;
	uint64_t cuts; /* seen */
};

/* What was known when a read began. */
struct before {
	uint32_t size_seq;
	int64_t size;
	uint32_t done[TOUCHED];
};

static int open_or_exit(struct free_reader *r)
{
	int fd = open(r->path, rng_one_in(&r->rng, 2) ? O_RDWR : O_RDONLY);

	if (fd < 0) {
		perror(r->path);
		exit(2);
	}
	return fd;
}

static void look_before(struct free_reader *r, int64_t off, size_t n, struct before *b)
{
	int64_t first = off / RECORD;

	b->size_seq = atomic_load(&r->f->size_seq);
	b->size = atomic_load(&r->f->size);
	for (int64_t i = first; i < RECORDS && i * RECORD < off + (int64_t)n; i++)
		b->done[i - first] = atomic_load(&r->f->done[i]);
}

static void judge_count(struct free_reader *r, int64_t off, size_t n, ssize_t got,
			const struct before *b, bool found[K_KINDS])
{
	int64_t want = b->size - off;

	if (b->size_seq & 1 || atomic_load(&r->f->size_seq) != b->size_seq)
		return;
	if (want < 0)
		want = 0;
	if (want > (int64_t)n)
		want = (int64_t)n;
	found[K_PAST] = got > want;
	found[K_SHORT] = got < want;
}

/* The bytes at both ends that are no whole words. */
static void judge_edge(const unsigned char *at, const unsigned char *end,
		       bool found[K_KINDS])
{
	for (; at < end; at++) {
		if (!*at)
			found[K_ZEROS] = true;
		else if (!(*at & 0x80))
			found[K_MISPLACED] = true;
	}
}

/* The whole words of one record: first is the place of the first one. */
static void judge_record(struct free_reader *r, int64_t record, uint32_t first,
			 const unsigned char *at, size_t words, uint32_t oldest,
			 bool found[K_KINDS])
{
	uint64_t seen = 0, word;
	size_t whole = 0;
	bool torn = false;

	for (size_t i = 0; i < words; i++) {
		memcpy(&word, at + 8 * i, 8);
		uint64_t version =
			word ^ free_word(0, (uint32_t)record, first + (uint32_t)i);

		if ((word & TOP_BITS) != TOP_BITS) {
			judge_edge(at + 8 * i, at + 8 * i + 8, found);
		} else if (version & ~VERSION_BITS) {
			found[K_MISPLACED] = true;
		} else if (whole++ == 0) {
			seen = version;
		} else if (version != seen) {
			torn = true;
		}
	}
	/* A copy may tear even inside a word, which then names a version that
	 * never was. So age is judged only where several words agree. */
	found[K_TORN] |= torn;
	if (torn || whole < 3)
		return;
	uint32_t version = free_word_version(seen);
	found[K_STALE] |= version < oldest;
	found[K_FUTURE] |= version > atomic_load(&r->f->begun[record]);
}

static void judge_words(struct free_reader *r, int64_t off, ssize_t got,
			const struct before *b, bool found[K_KINDS])
{
	const unsigned char *at = r->buf, *end = r->buf + got;
	const unsigned char *whole = at + (-off & 7);
	int64_t here;

	if (whole > end)
		whole = end;
	judge_edge(at, whole, found);
	for (at = whole; end - at >= 8;) {
		here = off + (at - r->buf);
		int64_t record = here / RECORD;
		int64_t bytes = (record + 1) * RECORD - here;

		if (bytes > end - at)
			bytes = (end - at) & ~7;
		judge_record(r, record, (uint32_t)(here % RECORD / 8), at,
			     (size_t)bytes / 8, b->done[record - off / RECORD], found);
		at += bytes;
	}
	judge_edge(at, end, found);
}

/* Mostly at the place where the writer is busy: long reads, which are long in
 * flight, often so that they come to it late; or as little as a record. */
static int64_t pick_range(struct free_reader *r, size_t *n)
{
	int64_t aim = atomic_load(&r->f->aim), off;

	switch (rng_below(&r->rng, atomic_load(&r->f->kernel_only) ? 3 : 4)) {
	case 3:
		*n = (size_t)rng_length(&r->rng, FREE_MAX_READ);
		return rng_below(&r->rng, FULL);
	case 0:
		*n = FREE_MAX_READ;
		off = aim + rng_length(&r->rng, FREE_MAX_READ) - FREE_MAX_READ;
		break;
	default:
		*n = (size_t)rng_between(&r->rng, RECORD, 4 * RECORD);
		off = aim - rng_below(&r->rng, (int64_t)*n);
	}
	return off < 0 ? 0 : off;
}

/* Half of the kernel's reads go to pages not there yet: faults in the middle of
 * the copy draw it out, so that it shows sooner what it can show at all. Not so
 * one way, where rates are compared. */
static ssize_t read_once(struct free_reader *r, enum source by, size_t n, int64_t off)
{
	r->buf = r->usual;
	if (by == BY_KERNEL && !r->x->opt.one_way && rng_one_in(&r->rng, 2)) {
		r->buf = r->unmapped;
		raw(SYS_madvise, r->buf, n, MADV_DONTNEED);
	}
	if (by == BY_KERNEL)
		return raw_pread(r->fd, r->buf, n, off);
	if (rng_one_in(&r->rng, 2))
		return pread(r->fd, r->buf, n, off);
	if (lseek(r->own, off, SEEK_SET) != off)
		return -1;
	return read(r->own, r->buf, n);
}

static void one_read(struct free_reader *r)
{
	size_t n;
	int64_t off = pick_range(r, &n);
	enum source by = BY_KERNEL;
	struct count *c = r->f->thread[r->number].count;
	struct before b;
	bool found[K_KINDS] = {false};

	if (!atomic_load(&r->f->kernel_only) && rng_one_in(&r->rng, 2))
		by = BY_LIBRARY;
	look_before(r, off, n, &b);
	ssize_t got = read_once(r, by, n, off);

	judge_count(r, off, n, got, &b, found);
	if (got > 0)
		judge_words(r, off, got, &b, found);
	found[K_ERROR] = got < 0;
	c[by].reads++;
	c[by].bytes += got > 0 ? (uint64_t)got : 0;
	for (int k = 0; k < K_KINDS; k++)
		c[by].kind[k] += found[k];
}

/* A library may leave a file alone that often gives it no witness, as each truncation
 * does. These reads keep it interested; they are far from the writer, and nothing is
 * learnt from them. */
static void read_calmly(struct free_reader *r)
{
	uint64_t cuts = atomic_load(&r->f->cuts);

	if (cuts == r->cuts)
		return;
	r->cuts = cuts;
	for (int i = 0; i < 48; i++) {
		off_t off = rng_below(&r->rng, FULL / 4);

		if (pread(r->fd, r->usual, 64, off) < 0 ||
		    pread(r->own, r->usual, 64, off) < 0)
			r->f->thread[r->number].count[BY_LIBRARY].kind[K_ERROR]++;
	}
}

static void *read_on(void *arg)
{
	struct free_reader *r = arg;
	_Atomic uint64_t *reading = &r->f->thread[r->number].reading;

	r->own = open_or_exit(r);
	while (!atomic_load(&r->f->stop)) {
		atomic_fetch_add(reading, 1);
		if (!atomic_load(&r->f->pause)) {
			one_read(r);
			if (!atomic_load(&r->f->kernel_only))
				read_calmly(r);
		}
		atomic_fetch_add(reading, 1);
		if (atomic_load(&r->f->pause))
			raw(SYS_sched_yield);
		if (rng_one_in(&r->rng, 5000)) {
			close(r->own);
			r->own = open_or_exit(r);
		}
	}
	close(r->own);
	free(r);
	return NULL;
}

static unsigned char *new_pages(void)
{
	void *at = mmap(NULL, FREE_MAX_READ, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(2);
	raw(SYS_madvise, at, FREE_MAX_READ, MADV_NOHUGEPAGE);
	return at;
}

int free_read(struct exact *x, uint32_t process)
{
	uint32_t threads = x->opt.threads;
	pthread_t thread[FREE_THREADS];
	int shared = -1;

	raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	turn_await_reader_side(x);
	for (uint32_t t = 0; t < threads; t++) {
		struct free_reader *r = calloc(1, sizeof(*r));

		r->x = x;
		r->f = &x->free;
		r->number = process * threads + t;
		r->rng = x->opt.seed + 1 + r->number;
		r->usual = new_pages();
		r->unmapped = new_pages();
		snprintf(r->path, sizeof(r->path), "%s/free", x->opt.dir);
		if (shared < 0)
			shared = open_or_exit(r);
		r->fd = shared;
		if (pthread_create(&thread[t], NULL, read_on, r))
			exit(2);
	}
	for (uint32_t t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	close(shared);
	return 0;
}
