/*
 * What one call costs, in nanoseconds. The program knows nothing of the library: the
 * driver (run) starts it without and with LD_PRELOAD and compares what it prints.
 *
 *	percall [--file F] [--case NAME]... [--ms N] [--calls N] [--list]
 *
 * F is a file of at least 64 MiB without a zero byte (made in a temporary directory when
 * not given); the small files some cases need are made beside it. For each case one line,
 * `NAME NS`, goes to stdout: the median of five slices, which all come after a warm-up
 * with the same calls, so that whatever has to be earned first is earned. With --calls
 * exactly N calls are made after a warm-up of fixed length, nothing is timed and nothing
 * printed: for counting instructions.
 *
 * A slice's time is processor time, which other programs on the machine disturb least.
 * It would hide a call that sleeps; so a slice in which the thread has given up the
 * processor by itself, even once, counts with the time on the wall.
 *
 * A case's unit is the smallest piece of work whose cost is even: 1024 calls of a random
 * pattern, one whole pass of a sequential one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PW_MIB ((size_t)1 << 20)
#define PW_HOT PW_MIB
#define PW_BIG (64 * PW_MIB)
#define PW_UNIT 1024
#define PW_SLICES 5
#define PW_WARM_NS 30000000
#define PW_RECORD 64
/* A window over 64 MiB is earned by what its 16,384 page faults cost, which in calls of
 * 16 KiB and more takes many passes; what is timed is the state after that. */
#define PW_PASSES 24

enum pw_input {
	PW_IN_DATA,
	PW_IN_ZEROS,
	PW_IN_NOWITNESS,
	PW_IN_SMALL,
	PW_IN_SMALL10,
	PW_IN_OUT,
	PW_IN_NULL
};

struct pw_job {
	int fd;
	size_t size; /* bytes a call */
	size_t span; /* bytes of the file that the case moves in */
	size_t pos;  /* for the sequential patterns */
	uint64_t rng;
	const char *path;
	const char *map; /* the same bytes, for the memcpy floors */
	char *buf;
};

struct pw_case {
	const char *name;
	const char *what;
	long (*unit)(struct pw_job *job); /* returns the calls it made */
	enum pw_input input;
	size_t size;
	size_t span;
	long warm_calls; /* at least so many before timing, beside PW_WARM_NS */
};

static void pw_die(const char *what)
{
	fprintf(stderr, "percall: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pw_expect(ssize_t got, size_t want, const char *what)
{
	if (__builtin_expect(got != (ssize_t)want, 0)) {
		if (got >= 0)
			errno = ERANGE;
		pw_die(what);
	}
}

static uint64_t pw_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static long pw_sleeps(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return use.ru_nvcsw;
}

/* A place in the span, aligned to the size; the top bits of an LCG are the good ones. */
static inline size_t pw_place(struct pw_job *job)
{
	uint64_t slots = job->span / job->size;

	job->rng = job->rng * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(((job->rng >> 32) * slots) >> 32) * job->size;
}

/* ---- the units ---- */

static long pw_unit_seek_set(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		off_t to = (off_t)pw_place(job);

		pw_expect(lseek(job->fd, to, SEEK_SET), (size_t)to, "lseek");
	}
	return PW_UNIT;
}

static long pw_unit_seek_cur(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(lseek(job->fd, 0, SEEK_CUR), 0, "lseek");
	return PW_UNIT;
}

static long pw_unit_seek_end(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		if (lseek(job->fd, 0, SEEK_END) < (off_t)job->span)
			pw_die("lseek");
	return PW_UNIT;
}

static long pw_unit_read(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect(read(job->fd, job->buf, job->size), job->size, "read");
		job->pos += job->size;
		if (job->pos + job->size > job->span) {
			job->pos = 0;
			pw_expect(lseek(job->fd, 0, SEEK_SET), 0, "lseek");
		}
	}
	return PW_UNIT;
}

static long pw_unit_seek_read(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		off_t to = (off_t)pw_place(job);

		pw_expect(lseek(job->fd, to, SEEK_SET), (size_t)to, "lseek");
		pw_expect(read(job->fd, job->buf, job->size), job->size, "read");
	}
	return PW_UNIT;
}

