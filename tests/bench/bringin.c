/*
 * bringin FILE: what it costs to bring a file's pages into a mapping, in ns for each page that
 * is used, unmapping included, in several ways and orders; beside it pread of 4 KiB. Medians of
 * a few rounds that take turns. The table in cache/README.md is made of this.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define PAGE 4096UL
#define ROUNDS 7
#define MOST (64UL << 20)

enum order { SEQUENTIAL, STRIDED, RANDOM, COLD, ORDERS };
static const char *const order_name[] = {"in sequence", "each 16th page", "at random",
					 "cold, in sequence"};

/* 0: pages are touched; else MADV_POPULATE_READ by runs of so many bytes. */
static const size_t way[] = {0, 64 << 10, 256 << 10, 1 << 20, MOST};
#define WAYS (sizeof(way) / sizeof(way[0]))

static int fd;
static size_t size;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t used(enum order o)
{
	return size / PAGE / (o == STRIDED ? 16 : o == RANDOM ? 8 : 1);
}

static size_t place(enum order o, size_t i)
{
	size_t pages = size / PAGE;

	switch (o) {
	case STRIDED:
		return i * 16;
	case RANDOM:
		return (size_t)((uint64_t)i * 0x9e3779b97f4a7c15ULL >> 16) % pages;
	default:
		return i;
	}
}

static void make_cold(enum order o)
{
	if (o == COLD)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static double mapped(enum order o, size_t run)
{
	volatile char sum = 0;
	double began;
	char *at;

	make_cold(o);
	began = now();
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		exit(1);
	for (size_t i = 0, done = 0; i < used(o); i++) {
		size_t off = place(o, i) * PAGE;

		if (run && (o == RANDOM || off >= done)) {
			size_t from = off / run * run;

			madvise(at + from, run < size - from ? run : size - from,
				MADV_POPULATE_READ);
			done = from + run;
		}
		sum += at[off];
	}
	munmap(at, size);
	return (now() - began) / (double)used(o);
}

static double read_it(enum order o)
{
	static char buf[PAGE];
	double began;

	make_cold(o);
	began = now();
	for (size_t i = 0; i < used(o); i++)
		if (pread(fd, buf, PAGE, (off_t)(place(o, i) * PAGE)) < 0)
			exit(1);
	return (now() - began) / (double)used(o);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), by_size);
	return v[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	struct stat st;

	fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	if (fd < 0 || fstat(fd, &st) || st.st_size < (off_t)(1 << 20)) {
		fprintf(stderr, "usage: bringin FILE    of 1 MiB and more\n");
		return 2;
	}
	size = (size_t)st.st_size < MOST ? (size_t)st.st_size / PAGE * PAGE : MOST;
	printf("%-18s %8s %8s %8s %8s %8s %8s\n", "ns a page", "touch", "64 KiB",
	       "256 KiB", "1 MiB", "all", "pread");
	for (int o = 0; o < ORDERS; o++) {
		double took[WAYS + 1][ROUNDS];

		for (int r = 0; r < ROUNDS; r++) {
			for (size_t w = 0; w < WAYS; w++)
				took[w][r] = mapped((enum order)o, way[w]);
			took[WAYS][r] = read_it((enum order)o);
		}
		printf("%-18s", order_name[o]);
		for (size_t w = 0; w <= WAYS; w++)
			if (o == RANDOM && w && w < WAYS && way[w] > (256 << 10))
				printf(" %8s", "-");
			else
				printf(" %8.0f", median(took[w]));
		printf("\n");
	}
	return 0;
}
