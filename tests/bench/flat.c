/*
 * What a hit costs where there is much of everything: nanoseconds for a pread of 512 bytes
 * at random, warmed up, and for a memcpy from mappings of the same places: that meets as many
 * pages and page tables, and is no library's fault.
 *
 *	flat open FOLDER N	one file of 1 MiB is read while N descriptors are open besides
 *	flat windows FOLDER N	N files of 4 MiB together are read, each by its own descriptor
 *	flat length FOLDER N	1 MiB in 64 pieces, spread evenly over a file of N MiB
 *
 * The files are made in FOLDER when they are not there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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

#define PW_MIB ((off_t)1 << 20)
#define PW_PIECES 64
#define PW_READ 512
/* Until every file has earned its window. */
#define PW_WARM_NS 200e6
#define PW_WARM_READS 1500L
#define PW_TIME_NS 100e6

static int pw_fds[1 << 17];
static const char *pw_maps[1024];

static void pw_die(const char *what)
{
	fprintf(stderr, "flat: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double pw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double pw_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Pieces of bytes other than zero, stride bytes apart; a descriptor for reading. */
static int pw_file(const char *folder, const char *kind, int n, off_t piece, int pieces,
		   off_t stride)
{
	char path[PATH_MAX], *bytes;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s%d", folder, kind, n);
	if (stat(path, &st)) {
		bytes = malloc((size_t)piece);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (!bytes || fd < 0)
			pw_die(path);
		memset(bytes, 'x', (size_t)piece);
		for (int i = 0; i < pieces; i++)
			if (pwrite(fd, bytes, (size_t)piece, i * stride) != piece)
				pw_die(path);
		if (fsync(fd))
			pw_die(path);
		close(fd);
		free(bytes);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		pw_die(path);
	return fd;
}

struct pw_job {
	int files;
	off_t piece; /* bytes in one place */
	int pieces;
	off_t stride;
	uint64_t rng;
	int by_memcpy; /* from pw_maps, instead of pread */
};

static void pw_some(struct pw_job *job)
{
	char buf[PW_READ];

	for (int i = 0; i < 1024; i++) {
		uint32_t r, file;
		off_t at;

		job->rng = job->rng * 6364136223846793005u + 1442695040888963407u;
		r = (uint32_t)(job->rng >> 33);
		at = (off_t)(r >> 7) % job->pieces * job->stride +
		     (off_t)(r >> 14) % (job->piece / PW_READ) * PW_READ;
		file = r % (uint32_t)job->files;
		if (!job->by_memcpy && pread(pw_fds[file], buf, PW_READ, at) != PW_READ)
			pw_die("pread");
		if (job->by_memcpy)
			memcpy(buf, pw_maps[file] + at, PW_READ);
		__asm__ volatile("" : : "r"(buf) : "memory");
	}
}

static double pw_time(struct pw_job *job)
{
	double began = pw_now(), cpu;
	long calls = 0;

	for (; calls < job->files * PW_WARM_READS || pw_now() - began < PW_WARM_NS;
	     calls += 1024)
		pw_some(job);
	calls = 0;
	began = pw_now();
	cpu = pw_cpu();
	for (; pw_now() - began < PW_TIME_NS; calls += 1024)
		pw_some(job);
	return (pw_cpu() - cpu) / (double)calls;
}

static void pw_map(const struct pw_job *job)
{
	size_t span = (size_t)(job->stride * (job->pieces - 1) + job->piece);

	for (int i = 0; i < job->files; i++) {
		pw_maps[i] = mmap(NULL, span, PROT_READ, MAP_SHARED, pw_fds[i], 0);
		if (pw_maps[i] == MAP_FAILED)
			pw_die("mmap");
	}
}

/* Status 3: this user may not open so many. */
static void pw_open_besides(const char *folder, int n)
{
	struct rlimit limit = {(rlim_t)n + 64, (rlim_t)n + 64};
	char path[PATH_MAX];

	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		fprintf(stderr, "flat: no more than %d files\n", n);
		exit(3);
	}
	snprintf(path, sizeof(path), "%s/open0", folder);
	for (int i = 1; i <= n; i++) {
		pw_fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (pw_fds[i] < 0)
			pw_die(path);
	}
}

int main(int argc, char **argv)
{
	struct pw_job job = {.files = 1, .piece = PW_MIB, .pieces = 1, .rng = 7};
	int n = argc == 4 ? atoi(argv[3]) : -1;

	if (n < 0 || n >= (int)(sizeof(pw_fds) / sizeof(pw_fds[0]))) {
		fprintf(stderr, "usage: flat open|windows|length FOLDER N\n");
		return 2;
	}
	if (strcmp(argv[1], "open") == 0) {
		pw_fds[0] = pw_file(argv[2], "open", 0, PW_MIB, 1, 0);
		pw_open_besides(argv[2], n);
	} else if (strcmp(argv[1], "windows") == 0 && n > 0 && n <= 1024) {
		char kind[32];

		job.files = n;
		job.piece = 4 * PW_MIB / n;
		snprintf(kind, sizeof(kind), "windows%d.", n);
		for (int i = 0; i < n; i++)
			pw_fds[i] = pw_file(argv[2], kind, i, job.piece, 1, 0);
	} else if (strcmp(argv[1], "length") == 0 && n > 0) {
		job.piece = PW_MIB / PW_PIECES;
		job.pieces = PW_PIECES;
		job.stride = n * PW_MIB / PW_PIECES;
		pw_fds[0] =
			pw_file(argv[2], "length", n, job.piece, PW_PIECES, job.stride);
	} else {
		return 2;
	}
	printf("%.2f", pw_time(&job));
	pw_map(&job);
	job.by_memcpy = 1;
	printf(" %.2f\n", pw_time(&job));
	return 0;
}
