/*
 * The writer of the turn-based mode: one change to the file per turn, each of
 * another kind, by raw system calls or stores. When a step has returned, the
 * change is complete, and every read from then on must see it.
 *
 * Steps are weighted so that the file stays between nothing and some 2 MiB and
 * most of it is not zero: zeros give a reader no witness, and a library that
 * serves nothing proves nothing.
 */
#include "exact.h"
#include "raw.h"
#include "rng.h"

#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define POOL ((int64_t)4 << 20)
#define SOURCE ((int64_t)1 << 20)
#define MAX_CHUNK ((int64_t)64 << 10)
#define MAX_APPEND ((int64_t)1 << 20)
#define TMPFS_MAGIC 0x01021994

/* A step that makes no sense for the file as it is; another is drawn. */
#define NOT_NOW 1

struct writer {
	struct exact *x;
	uint64_t rng;
	char path[1100], spare[1100], source_path[1100];
	int fd, source, direct; /* direct: -errno where O_DIRECT is refused */
	int64_t size;		/* now, by fstat at the start of the step */
	int64_t block;
	bool tmpfs, holes;
	size_t last;	     /* step */
	unsigned char *pool; /* POOL random bytes, and as many again to run into */
	unsigned char *map;  /* the whole file, kept over truncations; or NULL */
	int64_t stored;	     /* where the last stores went */
	struct note *note;
};

struct step {
	const char *name;
	int weight;
	long (*run)(struct writer *w);
	bool makes_zeros;
	bool may_be_refused; /* not every file system can */
};

static const unsigned char *random_bytes(struct writer *w)
{
	return w->pool + rng_below(&w->rng, POOL);
}

static void noted(struct writer *w, int64_t off, int64_t len)
{
	w->note->off = off;
	w->note->len = len;
}

/* Some range inside the file; false if the file is empty. */
static bool pick_range(struct writer *w, int64_t max, int64_t *off, int64_t *len)
{
	if (w->size == 0)
		return false;
	*off = rng_below(&w->rng, w->size);
	if (rng_one_in(&w->rng, 4))
		*off = w->size - 1 - rng_below(&w->rng, w->size < PAGE ? w->size : PAGE);
	*len = rng_length(&w->rng, max);
	if (*len > w->size - *off)
		*len = w->size - *off;
	noted(w, *off, *len);
	return true;
}

/* The same in whole blocks, which collapse and clone insist on. */
static bool pick_blocks(struct writer *w, int64_t *off, int64_t *len)
{
	int64_t blocks = w->size / w->block;

	if (blocks < 2)
		return false;
	*off = rng_below(&w->rng, blocks - 1) * w->block;
	*len = rng_length(&w->rng, MAX_CHUNK / w->block) * w->block;
	if (*len > (blocks - 1) * w->block - *off)
		*len = (blocks - 1) * w->block - *off;
	noted(w, *off, *len);
	return *len > 0;
}

static int64_t shorter(struct writer *w)
{
	int64_t size = w->size, to;

	switch (rng_below(&w->rng, 12)) {
	case 0:
		return rng_below(&w->rng, size);
	case 1: /* near a page's border */
	case 2:
	case 3:
		to = (size - rng_length(&w->rng, size)) & -PAGE;
		to += rng_between(&w->rng, -1, 1);
		break;
	case 4: /* inside the last page */
	case 5:
	case 6:
		to = size - rng_between(&w->rng, 1, PAGE);
		break;
	default:
		to = size - rng_length(&w->rng, size);
	}
	return to < 0 ? 0 : to >= size ? size - 1 : to;
}

static long write_all(struct writer *w, const void *from, int64_t len, int64_t off)
{
	long ret = raw_pwrite(w->fd, from, (size_t)len, off);

	if (ret >= 0 && ret != len)
		return -ENOSPC;
	return ret < 0 ? ret : 0;
}

static long set_size(struct writer *w, int64_t to)
{
	return raw(SYS_ftruncate, w->fd, to);
}

/* ---- the steps ---- */

static long step_overwrite(struct writer *w)
{
	int64_t off, len;

	if (!pick_range(w, MAX_CHUNK, &off, &len))
		return NOT_NOW;
	return write_all(w, random_bytes(w), len, off);
}

static long step_zeros(struct writer *w)
{
	static const unsigned char zeros[1 << 14];
	int64_t off, len;

	if (!pick_range(w, sizeof(zeros), &off, &len))
		return NOT_NOW;
	return write_all(w, zeros, len, off);
}