static long pw_unit_pread(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(pread(job->fd, job->buf, job->size, (off_t)pw_place(job)),
			  job->size, "pread");
	return PW_UNIT;
}

static long pw_unit_pread_pass(struct pw_job *job)
{
	for (size_t at = 0; at < job->span; at += job->size)
		pw_expect(pread(job->fd, job->buf, job->size, (off_t)at), job->size,
			  "pread");
	return (long)(job->span / job->size);
}

/* A copy the compiler may neither drop nor turn into something else than memcpy. */
static inline void pw_copy(struct pw_job *job, size_t at)
{
	memcpy(job->buf, job->map + at, job->size);
	__asm__ volatile("" ::: "memory");
}

static long pw_unit_memcpy(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_copy(job, pw_place(job));
	return PW_UNIT;
}

static long pw_unit_memcpy_pass(struct pw_job *job)
{
	for (size_t at = 0; at < job->span; at += job->size)
		pw_copy(job, at);
	return (long)(job->span / job->size);
}

static long pw_unit_write(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect(write(job->fd, job->buf, job->size), job->size, "write");
		job->pos += job->size;
		if (job->pos + job->size > job->span) {
			job->pos = 0;
			pw_expect(lseek(job->fd, 0, SEEK_SET), 0, "lseek");
		}
	}
	return PW_UNIT;
}

static long pw_unit_pwrite(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(pwrite(job->fd, job->buf, job->size, (off_t)pw_place(job)),
			  job->size, "pwrite");
	return PW_UNIT;
}

static inline void pw_visit(struct pw_job *job, int reads)
{
	int fd = open(job->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		pw_die(job->path);
	while (reads--)
		pw_expect(read(fd, job->buf, job->size), job->size, "read");
	pw_expect(close(fd), 0, "close");
}

static long pw_unit_visit1(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT / 8; i++)
		pw_visit(job, 1);
	return PW_UNIT / 8;
}

static long pw_unit_visit10(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT / 8; i++)
		pw_visit(job, 10);
	return PW_UNIT / 8;
}

/* ---- the cases ---- */

