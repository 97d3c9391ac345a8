/*
 * The interpreter's inside, shared by the do_*.c files: each of those carries
 * out some kinds of steps and writes what came of them into the trace.
 */
#ifndef PW_DIFF_INTERP_H
#define PW_DIFF_INTERP_H

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>

#include "raw.h"
#include "shared.h"

/* Set before every call, so that the trace shows who touches errno. */
#define PW_UNTOUCHED 4242

#define PW_CALL(expr)                             \
	({                                        \
		errno = PW_UNTOUCHED;             \
		if (pw_trap_armed)                \
			pw_trap_begin();          \
		__typeof__(expr) pw_ret = (expr); \
		pw_err = errno;                   \
		if (pw_trap_begun)                \
			pw_trap_end();            \
		pw_ret;                           \
	})

extern struct pw_shared *pw_sh;
extern const char *pw_shared_path;
extern const char *pw_program_path;
extern __thread int pw_self; /* the actor this thread is */
extern __thread int pw_err;  /* errno after the last PW_CALL */

/* Around the call that an interrupt step is about; in do_interrupt.c. */
extern __thread bool pw_trap_armed, pw_trap_begun;
void pw_trap_begin(void);
void pw_trap_end(void);

/* The variables of a program; a forked process has its own copy. */
extern int pw_slot[PW_SLOTS];
extern FILE *pw_stream[PW_STREAMS];

/* Adds to the trace. */
__attribute__((format(printf, 1, 2))) void pw_note(const char *fmt, ...);
/* Adds a step's line: the step, what it returned, pw_err, and more. */
__attribute__((format(printf, 3, 4))) void pw_said(const struct pw_step *s, long long ret,
						   const char *fmt, ...);
void pw_skipped(const struct pw_step *s, const char *why);
const char *pw_errname(int err);

/* An interrupted step's arguments were there before the handler was. */
extern __thread const int *pw_slots_before;
extern __thread bool pw_in_handler;

static inline int pw_fd(int64_t arg)
{
	const int *slot = pw_slots_before ? pw_slots_before : pw_slot;

	return PW_IS_SLOT(arg) ? slot[PW_VALUE(arg)] : (int)PW_VALUE(arg);
}

/*
 * Runs the program from the next step on, whenever it is this actor's turn;
 * returns at the program's end or, with a limit >= 0, after so many own steps.
 */
void pw_run_steps(int limit);
/* Carries out one step. */
void pw_do_step(const struct pw_step *s);
/* Tells pw_run_steps that this actor must not hand on the turn (a new child). */
extern __thread bool pw_keep_turn;
/* True once the program has no step left. */
bool pw_at_end(void);
/* Called by a new actor to say that it is there; by its maker to await it. */
void pw_actor_ready(int actor);
void pw_actor_await(int actor);
/* Claims an actor number; false if it was used before. */
bool pw_actor_claim(int actor, bool leader);
/* The process ends or was replaced: its threads are no more. */
void pw_actors_end_process(int proc);
/* Gives the turn to whoever runs next. */
void pw_pass_turn(void);
/* Ends the calling actor at the program's end, or where an exit step says so. */
void pw_end_process(int how, int status);

/*
 * The signal whose handler carries out the next steps; in do_signal.c. With a jump the
 * handler ends by siglongjmp to *back.
 */
void pw_handler_install(int sig, int64_t how);
void pw_handler_set(int steps, bool jumps, sigjmp_buf *back);
sigjmp_buf *pw_handler_back(void);
/* How often it has run in this thread. */
int pw_handler_runs(void);

/* Memory to read into. */
struct pw_buf {
	char *p;
	size_t size;
	int area;
	bool plain; /* may be touched directly */
	void *heap;
};
#define PW_B_SIZE (640u << 10)
#define PW_S_SIZE 4096u
#define PW_M_PAGES 64u
#define PW_M_BASE ((char *)0x210000000000)
#define PW_F_BASE ((char *)0x220000000000)
#define PW_F_PAGES 128u

bool pw_buf_get(struct pw_buf *b, int64_t arg, int64_t size);
/* Describes the first n bytes and whether those after them are as before. */
/*
 * A read that was interrupted and began anew may have written, the first time, bytes behind
 * those that it counted in the end. Nobody is promised anything about them.
 */
extern __thread bool pw_buf_lenient;
const char *pw_buf_tell(const struct pw_buf *b, int64_t n);
void pw_buf_put(struct pw_buf *b);

/* Bytes to write, never zero unless the seed asks for it. */
const char *pw_bytes(int64_t size, uint64_t seed);
#define PW_BYTES_MAX (512u << 10)

uint64_t pw_hash(const void *p, size_t n);
static inline uint64_t pw_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The file mapped at PW_F_BASE, as far as the interpreter knows. */
struct pw_mapped {
	uint64_t ino;
	int64_t off;
};
extern struct pw_mapped pw_mapped;

/* Was space given to this file by fallocate? */
bool pw_prealloc_is(int fd);

/* A helper program: reads from a descriptor and tells where it stands. */
int pw_helper(const char *shared, int fd, int size);

#define OP(id, group, spec, names) void pw_do_##id(const struct pw_step *s);
#include "ops.def"
#undef OP

#endif
