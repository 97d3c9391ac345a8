/*
 * trust: two machines and a tree that both see. Each machine is a process under the library,
 * with a segment of its own; one writes a file and closes it, then the other opens it and has
 * to see that and nothing else, be it longer or shorter than before. Then the other way round.
 *
 *	trust DIR1 DIR2 ROUNDS	the tree, as each of them sees it; prints `ok` or what was
 *				wrong
 *
 * Environment: PAGEWELL_LIB, PAGEWELL_SEGMENT (and the same with -2), PAGEWELL_TRUST.
 */
#include "raw.h"
#include "rng.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 4
#define KEPT 8
#define MOST 400000

struct order {
	bool write;
	uint32_t file, version;
	int64_t size;
};

static const char *library;
static char answer[200];
static unsigned char buf[MOST];
static uint64_t rng = 1;

/* Never zero, and another one for each version. */
static unsigned char content(uint32_t version, int64_t at)
{
	return (unsigned char)(1 + ((uint64_t)at / 3 + version * 37u) % 251);
}

/* ---- a machine ---- */

static int kept[KEPT]; /* older openings, still windowed */

static int open_file(const char *dir, const struct order *o, int flags)
{
	char path[1100];

	snprintf(path, sizeof(path), "%s/f%u", dir, o->file);
	return open(path, flags | O_CLOEXEC, 0600);
}

static const char *do_write(const char *dir, const struct order *o)
{
	/* Anew, or over what is there. */
	int flags = rng_one_in(&rng, 2) ? O_TRUNC : 0;
	int fd = open_file(dir, o, O_RDWR | O_CREAT | flags);

	for (int64_t i = 0; i < o->size; i++)
		buf[i] = content(o->version, i);
	if (fd < 0)
		return "open to write";
	if (write(fd, buf, (size_t)o->size) != o->size || ftruncate(fd, o->size))
		return "write";
	return close(fd) ? "close" : NULL;
}

static const char *differs(const struct order *o, int64_t off, ssize_t got, size_t n)
{
	static char why[160];
	int64_t want = o->size - off;

	want = want < 0 ? 0 : want < (int64_t)n ? want : (int64_t)n;
	if (got != want) {
		snprintf(why, sizeof(why), "%zu at %ld: %zd (errno %d), not %ld", n,
			 (long)off, got, errno, (long)want);
		return why;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (buf[i] == content(o->version, off + i))
			continue;
		snprintf(why, sizeof(why), "%zu at %ld: another version", n,
			 (long)(off + i));
		return why;
	}
	return NULL;
}

static const char *do_read(const char *dir, const struct order *o)
{
	static const int usual[] = {1, 100, 512, 4096, 20000};
	int fd = open_file(dir, o, O_RDONLY);
	const char *why = NULL;
	ssize_t got;

	if (fd < 0)
		return "open to read";
	if (lseek(fd, 0, SEEK_END) != o->size)
		return "SEEK_END: another size";
	if (lseek(fd, 0, SEEK_SET))
		return "lseek";
	/* So small that it pays, then anywhere. */
	for (int64_t at = 0; !why; at += got) {
		got = read(fd, buf, 500);
		why = differs(o, at, got, 500);
		if (got <= 0)
			break;
	}
	for (int i = 0; !why && i < 300; i++) {
		size_t n = (size_t)usual[rng_below(&rng, 5)];
		int64_t off = rng_below(&rng, o->size + 100);

		got = pread(fd, buf, n, off);
		why = differs(o, off, got, n);
	}
	int64_t which = rng_below(&rng, KEPT);
	close(kept[which]);
	kept[which] = fd;
	return why;
}

static int machine(const char *dir)
{
	struct order o;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(kept, -1, sizeof(kept));
	while (raw(SYS_read, 0, &o, sizeof(o)) == (long)sizeof(o)) {
		const char *why = o.write ? do_write(dir, &o) : do_read(dir, &o);

		snprintf(answer, sizeof(answer), "%s", why ? why : "");
		if (raw(SYS_write, 0, answer, sizeof(answer)) != sizeof(answer))
			return 2;
	}
	return 0;
}

/* ---- who gives the orders ---- */

static int start(const char *dir, const char *segment_suffix)
{
	char segment[200];
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid) {
		close(pair[1]);
		return pair[0];
	}
	dup2(pair[1], 0);
	snprintf(segment, sizeof(segment), "%s%s", getenv("PAGEWELL_SEGMENT"),
		 segment_suffix);
	setenv("PAGEWELL_SEGMENT", segment, 1);
	setenv("LD_PRELOAD", library, 1);
	execl("/proc/self/exe", "trust", dir, NULL);
	_exit(127);
}

static bool obeyed(int machine, const struct order *o)
{
	if (write(machine, o, sizeof(*o)) == (ssize_t)sizeof(*o) &&
	    read(machine, answer, sizeof(answer)) == (ssize_t)sizeof(answer))
		return !answer[0];
	strcpy(answer, "a machine is gone");
	return false;
}

int main(int argc, char **argv)
{
	int side[2], status, bad = 0;

	if (argc == 2)
		return machine(argv[1]);
	library = getenv("PAGEWELL_LIB");
	if (argc != 4 || !library)
		return 2;
	side[0] = start(argv[1], "");
	side[1] = start(argv[2], "-2");
	if (side[0] < 0 || side[1] < 0)
		return 2;
	for (uint32_t round = 1; round <= (uint32_t)atoi(argv[3]); round++) {
		struct order o = {.write = true,
				  .file = (uint32_t)rng_below(&rng, FILES),
				  .version = round,
				  .size = 1 + rng_below(&rng, MOST - 1)};
		int64_t writer = rng_below(&rng, 2);
		bool ok = obeyed(side[writer], &o);

		o.write = false;
		/* The other one, and who wrote it. */
		ok = ok && obeyed(side[!writer], &o) && obeyed(side[writer], &o);
		if (ok)
			continue;
		printf("round %u, file %u of %ld: %s\n", round, o.file, (long)o.size,
		       answer);
		bad = 1;
		break;
	}
	close(side[0]);
	close(side[1]);
	while (wait(&status) > 0)
		bad |= status;
	if (!bad)
		puts("ok");
	return bad ? 1 : 0;
}