#define K 1024
static const struct pw_case pw_cases[] = {
	{"lseek-set", "lseek(SEEK_SET) to random places", pw_unit_seek_set, PW_IN_DATA,
	 64, PW_BIG, 0},
	{"lseek-cur", "lseek(0, SEEK_CUR)", pw_unit_seek_cur, PW_IN_DATA, 64, PW_BIG, 0},
	{"lseek-end", "lseek(0, SEEK_END)", pw_unit_seek_end, PW_IN_DATA, 64, PW_BIG, 0},
	{"read-1", "read of 1 byte after the other in 1 MiB", pw_unit_read, PW_IN_DATA, 1,
	 PW_HOT, 0},
	{"read-64", "read of 64 bytes, one after the other in 1 MiB", pw_unit_read,
	 PW_IN_DATA, 64, PW_HOT, 0},
	{"seek-read-64", "lseek and read of 64 bytes at random in 1 MiB (both calls)",
	 pw_unit_seek_read, PW_IN_DATA, 64, PW_HOT, 0},
	{"pread-1-hot", "pread of 1 byte at random in 1 MiB", pw_unit_pread, PW_IN_DATA,
	 1, PW_HOT, 0},
	{"pread-64-hot", "pread of 64 bytes at random in 1 MiB", pw_unit_pread,
	 PW_IN_DATA, 64, PW_HOT, 0},
	{"pread-512-hot", "pread of 512 bytes at random in 1 MiB", pw_unit_pread,
	 PW_IN_DATA, 512, PW_HOT, 0},
	{"pread-4096-hot", "pread of 4 KiB at random in 1 MiB", pw_unit_pread, PW_IN_DATA,
	 4 * K, PW_HOT, 0},
	{"pread-512-rand", "pread of 512 bytes at random in 64 MiB", pw_unit_pread,
	 PW_IN_DATA, 512, PW_BIG, 200000},
	{"pread-4096-rand", "pread of 4 KiB at random in 64 MiB", pw_unit_pread,
	 PW_IN_DATA, 4 * K, PW_BIG, 200000},
	{"pread-16k-seq", "pread of 16 KiB, one after the other in 64 MiB",
	 pw_unit_pread_pass, PW_IN_DATA, 16 * K, PW_BIG, PW_PASSES * 4096},
	{"pread-64k-seq", "pread of 64 KiB, one after the other in 64 MiB",
	 pw_unit_pread_pass, PW_IN_DATA, 64 * K, PW_BIG, PW_PASSES * 1024},
	{"pread-1m-seq", "pread of 1 MiB, one after the other in 64 MiB",
	 pw_unit_pread_pass, PW_IN_DATA, PW_MIB, PW_BIG, PW_PASSES * 64},
	{"zeros-64", "lseek and read of 64-byte records that end in 16 zero bytes",
	 pw_unit_seek_read, PW_IN_ZEROS, PW_RECORD, PW_HOT, 0},
	{"nowitness-64", "lseek and read of 64 bytes where the file is zero for long",
	 pw_unit_seek_read, PW_IN_NOWITNESS, PW_RECORD, PW_HOT, 0},
	{"write-512-null", "write of 512 bytes to /dev/null", pw_unit_write, PW_IN_NULL,
	 512, SIZE_MAX, 0},
	{"write-512-file", "write of 512 bytes over a file of 1 MiB", pw_unit_write,
	 PW_IN_OUT, 512, PW_HOT, 0},
	{"pwrite-512-file", "pwrite of 512 bytes over a file of 1 MiB", pw_unit_pwrite,
	 PW_IN_OUT, 512, PW_HOT, 0},
	{"open-read-close", "open, one read of 512 bytes, close", pw_unit_visit1,
	 PW_IN_SMALL, 512, 0, 0},
	{"open-10reads-close", "open, ten reads of 512 bytes, close", pw_unit_visit10,
	 PW_IN_SMALL10, 512, 0, 0},
	{"memcpy-1-hot", "memcpy of 1 byte at random in 1 MiB", pw_unit_memcpy,
	 PW_IN_DATA, 1, PW_HOT, 0},
	{"memcpy-64-hot", "memcpy of 64 bytes at random in 1 MiB", pw_unit_memcpy,
	 PW_IN_DATA, 64, PW_HOT, 0},
	{"memcpy-512-hot", "memcpy of 512 bytes at random in 1 MiB", pw_unit_memcpy,
	 PW_IN_DATA, 512, PW_HOT, 0},
	{"memcpy-4096-hot", "memcpy of 4 KiB at random in 1 MiB", pw_unit_memcpy,
	 PW_IN_DATA, 4 * K, PW_HOT, 0},
	{"memcpy-512-rand", "memcpy of 512 bytes at random in 64 MiB", pw_unit_memcpy,
	 PW_IN_DATA, 512, PW_BIG, 200000},
	{"memcpy-4096-rand", "memcpy of 4 KiB at random in 64 MiB", pw_unit_memcpy,
	 PW_IN_DATA, 4 * K, PW_BIG, 200000},
	{"memcpy-16k-seq", "memcpy of 16 KiB, one after the other in 64 MiB",
	 pw_unit_memcpy_pass, PW_IN_DATA, 16 * K, PW_BIG, PW_PASSES * 4096},
	{"memcpy-64k-seq", "memcpy of 64 KiB, one after the other in 64 MiB",
	 pw_unit_memcpy_pass, PW_IN_DATA, 64 * K, PW_BIG, PW_PASSES * 1024},
	{"memcpy-1m-seq", "memcpy of 1 MiB, one after the other in 64 MiB",
	 pw_unit_memcpy_pass, PW_IN_DATA, PW_MIB, PW_BIG, PW_PASSES * 64},
};
#define PW_CASES (sizeof(pw_cases) / sizeof(pw_cases[0]))

/* ---- the files ---- */

static char pw_data_path[PATH_MAX - 16];
static char pw_temp_dir[PATH_MAX - 32];

