/*
 * What this machine charges for the things that a served read saves and for those that a
 * window costs: the head of every report, without which no ratio can be compared with one
 * from elsewhere.
 *
 *	costs FILE		(FILE: in the page cache, 64 MiB or more)
 *
 * Lines of `NAME VALUE UNIT`; each value is the median of nine measurements.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PW_PAGE ((size_t)4096)
#define PW_SPAN ((size_t)64 << 20)
#define PW_COPY ((size_t)64 << 10)
#define PW_ROUNDS 9

static int pw_fd;
static volatile char pw_sink;

static void pw_die(const char *what)
{
	fprintf(stderr, "costs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *pw_map(size_t n)
{
	const char *map = mmap(NULL, n, PROT_READ, MAP_SHARED, pw_fd, 0);

	if (map == MAP_FAILED)
		pw_die("mmap");
	return map;
}

static void pw_unmap(const char *map, size_t n)
{
	munmap((void *)(uintptr_t)map, n);
}

static uint64_t pw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Each of these returns nanoseconds for one of what its name says. */

static double pw_syscall(void)
{
	uint64_t began = pw_now();

	for (int i = 0; i < 5000; i++)
		syscall(SYS_getppid);
	return (double)(pw_now() - began) / 5000;
}

static double pw_first_touch(void)
{
	const char *map = pw_map(PW_SPAN);
	uint64_t began = pw_now();
	double ns;

	for (size_t at = 0; at < PW_SPAN; at += PW_PAGE)
		pw_sink = map[at];
	ns = (double)(pw_now() - began) / (double)(PW_SPAN / PW_PAGE);
	pw_unmap(map, PW_SPAN);
	return ns;
}

static double pw_map_touch_unmap(void)
{
	uint64_t began = pw_now();

	for (int i = 0; i < 200; i++) {
		const char *map = pw_map(PW_COPY);

		pw_sink = *map;
		pw_unmap(map, PW_COPY);
	}
	return (double)(pw_now() - began) / 200;
}

static double pw_copy(void)
{
	const char *map = pw_map(PW_SPAN);
	char *to = malloc(PW_COPY);
	uint64_t began;
	double ns;

	if (!to)
		pw_die("malloc");
	memset(to, 'x', PW_COPY);
	for (size_t at = 0; at < PW_SPAN; at += PW_PAGE)
		pw_sink = map[at];
	began = pw_now();
	for (size_t at = 0; at < PW_SPAN; at += PW_COPY) {
		memcpy(to, map + at, PW_COPY);
		__asm__ volatile("" ::: "memory");
	}
	ns = (double)(pw_now() - began) / (double)(PW_SPAN / PW_COPY);
	free(to);
	pw_unmap(map, PW_SPAN);
	return ns;
}

static int pw_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double pw_median(double (*measure)(void))
{
	double ns[PW_ROUNDS];

	for (int i = 0; i < PW_ROUNDS; i++)
		ns[i] = measure();
	qsort(ns, PW_ROUNDS, sizeof(ns[0]), pw_by_size);
	return ns[PW_ROUNDS / 2];
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: costs FILE\n");
		return 2;
	}
	pw_fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (pw_fd < 0)
		pw_die(argv[1]);
	if (lseek(pw_fd, 0, SEEK_END) < (off_t)PW_SPAN) {
		fprintf(stderr, "costs: %s is shorter than 64 MiB\n", argv[1]);
		return 2;
	}
	printf("syscall %.0f ns\n", pw_median(pw_syscall));
	printf("first-touch %.0f ns/page\n", pw_median(pw_first_touch));
	printf("map-touch-unmap %.0f ns\n", pw_median(pw_map_touch_unmap));
	printf("copy-64k %.0f ns\n", pw_median(pw_copy));
	return 0;
}
