/*
 * The reader of the turn-based mode. It runs under the library, keeps the file
 * open on several descriptors, and after each step of the writer reads through
 * libc on a few of them, so that on the others the library's idea of the file
 * grows stale. Each answer is compared at once with that of the kernel, asked
 * by a raw system call; nobody changes the file meanwhile.
 */
#include "exact.h"
#include "raw.h"
#include "rng.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLOTS 8
#define ARENAS 4
#define ARENA ((size_t)MAX_READ + 4 * PAGE)
#define GUARD 64
#define NO_ERRNO 12345
#define TOLD_AT_MOST 10

/* An open file description; several slots may share one after a dup. */
struct desc {
	int64_t pos;
	uint32_t refs;
	bool writable;
};

struct slot {
	int fd;
	bool duped;
	struct desc *d;
	uint64_t opened, until; /* step numbers */
};

struct reader {
	struct exact *x;
	uint64_t rng;
	char path[1100];
	uint32_t replaced;
	struct slot slot[SLOTS];
	unsigned char *arena[ARENAS]; /* the first is used most, hence hot */
	unsigned char *bad;	      /* two pages that can be written, one that can't */
	unsigned char *truth;	      /* what the kernel says */
	int64_t size;		      /* of the slot being read, at this turn */
	int favourite;		      /* slot */
};

enum how { PREAD, PREAD64, READ, PREADV, READV, HOWS };
static const char *const how_name[HOWS] = {"pread", "pread64", "read", "preadv", "readv"};

/* ---- telling ---- */

static void differs(struct reader *r, struct slot *s, const char *what)
{
	const struct note *n = &r->x->note;

	if (++r->x->tally.differences > TOLD_AT_MOST)
		return;
	fprintf(stderr,
		"exact: DIFFERENCE: %s\n"
		"  seed %llu, step %llu: %s off %lld len %lld, size %lld -> %lld\n"
		"  fd %d (%s%s, opened at step %llu), size now %lld\n",
		what, (unsigned long long)r->x->opt.seed, (unsigned long long)n->step,
		n->name, (long long)n->off, (long long)n->len, (long long)n->before,
		(long long)n->after, s->fd, s->d->writable ? "O_RDWR" : "O_RDONLY",
		s->duped ? ", dup" : "", (unsigned long long)s->opened,
		(long long)raw_size(s->fd));
}

static void answers_differ(struct reader *r, struct slot *s, enum how how, int64_t off,
			   size_t n, ssize_t got, int err, long want, const char *more)
{
	char what[512];

	if (got < 0)
		snprintf(what, sizeof(what),
			 "%s off %lld n %zu: library -%d (%s), kernel %ld%s",
			 how_name[how], (long long)off, n, err, strerror(err), want,
			 more);
	else
		snprintf(what, sizeof(what),
			 "%s off %lld n %zu: library %zd, kernel %ld%s", how_name[how],
			 (long long)off, n, got, want, more);
	differs(r, s, what);
}

/* ---- one read and its comparison ---- */

static ssize_t call(struct slot *s, enum how how, unsigned char *to, size_t n,
		    int64_t off)
{
	struct iovec v[3] = {
		{to, n / 3}, {to + n / 3, n / 2 - n / 3}, {to + n / 2, n - n / 2}};

	switch (how) {
	case PREAD:
		return pread(s->fd, to, n, off);
	case PREAD64:
		return pread64(s->fd, to, n, off);
	case READ:
		return read(s->fd, to, n);
	case PREADV:
		return preadv(s->fd, v, 3, off);
	default:
		return readv(s->fd, v, 3);
	}
}

static bool moves(enum how how)
{
	return how == READ || how == READV;
}

/* Reads n bytes at off (for READ and READV that is the position). */
static void check_read(struct reader *r, struct slot *s, enum how how, unsigned char *to,
		       size_t n, int64_t off)
{
	unsigned char canary = (unsigned char)(0xa5 ^ r->x->tally.reads);
	char more[160] = "";

	memset(to - GUARD, canary, n + 2 * GUARD);
	errno = NO_ERRNO;
	ssize_t got = call(s, how, to, n, off);
	int err = errno;
	long want = raw_pread(s->fd, r->truth, n, off);

	r->x->tally.reads++;
	if (moves(how) && got > 0)
		s->d->pos += got;
	if (got != want && !(got == -1 && -err == want)) {
		answers_differ(r, s, how, off, n, got, err, want, "");
		return;
	}
	if (got >= 0 && err != NO_ERRNO)
		answers_differ(r, s, how, off, n, got, err, want, ", errno changed");
	if (got < 0)
		got = 0;
	r->x->tally.bytes += (uint64_t)got;
	if (memcmp(to, r->truth, (size_t)got)) {
		ssize_t at = 0;

		while (to[at] == r->truth[at])
			at++;
		snprintf(more, sizeof(more),
			 "; first differing byte +%zd: library 0x%02x, kernel 0x%02x", at,
			 to[at], r->truth[at]);
		answers_differ(r, s, how, off, n, got, err, want, more);
		return;
	}
	for (ssize_t at = -GUARD; at < (ssize_t)n + GUARD; at++) {
		if (at == 0)
			at = got;
		if (to[at] == canary)
			continue;
		snprintf(more, sizeof(more), "; touched the buffer at +%zd", at);
		answers_differ(r, s, how, off, n, got, err, want, more);
		return;
	}
}