/* Inputs other than the data: what is added to its name, and how long they are. */
static const struct {
	const char *suffix;
	size_t size;
} pw_beside[] = {
	[PW_IN_DATA] = {"", PW_BIG},
	[PW_IN_ZEROS] = {".zeros", PW_HOT},
	[PW_IN_NOWITNESS] = {".nowit", PW_HOT},
	[PW_IN_SMALL] = {".small", 16 * K},
	[PW_IN_SMALL10] = {".small10", 16 * K},
	[PW_IN_OUT] = {".out", PW_HOT},
};
#define PW_INPUTS (sizeof(pw_beside) / sizeof(pw_beside[0]))

static void pw_input_path(enum pw_input input, char *path, size_t room)
{
	if (input == PW_IN_NULL)
		snprintf(path, room, "/dev/null");
	else
		snprintf(path, room, "%s%s", pw_data_path, pw_beside[input].suffix);
}

static void pw_fill(enum pw_input input, unsigned char *bytes, size_t n)
{
	uint64_t rng = 7;

	for (size_t i = 0; i < n; i++) {
		rng = rng * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (unsigned char)(1 + (rng >> 32) % 255);
		if (input == PW_IN_ZEROS && i % PW_RECORD >= PW_RECORD - 16)
			bytes[i] = 0;
		/* One byte in 4 KiB: no look-ahead of some hundred bytes can count on
		 * it, yet the file has data everywhere. */
		if (input == PW_IN_NOWITNESS && i % (4 * K))
			bytes[i] = 0;
	}
}

/* A former run of the same driver may have left the file: then it stays, warm. */
static void pw_make_input(enum pw_input input, const char *path)
{
	size_t size = pw_beside[input].size;
	struct stat st;
	unsigned char *bytes;
	size_t done = 0;
	int fd;

	if (stat(path, &st) == 0 && st.st_size >= (off_t)size)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bytes = malloc(size);
	if (fd < 0 || !bytes)
		pw_die(path);
	pw_fill(input, bytes, size);
	while (done < size) {
		ssize_t k = write(fd, bytes + done, size - done);

		if (k <= 0)
			pw_die(path);
		done += (size_t)k;
	}
	free(bytes);
	close(fd);
}

static void pw_remove_temp(void)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < PW_INPUTS; i++) {
		pw_input_path((enum pw_input)i, path, sizeof(path));
		unlink(path);
	}
	rmdir(pw_temp_dir);
}

static void pw_use_temp(void)
{
	const char *dir = getenv("TMPDIR");

	snprintf(pw_temp_dir, sizeof(pw_temp_dir), "%s/pagewell-percall-XXXXXX",
		 dir && *dir ? dir : "/tmp");
	if (!mkdtemp(pw_temp_dir))
		pw_die(pw_temp_dir);
	snprintf(pw_data_path, sizeof(pw_data_path), "%s/data", pw_temp_dir);
	atexit(pw_remove_temp);
}

/* ---- one case ---- */