/* Little-endian counters, or longer records padded with zeros: a reader that
 * reads record by record finds no witness in the record's own last byte. */
static long step_records(struct writer *w)
{
	static unsigned char buf[1 << 14];
	int64_t off, len;
	int64_t record = rng_one_in(&w->rng, 2) ? 8 : 8 << rng_below(&w->rng, 8);

	if (!pick_range(w, sizeof(buf), &off, &len))
		return NOT_NOW;
	off -= off % record;
	memset(buf, 0, sizeof(buf));
	for (int64_t at = 0; at < len; at += record) {
		uint64_t count = rng_next(&w->rng) >> rng_between(&w->rng, 24, 60);

		memcpy(buf + at, &count, 8);
	}
	noted(w, off, len);
	return write_all(w, buf, len, off);
}

static long step_shrink(struct writer *w)
{
	if (w->size == 0)
		return NOT_NOW;

	int64_t to = shorter(w);
	noted(w, to, w->size - to);
	return set_size(w, to);
}

static long step_stretch(struct writer *w)
{
	int64_t len = rng_length(&w->rng, MAX_CHUNK);

	noted(w, w->size, len);
	return set_size(w, w->size + len);
}

/* Down and up again within one step: the size says nothing happened. */
static long step_regrow(struct writer *w)
{
	int64_t from = w->size;

	if (from == 0)
		return NOT_NOW;

	int64_t to = shorter(w);
	int64_t more = rng_one_in(&w->rng, 2) ? 0 : rng_length(&w->rng, MAX_CHUNK);
	long ret = set_size(w, to);

	noted(w, to, from - to + more);
	if (ret)
		return ret;
	if (rng_one_in(&w->rng, 4)) { /* zeros in place of the old bytes */
		w->holes = true;
		return set_size(w, from + more);
	}
	return write_all(w, random_bytes(w), from - to + more, to);
}

static long step_append(struct writer *w)
{
	int64_t max =
		w->size < (512 << 10) && rng_one_in(&w->rng, 4) ? MAX_APPEND : MAX_CHUNK;
	int64_t len = rng_length(&w->rng, max);

	noted(w, w->size, len);
	return write_all(w, random_bytes(w), len, w->size);
}

static long fallocate_range(struct writer *w, int mode, int64_t off, int64_t len)
{
	noted(w, off, len);
	return raw(SYS_fallocate, w->fd, mode, off, len);
}

static long step_punch(struct writer *w)
{
	int64_t off, len;

	if (!pick_range(w, MAX_CHUNK / 2, &off, &len))
		return NOT_NOW;
	return fallocate_range(w, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len);
}

static long step_zero_range(struct writer *w)
{
	int64_t off, len;
	int mode = FALLOC_FL_ZERO_RANGE;

	if (!pick_range(w, MAX_CHUNK / 2, &off, &len))
		return NOT_NOW;
	if (rng_one_in(&w->rng, 2))
		mode |= FALLOC_FL_KEEP_SIZE;
	return fallocate_range(w, mode, off, len + rng_below(&w->rng, 300));
}

static long step_collapse(struct writer *w)
{
	int64_t off, len;

	if (!pick_blocks(w, &off, &len))
		return NOT_NOW;
	return fallocate_range(w, FALLOC_FL_COLLAPSE_RANGE, off, len);
}

static long step_insert(struct writer *w)
{
	int64_t off, len;

	if (!pick_blocks(w, &off, &len))
		return NOT_NOW;
	if (len > 4 * w->block)
		len = 4 * w->block;
	return fallocate_range(w, FALLOC_FL_INSERT_RANGE, off, len);
}

static long step_preallocate(struct writer *w)
{
	int mode = rng_one_in(&w->rng, 2) ? FALLOC_FL_KEEP_SIZE : 0;

	return fallocate_range(w, mode, w->size, rng_length(&w->rng, MAX_CHUNK / 4));
}

static unsigned char *map_file(struct writer *w, int64_t len)
{
	long at = raw(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);

	return at < 0 && at > -4096 ? NULL : (unsigned char *)at;
}

/* Stores, mostly through a mapping as old as the file and near the last ones:
 * a page that is dirty already takes them without a fault, so that the kernel
 * does not notice either, and no time stamp changes. */
static long step_store(struct writer *w)
{
	int64_t off, len;
	unsigned char *map = w->map;

	if (!pick_range(w, MAX_CHUNK, &off, &len))
		return NOT_NOW;
	if (rng_one_in(&w->rng, 2) && w->stored + len <= w->size) {
		off = w->stored;
		noted(w, off, len);
	}
	if (!map || off + len > 2 * MAX_FILE || rng_one_in(&w->rng, 4))
		map = map_file(w, off + len);
	if (!map)
		return -ENODEV;
	memcpy(map + off, random_bytes(w), (size_t)len);
	if (map != w->map)
		raw(SYS_munmap, map, off + len);
	w->stored = off;
	return 0;
}

