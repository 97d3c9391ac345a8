/*
 * look: a reader under the library that a script leads by the hand. It keeps one descriptor
 * of a file, does what each line on stdin says, and answers by a line on stdout.
 *
 *	warm [BYTES]	reads in the first so many bytes, if not all, until the library
 *			answers: `warm`; or `cold`, if it never does
 *	same		reads everywhere, mostly around the end that is and the one that was, and
 *			compares each answer with the kernel's for the same descriptor: `same N`,
 *			of which the kernel failed N; or how they differ
 *	walk		the same for reads in sequence, from the beginning to the end
 *	reopen		closes the file and opens it again
 *	blocks		what the file has allocated
 *	head N		the first N bytes, by the library; | where they can't be printed
 *
 * look FILE: or, for FILE, a name with a colon: memfd:BYTES:HOLE is a memfd of so many bytes,
 * the last HOLE of which have never been written, opened by its name in /proc.
 */
#include "raw.h"
#include "rng.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST ((size_t)20000)
#define ROW 64 /* reads without a system call that count as served */

static const char *path;
static char memfd_name[64];
static int fd = -1;
static int64_t size_then;
static uint64_t rng = 1;
static uint64_t failed;
static unsigned char *buf, *truth;

static void give_up(const char *what)
{
	printf("look: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int open_memfd(void)
{
	static const char full[4096] = {[0 ... 4095] = 'm'};
	int64_t bytes = 0, hole = 0;
	int mem = memfd_create("look", MFD_CLOEXEC);

	if (mem < 0 || sscanf(path, "memfd:%ld:%ld", &bytes, &hole) != 2)
		give_up(path);
	for (int64_t at = 0; at < bytes - hole; at += (int64_t)sizeof(full))
		raw_pwrite(mem, full, sizeof(full), at);
	if (raw(SYS_ftruncate, mem, bytes))
		give_up(path);
	snprintf(memfd_name, sizeof(memfd_name), "/proc/self/fd/%d", mem);
	return open(memfd_name, O_RDONLY);
}

static void open_it(void)
{
	if (memfd_name[0])
		fd = open(memfd_name, O_RDONLY);
	else
		fd = strchr(path, ':') ? open_memfd() : open(path, O_RDONLY);
	if (fd < 0)
		give_up(path);
	size_then = raw_size(fd);
}

/* How many reads this thread has asked of the kernel. */
static long asked(void)
{
	char text[256] = "";
	long io = raw_open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC, 0);
	char *at;

	raw(SYS_read, io, text, sizeof(text) - 1);
	raw(SYS_close, io);
	at = strstr(text, "syscr: ");
	return at ? strtol(at + 7, NULL, 10) : -1;
}

/* Some places are read again and again, so that their pages are earned. */
static bool warm(int64_t bytes)
{
	if (bytes > raw_size(fd))
		bytes = raw_size(fd);
	for (int round = 0; round < 500; round++) {
		long before = asked();

		for (int i = 0; i < ROW; i++) {
			int64_t at = rng_below(&rng, bytes - 100);

			if (pread(fd, buf, 100, at) != (bytes < 100 ? bytes : 100))
				return false;
		}
		/* the look at the counter is a read too */
		if (asked() - before <= 1)
			return true;
	}
	return false;
}

static bool one_differs(const char *what, int64_t off, size_t n, ssize_t got, int err,
			long want)
{
	if (want < 0)
		failed++;
	if ((got == want || (got == -1 && -err == want)) &&
	    (got <= 0 || !memcmp(buf, truth, (size_t)got)))
		return false;
	printf("%s of %zu at %ld: library %zd (errno %d), kernel %ld%s, size %ld\n", what,
	       n, (long)off, got, got < 0 ? err : 0, want,
	       got == want && got > 0 ? ", other bytes" : "", (long)raw_size(fd));
	return true;
}

static bool differs_at(int64_t off, size_t n)
{
	ssize_t got;
	int err;

	if (off < 0)
		off = 0;
	got = pread(fd, buf, n, off);
	err = errno;
	if (one_differs("pread", off, n, got, err, raw_pread(fd, truth, n, off)))
		return true;
	if (lseek(fd, off, SEEK_SET) != off)
		give_up("lseek");
	got = read(fd, buf, n);
	err = errno;
	return one_differs("read", off, n, got, err, raw_pread(fd, truth, n, off));
}

static bool differs(void)
{
	static const size_t some[] = {1, 8, 100, 512, 4096, 9000, MOST};
	int64_t size = raw_size(fd);
	int64_t places[] = {0, 4096, size, size_then, size & -4096, size_then & -4096};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (size_t k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
			int64_t n = (int64_t)some[k];

			if (differs_at(places[i], some[k]) ||
			    differs_at(places[i] - n, some[k]) ||
			    differs_at(places[i] - n - 1, some[k]) ||
			    differs_at(places[i] - n / 2, some[k]) ||
			    differs_at(rng_below(&rng, size_then + 1), some[k]))
				return true;
		}
	}
	int64_t end = lseek(fd, 0, SEEK_END);
	if (end != raw_size(fd)) {
		printf("SEEK_END: library %ld, kernel %ld\n", (long)end,
		       (long)raw_size(fd));
		return true;
	}
	size_then = size;
	return false;
}

/* Where a read failed the next one is tried all the same. */
static bool walk_differs(void)
{
	int64_t end = raw_size(fd);

	for (int64_t at = 0; at < end; at += 1000) {
		long want;
		ssize_t got;
		int err;

		if (lseek(fd, 0, SEEK_CUR) != at && lseek(fd, at, SEEK_SET) != at)
			give_up("lseek");
		got = read(fd, buf, 1000);
		err = errno;
		want = raw_pread(fd, truth, 1000, at);
		if (one_differs("read", at, 1000, got, err, want))
			return true;
	}
	return false;
}

static void print_head(size_t n)
{
	ssize_t got = pread(fd, buf, n < MOST ? n : MOST, 0);

	for (ssize_t i = 0; i < got; i++)
		if (buf[i] < ' ')
			buf[i] = '|';
	printf("%.*s\n", got > 0 ? (int)got : 0, (const char *)buf);
}

static void obey(const char *line)
{
	struct stat st;

	if (!strncmp(line, "warm", 4)) {
		int64_t bytes = strtoll(line + 4, NULL, 10);

		puts(warm(bytes ? bytes : INT64_MAX) ? "warm" : "cold");
	} else if (!strncmp(line, "same", 4) || !strncmp(line, "walk", 4)) {
		bool walk = line[0] == 'w';

		failed = 0;
		if (walk)
			lseek(fd, 0, SEEK_SET);
		if (!(walk ? walk_differs() : differs()))
			printf("same %lu\n", failed);
	} else if (!strncmp(line, "reopen", 6)) {
		close(fd);
		open_it();
		puts("opened");
	} else if (!strncmp(line, "blocks", 6)) {
		raw(SYS_fstat, fd, &st);
		printf("%ld\n", (long)st.st_blocks);
	} else if (!strncmp(line, "head", 4)) {
		print_head((size_t)strtoul(line + 4, NULL, 10));
	} else {
		puts("what?");
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[64];

	buf = malloc(MOST);
	truth = malloc(MOST);
	if (argc != 2 || !buf || !truth)
		return 2;
	path = argv[1];
	open_it();
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
