/*
 * What one call costs, in nanoseconds. The program knows nothing of the library: the
 * driver (run) starts it without and with LD_PRELOAD and compares what it prints.
 *
 *	percall [--file F] [--case NAME]... [--ms N] [--calls N] [--list]
 *		[--workers N [--processes] [--many]]
 *
 * F is a file of at least 64 MiB without a zero byte (made in a temporary directory when
 * not given); the small files some cases need are made beside it. A case is one of --list,
 * or CALL-SIZE-PATTERN (pw_calls has the calls and patterns; a size is a number, or with k
 * or m). For each case one line, `NAME NS`, goes to stdout: the median of five slices,
 * which all come after a warm-up with the same calls, so that whatever has to be earned
 * first is earned. With --calls exactly N calls are made after a warm-up of fixed length,
 * nothing is timed and nothing printed: for counting instructions.
 *
 * A slice's time is processor time, which other programs on the machine disturb least.
 * It would hide a call that sleeps; so a slice in which the thread has given up the
 * processor by itself, even once, counts with the time on the wall.
 *
 * With --workers, N threads or processes, each with a descriptor of its own (--many: and a
 * file of its own), make the same calls at the same time, and NS is the time on the wall by
 * the calls of all.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "percall_units.h"

#define PW_MIB ((size_t)1 << 20)
#define PW_HOT PW_MIB
#define PW_BIG (64 * PW_MIB)
#define PW_SLICES 5
#define PW_WARM_NS 30000000
#define PW_RECORD 64
#define PW_MAX_WORKERS 64
/* A window over 64 MiB is earned by what its 16,384 page faults cost, which in calls of
 * 16 KiB and more takes many passes; what is timed is the state after that. */
#define PW_PASSES 24
#define K 1024

enum pw_input {
	PW_IN_DATA,
	PW_IN_ZEROS,
	PW_IN_NOWITNESS,
	PW_IN_SMALL,
	PW_IN_SMALL10,
	PW_IN_OUT,
	PW_IN_OWN,
	PW_IN_NULL,
	PW_IN_ZERO
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

/* ---- the cases ---- */

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
	{"nowitness-64", "lseek and read of 64 bytes in a file that is all zeros",
	 pw_unit_seek_read, PW_IN_NOWITNESS, PW_RECORD, PW_HOT, 0},
	{"read-64-zero", "read of 64 bytes from /dev/zero, which is passed on",
	 pw_unit_read, PW_IN_ZERO, 64, SIZE_MAX, 0},
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
};
#define PW_CASES (sizeof(pw_cases) / sizeof(pw_cases[0]))

/* A pass is for large steps; small ones go on where the last unit ended, in 1 MiB. */
static const struct {
	const char *call;
	const char *pattern;
	long (*unit)(struct pw_job *job);
	long (*pass)(struct pw_job *job);
} pw_calls[] = {
	{"read", "seq", pw_unit_read, pw_unit_read},
	{"read", "skip", pw_unit_seek_read, NULL},
	{"read", "zeros", pw_unit_seek_read, NULL},
	{"readv", "seq", pw_unit_readv, pw_unit_readv},
	{"readv", "skip", pw_unit_seek_readv, NULL},
	{"pread", "seq", pw_unit_pread_next, pw_unit_pread_pass},
	{"pread", "hot", pw_unit_pread, NULL},
	{"pread", "rand", pw_unit_pread, NULL},
	{"pread", "chain", pw_unit_pread_chain, NULL},
	{"pread", "zeros", pw_unit_pread, NULL},
	{"preadv", "hot", pw_unit_preadv, NULL},
	{"preadv", "rand", pw_unit_preadv, NULL},
	{"preadv2", "hot", pw_unit_preadv2, NULL},
	{"preadv2", "rand", pw_unit_preadv2, NULL},
	{"fread", "seq", pw_unit_fread, pw_unit_fread},
	{"fread", "skip", pw_unit_seek_fread, NULL},
	{"write", "seq", pw_unit_write, NULL},
	{"pwrite", "hot", pw_unit_pwrite, NULL},
	{"memcpy", "seq", pw_unit_memcpy_next, pw_unit_memcpy_pass},
	{"memcpy", "hot", pw_unit_memcpy, NULL},
	{"memcpy", "rand", pw_unit_memcpy, NULL},
	{"memcpy", "chain", pw_unit_memcpy_chain, NULL},
};
#define PW_CALLS (sizeof(pw_calls) / sizeof(pw_calls[0]))