/* Fills the last page beyond the end of the file. */
static long store_beyond(struct writer *w)
{
	int64_t tail = -w->size & (PAGE - 1);

	if (w->size == 0 || tail == 0)
		return NOT_NOW;

	unsigned char *map = map_file(w, w->size + tail);
	if (!map)
		return -ENODEV;
	memset(map + w->size, 0xee, (size_t)tail);
	raw(SYS_munmap, map, w->size + tail);
	return 0;
}

/* Such bytes would pass for a witness; a truncation takes them away. */
static long step_store_beyond_then_shrink(struct writer *w)
{
	long ret = store_beyond(w);

	if (ret)
		return ret;

	int64_t most = w->size < PAGE ? w->size : PAGE;
	int64_t to = w->size - rng_length(&w->rng, most);
	noted(w, to, w->size - to);
	ret = set_size(w, to);
	if (ret || rng_one_in(&w->rng, 2))
		return ret;
	return write_all(w, random_bytes(w), rng_length(&w->rng, PAGE), to);
}

/* The other way round, the bytes stay: a limit that DESIGN 12 admits. */
static long step_shrink_then_store_beyond(struct writer *w)
{
	if (!w->x->opt.known_limits || w->size == 0)
		return NOT_NOW;

	int64_t most = w->size < PAGE ? w->size : PAGE;
	int64_t to = w->size - rng_length(&w->rng, most);
	long ret = set_size(w, to);

	noted(w, to, w->size - to);
	w->size = to;
	if (ret == 0)
		ret = store_beyond(w);
	return ret == NOT_NOW ? 0 : ret;
}

