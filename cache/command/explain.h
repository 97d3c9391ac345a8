/* explain.h - `pagewell explain`: what is read from the table, and the two ways to show it. */
#ifndef PW_COMMAND_EXPLAIN_H
#define PW_COMMAND_EXPLAIN_H

#include <stdio.h>

#include "cache/pagewell.h"

/* What became of the calls on a file, or on all. Numbers are what the processes wrote: in a
 * damaged table they may be anything. */
struct pw_account {
	uint64_t calls[PW_CALLS];
	uint64_t served_reads;
	uint64_t served_seeks;
	uint64_t stores;
	uint64_t served_bytes;
	uint64_t slow_bytes;
	uint64_t passed_bytes;
	uint64_t windows;
	uint64_t touched;
	uint64_t touched_ns;
	uint64_t why[PW_WHY_COUNT];
	/* Made of the above. */
	uint64_t all;	 /* calls of all kinds */
	uint64_t served; /* reads and seeks, and writes that were stores */
	double saved_ns; /* less than nothing: windows cost more than they brought */
};

struct pw_explained {
	char name[PW_EXPLAIN_PATH]; /* printable ASCII */
	const char *kind;	    /* "file", "pipe"... */
	const char *place;	    /* its file system, or NULL */
	bool usual;		    /* one that is served if nothing else is said */
	bool listed;		    /* one that is served by PAGEWELL_FS only */
	bool hopeless;		    /* one where no knob helps */
	struct pw_account a;
};

/* Reads and seeks: fewer are nothing to think about. */
#define PW_EXPLAIN_FEW 1000u

enum pw_verdict { PW_WORTH_IT, PW_NOT_WORTH_IT, PW_CHANGE, PW_UNKNOWN };

struct pw_explanation {
	int status; /* the program's, as from waitpid() */
	uint32_t attached;
	uint32_t aside;
	uint32_t streams;
	char aside_for[32];
	const char *absent; /* why the library could not get into the program, or NULL */
	struct pw_costs costs;
	struct pw_account total;
	uint32_t files;
	struct pw_explained file[PW_EXPLAIN_FILES]; /* most calls first */
	enum pw_verdict verdict;
	char advice[1024];
};

/* How each reason is said: in a few words, and in one sentence. */
struct pw_reason {
	const char *words;
	const char *sentence;
};
extern const struct pw_reason pw_reason[PW_WHY_COUNT];
extern const char *const pw_verdict_name[];

/* Reads the table into x, whose status and absent have been set. */
void pw_explain_take(struct pw_explanation *x, struct pw_shm_explain *e);

/* Sets verdict and advice. */
void pw_explain_judge(struct pw_explanation *x);

/* Sets what is to be known of its file system, from its number. */
void pw_explain_place(struct pw_explained *f, uint32_t magic);

/* "271 ms", of ns, maybe less than 0. */
void pw_put_time(char *to, size_t size, double ns);

/* all: every file, not only the twenty with most calls. colours: bold and the like. */
void pw_explain_text(FILE *out, const struct pw_explanation *x, bool all, bool colours);
void pw_explain_json(FILE *out, const struct pw_explanation *x);

/* The subcommand. Returns the exit status. */
int pw_explain_main(int argc, char **argv);

#endif