static size_t pw_size_of(const char *text, char **end)
{
	unsigned long n = strtoul(text, end, 10);

	if (**end == 'k' || **end == 'm')
		n <<= *(*end)++ == 'k' ? 10 : 20;
	return n <= PW_MIB ? n : 0;
}

/* The case that CALL-SIZE-PATTERN means; false if it means none. */
static int pw_parse(const char *name, struct pw_case *c)
{
	const char *dash = strchr(name, '-');
	size_t size;
	char *end;

	if (!dash || !(size = pw_size_of(dash + 1, &end)) || *end != '-')
		return 0;
	for (size_t i = 0; i < PW_CALLS; i++) {
		int wide = size >= 4 * K && pw_calls[i].pass;

		if (strlen(pw_calls[i].call) != (size_t)(dash - name) ||
		    strncmp(name, pw_calls[i].call, (size_t)(dash - name)) != 0 ||
		    strcmp(end + 1, pw_calls[i].pattern) != 0)
			continue;
		*c = (struct pw_case){.name = name, .size = size, .span = PW_HOT};
		c->unit = wide ? pw_calls[i].pass : pw_calls[i].unit;
		if (wide || strcmp(end + 1, "rand") == 0 ||
		    strcmp(end + 1, "chain") == 0) {
			c->span = PW_BIG;
			c->warm_calls = (long)(PW_PASSES * (PW_BIG / size));
			if (c->warm_calls > 200000)
				c->warm_calls = 200000;
		}
		if (c->unit == pw_unit_write || c->unit == pw_unit_pwrite)
			c->input = PW_IN_OUT;
		if (strcmp(end + 1, "zeros") == 0) {
			c->input = PW_IN_ZEROS;
			return size >= PW_RECORD;
		}
		return 1;
	}
	return 0;
}

/* ---- the files ---- */

static char pw_data_path[PATH_MAX - 32];
static char pw_temp_dir[PATH_MAX - 64];

/* Inputs other than the data: what is added to its name, and how long they are. Records
 * that end in zeros are followed by others, so that the last is like the rest. */
static const struct {
	const char *suffix;
	size_t size;
} pw_beside[] = {
	[PW_IN_DATA] = {"", PW_BIG},
	[PW_IN_ZEROS] = {".zeros", PW_HOT + 4 * K},
	[PW_IN_NOWITNESS] = {".nowit", PW_HOT},
	[PW_IN_SMALL] = {".small", 16 * K},
	[PW_IN_SMALL10] = {".small10", 16 * K},
	[PW_IN_OUT] = {".out", PW_HOT},
	[PW_IN_OWN] = {".own", PW_HOT},
};

/* n tells apart the files of one kind: the record's size, the worker's number. */
static void pw_input_path(enum pw_input input, size_t n, char path[PATH_MAX])
{
	if (input == PW_IN_NULL)
		snprintf(path, PATH_MAX, "/dev/null");
	else if (input == PW_IN_ZERO)
		snprintf(path, PATH_MAX, "/dev/zero");
	else if (input == PW_IN_ZEROS || input == PW_IN_OWN)
		snprintf(path, PATH_MAX, "%s%s%zu", pw_data_path, pw_beside[input].suffix,
			 n);
	else
		snprintf(path, PATH_MAX, "%s%s", pw_data_path, pw_beside[input].suffix);
}

static void pw_fill(enum pw_input input, size_t record, unsigned char *bytes, size_t n)
{
	uint64_t rng = 7;

	for (size_t i = 0; i < n; i++) {
		rng = rng * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = (unsigned char)(1 + (rng >> 32) % 255);
		if (input == PW_IN_ZEROS && i % record >= record - 16)
			bytes[i] = 0;
		/* Not even one near the end, which would do for all before it. */
		if (input == PW_IN_NOWITNESS)
			bytes[i] = 0;
	}
}

