/*
 * explain.h - what `pagewell explain` and the processes of the program that it runs share: a
 * table of what became of every call, by file. The command makes it, as a memory file that is
 * sealed at its size, so that nobody can cut it short under those who have it mapped; the
 * library finds it by the environment, adds to it, and never reads a decision from it.
 *
 * Whoever has the file may write anything into it: an index that comes from there is checked
 * before it is used, and the command takes every word for what it is, a number.
 */
#ifndef PW_CACHE_EXPLAIN_H
#define PW_CACHE_EXPLAIN_H

#include <assert.h>
#include <fcntl.h>

#include "cache/atomic.h"

/* Where the library is told of the table: "/proc/PID/fd/N" of the command. Internal to the
 * two. */
#define PW_EXPLAIN_VARIABLE "PAGEWELL_EXPLAIN"
/* The memory file's name: what the kernel says that such a path leads to is "/memfd:" before
 * it, and " (deleted)" after it. */
#define PW_EXPLAIN_NAME "pagewell-explain"

#define PW_EXPLAIN_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

#define PW_EXPLAIN_MAGIC 0x6e69616c70786577ULL /* "wexplain" */
#define PW_EXPLAIN_FILES 4096u		       /* records */

enum pw_call { PW_CALL_READ, PW_CALL_SEEK, PW_CALL_WRITE, PW_CALLS };

/* What became of a call. New ones at the end, before the count: the layout changes by it. */
enum pw_why {
	PW_SERVED,	 /* memory answered; the others went to the kernel, because... */
	PW_WHY_EARN,	 /* so far too few calls to pay for a window or a position */
	PW_WHY_ONCE,	 /* new ground in sequence: a window would not pay for itself */
	PW_WHY_TOUCH,	 /* this page was not read often enough yet to be touched */
	PW_WHY_DEST,	 /* memory that the kernel has not written into yet */
	PW_WHY_END,	 /* reaches past the end of the file, or is there */
	PW_WHY_WITNESS,	 /* nothing but zeros at the end of what was read */
	PW_WHY_FAULT,	 /* the page was gone, or unreadable */
	PW_WHY_REST,	 /* a rest after the last two */
	PW_WHY_SHARED,	 /* another process may share the position */
	PW_WHY_RETURNED, /* the position lately went back, for a write or the like */
	PW_WHY_LIMIT,	 /* nothing can be mapped */
	PW_WHY_SIGBUS,	 /* the thread has SIGBUS blocked */
	PW_WHY_SEEK_END, /* the end can move: only the kernel knows it */
	PW_WHY_SEEK_FAR, /* beyond what is known of the file, or no plain seek */
	PW_WHY_VECTOR,	 /* readv and kin */
	PW_WHY_WRITE,	 /* writes are the kernel's */
	PW_WHY_UNSEEN, /* inherited, received, or opened where the library can't see it */
	PW_WHY_KIND,   /* not a regular file */
	PW_WHY_FS,     /* on a file system that is not on the list */
	PW_WHY_EXCLUDED, /* by PAGEWELL_INCLUDE or PAGEWELL_EXCLUDE */
	PW_WHY_DIRECT,	 /* O_DIRECT */
	PW_WHY_APPEND,	 /* O_APPEND */
	PW_WHY_ACCESS,	 /* opened for writing only, or O_PATH */
	PW_WHY_EMPTY,	 /* empty when it was looked at */
	PW_WHY_HOLES,	 /* on tmpfs, with holes or without a name */
	PW_WHY_STREAMS,	 /* glibc's streams are not as expected */
	PW_WHY_ASIDE,	 /* the library is not at work in the process any more */
	PW_WHY_NOTHING,	 /* a read of no bytes */
	PW_WHY_ERROR,	 /* no such number */
	PW_WHY_OTHER,	 /* inside signal handlers, closed meanwhile, no memory */
	PW_WHY_PASS,	 /* written once: no page of it paid for being opened to stores */
	PW_WHY_TICK, /* the first write of a clock tick, which leaves the file its time */
	PW_WHY_COUNT
};

