/*
 * What the processes of the exactness tester share: options, the word that says
 * whose turn it is, the note about the last step, and the tallies. All of it
 * lies in one memfd mapping, which is the only way the writer talks to readers.
 */
#ifndef TORTURE_EXACT_H
#define TORTURE_EXACT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE ((int64_t)4096)
#define MAX_FILE ((int64_t)2 << 20)
#define MAX_READ ((int64_t)256 << 10)
#define READ_ONLY_FILES 6

enum turn { TURN_WRITER, TURN_READER, TURN_OVER };

struct options {
	char name[64];
	char dir[1024];
	uint64_t seed;
	uint64_t steps;
	bool differ_stop;
	bool read_only;	   /* no writer: compare files that are there already */
	bool known_limits; /* also do what DESIGN 12 admits to be a difference */
	bool one_way;	   /* free: files grow only while no reader reads */
	uint32_t free_seconds;
	uint32_t readers; /* free: processes */
	uint32_t threads; /* free: per process */
};

/* The last step, for the reader's aim and for reports. */
struct note {
	uint64_t step;
	uint32_t replaced; /* how often the path got a new file */
	char name[24];
	int64_t off, len;
	int64_t before, after; /* sizes */
};

/* The turn-based reader's counts. */
struct tally {
	uint64_t reads, bytes, seeks, opens, own_changes, bad_buffers;
	uint64_t differences;
};

/* ---- free-running mode ---- */

#define RECORD 2048
#define RECORDS 512
#define FREE_THREADS 16
#define FREE_MAX_READ ((int64_t)64 << 10)

enum kind {
	K_ZEROS,     /* bytes that were never zero while the size covered them */
	K_TORN,	     /* one record, words of two versions */
	K_STALE,     /* a version replaced before the read began */
	K_FUTURE,    /* a version not begun when the read ended */
	K_MISPLACED, /* bytes that belong elsewhere, or nowhere */
	K_PAST,	     /* a count beyond a size that did not change meanwhile */
	K_SHORT,     /* a count short of such a size */
	K_ERROR,     /* the call failed */
	K_KINDS
};

enum source { BY_LIBRARY, BY_KERNEL, SOURCES };

struct count {
	uint64_t reads, bytes;
	uint64_t kind[K_KINDS];
};

struct free_state {
	_Alignas(64) _Atomic uint32_t stop;
	_Atomic uint32_t kernel_only;
	_Atomic uint32_t pause;
	_Atomic int64_t aim; /* where the writer is busy, and will cut next */
	_Atomic uint64_t cuts, writes;
	/* Odd while the size may be changing; read like a seqlock. */
	_Alignas(64) _Atomic uint32_t size_seq;
	_Atomic int64_t size;
	/* Version of each record: raised before, respectively after, its write. */
	_Atomic uint32_t begun[RECORDS], done[RECORDS];
	struct {
		_Alignas(64) _Atomic uint64_t reading; /* odd while in a read */
		struct count count[SOURCES];
	} thread[FREE_THREADS];
};

struct exact {
	_Alignas(64) _Atomic uint32_t whose;
	_Atomic uint32_t asleep;
	_Alignas(64) struct note note;
	struct tally tally;
	struct options opt;
	struct free_state free;
};

/* exact.c: true once a reader process has ended. */
bool reader_is_gone(void);

/* turn.c */
void turn_give(struct exact *x, enum turn to);
/* False if the other side is gone or does not answer for a very long time. */
bool turn_await_writer_side(struct exact *x);
enum turn turn_await_reader_side(struct exact *x);

/* steps.c: the writer of the turn-based mode. NULL, or why it failed. */
const char *steps_run(struct exact *x);

/* uring.c: one write through an io_uring; its count or -errno. */
long uring_pwrite(int fd, const void *from, uint32_t n, int64_t off);

/* reader.c: the turn-based reader. */
int reader_run(struct exact *x);

/* free_writer.c, free_reader.c */
const char *free_write(struct exact *x);
int free_read(struct exact *x, uint32_t process);
void free_sum(const struct exact *x, struct count sum[SOURCES]);
extern const char *const free_kind_name[K_KINDS];

#endif
