/*
 * eater.c - a program that needs what memory it may have: eater FILE BYTES MIB. It fills MIB
 * of its own, reads FILE, of so many bytes, in sequence and then here and there, and looks
 * whether all is as it should be: each 8 bytes of FILE hold their place, with no zero byte.
 * eater FILE BYTES make: makes the file. Status 3: something was wrong.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096

static uint64_t word(uint64_t off)
{
	return off * 0x9e3779b97f4a7c15u | 0x0101010101010101u;
}

static void fail(const char *what)
{
	fprintf(stderr, "eater: %s\n", what);
	exit(3);
}

static void make(int fd, uint64_t bytes)
{
	uint64_t buf[BLOCK / 8];

	for (uint64_t at = 0; at < bytes; at += BLOCK) {
		for (size_t i = 0; i < BLOCK / 8; i++)
			buf[i] = word(at + 8 * i);
		if (write(fd, buf, BLOCK) != BLOCK)
			fail("cannot write");
	}
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void check(const uint64_t *buf, ssize_t got, uint64_t at)
{
	if (got != BLOCK)
		fail("short read");
	for (size_t i = 0; i < BLOCK / 8; i++)
		if (buf[i] != word(at + 8 * i))
			fail("wrong bytes");
}

int main(int argc, char **argv)
{
	uint64_t bytes = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	size_t own = argc > 3 ? strtoul(argv[3], NULL, 10) << 20 : 0;
	int fd = argc > 3 ? open(argv[1], own ? O_RDONLY : O_RDWR | O_CREAT, 0600) : -1;
	uint64_t buf[BLOCK / 8];
	uint64_t at = 1;
	char *mine;

	if (fd < 0 || bytes < BLOCK)
		fail("cannot open the file");
	if (!own) {
		make(fd, bytes);
		return 0;
	}
	mine = malloc(own);
	if (!mine)
		fail("no memory");
	memset(mine, 7, own);
	for (uint64_t off = 0; off < bytes; off += BLOCK)
		check(buf, read(fd, buf, BLOCK), off);
	for (int i = 0; i < 8000; i++) {
		at = at * 6364136223846793005u + 1442695040888963407u;
		uint64_t off = (at >> 20) % (bytes / BLOCK) * BLOCK;

		check(buf, pread(fd, buf, BLOCK, (off_t)off), off);
	}
	for (size_t i = 0; i < own; i += 4096)
		if (mine[i] != 7)
			fail("my own memory is wrong");
	return 0;
}