static long step_o_trunc(struct writer *w)
{
	long fd = raw_open(w->path, O_RDWR | O_TRUNC | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	raw(SYS_close, w->fd);
	w->fd = (int)fd;
	noted(w, 0, w->size);
	if (rng_one_in(&w->rng, 3))
		return 0;
	return write_all(w, random_bytes(w), rng_length(&w->rng, w->size + 1), 0);
}

static long step_direct(struct writer *w)
{
	static _Alignas(4096) unsigned char buf[16 * 4096];
	int64_t pages = rng_between(&w->rng, 1, 16);
	int64_t off = rng_below(&w->rng, w->size / PAGE + 1) * PAGE;

	if (w->direct < 0)
		return w->direct;
	memcpy(buf, random_bytes(w), (size_t)(pages * PAGE));
	noted(w, off, pages * PAGE);
	long ret = raw_pwrite(w->direct, buf, (size_t)(pages * PAGE), off);
	return ret < 0 ? ret : 0;
}

static long step_uring(struct writer *w)
{
	int64_t off, len;

	if (!pick_range(w, MAX_CHUNK, &off, &len))
		return NOT_NOW;
	if (rng_one_in(&w->rng, 3)) {
		off = w->size;
		noted(w, off, len);
	}
	long ret = uring_pwrite(w->fd, random_bytes(w), (uint32_t)len, off);
	return ret < 0 ? ret : 0;
}

static long step_copy_range(struct writer *w)
{
	int64_t off, len;

	if (!pick_range(w, MAX_CHUNK, &off, &len))
		return NOT_NOW;

	int64_t from = rng_below(&w->rng, SOURCE - len), to = off;
	long ret = raw(SYS_copy_file_range, w->source, &from, w->fd, &to, len, 0);
	return ret < 0 ? ret : 0;
}

static long step_clone(struct writer *w)
{
	int64_t off, len;

	if (!pick_blocks(w, &off, &len))
		return NOT_NOW;

	struct file_clone_range clone = {
		.src_fd = w->source,
		.src_offset = (uint64_t)(rng_below(&w->rng, (SOURCE - len) / w->block) *
					 w->block),
		.src_length = (uint64_t)len,
		.dest_offset = (uint64_t)off,
	};
	return raw(SYS_ioctl, w->fd, FICLONERANGE, &clone);
}

/* Writes what the source holds, then has both share the blocks. */
static long step_dedupe(struct writer *w)
{
	union {
		struct file_dedupe_range range;
		unsigned char room[sizeof(struct file_dedupe_range) +
				   sizeof(struct file_dedupe_range_info)];
	} arg = {0};
	int64_t off, len;

	if (!pick_blocks(w, &off, &len))
		return NOT_NOW;

	int64_t from = rng_below(&w->rng, (SOURCE - len) / w->block) * w->block;
	long ret = write_all(w, w->pool + from, len, off);
	if (ret)
		return ret;
	arg.range.src_offset = (uint64_t)from;
	arg.range.src_length = (uint64_t)len;
	arg.range.dest_count = 1;
	arg.range.info[0].dest_fd = w->fd;
	arg.range.info[0].dest_offset = (uint64_t)off;
	ret = raw(SYS_ioctl, w->source, FIDEDUPERANGE, &arg.range);
	if (ret == 0 && arg.range.info[0].status < 0)
		ret = arg.range.info[0].status;
	return ret;
}

/* No change of bytes, but one of pages: written back, and dropped. */
static long step_evict(struct writer *w)
{
	noted(w, 0, w->size);
	long ret = raw(SYS_fdatasync, w->fd);
	if (ret == 0)
		ret = raw(SYS_fadvise64, w->fd, 0, 0, 4 /* POSIX_FADV_DONTNEED */);
	return ret;
}

/* Rewrites all that is there, so that no zeros are left. */
static long step_heal(struct writer *w)
{
	if (w->size == 0)
		return NOT_NOW;
	w->holes = false;
	noted(w, 0, w->size);
	return write_all(w, random_bytes(w), w->size, 0);
}

/* Another file under the name: open descriptors keep the old one. */
static long step_replace(struct writer *w)
{
	long fd = raw_open(w->spare, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return fd;
	raw(SYS_close, w->fd);
	w->fd = (int)fd;
	if (w->direct >= 0)
		raw(SYS_close, w->direct);
	if (w->map)
		raw(SYS_munmap, w->map, 2 * MAX_FILE);
	long ret = write_all(w, random_bytes(w), w->size, 0);
	if (ret == 0)
		ret = raw(SYS_rename, w->spare, w->path);
	w->direct = (int)raw_open(w->path, O_RDWR | O_DIRECT | O_CLOEXEC, 0);
	w->map = map_file(w, 2 * MAX_FILE);
	w->note->replaced++;
	noted(w, 0, w->size);
	return ret;
}

static const struct step steps[] = {
	{"overwrite", 14, step_overwrite, false, false},
	{"zeros", 4, step_zeros, true, false},
	{"records", 5, step_records, true, false},
	{"shrink", 12, step_shrink, false, false},
	{"stretch", 4, step_stretch, true, false},
	{"regrow", 10, step_regrow, false, false},
	{"append", 14, step_append, false, false},
	{"punch", 3, step_punch, true, true},
	{"zero-range", 3, step_zero_range, true, true},
	{"collapse", 2, step_collapse, false, true},
	{"insert", 2, step_insert, true, true},
	{"preallocate", 1, step_preallocate, true, true},
	{"store", 8, step_store, false, false},
	{"store-beyond-shrink", 4, step_store_beyond_then_shrink, false, false},
	{"shrink-store-beyond", 3, step_shrink_then_store_beyond, false, false},
	{"o-trunc", 1, step_o_trunc, false, false},
	{"direct", 2, step_direct, false, true},
	{"io-uring", 3, step_uring, false, true},
	{"copy-range", 2, step_copy_range, false, true},
	{"clone", 2, step_clone, false, true},
	{"dedupe", 1, step_dedupe, false, true},
	{"evict", 1, step_evict, false, false},
	{"heal", 4, step_heal, false, false},
	{"replace", 1, step_replace, false, false},
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static uint64_t done[STEPS], refused[STEPS], bytes;

static size_t index_of(long (*run)(struct writer *))
{
	size_t i = 0;

	while (steps[i].run != run)
		i++;
	return i;
}

static size_t draw(struct writer *w)
{
	int total = 0;

	if (w->size > MAX_FILE)
		return index_of(step_shrink);
	if (w->size < (64 << 10) && rng_one_in(&w->rng, 2))
		return index_of(step_append);
	/* Stores come in rows. */
	if (w->last == index_of(step_store) && rng_one_in(&w->rng, 2))
		return w->last;
	/* tmpfs files with holes are not served at all: mend them soon. */
	if (w->tmpfs && w->holes && rng_one_in(&w->rng, 3))
		return index_of(step_heal);
	for (size_t i = 0; i < STEPS; i++)
		total += steps[i].weight;

	int64_t at = rng_below(&w->rng, total);
	for (size_t i = 0; i < STEPS; i++) {
		if (at < steps[i].weight)
			return i;
		at -= steps[i].weight;
	}
	return 0;
}

static bool is_refusal(long err)
{
	switch (-err) {
	case EOPNOTSUPP:
	case EINVAL:
	case ENOSYS:
	case ENOTTY:
	case EXDEV:
	case EPERM:
		return true;
	}
	return false;
}

static const char *one_step(struct writer *w, uint64_t number)
{
	static char why[128];
	size_t i;
	long ret;

	w->size = raw_size(w->fd);
	w->note->step = number;
	w->note->before = w->size;
	do {
		i = draw(w);
		noted(w, 0, 0);
		ret = steps[i].run(w);
	} while (ret == NOT_NOW);
	if (ret < 0 && !(steps[i].may_be_refused && is_refusal(ret))) {
		snprintf(why, sizeof(why), "step %llu, %s: %s",
			 (unsigned long long)number, steps[i].name, strerror((int)-ret));
		return why;
	}
	w->last = i;
	done[i]++;
	refused[i] += ret < 0;
	if (ret == 0)
		w->holes |= steps[i].makes_zeros;
	snprintf(w->note->name, sizeof(w->note->name), "%s", steps[i].name);
	w->note->after = raw_size(w->fd);
	bytes += (uint64_t)w->note->after;
	return NULL;
}

static const char *prepare(struct writer *w)
{
	struct statfs fs;

	w->pool = mmap(NULL, (size_t)(2 * POOL), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->pool == MAP_FAILED)
		return "no memory";
	for (int64_t at = 0; at < 2 * POOL; at += 8) {
		uint64_t word = rng_next(&w->rng);

		memcpy(w->pool + at, &word, 8);
	}
	snprintf(w->path, sizeof(w->path), "%s/file", w->x->opt.dir);
	snprintf(w->spare, sizeof(w->spare), "%s/spare", w->x->opt.dir);
	snprintf(w->source_path, sizeof(w->source_path), "%s/source", w->x->opt.dir);
	w->source = (int)raw_open(w->source_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
				  0600);
	w->fd = (int)raw_open(w->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	w->direct = (int)raw_open(w->path, O_RDWR | O_DIRECT | O_CLOEXEC, 0);
	if (w->fd < 0 || w->source < 0)
		return "can't create files in the directory";
	if (raw_pwrite(w->source, w->pool, (size_t)SOURCE, 0) != SOURCE)
		return "can't write the source file";
	if (raw(SYS_fstatfs, w->fd, &fs) < 0)
		return "statfs failed";
	w->block = fs.f_bsize;
	w->tmpfs = fs.f_type == TMPFS_MAGIC;
	w->map = map_file(w, 2 * MAX_FILE);
	w->size = 100000;
	return write_all(w, random_bytes(w), w->size, 0) ? "first write failed" : NULL;
}

static void print_steps(uint64_t turns)
{
	fprintf(stderr, "  mean size %llu KiB; steps:",
		(unsigned long long)(turns ? (bytes >> 10) / turns : 0));
	for (size_t i = 0; i < STEPS; i++) {
		if (!done[i])
			continue;
		fprintf(stderr, " %s %llu", steps[i].name, (unsigned long long)done[i]);
		if (refused[i])
			fprintf(stderr, " (refused %llu)",
				(unsigned long long)refused[i]);
	}
	fprintf(stderr, "\n");
}

/* Read-only file systems: turns without a change. */
static const char *turns_only(struct exact *x)
{
	snprintf(x->note.name, sizeof(x->note.name), "nothing");
	for (uint64_t i = 1; i <= x->opt.steps; i++) {
		x->note.step = i;
		turn_give(x, TURN_READER);
		if (!turn_await_writer_side(x))
			return "the reader hangs";
		if (x->opt.differ_stop && x->tally.differences)
			break;
	}
	turn_give(x, TURN_OVER);
	return NULL;
}

const char *steps_run(struct exact *x)
{
	struct writer w = {.x = x, .rng = x->opt.seed, .note = &x->note};
	const char *why;

	if (x->opt.read_only)
		return turns_only(x);
	why = prepare(&w);
	for (uint64_t i = 1; !why && i <= x->opt.steps; i++) {
		why = one_step(&w, i);
		if (why)
			break;
		turn_give(x, TURN_READER);
		if (!turn_await_writer_side(x))
			return "the reader hangs";
		if (x->opt.differ_stop && x->tally.differences)
			break;
	}
	turn_give(x, TURN_OVER);
	print_steps(x->note.step);
	return why;
}
