/*
 * What the driver, the interpreters of one run and their helpers share: a
 * mapped file with the program, whose turn it is, and the trace. It holds the
 * trace rather than a descriptor doing so, because a program may close every
 * descriptor and must find the same numbers free with and without the library.
 */
#ifndef PW_DIFF_SHARED_H
#define PW_DIFF_SHARED_H

#include "prog.h"

#define PW_TRACE_MAX (4u << 20)

enum pw_life { PW_UNUSED, PW_ALIVE, PW_ENDED };

/* An actor is a thread that takes turns: a process's first one or another. */
struct pw_actor {
	int life;
	int proc;   /* processes are numbered by the actor that began them */
	int leader; /* ends the process when it ends */
	int ready;  /* has come to life and waits for its first turn */
	int pid;
};

/* When the handler of an interrupt step runs: see do_interrupt.c. */
enum pw_order { PW_AT, PW_BEFORE, PW_AFTER };

/* A thread asks the tracer to be interrupted: see tracer.h. */
struct pw_trap {
	uint32_t asked; /* futex word; the asker sets it, the tracer clears it */
	uint32_t go;	/* futex word; the asker may run on */
	int pid, tid;
	int at;	    /* at this instruction of those while `on` */
	int on;	    /* the call has begun */
	int done;   /* the call is over */
	int failed; /* it can't be done here */
};

struct pw_shared {
	uint32_t turn; /* the actor that may run; also the futex word */
	int pc;	       /* the step it runs next */
	int exiting;   /* pid of a process on its way out, to be waited for */
	int crashed;
	struct pw_actor actor[PW_MAX_ACTORS];
	/* Files that a step has preallocated: see pw_prealloc_add in do_file.c. */
	uint64_t prealloc[32];
	int order;
	struct pw_trap trap;
	int interrupted;    /* so many calls were interrupted in their middle */
	int slot[PW_SLOTS]; /* handed on by an interpreter that execs itself */
	struct pw_prog prog;
	size_t len;
	char trace[PW_TRACE_MAX];
};

#endif
