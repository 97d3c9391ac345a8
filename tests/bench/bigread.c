/*
 * Reads of one large file.
 *
 *	bigread rand FILE BLOCK COUNT	preads at random
 *	bigread zipf FILE BLOCK COUNT	the nth likeliest page 1/n times as often as the first
 *	bigread pass FILE BLOCK		all of it once, from front to back
 *	bigread hot FILE BLOCK COUNT MIB
 *		COUNT preads at random in the first MIB, a pass over the rest through another
 *		descriptor, and COUNT again; COUNT 0: the pass alone
 *	bigread fill FILE SECONDS	pass after pass for so long
 *
 * Prints a checksum of what was read, the KiB by which the process had grown at most
 * (resident pages of files and page tables) and, last, the nanoseconds for a read; for hot,
 * those of the reads after the pass.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PW_MIB ((uint64_t)1 << 20)

static char pw_buf[1 << 20];
static uint64_t pw_sum;

static void pw_die(const char *what)
{
	fprintf(stderr, "bigread: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double pw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static uint32_t pw_next(void)
{
	static uint64_t state = 7;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 32);
}

/* KiB of the process's resident file pages and page tables. */
static long pw_size_now(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long sum = 0;

	if (!f)
		pw_die("/proc/self/status");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "RssFile:", 8) == 0 || strncmp(line, "VmPTE:", 6) == 0)
			sum += strtol(strchr(line, ':') + 1, NULL, 10);
	}
	fclose(f);
	return sum;
}

static long pw_first_size, pw_largest;

static void pw_watch_size(void)
{
	long now = pw_size_now() - pw_first_size;

	if (now > pw_largest)
		pw_largest = now;
}

static void pw_one(int fd, size_t block, uint64_t at)
{
	if (pread(fd, pw_buf, block, (off_t)at) != (ssize_t)block)
		pw_die("pread");
	pw_sum =
		pw_sum * 31 + (unsigned char)pw_buf[0] + (unsigned char)pw_buf[block - 1];
}

/* The places are worked out before the clock runs. With 1/n for the nth page the logarithm
 * of n is evenly spread; an odd factor scatters the likely ones over the file. */
static uint32_t *pw_places(uint64_t pages, long count, int zipf)
{
	uint32_t *at = malloc((size_t)count * sizeof(*at));

	if (!at)
		pw_die("memory");
	for (long i = 0; i < count; i++) {
		double u = (double)pw_next() / 4294967296.0;

		at[i] = zipf ? (uint32_t)((uint64_t)exp(u * log((double)pages)) *
					  2654435761u % pages)
			     : (uint32_t)(u * (double)pages);
	}
	return at;
}

static double pw_reads(int fd, size_t block, uint64_t span, long count, int zipf)
{
	uint32_t *at = pw_places(span / 4096, count, zipf);
	double began = pw_now();

	for (long i = 0; i < count; i++)
		pw_one(fd, block, (uint64_t)at[i] * 4096);
	began = (pw_now() - began) / (double)count;
	free(at);
	pw_watch_size();
	return began;
}

static double pw_pass(int fd, size_t block, uint64_t from, uint64_t to)
{
	double began = pw_now();
	uint64_t at = from;

	if (lseek(fd, (off_t)from, SEEK_SET) < 0)
		pw_die("lseek");
	for (; at + block <= to; at += block) {
		if (read(fd, pw_buf, block) != (ssize_t)block)
			pw_die("read");
		pw_sum = pw_sum * 31 + (unsigned char)pw_buf[0];
		if ((at & (16 * PW_MIB - 1)) < block)
			pw_watch_size();
	}
	return (pw_now() - began) / (double)((at - from) / block);
}

static double pw_hot(int fd, const char *path, char **argv, uint64_t size)
{
	size_t block = (size_t)atol(argv[3]);
	uint64_t span = (uint64_t)atol(argv[5]) * PW_MIB;
	long count = atol(argv[4]);
	int other = open(path, O_RDONLY | O_CLOEXEC);
	double ns;

	if (other < 0)
		pw_die(path);
	if (count)
		pw_reads(fd, block, span, count, 0);
	ns = pw_pass(other, block, span, size);
	if (count)
		ns = pw_reads(fd, block, span, count, 0);
	close(other);
	return ns;
}

static double pw_fill(int fd, uint64_t size, double seconds)
{
	double until = pw_now() + seconds * 1e9, ns = 0;

	while (pw_now() < until)
		ns = pw_pass(fd, 4096, 0, size);
	return ns;
}

static void pw_usage(void)
{
	fprintf(stderr, "usage: bigread rand|zipf FILE BLOCK COUNT | pass FILE BLOCK |"
			" hot FILE BLOCK COUNT MIB | fill FILE SECONDS\n");
	exit(2);
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[1] : "";
	struct stat st;
	size_t block;
	double ns = 0;
	int fd;

	if (argc < 4)
		pw_usage();
	block = (size_t)atol(argv[3]);
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		pw_die(argv[2]);
	if (block == 0 || block > sizeof(pw_buf))
		pw_usage();
	memset(pw_buf, 1, sizeof(pw_buf));
	pw_first_size = pw_size_now();
	if (argc == 5 && (strcmp(how, "rand") == 0 || strcmp(how, "zipf") == 0))
		ns = pw_reads(fd, block, (uint64_t)st.st_size, atol(argv[4]),
			      *how == 'z');
	else if (argc == 4 && strcmp(how, "pass") == 0)
		ns = pw_pass(fd, block, 0, (uint64_t)st.st_size);
	else if (argc == 6 && strcmp(how, "hot") == 0)
		ns = pw_hot(fd, argv[2], argv, (uint64_t)st.st_size);
	else if (argc == 4 && strcmp(how, "fill") == 0)
		ns = pw_fill(fd, (uint64_t)st.st_size, atof(argv[3]));
	else
		pw_usage();
	printf("%016llx %ld %.1f\n", (unsigned long long)pw_sum, pw_largest, ns);
	return 0;
}
