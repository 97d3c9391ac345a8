/*
 * replay DIR <TRACE: makes the calls of a trace, as _hindsight writes it: on files in DIR
 * that are there already, into one buffer, so that how much is served tells of nothing but the
 * order of the calls.
 *
 *	o SLOT FILE	open DIR/FILE as descriptor SLOT
 *	c SLOT		close it
 *	r SLOT N	read N bytes
 *	p SLOT N OFF	pread
 *	s SLOT OFF	seek to OFF
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define SLOTS 64
#define MOST (1 << 20)

static char buf[MOST];

int main(int argc, char **argv)
{
	int fd[SLOTS];
	char path[4096];
	unsigned slot, file;
	size_t n;
	long off;
	char op;

	if (argc != 2)
		return 2;
	for (int i = 0; i < SLOTS; i++)
		fd[i] = -1;
	while (scanf(" %c %u", &op, &slot) == 2 && slot < SLOTS) {
		bool ok = false;

		switch (op) {
		case 'o':
			ok = scanf("%u", &file) == 1;
			snprintf(path, sizeof(path), "%s/%u", argv[1], file);
			fd[slot] = open(path, O_RDONLY);
			ok = ok && fd[slot] >= 0;
			break;
		case 'c':
			ok = close(fd[slot]) == 0;
			fd[slot] = -1;
			break;
		case 'r':
			ok = scanf("%zu", &n) == 1 && n <= MOST &&
			     read(fd[slot], buf, n) >= 0;
			break;
		case 'p':
			ok = scanf("%zu %ld", &n, &off) == 2 && n <= MOST &&
			     pread(fd[slot], buf, n, off) >= 0;
			break;
		case 's':
			ok = scanf("%ld", &off) == 1 &&
			     lseek(fd[slot], off, SEEK_SET) == off;
			break;
		default:
			break;
		}
		if (!ok) {
			fprintf(stderr, "replay: %c %u failed\n", op, slot);
			return 1;
		}
	}
	return feof(stdin) ? 0 : 1;
}
