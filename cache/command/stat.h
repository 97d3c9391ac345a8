/* stat.h - `pagewell stat`: what is read from a segment, and the two ways to show it. */
#ifndef PW_COMMAND_STAT_H
#define PW_COMMAND_STAT_H

#include "cache/pagewell.h"

enum pw_state {
	PW_ALIVE,
	PW_ELSEWHERE, /* of another pid namespace: cannot be looked for */
	PW_GONE,      /* killed; its slot waits for a sweep, its counts are lost */
	PW_DAMAGED,   /* the slot holds what cannot be a pid */
};

extern const char *const pw_state_name[];

struct pw_process {
	uint32_t pid;
	enum pw_state state;
	char comm[17]; /* printable ASCII */
	uint64_t n[PW_S_COUNT];
};

/* A private copy: others go on writing to the segment meanwhile. */
struct pw_picture {
	const char *path;
	struct pw_costs costs; /* all 0: not measured yet */
	uint32_t files;	       /* entries in use */
	uint32_t uptodate;     /* page words */
	uint32_t locked;
	uint32_t waiters;
	uint64_t past[PW_S_COUNT]; /* processes that have ended */
	uint64_t all[PW_S_COUNT];  /* past, alive and elsewhere */
	uint32_t processes;
	struct pw_process process[PW_SLOTS]; /* by pid */
};

/* Returns the exit status. */
int pw_stat(int argc, char **argv);

/* Adds to a zeroed picture what the segment holds. */
void pw_picture_take(struct pw_picture *p, const struct pw_segment *s);

void pw_stat_text(const struct pw_picture *p);
void pw_stat_json(const struct pw_picture *p);

#endif
