/*
 * stores_sync: stores (PAGEWELL_WRITE=map, LD_PRELOAD set by the caller) into a file on a file
 * system that lies in an image, and then fsync, or another call that promises as much. When it
 * has returned, the image is copied as it is, as if the power failed: IMAGE.N, and what the
 * file in it must hold is in IMAGE.N.want.
 *
 * stores_sync FILE IMAGE ROUNDS
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rng.h"

#define BYTES ((off_t)64 * 1024)
#define HOT 4 /* pages */

static unsigned char whole[BYTES];
static unsigned char *map;

static bool sync_by(int fd, int round)
{
	switch (round % 4) {
	case 1:
		return !fdatasync(fd);
	case 2:
		return !msync(map, (size_t)BYTES, MS_SYNC);
	default:
		return !fsync(fd);
	}
}

static bool copy(const char *image, int round)
{
	char to[4096];
	int status = 1, fd;
	pid_t pid;

	snprintf(to, sizeof(to), "%s.%d", image, round);
	pid = fork();
	if (!pid) {
		execlp("cp", "cp", "--sparse=always", image, to, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	snprintf(to, sizeof(to), "%s.%d.want", image, round);
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	return !status && write(fd, whole, sizeof(whole)) == BYTES && !close(fd);
}

static bool write_on(int fd, uint64_t *rng)
{
	static unsigned char some[64];

	for (int i = 0; i < 4000; i++) {
		off_t at = rng_below(rng, rng_one_in(rng, 20) ? BYTES - 64 : HOT * 4096);

		memset(some, (int)rng_next(rng), sizeof(some));
		memcpy(whole + at, some, sizeof(some));
		if (pwrite(fd, some, sizeof(some), at) != sizeof(some))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t rng = 1;
	bool ok;
	int fd;

	if (argc != 4)
		return 2;
	unsetenv("LD_PRELOAD"); /* cp's */
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(whole, 'w', sizeof(whole));
	ok = write(fd, whole, sizeof(whole)) == BYTES;
	map = mmap(NULL, (size_t)BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; ok && i < atoi(argv[3]); i++)
		ok = map != MAP_FAILED && write_on(fd, &rng) && sync_by(fd, i) &&
		     copy(argv[2], i);
	return ok ? 0 : 1;
}
