/*
 * The writer of the free-running mode: rewrites records of a file and cuts and
 * regrows the file while readers read it. Before and after each change it says
 * so in shared memory, so that readers can tell what some moment explains.
 *
 * One way (--one-way), nothing is written while readers run: a truncation is the
 * only change in flight, and the file grows back while no reader reads. Then zeros
 * can only be those of a truncation under way, seen between the zeroing of the
 * first byte copied and that of the witness; on a file system whose own reads
 * exclude truncation (XFS) reads by the kernel show none.
 */
#include "exact.h"
#include "free_word.h"
#include "raw.h"
#include "rng.h"

#include <stdio.h>
#include <string.h>

#define FULL ((int64_t)RECORD * RECORDS)
#define MAX_RUN 32
#define POLL_NS (5 * 1000 * 1000)

const char *const free_kind_name[K_KINDS] = {
	"zeros",     "torn records", "stale records",	 "future records",
	"misplaced", "past the end", "short of the end", "errors",
};

/* A priority above the readers': what interrupts a read must come in the middle
 * of it, also where there are fewer processors than processes. */
static void run_ahead(void)
{
	struct {
		int priority;
	} fifo = {1};

	raw(SYS_sched_setscheduler, 0, 1 /* SCHED_FIFO */, &fifo);
}

struct free_writer {
	struct exact *x;
	struct free_state *f;
	uint64_t rng;
	int fd;
	uint32_t version;
	bool failed;
};

void free_sum(const struct exact *x, struct count sum[SOURCES])
{
	memset(sum, 0, SOURCES * sizeof(sum[0]));
	for (int t = 0; t < FREE_THREADS; t++) {
		for (int by = 0; by < SOURCES; by++) {
			const struct count *c = &x->free.thread[t].count[by];

			sum[by].reads += c->reads;
			sum[by].bytes += c->bytes;
			for (int k = 0; k < K_KINDS; k++)
				sum[by].kind[k] += c->kind[k];
		}
	}
}

static void size_changes(struct free_writer *w)
{
	atomic_fetch_add(&w->f->size_seq, 1);
}

static void size_is(struct free_writer *w, int64_t size)
{
	atomic_store(&w->f->size, size);
	atomic_fetch_add(&w->f->size_seq, 1);
}

/* Readers run meanwhile; waking up interrupts them somewhere. */
static void doze(struct free_writer *w)
{
	if (!w->f->pause)
		raw_sleep_ns(rng_between(&w->rng, 1, 100) * 1000);
}

/* Writes records first .. first+count-1, each in a new version. */
static void write_records(struct free_writer *w, uint32_t first, uint32_t count)
{
	static uint64_t buf[MAX_RUN][RECORD / 8];
	size_t n = (size_t)count * RECORD;

	w->version++;
	atomic_fetch_add(&w->f->writes, 1);
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t place = 0; place < RECORD / 8; place++)
			buf[i][place] = free_word(w->version, first + i, place);
		atomic_store(&w->f->begun[first + i], w->version);
	}
	w->failed |= raw_pwrite(w->fd, buf, n, (int64_t)first * RECORD) != (long)n;
	for (uint32_t i = 0; i < count; i++)
		atomic_store(&w->f->done[first + i], w->version);
}

/* Mostly the record aimed at or its neighbours, so that readers often meet a
 * write under way; sometimes a long run of records. */
static void rewrite_some(struct free_writer *w)
{
	int64_t count = rng_one_in(&w->rng, 20) ? rng_length(&w->rng, MAX_RUN) : 1;
	int64_t first = atomic_load(&w->f->aim) / RECORD + rng_between(&w->rng, -1, 1);

	if (rng_one_in(&w->rng, 20))
		first = rng_below(&w->rng, RECORDS);
	if (first > RECORDS - count)
		first = RECORDS - count;
	if (first < 0)
		first = 0;
	write_records(w, (uint32_t)first, (uint32_t)count);
}

/* From the record that the end lies in to the last one. */
static void grow_back(struct free_writer *w)
{
	int64_t first = atomic_load(&w->f->size) / RECORD;

	while (first < RECORDS && !w->failed) {
		if (rng_one_in(&w->rng, 4))
			doze(w);
		int64_t count = rng_between(&w->rng, 1, MAX_RUN);

		if (count > RECORDS - first)
			count = RECORDS - first;
		size_changes(w);
		write_records(w, (uint32_t)first, (uint32_t)count);
		first += count;
		size_is(w, first * RECORD);
	}
}

