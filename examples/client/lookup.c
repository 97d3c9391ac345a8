/*
 * lookup.c - a C program that uses windows directly, without a preload: COUNT look-ups of a
 * 64-byte record at random in FILE, by pw_client_pread() where others have pread().
 *
 *	cc lookup.c -o lookup $(pkg-config --cflags --libs pagewell-cache)
 *	./lookup FILE COUNT		prints a checksum of what was read
 *	./lookup FILE COUNT hits	and how many reads were answered from a window
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pagewell/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORD = 64 };

/* The library returns its errors, as -errno, and leaves errno alone. */
static int failed(const char *what, int err)
{
	fprintf(stderr, "lookup: %s: %s\n", what, strerror(err));
	return 1;
}

/* The same numbers in every run (the multiplier and addend are Knuth's for MMIX). */
static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return *seed >> 33;
}

static int look_up(struct pw_client *file, uint64_t records, long count)
{
	unsigned char record[RECORD];
	uint64_t sum = 0;
	uint64_t seed = 1;

	for (long i = 0; i < count; i++) {
		off_t at = (off_t)(next(&seed) % records * RECORD);
		ssize_t got = pw_client_pread(file, record, RECORD, at);

		if (got < 0)
			return failed("read", (int)-got);
		for (ssize_t k = 0; k < got; k++)
			sum = sum * 31 + record[k];
	}
	printf("%ld look-ups in %" PRIu64 " records, checksum %016" PRIx64 "\n", count,
	       records, sum);
	return 0;
}

static int run(int fd, const char *name, long count, int say_hits)
{
	struct pw_client *file;
	struct stat st;
	int status;
	int err;

	if (fstat(fd, &st))
		return failed(name, errno);
	if (st.st_size < RECORD) {
		fprintf(stderr, "lookup: %s: no record in it\n", name);
		return 1;
	}
	err = pw_client_open(fd, &file);
	if (err)
		return failed(name, -err);
	status = look_up(file, (uint64_t)st.st_size / RECORD, count);
	if (say_hits)
		printf("%" PRIu64 " hits\n", pw_client_hits());
	pw_client_close(file); /* the window ends before the description does */
	return status;
}

int main(int argc, char **argv)
{
	int status;
	int fd;

	if (argc < 3) {
		fprintf(stderr, "usage: lookup FILE COUNT [hits]\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return failed(argv[1], errno);
	status = run(fd, argv[1], strtol(argv[2], NULL, 10), argc > 3);
	close(fd);
	return status;
}
