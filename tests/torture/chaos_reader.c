/* chaos_reader.c - see chaos.h: reading, and judging what was read. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos.h"
#include "free_word.h"
#include "rng.h"

#define MAX_READ 8192
#define THREADS_EACH 4

/* One thread of a reader. */
struct reading {
	uint64_t rng;
	int number; /* of the file */
	int fd;
	bool shared; /* the position is another's, too: by place only */
	uint64_t buf[MAX_READ / 8];
};

static bool over(void)
{
	return atomic_load(&crew->go) != CHAOS_READ || me->wrongs;
}

/* What is known of the records under a read, before it. */
struct known {
	uint32_t resizing;
	uint32_t done[MAX_READ / RECORD + 2];
};

static struct known look(const struct reading *r, int64_t off, int64_t n)
{
	struct chaos_file *f = &chaos_shared()->file[r->number];
	struct known k = {.resizing = atomic_load(&f->resizing)};
	int64_t first = off / RECORD;

	for (int64_t i = 0; i <= (off + n - 1) / RECORD - first; i++)
		k.done[i] = atomic_load(&f->done[first + i]);
	return k;
}

static void judge(struct reading *r, const struct known *before, int64_t off, int64_t n,
		  ssize_t got)
{
	struct chaos_file *f = &chaos_shared()->file[r->number];
	bool whole =
		!(before->resizing & 1) && atomic_load(&f->resizing) == before->resizing;
	int64_t first = off / RECORD;

	if (got < 0 || (whole && got != n)) {
		crew_wrong("file %d: read of %lld at %lld gave %zd, errno %d", r->number,
			   (long long)n, (long long)off, got, errno);
		return;
	}
	for (int64_t i = 0; i < got / 8; i++) {
		int64_t record = (off + 8 * i) / RECORD;
		uint32_t place = (uint32_t)((off + 8 * i) % RECORD / 8);
		uint64_t w = r->buf[i];
		uint32_t id = (uint32_t)(r->number * RECORDS + record);
		uint32_t done = before->done[record - first];
		uint32_t begun = atomic_load(&f->begun[record]);
		/* Where a write is in flight a word may be of two versions. */
		uint64_t sure = done == begun ? UINT64_MAX : ~VERSION_BITS;

		if ((!w && !whole) || !((w ^ free_word(done, id, place)) & sure))
			continue;
		crew_wrong("file %d: %llx at %lld: version %u, of %u to %u%s", r->number,
			   (unsigned long long)w, (long long)off + 8 * (long long)i,
			   free_word_version(w), done, begun,
			   whole ? "" : ", size in flux");
		return;
	}
	atomic_fetch_add(&me->reads, 1);
}

static void read_at(struct reading *r, int64_t off, int64_t n)
{
	struct known before = look(r, off, n);

	judge(r, &before, off, n, timed_pread(r->fd, r->buf, (size_t)n, off));
}

/* At the position, which is known to be there. Returns where it is then. */
static int64_t read_next(struct reading *r, int64_t off, int64_t n)
{
	struct known before = look(r, off, n);
	ssize_t got = timed_read(r->fd, r->buf, (size_t)n);

	judge(r, &before, off, n, got);
	return off + (got > 0 ? got : 0);
}

static void seek(struct reading *r, int64_t off)
{
	off_t to = timed_lseek(r->fd, off, SEEK_SET);

	if (to != off)
		crew_wrong("lseek to %lld gave %lld", (long long)off, (long long)to);
}

static void seek_end(struct reading *r)
{
	struct chaos_file *f = &chaos_shared()->file[r->number];
	uint32_t before = atomic_load(&f->resizing);
	off_t to = timed_lseek(r->fd, 0, SEEK_END);

	if (to < 0 ||
	    (!(before & 1) && atomic_load(&f->resizing) == before && to != FILE_BYTES))
		crew_wrong("the end is at %lld", (long long)to);
}

/* Some reads in sequence, or here and there, by position or by place. */
static void some_reads(struct reading *r, int64_t reads)
{
	int64_t n = 8 * rng_length(&r->rng, MAX_READ / 8);
	bool here = !r->shared && rng_one_in(&r->rng, 2);
	bool in_sequence = rng_one_in(&r->rng, 2);
	int64_t off = 8 * rng_below(&r->rng, (FILE_BYTES - n) / 8);

	if (here)
		seek(r, off);
	while (reads-- > 0 && !over()) {
		if (off > FILE_BYTES - n || !in_sequence) {
			off = 8 * rng_below(&r->rng, (FILE_BYTES - n) / 8);
			if (here && rng_one_in(&r->rng, 8))
				seek_end(r);
			if (here)
				seek(r, off);
		}
		if (here) {
			int64_t to = read_next(r, off, n);

			if (to != off + n)
				seek(r, off + n);
		} else {
			read_at(r, off, n);
		}
		off += n;
	}
}

