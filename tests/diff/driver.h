/*
 * Runs a program plainly and under the library and compares what came of it.
 * A driver belongs to one worker process: it has its own directories.
 */
#ifndef PW_DIFF_DRIVER_H
#define PW_DIFF_DRIVER_H

#include "shared.h"

struct pw_driver {
	const char *lib; /* the library, or NULL: compare plain with plain */
	char program[4096];
	char work[64];	     /* on /dev/shm: shared file, reports, run directory */
	char work_tmp[4096]; /* on the temporary directory: run directory */
	char shared[128];
	struct pw_shared *sh;
	long hits, seeks, stores; /* summed over all runs under the library */
	long interrupted;	  /* so many calls were interrupted in their middle */
	long untraced;		  /* so many could not be, for want of ptrace */
};

struct pw_outcome {
	char *text; /* trace, how it ended, and the files left behind */
	bool late;  /* did not come to an end */
};

bool pw_driver_open(struct pw_driver *d, const char *lib, const char *tmp);
void pw_driver_close(struct pw_driver *d);
void pw_driver_run(struct pw_driver *d, const struct pw_prog *p, bool with_lib,
		   struct pw_outcome *o);
/* True if both runs came out alike; the texts are handed over if asked for. */
bool pw_driver_same(struct pw_driver *d, const struct pw_prog *p,
		    struct pw_outcome *plain, struct pw_outcome *lib);
/*
 * For a program with an interrupt step: has its call interrupted at every stride'th
 * instruction until the call is over. Says how many there were, or the first (negative, -1
 * for the first of all) at which the outcome is neither plain order's; p is left with it.
 */
int pw_driver_sweep(struct pw_driver *d, struct pw_prog *p, int stride);
/* Prints the first line that differs and a few before it. */
void pw_print_difference(FILE *to, const char *plain, const char *lib);

/* Makes a program that fails shorter for as long as it fails; in shrink.c. */
void pw_shrink(struct pw_driver *d, struct pw_prog *p, int seconds);

#endif
