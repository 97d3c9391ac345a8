/*
 * stores_crowd: several processes write into slots of their own that lie side by side in the
 * same pages: three by stores (PAGEWELL_WRITE=map), one by plain writes, one through a mapping;
 * and one cuts the tail behind all slots and has it grow again. In the end each slot holds what
 * its owner wrote last.
 *
 * stores_crowd NAME FILE WRITES: ends with one line of the test protocol. The others are the
 * same program: stores_crowd FILE NUMBER-OF-THE-MEMORY KIND WRITES.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rng.h"

#define KINDS 5
#define SLOTS 75
#define SLOT_BYTES 512
#define ALL ((off_t)SLOTS * SLOT_BYTES)
#define WORDS (SLOT_BYTES / sizeof(uint64_t))

enum { BY_PWRITE, BY_POSITION, BLINDLY, PLAINLY, BY_MAPPING };

static _Atomic uint64_t *last; /* of each slot, by its owner */
static const char *library;

static bool join(int memory)
{
	void *m = mmap(NULL, SLOTS * sizeof(*last), PROT_READ | PROT_WRITE, MAP_SHARED,
		       memory, 0);

	last = m;
	return m != MAP_FAILED;
}

static bool put(int fd, int kind, unsigned char *map, const void *slot, off_t at)
{
	switch (kind) {
	case BY_MAPPING:
		memcpy(map + at, slot, SLOT_BYTES);
		return true;
	case BY_POSITION:
		return lseek(fd, at, SEEK_SET) == at &&
		       write(fd, slot, SLOT_BYTES) == SLOT_BYTES;
	default:
		return pwrite(fd, slot, SLOT_BYTES, at) == SLOT_BYTES;
	}
}

static int write_on(const char *path, int kind, uint64_t writes)
{
	int fd = open(path, kind == BLINDLY ? O_WRONLY : O_RDWR);
	unsigned char *map = kind == BY_MAPPING ? mmap(NULL, ALL, PROT_READ | PROT_WRITE,
						       MAP_SHARED, fd, 0)
						: NULL;
	static uint64_t slot[WORDS];
	uint64_t rng = (uint64_t)kind;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t i = 1; i <= writes; i++) {
		int64_t mine = rng_below(&rng, SLOTS / KINDS) * KINDS + kind;
		/* Now and then nothing but zeros, which is nobody's witness. */
		uint64_t number = rng_one_in(&rng, 5) ? 0 : i << 8 | (uint64_t)kind;

		for (size_t k = 0; k < WORDS; k++)
			slot[k] = number;
		if (!put(fd, kind, map, slot, mine * SLOT_BYTES))
			return 1;
		atomic_store(&last[mine], number);
	}
	return 0;
}

static pid_t start(const char *path, int memory, int kind, const char *writes)
{
	char number[16], which[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(number, sizeof(number), "%d", memory);
	snprintf(which, sizeof(which), "%d", kind);
	if (kind <= BLINDLY) {
		setenv("LD_PRELOAD", library, 1);
		setenv("PAGEWELL_WRITE", "map", 1);
	}
	execl("/proc/self/exe", "stores_crowd", path, number, which, writes, NULL);
	_exit(127);
}

/* The tail comes and goes until all have ended; false if one did not end well. */
static bool tails(int fd, uint64_t *cuts)
{
	static const char some[5000] = {[0 ... 4999] = 't'};
	uint64_t rng = 1;
	bool ok = true;
	int status;

	for (int left = KINDS; left;) {
		pid_t ended = waitpid(-1, &status, WNOHANG);

		ok &= ended <= 0 || !status;
		left -= ended > 0;
		ok &= !ftruncate(fd, ALL + rng_below(&rng, 5000));
		usleep((useconds_t)rng_below(&rng, 300));
		ok &= pwrite(fd, some, sizeof(some), ALL + rng_below(&rng, 3000)) > 0;
		usleep((useconds_t)rng_below(&rng, 1000));
		++*cuts;
	}
	return ok;
}

/* How many slots are not as they should be. */
static int wrong_slots(int fd)
{
	static uint64_t slot[SLOTS][WORDS];
	int wrong = 0;

	if (pread(fd, slot, sizeof(slot), 0) != sizeof(slot))
		return SLOTS;
	for (int i = 0; i < SLOTS; i++) {
		uint64_t should = atomic_load(&last[i]);
		bool same = true;

		for (size_t k = 0; k < WORDS; k++)
			same &= slot[i][k] == should;
		wrong += !same;
		if (!same)
			fprintf(stderr, "slot %d: %" PRIx64 ", should be %" PRIx64 "\n",
				i, slot[i][0], should);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static const char zeros[ALL + 8000];
	uint64_t cuts = 0;
	int memory, fd, wrong;
	bool ended_well;

	if (argc == 5)
		return join(atoi(argv[2])) ? write_on(argv[1], atoi(argv[3]),
						      strtoull(argv[4], NULL, 10))
					   : 2;
	if (argc != 4)
		return 2;
	library = getenv("PAGEWELL_LIB");
	if (!library)
		return 2;
	memory = memfd_create("last", 0);
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (memory < 0 || ftruncate(memory, SLOTS * sizeof(*last)) || !join(memory) ||
	    write(fd, zeros, sizeof(zeros)) != sizeof(zeros)) {
		close(fd);
		return 2;
	}
	for (int i = 0; i < KINDS; i++)
		start(argv[2], memory, i, argv[3]);
	ended_well = tails(fd, &cuts);
	wrong = wrong_slots(fd);
	close(fd);
	unlink(argv[2]);
	fprintf(stderr, "%s: %" PRIu64 " cuts\n", argv[1], cuts);
	if (wrong || !ended_well)
		printf("not ok %s - %d slots of %d are wrong%s\n", argv[1], wrong, SLOTS,
		       ended_well ? "" : ", not all ended well");
	else
		printf("ok %s\n", argv[1]);
	return wrong || !ended_well;
}
