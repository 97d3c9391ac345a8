/*
 * What the two processes of the stores tester share: a batch of calls that the writer, which
 * has the library, is to make, and what came of them. All of it lies in one memfd mapping.
 */
#ifndef TORTURE_STORES_H
#define TORTURE_STORES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_FILE ((int64_t)512 << 10)
#define MAX_IO 16384
#define BATCH 48
#define SLOTS 2

enum call {
	CALL_PWRITE,
	CALL_PWRITEV,
	CALL_WRITE,
	CALL_WRITEV,
	CALL_LSEEK,
	CALL_READ,
	CALL_PREAD,
	CALL_REOPEN,
	CALL_TRUNCATE,
	CALL_TIMES, /* futimens, to a time long ago */
	CALL_KINDS
};

struct order {
	uint32_t call, slot;
	int64_t off; /* of pwrite, pread, lseek; the size, of truncate */
	uint32_t n;
	uint32_t arg;  /* whence, open flags, where a vector is divided */
	uint32_t data; /* where in `data` the bytes lie, or are to be put */
};

struct answer {
	int64_t ret;
	int err;
};

enum whose { PARENT, WRITER, OVER };

struct shared {
	_Alignas(64) _Atomic uint32_t whose;
	_Atomic uint32_t asleep;
	char path[1024];
	uint32_t count;
	struct order order[BATCH];
	struct answer answer[BATCH];
	unsigned char data[BATCH * MAX_IO];
};

struct stores_options {
	const char *name;
	const char *dir;
	uint64_t seed;
	uint64_t steps;
};

struct stores_tally {
	uint64_t steps, writes, reads, turns, strangers;
};

/* stores_turn.c: gives the turn away, and waits for it to come back. False: the other is
 * gone (the parent), or it is all over (the writer). */
bool stores_pass(struct shared *s, enum whose to);
void stores_over(struct shared *s);
bool stores_wait(struct shared *s, enum whose me);

/* stores.c: the writer has ended. */
bool stores_writer_is_gone(void);

/* stores_writer.c */
int stores_write(struct shared *s);

/* stores_steps.c: NULL, or what differed. */
const char *stores_steps(struct shared *s, const struct stores_options *o,
			 struct stores_tally *t);

#endif