static void pause_readers(struct free_writer *w)
{
	atomic_store(&w->f->pause, 1);
	for (int t = 0; t < FREE_THREADS; t++) {
		while (atomic_load(&w->f->thread[t].reading) & 1 && !reader_is_gone())
			raw_sleep_ns(20000);
	}
}

static uint64_t reads_so_far(struct free_writer *w)
{
	uint64_t sum = 0;

	for (int t = 0; t < FREE_THREADS; t++)
		sum += atomic_load(&w->f->thread[t].reading) / 2;
	return sum;
}

/* Time by the readers' clock: however busy the machine, they come to read where the
 * next change will be, and a library to know the file as it is before it. */
static void let_read(struct free_writer *w)
{
	uint64_t until = reads_so_far(w) + (uint64_t)rng_between(&w->rng, 4, 24);

	for (int i = 0; i < 1000 && reads_so_far(w) < until; i++)
		doze(w);
}

static void take_aim(struct free_writer *w)
{
	/* Mostly near the end, for growing back takes a while. */
	int64_t behind =
		rng_below(&w->rng, rng_one_in(&w->rng, 8) ? FULL : FREE_MAX_READ);

	atomic_store(&w->f->aim, FULL - 1 - behind);
	let_read(w);
}

static void cut(struct free_writer *w)
{
	int64_t aim = atomic_load(&w->f->aim);

	atomic_fetch_add(&w->f->cuts, 1);
	size_changes(w);
	w->failed |= raw(SYS_ftruncate, w->fd, aim) != 0;
	size_is(w, aim);
}

static void one_round(struct free_writer *w)
{
	take_aim(w);
	if (w->x->opt.one_way) {
		cut(w);
		pause_readers(w);
		grow_back(w);
		atomic_store(&w->f->pause, 0);
		return;
	}
	for (int64_t i = rng_below(&w->rng, 16); i > 0 && !w->failed; i--) {
		rewrite_some(w);
		doze(w);
	}
	cut(w);
	if (!rng_one_in(&w->rng, 4))
		doze(w);
	grow_back(w);
}

/* A kind of artefact that only the library has shown so far. */
static bool in_doubt(struct exact *x)
{
	struct count sum[SOURCES];

	free_sum(x, sum);
	for (int k = 0; k < K_KINDS; k++) {
		if (sum[BY_LIBRARY].kind[k] && !sum[BY_KERNEL].kind[k])
			return true;
	}
	return false;
}

static const char *run_for(struct free_writer *w, uint64_t ns, bool while_in_doubt)
{
	uint64_t end = raw_now_ns() + ns;
	uint64_t look = 0;

	while (raw_now_ns() < end) {
		one_round(w);
		if (w->failed)
			return "the writer failed (disk full?)";
		if (raw_now_ns() < look)
			continue;
		look = raw_now_ns() + POLL_NS;
		if (reader_is_gone())
			return "a reader died";
		if (while_in_doubt && !in_doubt(w->x))
			break;
	}
	return NULL;
}

/*
 * If after half of the time a kind has been seen with the library only, which
 * may be chance, the kernel alone gets the other half to show it too.
 */
const char *free_write(struct exact *x)
{
	struct free_writer w = {.x = x, .f = &x->free, .rng = x->opt.seed};
	uint64_t half = (uint64_t)x->opt.free_seconds * 500000000u;
	char path[1100];
	const char *why;

	snprintf(path, sizeof(path), "%s/free", x->opt.dir);
	w.fd = (int)raw_open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (w.fd < 0)
		return "can't create a file in the directory";
	grow_back(&w);
	if (w.failed)
		return "can't write the first file";
	turn_give(x, TURN_READER);
	run_ahead();
	why = run_for(&w, half, false);
	if (!why && in_doubt(x) && !x->opt.one_way) {
		atomic_store(&w.f->kernel_only, 1);
		why = run_for(&w, half, true);
	} else if (!why) {
		why = run_for(&w, half, false);
	}
	atomic_store(&w.f->stop, 1);
	return why;
}