/* A former run of the same driver may have left the file: then it stays, warm. */
static void pw_make_input(enum pw_input input, size_t record, const char *path)
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
	pw_fill(input, record, bytes, size);
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
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", pw_temp_dir);
	if (system(command))
		fprintf(stderr, "percall: %s is left\n", pw_temp_dir);
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
	if (c->input != PW_IN_NULL && c->input != PW_IN_ZERO)
		pw_make_input(c->input, c->size, path);
	job->fd = open(path, flags | O_CLOEXEC);
	if (job->fd < 0)
		pw_die(path);
	/* Page-aligned and written, so that both runs meet the same buffer. */
	job->buf = mmap(NULL, PW_MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	if (job->buf == MAP_FAILED)
		pw_die("mmap");
	memset(job->buf, 'x', PW_MIB);
	if (c->unit == pw_unit_fread || c->unit == pw_unit_seek_fread) {
		job->stream = fopen(path, "re");
		if (!job->stream)
			pw_die(path);
	}
	/* Only the floors map the file: a mapping of our own beside the library's would
	 * pay its page faults for it. */
	if (c->unit == pw_unit_memcpy || c->unit == pw_unit_memcpy_next ||
	    c->unit == pw_unit_memcpy_pass || c->unit == pw_unit_memcpy_chain) {
		job->map = mmap(NULL, c->span, PROT_READ, MAP_SHARED, job->fd, 0);
		if (job->map == MAP_FAILED)
			pw_die("mmap");
	}
}

static void pw_job_close(struct pw_job *job)
{
	if (job->map)
		munmap((void *)(uintptr_t)job->map, job->span);
	if (job->stream)
		fclose(job->stream);
	munmap(job->buf, PW_MIB);
	close(job->fd);
}

static int pw_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void pw_warm(struct pw_job *job, const struct pw_case *c)
{
	uint64_t began = pw_now(CLOCK_MONOTONIC);
	long calls = 0;

	while (calls < c->warm_calls || pw_now(CLOCK_MONOTONIC) - began < PW_WARM_NS)
		calls += c->unit(job);
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

	pw_warm(job, c);
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

static void pw_run_case(const struct pw_case *c, uint64_t slices_ns, long calls)
{
	char path[PATH_MAX];
	struct pw_job job;

	pw_input_path(c->input, c->size, path);
	pw_job_open(&job, c, path);
	if (calls) {
		pw_count(&job, c, calls);
	} else {
		printf("%s %.2f\n", c->name, pw_time(&job, c, slices_ns));
		fflush(stdout);
	}
	pw_job_close(&job);
}

/* ---- several workers ---- */

/* In memory that all workers share, be they threads or processes. */
struct pw_crew {
	pthread_barrier_t warm;
	const struct pw_case *c;
	uint64_t slices_ns;
	int many;
	struct pw_did {
		long calls;
		uint64_t began, ended;
	} did[PW_MAX_WORKERS];
};

struct pw_worker {
	struct pw_crew *crew;
	int n;
};

static void *pw_work(void *arg)
{
	struct pw_worker *w = arg;
	struct pw_crew *crew = w->crew;
	struct pw_did *did = &crew->did[w->n];
	struct pw_case own = *crew->c;
	char path[PATH_MAX];
	struct pw_job job;

	if (crew->many) {
		own.input = PW_IN_OWN;
		own.span = PW_HOT;
	}
	pw_input_path(own.input, crew->many ? (size_t)w->n : own.size, path);
	pw_job_open(&job, &own, path);
	pw_warm(&job, &own);
	pthread_barrier_wait(&crew->warm);
	did->began = pw_now(CLOCK_MONOTONIC);
	do {
		did->calls += own.unit(&job);
		did->ended = pw_now(CLOCK_MONOTONIC);
	} while (did->ended - did->began < crew->slices_ns);
	pw_job_close(&job);
	return NULL;
}

static void pw_start_threads(struct pw_worker *workers, int n)
{
	pthread_t threads[PW_MAX_WORKERS];

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, pw_work, &workers[i]))
			pw_die("pthread_create");
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void pw_start_processes(struct pw_worker *workers, int n)
{
	pid_t children[PW_MAX_WORKERS];
	int status;

	for (int i = 0; i < n; i++) {
		children[i] = fork();
		if (children[i] < 0)
			pw_die("fork");
		if (children[i] == 0) {
			pw_work(&workers[i]);
			_exit(0);
		}
	}
	for (int i = 0; i < n; i++)
		if (waitpid(children[i], &status, 0) < 0 || status)
			pw_die("a worker");
}