/* A buffer that ends where nothing may be written: EFAULT or a short count.
 * How much the kernel copies before the fault is its affair, so it is asked
 * with the very same buffer. */
static void check_bad_buffer(struct reader *r, struct slot *s)
{
	bool all_bad = rng_one_in(&r->rng, 2);
	size_t room = (size_t)rng_below(&r->rng, 5000);
	size_t n = room + (size_t)rng_length(&r->rng, PAGE);
	int64_t off = rng_below(&r->rng, r->size);
	unsigned char *to = r->bad + 2 * PAGE - room;

	r->x->tally.bad_buffers++;
	if (all_bad) /* pages that may have been found good before */
		mprotect(r->bad, 2 * (size_t)PAGE, PROT_READ);
	ssize_t got = pread(s->fd, to, n, off);
	int err = errno;
	long want = raw_pread(s->fd, to, n, off);
	if (all_bad)
		mprotect(r->bad, 2 * (size_t)PAGE, PROT_READ | PROT_WRITE);
	if (got != want && !(got == -1 && -err == want))
		answers_differ(r, s, PREAD, off, n, got, err, want, " (bad buffer)");
}

/* ---- choosing ---- */

static unsigned char *pick_buffer(struct reader *r, size_t n)
{
	size_t which = rng_one_in(&r->rng, 8) ? (size_t)rng_below(&r->rng, ARENAS) : 0;
	size_t room = ARENA - 2 * GUARD - n;

	/* Now and then the pages under it are new ones. */
	if (which == ARENAS - 1 && rng_one_in(&r->rng, 4)) {
		munmap(r->arena[which], ARENA);
		r->arena[which] = mmap(r->arena[which], ARENA, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	if (which == 0)
		room = (size_t)PAGE;
	return r->arena[which] + GUARD + (size_t)rng_below(&r->rng, (int64_t)room);
}

static size_t pick_size(struct reader *r)
{
	static const int usual[] = {1, 8, 100, 512, 4096, 8192, 16384, 65536};

	if (rng_one_in(&r->rng, 3))
		return (size_t)usual[rng_below(&r->rng, 8)];
	if (rng_one_in(&r->rng, 200))
		return 0;
	return (size_t)rng_length(&r->rng, rng_one_in(&r->rng, 4) ? MAX_READ : 4096);
}

/* Somewhere just before, across or behind a place where it may matter. */
static int64_t near_place(struct reader *r, int64_t at, size_t n)
{
	int64_t off;

	switch (rng_below(&r->rng, 4)) {
	case 0: /* ends there, or nearly */
		off = at - (int64_t)n + rng_between(&r->rng, -2, 2);
		break;
	case 1: /* ends a little before: the look-ahead crosses it */
		off = at - (int64_t)n - rng_below(&r->rng, 300);
		break;
	case 2: /* begins there */
		off = at + rng_between(&r->rng, -2, 2);
		break;
	default: /* contains it */
		off = at - rng_below(&r->rng, (int64_t)n + 1);
	}
	return off < 0 ? 0 : off;
}

static int64_t pick_place(struct reader *r, size_t n)
{
	const struct note *note = &r->x->note;

	switch (rng_below(&r->rng, 10)) {
	case 0:
	case 1:
		return near_place(r, r->size, n);
	case 2:
		return near_place(r, note->before, n);
	case 3:
		return near_place(r, note->off, n);
	case 4:
		return near_place(r, note->off + note->len, n);
	case 5: /* a page's border, mostly the last one */
		if (rng_one_in(&r->rng, 2))
			return near_place(r, r->size & -PAGE, n);
		return near_place(r, rng_below(&r->rng, r->size + 1) & -PAGE, n);
	case 6: /* in the changed range */
		return note->off + rng_below(&r->rng, note->len);
	default:
		return rng_below(&r->rng, r->size);
	}
}

/* ---- seeks ---- */

/* The kernel's answer for a description of its own on the same file. */
static int64_t true_seek(struct slot *s, int64_t off, int whence)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	long fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	int64_t ret = raw(SYS_lseek, fd, off, whence);
	raw(SYS_close, fd);
	return ret;
}

static void check_seek(struct reader *r, struct slot *s, int64_t off, int whence)
{
	int64_t want;

	switch (whence) {
	case SEEK_SET:
		want = off < 0 ? -EINVAL : off;
		break;
	case SEEK_CUR:
		want = s->d->pos + off < 0 ? -EINVAL : s->d->pos + off;
		break;
	case SEEK_END:
		want = raw_size(s->fd) + off;
		want = want < 0 ? -EINVAL : want;
		break;
	default:
		want = true_seek(s, off, whence);
	}
	errno = NO_ERRNO;
	int64_t got = rng_one_in(&r->rng, 2) ? lseek(s->fd, off, whence)
					     : lseek64(s->fd, off, whence);
	int err = errno;

	r->x->tally.seeks++;
	if (got >= 0)
		s->d->pos = got;
	if (got == -1 ? want == -err : got == want && err == NO_ERRNO)
		return;

	char what[256];
	snprintf(what, sizeof(what),
		 "lseek off %lld whence %d: library %lld%s, kernel %lld", (long long)off,
		 whence, (long long)(got == -1 ? -err : got),
		 got >= 0 && err != NO_ERRNO ? " (errno changed)" : "", (long long)want);
	differs(r, s, what);
}

static void some_seek(struct reader *r, struct slot *s)
{
	int64_t near = rng_between(&r->rng, -600, 200);

	switch (rng_below(&r->rng, 12)) {
	case 0:
	case 1:
		check_seek(r, s, near, SEEK_END);
		break;
	case 2:
	case 3:
		check_seek(r, s, near, SEEK_CUR);
		break;
	case 4:
	case 5:
		check_seek(r, s, 0, SEEK_CUR);
		break;
	case 6:
		check_seek(r, s, rng_below(&r->rng, r->size + 100),
			   rng_one_in(&r->rng, 2) ? SEEK_DATA : SEEK_HOLE);
		break;
	default:
		check_seek(r, s, rng_below(&r->rng, r->size + 100), SEEK_SET);
	}
}

/* ---- reading ---- */

static void some_read(struct reader *r, struct slot *s)
{
	size_t n = pick_size(r);
	int64_t off = pick_place(r, n);
	enum how how = PREAD;

	switch (rng_below(&r->rng, 16)) {
	case 0:
		how = PREADV;
		break;
	case 1:
		how = READV;
		break;
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
		how = READ;
		break;
	case 7:
	case 8:
		how = PREAD64;
	}
	if (moves(how)) {
		/* Half of them go on where the last one ended. */
		if (rng_one_in(&r->rng, 2))
			check_seek(r, s, off, SEEK_SET);
		off = s->d->pos;
	}
	check_read(r, s, how, pick_buffer(r, n), n, off);
}

/* Small reads in a row, by position or not: how a window is earned, and kept after
 * reads that found no witness. */
static void burst(struct reader *r, struct slot *s, int64_t count)
{
	bool by_position = rng_one_in(&r->rng, 2);
	size_t n = (size_t)rng_length(&r->rng, 1024);
	int64_t off = rng_below(&r->rng, r->size - count * (int64_t)n);

	if (by_position)
		check_seek(r, s, off, SEEK_SET);
	for (int64_t i = 0; i < count; i++)
		check_read(r, s, by_position ? READ : PREAD, r->arena[0] + GUARD, n,
			   off + i * (int64_t)n);
}

/* The reader's process may change the file too, seen or unseen by its library. */
static void change_it_ourselves(struct reader *r, struct slot *s)
{
	static unsigned char buf[4096];
	int64_t n = rng_length(&r->rng, sizeof(buf));
	int64_t off = rng_below(&r->rng, r->size + 1);
	int64_t ret;

	r->x->tally.own_changes++;
	for (size_t i = 0; i < sizeof(buf); i += 8) {
		uint64_t word = rng_next(&r->rng);

		memcpy(buf + i, &word, 8);
	}
	switch (rng_below(&r->rng, 6)) {
	case 0:
		ret = raw_pwrite(s->fd, buf, (size_t)n, off);
		break;
	case 1:
		ret = pwrite(s->fd, buf, (size_t)n, off);
		break;
	case 2:
	case 3:
		check_seek(r, s, off, SEEK_SET);
		ret = write(s->fd, buf, (size_t)n);
		s->d->pos += n;
		break;
	case 4:
		ret = raw(SYS_ftruncate, s->fd, off);
		n = 0;
		break;
	default:
		ret = ftruncate(s->fd, off);
		n = 0;
	}
	if (ret != n)
		differs(r, s, "a write or truncation of the reader's own failed");
	r->size = raw_size(s->fd);
	check_seek(r, s, 0, SEEK_CUR);
}

/* ---- descriptors ---- */

static void leave(struct slot *s)
{
	if (!s->d)
		return;
	close(s->fd);
	if (--s->d->refs == 0)
		free(s->d);
	s->d = NULL;
}

/* Opens the slot anew: another open, or a dup of a neighbour. */
static void renew(struct reader *r, struct slot *s)
{
	struct slot *from = &r->slot[rng_below(&r->rng, SLOTS)];
	uint64_t step = r->x->note.step;

	leave(s);
	s->duped = from->d && rng_one_in(&r->rng, 4);
	if (s->duped) {
		s->d = from->d;
		s->fd = rng_one_in(&r->rng, 2) ? dup(from->fd)
					       : fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
	} else {
		s->d = calloc(1, sizeof(*s->d));
		s->d->writable = !r->x->opt.read_only && rng_one_in(&r->rng, 3);
		int flags = s->d->writable ? O_RDWR : O_RDONLY;

		if (r->x->opt.read_only)
			snprintf(r->path, sizeof(r->path), "%s/f%d", r->x->opt.dir,
				 (int)rng_below(&r->rng, READ_ONLY_FILES));
		s->fd = rng_one_in(&r->rng, 2)
				? open(r->path, flags)
				: openat(AT_FDCWD, r->path, flags | O_CLOEXEC);
	}
	if (s->fd < 0) {
		fprintf(stderr, "exact: %s: %s\n", r->path, strerror(errno));
		exit(2);
	}
	s->d->refs++;
	r->x->tally.opens++;
	s->opened = step;
	/* Most live long, for what is learnt at the opening to grow stale. */
	s->until = step + (uint64_t)(rng_one_in(&r->rng, 2)
					     ? rng_between(&r->rng, 8, 40)
					     : rng_between(&r->rng, 200, 1000));
	r->size = raw_size(s->fd);
	burst(r, s, rng_between(&r->rng, 48, 96));
}

/* ---- turns ---- */

static void one_turn(struct reader *r)
{
	bool replaced = r->replaced != r->x->note.replaced;

	r->replaced = r->x->note.replaced;
	for (int i = 0; i < SLOTS; i++) {
		struct slot *s = &r->slot[i];

		if (!s->d || r->x->note.step >= s->until ||
		    (replaced && rng_one_in(&r->rng, 2)))
			renew(r, s);
	}
	/* One slot often turn after turn, so that what it knows is just one step
	 * old; of the others each what it knew some steps ago. */
	if (rng_one_in(&r->rng, 2))
		r->favourite = (int)rng_below(&r->rng, SLOTS);
	for (int64_t slots = rng_below(&r->rng, 3); slots >= 0; slots--) {
		int which = slots ? (int)rng_below(&r->rng, SLOTS) : r->favourite;
		struct slot *s = &r->slot[which];
		int64_t reads = rng_between(&r->rng, 2, 12);

		r->size = raw_size(s->fd);
		if (s->d->writable && rng_one_in(&r->rng, 20))
			change_it_ourselves(r, s);
		for (; reads > 0; reads--) {
			if (rng_one_in(&r->rng, 8))
				some_seek(r, s);
			else if (rng_one_in(&r->rng, 300))
				check_bad_buffer(r, s);
			else
				some_read(r, s);
		}
		if (rng_one_in(&r->rng, 2))
			burst(r, s, rng_between(&r->rng, 8, 48));
	}
}

/* With a second thread the library must take other paths. */
static void *idle(void *arg)
{
	struct exact *x = arg;

	while (atomic_load(&x->whose) != TURN_OVER)
		raw_sleep_ns(200 * 1000 * 1000);
	return NULL;
}

static void *map_or_exit(size_t n)
{
	void *at =
		mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		exit(2);
	return at;
}

int reader_run(struct exact *x)
{
	struct reader r = {.x = x, .rng = ~x->opt.seed};
	pthread_t thread;
	bool threaded = false;

	raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
	snprintf(r.path, sizeof(r.path), "%s/file", x->opt.dir);
	for (int i = 0; i < ARENAS; i++)
		r.arena[i] = map_or_exit(ARENA);
	r.truth = map_or_exit(ARENA);
	r.bad = map_or_exit(3 * (size_t)PAGE);
	mprotect(r.bad + 2 * PAGE, (size_t)PAGE, PROT_READ);

	while (turn_await_reader_side(x) == TURN_READER) {
		one_turn(&r);
		if (!threaded && x->note.step > x->opt.steps / 2)
			threaded = pthread_create(&thread, NULL, idle, x) == 0;
		turn_give(x, TURN_WRITER);
	}
	if (threaded)
		pthread_join(thread, NULL);
	for (int i = 0; i < SLOTS; i++)
		leave(&r.slot[i]);
	return 0;
}