static void pw_job_open(struct pw_job *job, const struct pw_case *c, char *path)
{
	int flags = c->input == PW_IN_OUT    ? O_RDWR
		    : c->input == PW_IN_NULL ? O_WRONLY
					     : O_RDONLY;

	*job = (struct pw_job){.size = c->size, .span = c->span, .rng = 7, .path = path};
	if (c->input != PW_IN_NULL)
		pw_make_input(c->input, path);
	job->fd = open(path, flags | O_CLOEXEC);
	if (job->fd < 0)
		pw_die(path);
	/* Page-aligned and written, so that both runs meet the same buffer. */
	job->buf = mmap(NULL, PW_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (job->buf == MAP_FAILED)
		pw_die("mmap");
	memset(job->buf, 'x', PW_MIB);
	/* Only the floors map the file: a mapping of our own beside the library's would
	 * pay its page faults for it. */
	if (c->unit == pw_unit_memcpy || c->unit == pw_unit_memcpy_pass) {
		job->map = mmap(NULL, c->span, PROT_READ, MAP_SHARED, job->fd, 0);
		if (job->map == MAP_FAILED)
			pw_die("mmap");
	}
}

static void pw_job_close(struct pw_job *job)
{
	if (job->map)
		munmap((void *)(uintptr_t)job->map, job->span);
	munmap(job->buf, PW_MIB);
	close(job->fd);
}

static int pw_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The clock on the wall ends the slice: it alone can be read without a system call. */
static double pw_slice(struct pw_job *job, const struct pw_case *c, uint64_t wall_ns)
{
	long sleeps = pw_sleeps(), calls = 0;
	uint64_t cpu = pw_now(CLOCK_THREAD_CPUTIME_ID), began = pw_now(CLOCK_MONOTONIC);
	uint64_t wall;

	do {
		calls += c->unit(job);
		wall = pw_now(CLOCK_MONOTONIC) - began;
	} while (wall < wall_ns);
	cpu = pw_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	return (double)(pw_sleeps() == sleeps ? cpu : wall) / (double)calls;
}

static double pw_time(struct pw_job *job, const struct pw_case *c, uint64_t slices_ns)
{
	double per_call[PW_SLICES];
	uint64_t began = pw_now(CLOCK_MONOTONIC);
	long calls = 0;

	while (calls < c->warm_calls || pw_now(CLOCK_MONOTONIC) - began < PW_WARM_NS)
		calls += c->unit(job);
	for (int i = 0; i < PW_SLICES; i++)
		per_call[i] = pw_slice(job, c, slices_ns / PW_SLICES);
	qsort(per_call, PW_SLICES, sizeof(per_call[0]), pw_by_size);
	return per_call[PW_SLICES / 2];
}

static void pw_count(struct pw_job *job, const struct pw_case *c, long calls)
{
	long warm = 64 * PW_UNIT + c->warm_calls;

	for (calls += warm; calls > 0;)
		calls -= c->unit(job);
}

static void pw_run_case(const struct pw_case *c, uint64_t slice_ns, long calls)
{
	char path[PATH_MAX];
	struct pw_job job;

	pw_input_path(c->input, path, sizeof(path));
	pw_job_open(&job, c, path);
	if (calls) {
		pw_count(&job, c, calls);
	} else {
		printf("%s %.2f\n", c->name, pw_time(&job, c, slice_ns));
		fflush(stdout);
	}
	pw_job_close(&job);
}

static const struct pw_case *pw_find(const char *name)
{
	for (size_t i = 0; i < PW_CASES; i++)
		if (strcmp(pw_cases[i].name, name) == 0)
			return &pw_cases[i];
	fprintf(stderr, "percall: no case named %s (--list shows them)\n", name);
	exit(2);
}

static void pw_usage(void)
{
	fprintf(stderr, "usage: percall [--file F] [--case NAME]... [--ms N] [--calls N]"
			" [--list]\n");
	exit(2);
}

static long pw_positive(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n <= 0)
		pw_usage();
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"file", required_argument, NULL, 'f'},
		{"case", required_argument, NULL, 'c'},
		{"ms", required_argument, NULL, 'm'},
		{"calls", required_argument, NULL, 'n'},
		{"list", no_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	const struct pw_case *chosen[PW_CASES];
	size_t n_chosen = 0;
	uint64_t slice_ns = 50000000;
	long calls = 0;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 'f':
			if (strlen(optarg) >= sizeof(pw_data_path))
				pw_usage();
			strcpy(pw_data_path, optarg);
			break;
		case 'c':
			if (n_chosen == PW_CASES)
				pw_usage();
			chosen[n_chosen++] = pw_find(optarg);
			break;
		case 'm':
			slice_ns = (uint64_t)pw_positive(optarg) * 1000000;
			break;
		case 'n':
			calls = pw_positive(optarg);
			break;
		case 'l':
			for (size_t i = 0; i < PW_CASES; i++)
				printf("%s\t%s\n", pw_cases[i].name, pw_cases[i].what);
			return 0;
		default:
			pw_usage();
		}
	}
	if (optind != argc)
		pw_usage();
	if (!pw_data_path[0])
		pw_use_temp();
	if (!n_chosen)
		for (; n_chosen < PW_CASES; n_chosen++)
			chosen[n_chosen] = &pw_cases[n_chosen];
	for (size_t i = 0; i < n_chosen; i++)
		pw_run_case(chosen[i], slice_ns, calls);
	return 0;
}
