/*
 * turns WHAT FILE BYTES ROUNDS: the same calls through the preloaded library and through libc, in
 * one process that takes turns, so that what else the machine does falls on both.
 *
 *	read	BYTES at a time in sequence, through a number each
 *	pread	BYTES at a time at random
 *	open	open and close; BYTES 0, or a read of so many in between
 *
 * Prints the median times of a call (of a round of open, read and close), in ns, by libc and by
 * the library, and the median of the rounds' ratios.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PW_CALLS 256
/* Numbers are opened again after so many bytes: else the whole of a large file would be one
 * reader's sequence. */
#define PW_PASS ((uint64_t)64 << 20)

struct pw_way {
	int (*open)(const char *, int, ...);
	int (*close)(int);
	ssize_t (*read)(int, void *, size_t);
	ssize_t (*pread)(int, void *, size_t, off_t);
	int fd;
	uint64_t done;
};

static char pw_buf[1 << 20];
static const char *pw_path;
static size_t pw_n;
static uint64_t pw_pages;

static double pw_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *pw_libcs(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	return libc ? dlsym(libc, name) : NULL;
}

static void pw_die(const char *what)
{
	perror(what);
	exit(1);
}

static void pw_open(struct pw_way *w)
{
	w->fd = w->open(pw_path, O_RDONLY | O_CLOEXEC);
	if (w->fd < 0)
		pw_die(pw_path);
}

static double pw_reads(struct pw_way *w)
{
	double began;

	if (w->done + PW_CALLS * pw_n > PW_PASS) {
		w->close(w->fd);
		pw_open(w);
		for (w->done = 0; w->done < 200 * pw_n; w->done += pw_n)
			if (w->read(w->fd, pw_buf, pw_n) < 0)
				pw_die("read");
	}
	began = pw_now();
	for (int i = 0; i < PW_CALLS; i++)
		if (w->read(w->fd, pw_buf, pw_n) < 0)
			pw_die("read");
	w->done += PW_CALLS * pw_n;
	return pw_now() - began;
}

static double pw_preads(struct pw_way *w)
{
	static uint64_t state = 7;
	off_t at[PW_CALLS];
	double began;

	for (int i = 0; i < PW_CALLS; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		at[i] = (off_t)((state >> 32) * pw_pages >> 32) * 4096;
	}
	began = pw_now();
	for (int i = 0; i < PW_CALLS; i++)
		if (w->pread(w->fd, pw_buf, pw_n, at[i]) < 0)
			pw_die("pread");
	return pw_now() - began;
}

static double pw_opens(struct pw_way *w)
{
	double began = pw_now();

	for (int i = 0; i < PW_CALLS; i++) {
		int fd = w->open(pw_path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || (pw_n && w->read(fd, pw_buf, pw_n) < 0) || w->close(fd))
			pw_die(pw_path);
	}
	return pw_now() - began;
}

static int pw_less(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double pw_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), pw_less);
	return v[n / 2];
}

int main(int argc, char **argv)
{
	struct pw_way way[2] = {
		{(int (*)(const char *, int, ...))pw_libcs("open64"),
		 (int (*)(int))pw_libcs("close"),
		 (ssize_t(*)(int, void *, size_t))pw_libcs("read"),
		 (ssize_t(*)(int, void *, size_t, off_t))pw_libcs("pread64"), -1, 0},
		{open, close, read, pread, -1, 0},
	};
	double (*round)(struct pw_way *) = argc < 2		       ? NULL
					   : !strcmp(argv[1], "read")  ? pw_reads
					   : !strcmp(argv[1], "pread") ? pw_preads
					   : !strcmp(argv[1], "open")  ? pw_opens
								       : NULL;
	long rounds = argc == 5 ? atol(argv[4]) : 0;
	double *took[3];
	struct stat st;

	if (!round || rounds < 1 || rounds > 1 << 20) {
		fprintf(stderr, "usage: turns read|pread|open FILE BYTES ROUNDS\n");
		return 2;
	}
	pw_path = argv[2];
	pw_n = (size_t)atol(argv[3]);
	if (stat(pw_path, &st) || pw_n > sizeof(pw_buf))
		pw_die(pw_path);
	pw_pages = (uint64_t)st.st_size / 4096;
	memset(pw_buf, 1, sizeof(pw_buf));
	for (int i = 0; i < 3; i++) {
		took[i] = calloc((size_t)rounds, sizeof(double));
		if (!took[i])
			pw_die("memory");
	}
	for (int i = 0; i < 2; i++)
		pw_open(&way[i]);
	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < 2; i++) {
			int which =
				(int)(r + i) & 1; /* who is first takes turns as well */

			took[which][r] = round(&way[which]);
		}
		took[2][r] = took[1][r] / took[0][r];
	}
	printf("%.1f %.1f %.4f\n", pw_median(took[0], (size_t)rounds) / PW_CALLS,
	       pw_median(took[1], (size_t)rounds) / PW_CALLS,
	       pw_median(took[2], (size_t)rounds));
	return 0;
}
