/*
 * stores_kill: is every byte whose write has returned in the file, when the writer is killed?
 * A writer under the library (PAGEWELL_WRITE=map) writes ever higher numbers into the slots of
 * a file and announces each when its write has returned; it is killed at a moment that nobody
 * chooses, and each slot must hold what was announced, or the next.
 *
 * stores_kill NAME FILE ROUNDS: ends with one line of the test protocol. The writer is the
 * same program: stores_kill FILE NUMBER-OF-THE-MEMORY.
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

#define SLOTS 64
#define SLOT_BYTES 512
#define WORDS (SLOT_BYTES / sizeof(uint64_t))

struct announced {
	_Atomic uint64_t number[SLOTS];
	_Atomic uint64_t writes;
};

static struct announced *said;
static const char *library;

static bool join(int memory)
{
	void *m =
		mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);

	said = m;
	return m != MAP_FAILED;
}

/* Half of the rounds by pwrite, half by write at the position. */
static int write_on(const char *path, unsigned round)
{
	int fd = open(path, round % 4 < 3 ? O_RDWR : O_WRONLY);
	uint64_t rng = round;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		/* Mostly the same few: a page that is written often is stored to. */
		int64_t i = rng_below(&rng, rng_one_in(&rng, 8) ? SLOTS : 4);
		uint64_t number = atomic_load(&said->number[i]) + 1;
		static uint64_t slot[WORDS];
		ssize_t put;

		for (size_t k = 0; k < WORDS; k++)
			slot[k] = number;
		if (round % 2)
			put = pwrite(fd, slot, SLOT_BYTES, i * SLOT_BYTES);
		else
			put = lseek(fd, i * SLOT_BYTES, SEEK_SET) < 0
				      ? -1
				      : write(fd, slot, SLOT_BYTES);
		if (put != SLOT_BYTES)
			return 1;
		atomic_store(&said->number[i], number);
		atomic_fetch_add(&said->writes, 1);
	}
}

/* What was announced or, if the writer was killed in the middle, words of the next. */
static bool holds(const char *path, unsigned round)
{
	static uint64_t slot[SLOTS][WORDS];
	int fd = open(path, O_RDONLY);
	bool ok = read(fd, slot, sizeof(slot)) == sizeof(slot);

	close(fd);
	for (int i = 0; ok && i < SLOTS; i++) {
		uint64_t number = atomic_load(&said->number[i]);

		for (size_t k = 0; ok && k < WORDS; k++) {
			ok = slot[i][k] == number || slot[i][k] == number + 1;
			if (!ok)
				fprintf(stderr,
					"round %u, slot %d, word %zu: %" PRIu64
					", announced was %" PRIu64 "\n",
					round, i, k, slot[i][k], number);
		}
		/* The next round goes on from what is there. */
		atomic_store(&said->number[i], slot[i][0]);
	}
	return ok;
}

static bool one_round(const char *path, int memory, unsigned round)
{
	char number[16], which[16];
	uint64_t before = atomic_load(&said->writes), rng = round + 1000;
	int status;
	pid_t pid;

	snprintf(number, sizeof(number), "%d", memory);
	snprintf(which, sizeof(which), "%u", round);
	pid = fork();
	if (!pid) {
		setenv("LD_PRELOAD", library, 1);
		setenv("PAGEWELL_WRITE", "map", 1);
		execl("/proc/self/exe", "stores_kill", path, number, which, NULL);
		_exit(127);
	}
	for (int i = 0; atomic_load(&said->writes) < before + 500 && i < 10000; i++)
		usleep(1000);
	usleep((useconds_t)rng_below(&rng, 12000));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status)) {
		fprintf(stderr, "round %u: the writer ended by itself\n", round);
		return false;
	}
	return holds(path, round);
}

int main(int argc, char **argv)
{
	static unsigned char ones[SLOTS * SLOT_BYTES + 4096];
	unsigned rounds, bad = 0;
	int memory, fd;

	if (argc != 4)
		return 2;
	if (argv[2][0] >= '0' && argv[2][0] <= '9')
		return join(atoi(argv[2])) ? write_on(argv[1], (unsigned)atoi(argv[3]))
					   : 2;
	library = getenv("PAGEWELL_LIB");
	if (!library)
		return 2;
	memory = memfd_create("said", 0);
	rounds = (unsigned)atoi(argv[3]);
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(ones + SLOTS * SLOT_BYTES, 1, 4096); /* a witness */
	if (memory < 0 || ftruncate(memory, sizeof(*said)) || !join(memory) ||
	    write(fd, ones, sizeof(ones)) != sizeof(ones) || close(fd))
		return 2;
	for (unsigned i = 0; i < rounds; i++)
		bad += !one_round(argv[2], memory, i);
	unlink(argv[2]);
	fprintf(stderr, "%s: %u rounds, %" PRIu64 " writes\n", argv[1], rounds,
		atomic_load(&said->writes));
	if (bad)
		printf("not ok %s - lost in %u rounds of %u\n", argv[1], bad, rounds);
	else
		printf("ok %s\n", argv[1]);
	return bad != 0;
}
