/* See shorten.h. */
#include "shorten.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BLOCK (64 << 10)

static int other_of(const char *path, const char *suffix, int flags)
{
	char name[1100];

	snprintf(name, sizeof(name), "%s.%s", path, suffix);
	return open(name, flags | O_CLOEXEC, 0666);
}

/* Bytes that are never zero, other ones each time. */
static int fill(int fd, long bytes)
{
	static unsigned char block[BLOCK];
	unsigned seed = (unsigned)getpid();

	for (long at = 0; at < bytes;) {
		size_t n = bytes - at < BLOCK ? (size_t)(bytes - at) : BLOCK;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 1103515245 + 12345;
			block[i] = (unsigned char)(seed >> 16 | 1);
		}
		if (pwrite(fd, block, n, at) != (ssize_t)n)
			return -1;
		at += (long)n;
	}
	return 0;
}

static int copy_all(int from, int to)
{
	static char block[BLOCK];
	ssize_t n;

	while ((n = read(from, block, sizeof(block))) > 0)
		if (write(to, block, (size_t)n) != n)
			return -1;
	return (int)n;
}

static int rotate(const char *path, int fd, long bytes)
{
	int old = other_of(path, "1", O_WRONLY | O_CREAT | O_TRUNC);

	if (old < 0 || copy_all(fd, old) || close(old) || ftruncate(fd, 0))
		return -1;
	return fill(fd, bytes);
}

static int clone_range(int fd, int other)
{
	struct file_clone_range range = {.src_fd = other,
					 .src_offset = BLOCK,
					 .src_length = BLOCK,
					 .dest_offset = BLOCK};

	return ioctl(fd, FICLONERANGE, &range);
}

/* Not cut off before it is known that the other half can be done. */
static bool can_clone(const char *path, int other)
{
	int fd = other_of(path, "1", O_RDWR | O_CREAT | O_TRUNC);
	bool can = fd >= 0 && ioctl(fd, FICLONE, other) == 0;
	int err = errno;

	close(fd);
	errno = err;
	return can;
}

static int on_opened(const char *way, const char *path, int fd, int other, long bytes)
{
	if (!strcmp(way, "o-trunc"))
		return fill(fd, bytes);
	if (!strcmp(way, "ftruncate"))
		return ftruncate(fd, bytes);
	if (!strcmp(way, "collapse"))
		return fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, BLOCK, BLOCK);
	if (!strcmp(way, "rotate"))
		return rotate(path, fd, bytes);
	if (!strcmp(way, "clone"))
		return ioctl(fd, FICLONE, other);
	if (!strcmp(way, "clone-range"))
		return clone_range(fd, other);
	if (!strcmp(way, "fill"))
		return fill(fd, bytes) || ftruncate(fd, bytes) ? -1 : 0;
	errno = EINVAL;
	return -1;
}

/* What is opened goes with the process. */
static int in_that_way(const char *way, const char *path, long bytes)
{
	bool clone = !strcmp(way, "clone");
	int trunc = clone || !strcmp(way, "o-trunc") ? O_TRUNC : 0;
	int fd, other = other_of(path, "other", O_RDONLY);

	if (!strcmp(way, "truncate"))
		return truncate(path, bytes);
	if (clone && !can_clone(path, other))
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC | trunc);
	return fd < 0 ? -1 : on_opened(way, path, fd, other, bytes);
}

int shorten(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (in_that_way(argv[1], argv[2], strtol(argv[3], NULL, 10)) == 0)
		return 0;
	if (errno == EOPNOTSUPP || errno == ENOTTY)
		return 3;
	perror(argv[1]);
	return 1;
}
