/*
 * Somebody who shares the memory: `neighbour FILE SECONDS` reads pages of FILE at random,
 * sixteen every millisecond, and looks before each whether it is still in the page cache.
 * Prints the mean time of a read in nanoseconds and, last, the part of the reads whose page
 * was there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PW_PAGE 4096

static void pw_die(const char *what)
{
	fprintf(stderr, "neighbour: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double pw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	double until, spent = 0;
	uint64_t rng = 7, pages;
	long reads = 0, there = 0;
	char buf[PW_PAGE], *map;
	unsigned char in;
	struct stat st;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: neighbour FILE SECONDS\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		pw_die(argv[1]);
	pages = (uint64_t)st.st_size / PW_PAGE;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		pw_die("mmap");
	/* Twice, so that the kernel takes it for something that is used. */
	for (uint64_t i = 0; i < 2 * pages; i++)
		if (pread(fd, buf, PW_PAGE, (off_t)(i % pages * PW_PAGE)) != PW_PAGE)
			pw_die("pread");
	until = pw_now() + atof(argv[2]) * 1e9;
	while (pw_now() < until) {
		for (int i = 0; i < 16; i++, reads++) {
			double began;
			uint64_t at;

			rng = rng * 6364136223846793005u + 1442695040888963407u;
			at = (rng >> 33) % pages * PW_PAGE;
			if (mincore(map + at, PW_PAGE, &in))
				pw_die("mincore");
			there += in & 1;
			began = pw_now();
			if (pread(fd, buf, PW_PAGE, (off_t)at) != PW_PAGE)
				pw_die("pread");
			spent += pw_now() - began;
		}
		usleep(1000);
	}
	printf("%.1f %.5f\n", spent / (double)reads, (double)there / (double)reads);
	return 0;
}