/* Short names, for JSON: letters and dashes. */
extern const char *const pw_why_name[PW_WHY_COUNT];

/* The first records are not files. */
enum pw_told {
	PW_TOLD_REST, /* files that found no free record, and numbers that are none */
	PW_TOLD_PIPE,
	PW_TOLD_SOCKET,
	PW_TOLD_TERMINAL,
	PW_TOLD_DEVICE, /* any other device */
	PW_TOLD_FOLDER,
	PW_TOLD_ODD,  /* eventfd, epoll... */
	PW_TOLD_FIRST /* the first that is a file */
};

#define PW_EXPLAIN_PATH 256u

/* Marks of a file, by atomic or. */
#define PW_MARK_EXCLUDED 1u /* opened by a name that the knobs exclude */
#define PW_MARK_DROPPED 2u  /* was tracked until it was looked at */
#define PW_MARK_PASSED 4u   /* was tracked until its writes were seen to gain nothing */

/* One file. Claimed by CAS of `id` 0 -> the file's; all counters by atomic add, any process. */
struct pw_shm_told {
	uint64_t id;
	uint32_t
		named; /* 1 when `path` and `magic` are there; written by who claimed it */
	uint32_t magic; /* of its file system, as from statfs */
	uint32_t marks;
	uint32_t spare;
	uint64_t calls[PW_CALLS];
	uint64_t served_reads;
	uint64_t served_bytes;
	uint64_t served_seeks;
	uint64_t stores;       /* writes */
	uint64_t passed_bytes; /* read by the kernel */
	uint64_t
		slow_bytes; /* of the served, those that no copy of ours was quicker with */
	uint64_t windows;   /* made */
	uint64_t touched;   /* cache pages, for the first time in a window */
	uint64_t touched_ns; /* what that cost, as far as is known */
	uint64_t why[PW_WHY_COUNT];
	char path
		[PW_EXPLAIN_PATH]; /* cut off from the left; ends with 0 unless damaged */
};

struct pw_shm_explain {
	uint64_t magic;
	uint32_t layout;
	uint32_t bytes; /* of the whole */
	/* Atomic add, any process. */
	uint32_t attached; /* programs begun, and children forked */
	uint32_t aside;	   /* processes that stepped aside */
	uint32_t streams;  /* programs whose streams stay with libc */
	/* This machine's costs in ns (costs.h); 0: nobody needed them. Plain stores. */
	uint32_t cost_call, cost_touch, cost_map;
	uint32_t aside_named; /* by CAS 0 -> 1 by who writes the next */
	char aside_for[28];   /* the call that the first of them stepped aside for */
	char pad[184];
	struct pw_shm_told file[PW_EXPLAIN_FILES];
};

#define PW_EXPLAIN_LAYOUT \
	(1u << 24 | (uint32_t)PW_WHY_COUNT << 16 | (uint32_t)sizeof(struct pw_shm_told))

static_assert(sizeof(struct pw_shm_told) == 640, "records keep to cache lines");
static_assert(offsetof(struct pw_shm_explain, file) == 256,
	      "after a head of four of them");

/* Empty, in zeroed memory. */
void pw_explain_format(struct pw_shm_explain *e);

/* Is it one, of this layout? bytes: how long it really is. */
bool pw_explain_valid(const struct pw_shm_explain *e, uint64_t bytes);

/*
 * The record of the file with this id (pw_file_id(), never 0). mine: it has just been claimed
 * for it, and the caller is to name it. PW_TOLD_REST: all places are taken.
 */
unsigned pw_explain_record(struct pw_shm_explain *e, uint64_t id, bool *mine);

/* Names it: the end of path, n bytes, is kept. */
void pw_explain_name(struct pw_shm_told *t, const char *path, size_t n, uint32_t magic);

#endif
