/*
 * The generator's inside: what it believes to be in each slot, and how it picks
 * arguments that mean something there.
 */
#ifndef PW_DIFF_GEN_INSIDE_H
#define PW_DIFF_GEN_INSIDE_H

#include "interp.h"

enum holds { NOTHING, REGULAR, OTHER, PIPE, SOCKET };

struct slot {
	enum holds holds;
	int file; /* number of a regular file, -1: some file */
	bool rd, wr;
};

/* What a stream has been used in so far. */
enum way { UNUSED, BYTES, WIDE };

struct proc {
	struct slot slot[PW_SLOTS];
	bool stream[PW_STREAMS];
	enum way way[PW_STREAMS];
	bool mapped; /* a file is mapped at PW_F_BASE */
};

struct gen {
	struct pw_prog *p;
	uint64_t rnd;
	struct proc proc[PW_MAX_ACTORS];
	struct {
		bool used, alive, leader;
		int proc;
	} actor[PW_MAX_ACTORS];
	bool streams; /* it dwells on streams */
	int self;
	int stay;	  /* so many steps more by the same actor: a handler's */
	int hot;	  /* the slot last burst on */
	bool interrupted; /* one call a program: each has two plain orders */
	int spawns;	  /* processes that may still be made */
	int weight[PW_GROUPS];
	struct pw_step spare; /* where steps go when the program is full */
};

static inline uint64_t rnd(struct gen *g, uint64_t below)
{
	return pw_random(&g->rnd) % below;
}

static inline bool chance(struct gen *g, int percent)
{
	return (int)rnd(g, 100) < percent;
}

/* One of some constants. */
#define PICK(g, ...)                                             \
	({                                                       \
		static const int64_t pw_of[] = {__VA_ARGS__};    \
		pw_of[rnd(g, sizeof(pw_of) / sizeof(pw_of[0]))]; \
	})

static inline struct proc *mine(struct gen *g)
{
	return &g->proc[g->actor[g->self].proc];
}

/* What a descriptor is wanted for. */
enum want { ANY, READS, WRITES, A_FILE, A_SOCKET, PREALLOCATED, NOT_PREALLOCATED };

/* gen_pick.c */

/* A slot that suits, or -1. */
int pw_pick_slot(struct gen *g, enum want want);
/* A descriptor argument, most often one that suits. */
int64_t pw_pick_fd(struct gen *g, enum want want);
int pw_pick_regular(struct gen *g);
/* A place in the file that the slot was opened on, or near its end, or odd. */
int64_t pw_pick_offset(struct gen *g, int slot);
/* Ops that make a stream of their first argument. */
bool pw_makes_stream(int op);
/* An actor of some sort, or 0. */
int pw_pick_actor(struct gen *g, bool used, bool alive);
int64_t pw_pick_arg(struct gen *g, int op, char letter);
enum want pw_wanted(int op);

/* gen_step.c */

/* Adds a step of this kind with arguments that hang together, if it makes sense. */
void pw_gen_make(struct gen *g, int op);
/* A step with random arguments at the end of the program, not yet part of it. */
struct pw_step *pw_gen_begin(struct gen *g, int op);
/* Makes it part of the program, if there is room. */
void pw_gen_end(struct gen *g);

/* gen_idiom.c */

/* A step with these arguments, by any of its names. */
#define STEP(g, op, ...)                                                         \
	({                                                                       \
		const int64_t pw_args[] = {__VA_ARGS__};                         \
		pw_gen_step(g, PW_OP_##op, sizeof(pw_args) / sizeof(pw_args[0]), \
			    pw_args);                                            \
	})
void pw_gen_step(struct gen *g, int op, int count, const int64_t *args);

/* Opens some regular file and says into which slot. */
int pw_gen_open_some(struct gen *g, int file, int64_t flags);
/* A burst on this descriptor. */
void pw_gen_burst_on(struct gen *g, int64_t fd);
/* Where does it stand, and what is there? */
void pw_gen_look(struct gen *g, int64_t fd);

void pw_gen_burst(struct gen *g);
void pw_gen_probe(struct gen *g);
/* Some steps in a row that are known to be a hazard. */
void pw_gen_idiom(struct gen *g);

/* gen_stream.c */

/* The same of streams. */
void pw_gen_stream_idiom(struct gen *g);

#endif
