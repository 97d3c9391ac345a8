/*
 * probe.c - a reader that is served for certain wherever anything is: it reads one spot
 * so often that a window is earned whatever the machine's costs were measured to be.
 * probe FILE [hold | exec PROGRAM ARG...]: FILE, of 64 KiB or more, goes to stdout as it
 * is read, 512 bytes at a time. With `hold` it then waits for the end of stdin and reads
 * FILE once more, opened anew; with `exec` it becomes PROGRAM. Status 3: two reads of the
 * same bytes differ.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCK = 512, SPOT = 64 * BLOCK, TIMES = 16000 };

static char spot[SPOT];
static unsigned long sum;

static void fail(const char *what, int status)
{
	fprintf(stderr, "probe: %s\n", what);
	exit(status);
}

static void read_spot(int fd)
{
	char buf[BLOCK];

	for (int i = 0; i < TIMES; i++) {
		int at = i % (SPOT / BLOCK) * BLOCK;

		if (pread(fd, buf, BLOCK, at) != BLOCK)
			fail("short read", 3);
		if (memcmp(buf, spot + at, BLOCK) != 0)
			fail("read something else", 3);
	}
}

static void copy(int fd, int to)
{
	unsigned long now = 0;
	char buf[BLOCK];
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) != 0)
		fail("cannot seek", 1);
	while ((n = read(fd, buf, BLOCK)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			now = now * 31 + (unsigned char)buf[i];
		if (to >= 0 && write(to, buf, (size_t)n) != n)
			fail("cannot write", 1);
	}
	if (n < 0)
		fail("cannot read", 1);
	if (sum && now != sum)
		fail("the file is another one now", 3);
	sum = now;
}

static int open_it(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		fail("cannot open the file", 1);
	return fd;
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	char c;
	int fd;

	if (argc < 2)
		fail("say which file", 1);
	fd = open_it(argv[1]);
	if (pread(fd, spot, SPOT, 0) != SPOT)
		fail("the file is too short", 1);
	read_spot(fd);
	copy(fd, 1);
	if (argc > 2 && strcmp(argv[2], "hold") == 0) {
		/* Often enough for each page of the window to be earned too. */
		for (int i = 0; i < 3; i++)
			copy(fd, -1);
		if (write(2, "holding\n", 8) != 8)
			fail("cannot write", 1);
		while (read(0, &c, 1) > 0)
			;
		fd = open_it(argv[1]);
		read_spot(fd);
		copy(fd, -1);
	}
	if (argc > 3 && strcmp(argv[2], "exec") == 0) {
		execvp(argv[3], argv + 3);
		fail("cannot exec", 1);
	}
	/* No report is written under a limit on the size of files. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	return 0;
}
