/*
 * stores_steps.c - the parent, a plain program: says what is to be written, keeps a model of
 * the file in memory, looks at the file in every way there is after each batch, and changes it
 * in between.
 */
#include "stores.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "raw.h"
#include "rng.h"

#define ALIGN ((int64_t)4096)
#define LONG_AGO 1000000000

/* Writes one after the other may go beyond MAX_FILE before the file is cut again. */
#define ROOM (2 * MAX_FILE)

static unsigned char model[ROOM];
static int64_t size;
static struct {
	int64_t pos;
	int mode;
} slot[SLOTS];

static uint64_t rng;
static int fd = -1;
static int direct = -1; /* the same file, O_DIRECT; -1: can't be had */
static unsigned char *map;
static unsigned char *aligned;
static char why[256];
static int64_t hot; /* where most of a while's writes go */
static bool old_times;
static bool wrote_last;	 /* after the times were set, if they were */
static int64_t from, to; /* what has been written in this batch */

static const char *differs(const char *what, int64_t at, int64_t is, int64_t should)
{
	snprintf(why, sizeof(why), "%s at %" PRId64 ": %" PRId64 ", should be %" PRId64,
		 what, at, is, should);
	return why;
}

static int64_t coarse_ns(void)
{
	struct timespec t = {0, 0};

	raw(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t tick_ns(void)
{
	struct timespec t = {0, 0};

	raw(SYS_clock_getres, CLOCK_REALTIME_COARSE, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fill(unsigned char *to, int64_t n)
{
	uint64_t word = rng_next(&rng);
	bool zeros = rng_one_in(&rng, 12);

	for (int64_t i = 0; i < n; i++)
		to[i] = zeros ? 0 : (unsigned char)(word + (uint64_t)i * 37);
}

static int64_t some_place(int64_t below)
{
	if (!rng_one_in(&rng, 12))
		return (hot + rng_below(&rng, 8192)) % (below > 0 ? below : 1);
	if (rng_one_in(&rng, 4)) /* about the end */
		return size > 300 ? size - rng_below(&rng, 300) : 0;
	return rng_below(&rng, below);
}

/* ---- orders ------------------------------------------------------------------------- */

static void choose(struct order *o, uint32_t i, uint32_t usual)
{
	static const uint32_t others[] = {
		CALL_WRITE, CALL_WRITE,	 CALL_LSEEK,   CALL_LSEEK,  CALL_READ, CALL_PREAD,
		CALL_PREAD, CALL_WRITEV, CALL_PWRITEV, CALL_PWRITE, CALL_TIMES};
	int64_t r = rng_below(&rng, 10);

	*o = (struct order){.slot = rng_one_in(&rng, 6), .data = i * MAX_IO};
	o->call = r < 8 ? usual
			: others[rng_below(&rng, sizeof(others) / sizeof(others[0]))];
	if (rng_one_in(&rng, 300))
		o->call = CALL_REOPEN;
	else if (rng_one_in(&rng, 500))
		o->call = CALL_TRUNCATE;
	o->n = (uint32_t)rng_length(&rng, rng_one_in(&rng, 10) ? MAX_IO : 700);
	o->off = some_place(size);
	if (rng_one_in(&rng, 200))
		o->off = -1 - rng_below(&rng, 3);
	if (o->off + o->n > MAX_FILE)
		o->n = (uint32_t)(MAX_FILE - o->off);
	switch (o->call) {
	case CALL_WRITE:
	case CALL_WRITEV:
		o->n = o->n > 3000 ? 3000 : o->n;
		/* fallthrough */
	case CALL_PWRITE:
	case CALL_PWRITEV:
		o->arg = (uint32_t)rng_below(&rng, o->n + 1);
		break;
	case CALL_LSEEK:
		o->arg = SEEK_SET;
		if (rng_one_in(&rng, 4)) {
			o->arg = rng_one_in(&rng, 2) ? SEEK_CUR : SEEK_END;
			o->off = -rng_below(&rng, 2000);
		}
		break;
	case CALL_REOPEN:
		o->arg = rng_one_in(&rng, 3) ? O_WRONLY : O_RDWR;
		break;
	case CALL_TRUNCATE:
		o->off = rng_one_in(&rng, 2) ? size - rng_below(&rng, 5000)
					     : rng_below(&rng, MAX_FILE);
		break;
	default:
		break;
	}
}

/* ---- what should come of them ----------------------------------------------------------- */

static void resize(int64_t now)
{
	if (now < size)
		memset(model + now, 0, (size_t)(size - now));
	size = now;
	wrote_last = true;
}

static int64_t put(int64_t off, const unsigned char *data, int64_t n)
{
	if (off < 0)
		return -EINVAL;
	memcpy(model + off, data, (size_t)n);
	if (n && off + n > size)
		size = off + n;
	from = off < from ? off : from;
	to = off + n > to ? off + n : to;
	wrote_last |= n > 0;
	return n;
}

static int64_t get(int64_t off, const unsigned char *got, int64_t n, bool *same)
{
	if (off < 0)
		return -EINVAL;
	n = off >= size ? 0 : off + n > size ? size - off : n;
	*same = !memcmp(model + off, got, (size_t)n);
	return n;
}

static int64_t seek(int64_t *pos, const struct order *o)
{
	int64_t at = o->off;

	if (o->arg == SEEK_CUR)
		at += *pos;
	else if (o->arg == SEEK_END)
		at += size;
	return at < 0 ? -EINVAL : (*pos = at);
}

static int64_t expected(const struct order *o, const unsigned char *data, bool *same)
{
	int64_t *pos = &slot[o->slot].pos;
	int64_t n = o->n;

	switch (o->call) {
	case CALL_PWRITE:
	case CALL_PWRITEV:
		return put(o->off, data, n);
	case CALL_WRITE:
	case CALL_WRITEV:
		n = put(*pos, data, n);
		*pos += n;
		return n;
	case CALL_LSEEK:
		return seek(pos, o);
	case CALL_READ:
	case CALL_PREAD:
		if (o->call == CALL_PREAD && o->off < 0)
			return -EINVAL;
		if (slot[o->slot].mode == O_WRONLY)
			return -EBADF;
		n = get(o->call == CALL_READ ? *pos : o->off, data, n, same);
		if (o->call == CALL_READ)
			*pos += n;
		return n;
	case CALL_REOPEN:
		slot[o->slot].mode = (int)o->arg;
		*pos = 0;
		return 0;
	case CALL_TRUNCATE:
		if (o->off < 0)
			return -EINVAL;
		resize(o->off);
		return 0;
	default:
		old_times = true;
		wrote_last = false;
		return 0;
	}
}

static void orders(struct shared *s, uint32_t count)
{
	static const uint32_t usual[] = {CALL_PWRITE,  CALL_WRITE,  CALL_PWRITE,
					 CALL_PWRITEV, CALL_WRITEV, CALL_WRITE};
	uint32_t one = usual[rng_below(&rng, sizeof(usual) / sizeof(usual[0]))];

	s->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct order *o = &s->order[i];

		choose(o, i, one);
		fill(s->data + o->data, o->n);
	}
	/* Back to where there is room for what follows. */
	for (uint32_t i = 0; i < SLOTS && (count > SLOTS || slot[i].pos > MAX_FILE); i++)
		s->order[count > SLOTS ? i : 0] =
			(struct order){.call = CALL_LSEEK,
				       .slot = i,
				       .off = some_place(size / 2 + 1),
				       .arg = SEEK_SET};
}

static const char *replay(struct shared *s, struct stores_tally *t)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct order *o = &s->order[i];
		const struct answer *a = &s->answer[i];
		int64_t is = a->ret < 0 ? -a->err : a->ret;
		bool same = true;
		int64_t should = expected(o, s->data + o->data, &same);
		static const char *const name[CALL_KINDS] = {
			"pwrite", "pwritev", "write",  "writev",    "lseek",
			"read",	  "pread",   "reopen", "ftruncate", "futimens"};

		t->steps++;
		t->writes += o->call <= CALL_WRITEV;
		t->reads += o->call == CALL_READ || o->call == CALL_PREAD;
		if (is != should)
			return differs(name[o->call], o->off, is, should);
		if (!same)
			return differs(name[o->call], o->off, -1, 0);
	}
	return NULL;
}

/* ---- looking ------------------------------------------------------------------------------ */

static const char *compare(const char *how, const unsigned char *is, int64_t off,
			   int64_t n)
{
	if (!memcmp(is, model + off, (size_t)n))
		return NULL;
	for (int64_t i = 0; i < n; i++)
		if (is[i] != model[off + i])
			return differs(how, off + i, is[i], model[off + i]);
	return NULL;
}

static const char *look_by(int with, const char *how, int64_t off, int64_t n)
{
	int64_t got = raw_pread(with, aligned, (size_t)n, off);
	int64_t there = off >= size ? 0 : off + n > size ? size - off : n;

	if (got != there)
		return differs(how, off, got, there);
	return compare(how, aligned, off, there);
}

static const char *look_at_times(const struct stat *st, int64_t before, bool written)
{
	int64_t m = st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	int64_t c = st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;

	if (old_times && !wrote_last) {
		if (st->st_mtim.tv_sec != LONG_AGO)
			return differs("mtime that was set", 0, st->st_mtim.tv_sec,
				       LONG_AGO);
		return NULL;
	}
	old_times = false;
	if (written && m < before - tick_ns())
		return differs("mtime", 0, m, before);
	if (written && c < before - tick_ns())
		return differs("ctime", 0, c, before);
	return NULL;
}

/* At what the batch wrote, and about it. */
static const char *look(int64_t before, bool written)
{
	const char *wrong = NULL;
	struct stat st;

	raw(SYS_fstat, fd, &st);
	if (st.st_size != size)
		return differs("size", 0, st.st_size, size);
	wrong = look_at_times(&st, before, written);
	from = from > 5000 ? from - 5000 : 0;
	to = to + 5000 < ROOM ? to + 5000 : ROOM;
	if (rng_one_in(&rng, 10)) {
		from = 0;
		to = ROOM;
	}
	if (!wrong && to > from)
		wrong = look_by(fd, "pread", from, to - from);
	if (!wrong && to > from && direct >= 0 && rng_one_in(&rng, 12))
		wrong = look_by(direct, "O_DIRECT", from & -ALIGN,
				((to + ALIGN) & -ALIGN) - (from & -ALIGN));
	if (to > size)
		to = size;
	if (!wrong && to > from)
		wrong = compare("mapping", map + from, from, to - from);
	return wrong;
}

static const char *batch(struct shared *s, struct stores_tally *t)
{
	int64_t before = coarse_ns();
	const char *wrong;

	orders(s, rng_one_in(&rng, 3) ? 1 : (uint32_t)rng_between(&rng, 8, BATCH));
	if (!stores_pass(s, WRITER))
		return "the writer is gone";
	t->turns++;
	from = ROOM;
	to = 0;
	wrong = replay(s, t);
	return wrong ? wrong : look(before, to > 0);
}

/* ---- what a stranger does meanwhile ----------------------------------------------------- */

static void overwrite(int64_t off, int64_t n, bool by_map)
{
	fill(aligned, n);
	if (by_map)
		memcpy(map + off, aligned, (size_t)n);
	else
		raw_pwrite(fd, aligned, (size_t)n, off);
	put(off, aligned, n);
}

static void punch(int mode, int64_t off, int64_t n)
{
	if (n > 0 && !raw(SYS_fallocate, fd, mode | FALLOC_FL_KEEP_SIZE, off, n) &&
	    off < size)
		memset(model + off, 0, (size_t)(off + n > size ? size - off : n));
}

static void stamp_old(void)
{
	const struct timespec t[2] = {{LONG_AGO, 0}, {LONG_AGO, 0}};
	int64_t now = coarse_ns();

	raw(SYS_utimensat, fd, NULL, t, 0);
	old_times = true;
	wrote_last = false;
	/* What others set may be left as it is by stores of the same tick (store.h). */
	while (coarse_ns() == now)
		raw_sleep_ns(500000);
}

static void cut(int64_t now)
{
	raw(SYS_ftruncate, fd, now);
	resize(now);
}

static void stranger(void)
{
	int64_t off = some_place(size);
	int64_t n = rng_length(&rng, MAX_IO);

	if (off + n > MAX_FILE)
		n = MAX_FILE - off;
	switch (rng_below(&rng, 12)) {
	case 0:
		cut(rng_one_in(&rng, 3) ? rng_below(&rng, size + 1) : off);
		if (rng_one_in(&rng, 2))
			break;
		/* fallthrough */
	case 1:
	case 2:
		cut(size + rng_below(&rng, MAX_FILE - size + 1));
		break;
	case 3:
		punch(FALLOC_FL_PUNCH_HOLE, off, n);
		wrote_last = true;
		break;
	case 4:
		punch(FALLOC_FL_PUNCH_HOLE, off & -ALIGN, (n + ALIGN) & -ALIGN);
		wrote_last = true;
		break;
	case 5:
	case 6:
		overwrite(off, n, false);
		break;
	case 7:
		if (off + n <= size)
			overwrite(off, n, true);
		break;
	case 8:
		memset(aligned, 0, (size_t)size);
		raw_pwrite(fd, aligned, (size_t)size, 0);
		put(0, aligned, size);
		break;
	case 9:
		stamp_old();
		break;
	case 10:
		raw(SYS_fchmod, fd, rng_one_in(&rng, 2) ? 0600 : 0640);
		break;
	default:
		raw(SYS_fdatasync, fd);
		raw(SYS_fadvise64, fd, 0, 0, 4); /* DONTNEED */
		break;
	}
	/* Enough of the file to write on. */
	if (size < 40000) {
		overwrite(size, 100000, false);
	}
	if (!rng_one_in(&rng, 4))
		overwrite(size - 4000, 4000, false); /* witnesses */
}

static bool ready(const char *path)
{
	void *m;

	fd = (int)raw_open(path, O_RDWR, 0);
	direct = (int)raw_open(path, O_RDONLY | O_DIRECT, 0);
	m = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || m == MAP_FAILED)
		return false;
	map = m;
	if (posix_memalign((void **)&aligned, ALIGN, ROOM + ALIGN))
		return false;
	for (int i = 0; i < SLOTS; i++)
		slot[i].mode = O_RDWR;
	return true;
}

const char *stores_steps(struct shared *s, const struct stores_options *o,
			 struct stores_tally *t)
{
	const char *wrong = NULL;

	rng = o->seed;
	if (!ready(s->path))
		return "can't open the file";
	overwrite(0, 150000, false);
	while (!wrong && t->steps < o->steps) {
		if (rng_one_in(&rng, 60))
			hot = rng_below(&rng, size) & -ALIGN;
		if (rng_one_in(&rng, 8)) {
			t->strangers++;
			stranger();
		}
		wrong = batch(s, t);
		if (size > MAX_FILE)
			cut(MAX_FILE / 2);
	}
	return wrong;
}