/* A slow worker ends late and a quick one early; each one's own rate counts. */
static double pw_all_together(const struct pw_crew *crew, int n)
{
	double calls_per_ns = 0;

	for (int i = 0; i < n; i++)
		calls_per_ns += (double)crew->did[i].calls /
				(double)(crew->did[i].ended - crew->did[i].began);
	return 1 / calls_per_ns;
}

static void pw_run_crew(const struct pw_case *c, uint64_t slices_ns, int n, int processes,
			int many)
{
	struct pw_worker workers[PW_MAX_WORKERS];
	struct pw_crew *crew = mmap(NULL, sizeof(*crew), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t shared;
	char path[PATH_MAX];

	if (crew == MAP_FAILED)
		pw_die("mmap");
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&crew->warm, &shared, (unsigned int)n);
	crew->c = c;
	crew->slices_ns = slices_ns;
	crew->many = many;
	/* Made before the workers start, for two of them would make it at once. */
	pw_input_path(c->input, c->size, path);
	pw_make_input(c->input, c->size, path);
	for (int i = 0; i < n; i++)
		workers[i] = (struct pw_worker){crew, i};
	(processes ? pw_start_processes : pw_start_threads)(workers, n);
	printf("%s %.3f\n", c->name, pw_all_together(crew, n));
	munmap(crew, sizeof(*crew));
}

/* ---- the command line ---- */

static void pw_find(const char *name, struct pw_case *c)
{
	for (size_t i = 0; i < PW_CASES; i++) {
		if (strcmp(pw_cases[i].name, name) == 0) {
			*c = pw_cases[i];
			return;
		}
	}
	if (!pw_parse(name, c)) {
		fprintf(stderr, "percall: no case named %s (--list shows them)\n", name);
		exit(2);
	}
}

static void pw_list(void)
{
	for (size_t i = 0; i < PW_CASES; i++)
		printf("%s\t%s\n", pw_cases[i].name, pw_cases[i].what);
	for (size_t i = 0; i < PW_CALLS; i++)
		printf("%s-SIZE-%s\t\n", pw_calls[i].call, pw_calls[i].pattern);
}

static void pw_usage(void)
{
	fprintf(stderr, "usage: percall [--file F] [--case NAME]... [--ms N] [--calls N]"
			" [--list] [--workers N [--processes] [--many]]\n");
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
		{"ms", required_argument, NULL, 't'},
		{"calls", required_argument, NULL, 'n'},
		{"workers", required_argument, NULL, 'w'},
		{"processes", no_argument, NULL, 'p'},
		{"many", no_argument, NULL, 'm'},
		{"list", no_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	struct pw_case chosen[PW_CASES];
	size_t n_chosen = 0;
	uint64_t slices_ns = 50000000;
	int processes = 0, many = 0, o;
	long calls = 0, workers = 0;

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
			pw_find(optarg, &chosen[n_chosen++]);
			break;
		case 't':
			slices_ns = (uint64_t)pw_positive(optarg) * 1000000;
			break;
		case 'n':
			calls = pw_positive(optarg);
			break;
		case 'w':
			workers = pw_positive(optarg);
			break;
		case 'p':
			processes = 1;
			break;
		case 'm':
			many = 1;
			break;
		case 'l':
			pw_list();
			return 0;
		default:
			pw_usage();
		}
	}
	if (optind != argc || workers > PW_MAX_WORKERS || (calls && workers))
		pw_usage();
	if (!pw_data_path[0])
		pw_use_temp();
	if (!n_chosen)
		for (; n_chosen < PW_CASES; n_chosen++)
			chosen[n_chosen] = pw_cases[n_chosen];
	for (size_t i = 0; i < n_chosen; i++) {
		if (workers)
			pw_run_crew(&chosen[i], slices_ns, (int)workers, processes, many);
		else
			pw_run_case(&chosen[i], slices_ns, calls);
	}
	return 0;
}
