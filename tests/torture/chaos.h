/*
 * chaos.h - the files of the chaos test, and what is known of them. Files consist of words
 * that each say which record they are of, in which version, at which place (free_word.h); a
 * record's version is raised in shared memory before it is written and noted as done after.
 */
#ifndef TORTURE_CHAOS_H
#define TORTURE_CHAOS_H

#include "crew.h"

#define FILES 6
#define RECORD 512
#define RECORDS 2048
#define FILE_BYTES ((int64_t)RECORD * RECORDS)

/* What `go` says. */
enum { CHAOS_READ, CHAOS_CLOSE, CHAOS_LEAVE };
/* What `ready` says. */
enum { CHAOS_STARTED = 1, CHAOS_CLOSED };

struct chaos_file {
	/* Odd while the size may be another than FILE_BYTES: then reads may be short, and
	 * bytes may be zeros. A writer that is killed leaves it to the next one. */
	_Atomic uint32_t resizing;
	_Atomic uint32_t begun[RECORDS], done[RECORDS];
};

struct chaos {
	char path[FILES][256];
	struct chaos_file file[FILES];
};

static inline struct chaos *chaos_shared(void)
{
	return (struct chaos *)crew->more;
}

/* What members do, by turns. */
enum chaos_kind { PLAIN, THREADS, FORKS, OPENS, KINDS };

/*
 * reader INDEX KIND: until it is told to close, then until it is told to leave. Status 1: it
 * saw something wrong.
 */
int chaos_reader(char **argv);

/* all INDEX: every file once, from front to back. */
int chaos_all(char **argv);

/* writer INDEX: rewrites and truncates until it is told to close; all files are whole then. */
int chaos_writer(char **argv);

#endif
