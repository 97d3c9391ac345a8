/*
 * seeker.c - a program of streams. seeker FILE COUNT BUFFER: so many times it goes somewhere in
 * FILE, at random but the same each time, and reads 8 bytes, a line, or back and forth; with a
 * buffer of so many bytes (0: libc's own, 1: none). Then it reads FILE from end to end, byte by
 * byte and line by line. What it has seen goes to stdout, as one number for each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static char room[1 << 20];

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * 0x100000001b3u;
	return h;
}

static uint64_t at_random(FILE *f, long size, int count)
{
	uint64_t h = 0, place = 1;
	char b[64];

	for (int i = 0; i < count; i++) {
		place = place * 6364136223846793005u + 1442695040888963407u;
		if (fseeko(f, (off_t)((place >> 20) % (uint64_t)size), SEEK_SET))
			return 0;
		switch (place >> 61) {
		case 0:
			if (fgets(b, sizeof(b), f))
				h = mix(h, b, 1);
			break;
		case 1:
			ungetc(fgetc(f), f);
			h += (uint64_t)ftello(f);
			fseeko(f, -(long)(place % 100), SEEK_CUR);
			break;
		}
		h = mix(h, b, fread(b, 1, 8, f));
	}
	return h;
}

static uint64_t by_bytes(FILE *f)
{
	uint64_t h = 0;
	int c;

	rewind(f);
	while ((c = getc(f)) != EOF)
		h = (h ^ (unsigned char)c) * 0x100000001b3u;
	return h;
}

static uint64_t by_lines(FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	uint64_t h = 0;
	ssize_t n;

	rewind(f);
	while ((n = getline(&line, &size, f)) > 0)
		h = mix(h, line, (size_t)n);
	free(line);
	return h;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 4 ? fopen(argv[1], "r") : NULL;
	long buffer = argc == 4 ? atol(argv[3]) : 0;
	long size;

	if (!f || buffer < 0 || buffer > (long)sizeof(room)) {
		fprintf(stderr, "usage: seeker FILE COUNT BUFFER\n");
		return 2;
	}
	if (buffer)
		setvbuf(f, room, buffer == 1 ? _IONBF : _IOFBF, (size_t)buffer);
	fseek(f, 0, SEEK_END);
	size = ftell(f);
	printf("%ld %016llx ", size,
	       (unsigned long long)at_random(f, size, atoi(argv[2])));
	printf("%016llx ", (unsigned long long)by_bytes(f));
	printf("%016llx\n", (unsigned long long)by_lines(f));
	return fclose(f) != 0;
}