static bool open_any(struct reading *r)
{
	r->number = (int)rng_below(&r->rng, FILES);
	r->fd = timed_open(chaos_shared()->path[r->number],
			   (rng_one_in(&r->rng, 4) ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (r->fd < 0)
		crew_wrong("open: errno %d", errno);
	return r->fd >= 0;
}

static void done_with(struct reading *r)
{
	if (timed_close(r->fd))
		crew_wrong("close: errno %d", errno);
}

/* One opening: mostly short, now and then long enough to earn any window. */
static void opening(struct reading *r, bool brief)
{
	if (!open_any(r))
		return;
	some_reads(r, rng_length(&r->rng, brief ? 60 : 4000));
	if (!brief && rng_one_in(&r->rng, 3)) {
		int twin = dup(r->fd);

		some_reads(r, 50);
		close(twin);
	}
	done_with(r);
}

static void *thread(void *arg)
{
	struct reading *r = arg;
	struct reading own = *r;

	own.rng += (uintptr_t)&own; /* stacks differ */
	own.shared = true;
	for (int i = 0; i < 20 && !over(); i++) {
		some_reads(&own, 100); /* from the one that all have */
		struct reading another = {.rng = rng_next(&own.rng)};

		opening(&another, true);
	}
	return NULL;
}

static void with_threads(struct reading *r)
{
	pthread_t t[THREADS_EACH];
	int n = 0;

	if (!open_any(r))
		return;
	while (n < THREADS_EACH && !pthread_create(&t[n], NULL, thread, r))
		n++;
	while (n)
		pthread_join(t[--n], NULL);
	done_with(r);
}

static void with_forks(struct reading *r)
{
	pid_t parent = getpid();
	pid_t pid;
	int status = 0;

	if (!open_any(r))
		return;
	some_reads(r, rng_length(&r->rng, 2000));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unsetenv("PAGEWELL_POINT"); /* that was for the member itself */
		if (getppid() != parent)
			_exit(0);
		r->rng ^= 1;
		r->shared = true;
		some_reads(r, 500);
		opening(&(struct reading){.rng = rng_next(&r->rng)}, false);
		if (r->rng & 1)
			exit(crew_status_of_me());
		_exit(crew_status_of_me());
	}
	r->shared = true;
	some_reads(r, 500);
	r->shared = false;
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		crew_wrong("fork %d, status %x", pid, (unsigned)status);
	some_reads(r, 50);
	done_with(r);
}

int chaos_reader(char **argv)
{
	int kind = atoi(argv[3]);
	struct reading r = {.rng = crew_now() ^ (uint64_t)getpid() << 40};

	crew_join(argv[2]);
	atomic_store(&me->ready, CHAOS_STARTED);
	while (!over()) {
		if (kind == THREADS)
			with_threads(&r);
		else if (kind == FORKS)
			with_forks(&r);
		else
			opening(&r, kind == OPENS);
		if (kind != OPENS || rng_one_in(&r.rng, 16))
			crew_nap_ms((unsigned)rng_below(&r.rng, 20));
		if (kind == OPENS && rng_one_in(&r.rng, 200))
			return crew_status_of_me(); /* others come after it */
	}
	atomic_store(&me->ready, CHAOS_CLOSED);
	while (atomic_load(&crew->go) != CHAOS_LEAVE && !me->wrongs)
		crew_nap_ms(1);
	return crew_status_of_me();
}

int chaos_all(char **argv)
{
	struct reading r = {.rng = 1};

	crew_join(argv[2]);
	for (r.number = 0; r.number < FILES; r.number++) {
		r.fd = timed_open(chaos_shared()->path[r.number], O_RDONLY | O_CLOEXEC);
		for (int i = 0; i < 4000; i++)
			read_at(&r, RECORD * (i % 64), RECORD);
		for (int64_t at = 0; at < FILE_BYTES; at += RECORD)
			read_at(&r, at, RECORD);
		done_with(&r);
	}
	return crew_status_of_me();
}
