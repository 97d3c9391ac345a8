/*
 * A program of the differential tester: the files it starts with, and a list
 * of steps. Programs have a text form, one line per step, that can be read
 * back: failing ones are printed, kept in cases/ and run again from it.
 */
#ifndef PW_DIFF_PROG_H
#define PW_DIFF_PROG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum pw_op {
#define OP(id, group, spec, names) PW_OP_##id,
#include "ops.def"
#undef OP
	PW_OPS
};

enum pw_group {
	PW_G_OPEN,
	PW_G_CLOSE,
	PW_G_READ,
	PW_G_SEEK,
	PW_G_BURST,
	PW_G_WRITE,
	PW_G_DUP,
	PW_G_FCNTL,
	PW_G_LOCK,
	PW_G_SIZE,
	PW_G_COPY,
	PW_G_NAME,
	PW_G_OTHER,
	PW_G_MEM,
	PW_G_SOCK,
	PW_G_PROC,
	PW_G_THREAD,
	PW_G_STDIO,
	PW_G_STREAM,
	PW_G_SIGNAL,
	PW_G_LIMIT,
	PW_GROUPS
};

#define PW_MAX_ARGS 6
#define PW_MAX_STEPS 512
#define PW_MAX_ACTORS 8
#define PW_SLOTS 16
#define PW_STREAMS 8

/* Files are named by number: regular ones first, then the others. */
#define PW_REGULAR 8
/* The one file that is ever preallocated: see pw_gen_file_rules in gen.c. */
#define PW_PREALLOCATED 5
#define PW_DIR 8
#define PW_FIFO 9

struct pw_step {
	uint8_t op;
	uint8_t name; /* which of the op's names */
	uint8_t actor;
	int64_t arg[PW_MAX_ARGS];
};

enum pw_fill { PW_FILL_NONZERO, PW_FILL_TEXT, PW_FILL_ZERO, PW_FILL_HOLES };

struct pw_file {
	bool there;
	int64_t size;
	int fill;
	uint64_t seed;
};

struct pw_prog {
	bool on_shm;   /* run on /dev/shm, else on the temporary directory */
	int64_t fsize; /* RLIMIT_FSIZE, 0: none */
	int input;     /* what descriptor 0 is: file number or -1 for /dev/null */
	struct pw_file file[PW_REGULAR];
	int steps;
	struct pw_step step[PW_MAX_STEPS];
};

/* A descriptor argument is a slot (a variable) or a number as it stands. */
#define PW_SLOT(i) ((int64_t)(i)*2)
#define PW_NUMBER(n) ((int64_t)(n)*2 + 1)
#define PW_IS_SLOT(a) (((a)&1) == 0)
#define PW_VALUE(a) ((a) >> 1)

/* A buffer argument is an area and an offset in it. */
enum pw_area {
	PW_AREA_B, /* static memory */
	PW_AREA_H, /* fresh from malloc */
	PW_AREA_S, /* the stack */
	PW_AREA_M, /* the pages that mmap, munmap, mprotect… steps change */
	PW_AREA_F, /* a mapped file */
	PW_AREA_NULL,
	PW_AREA_KERN,
	PW_AREA_WRAP,
	PW_AREA_RODATA
};
#define PW_BUF(area, off) ((int64_t)(area) << 32 | (off))
#define PW_BUF_AREA(a) ((int)((a) >> 32))
#define PW_BUF_OFF(a) ((a)&0xffffffff)

/* Streams: slots, then the three standard ones. */
#define PW_STDIN PW_STREAMS
#define PW_STDOUT (PW_STREAMS + 1)
#define PW_STDERR (PW_STREAMS + 2)

enum pw_burst {
	PW_BURST_SEQ,
	PW_BURST_BYTES,
	PW_BURST_RAND,
	PW_BURST_PREAD,
	PW_BURST_LINES,
	PW_BURST_SEEKS,
	PW_BURST_MIXED,
	PW_BURST_WRITES, /* over what is there; no stream's */
};

/* vfork and posix_spawn: what the child does. */
#define PW_CH_DUP0 1  /* dup2 the descriptor onto 0 first */
#define PW_CH_READ 2  /* vfork: read in the child before exec */
#define PW_CH_CLOSE 4 /* close the descriptor in the child */
#define PW_CH_FAIL 8  /* exec of what is not there */
#define PW_CH_BARE 16 /* exec without LD_PRELOAD */
#define PW_CH_OPEN 32 /* spawn: open a file onto the number */
#define PW_CH_EXIT 64 /* vfork: _exit without exec */

/* Shell commands of system and popen. */
enum pw_shell {
	PW_SH_READLINE,
	PW_SH_HEAD,
	PW_SH_HELPER,
	PW_SH_CAT,
	PW_SH_TWO,
	PW_SH_WRITE
};

/* How a handler of a raise step ends, or'ed with how it is installed. */
#define PW_RA_JUMP 1
#define PW_RA_ONSTACK 2
#define PW_RA_RESETHAND 4
#define PW_RA_NODEFER 8
#define PW_RA_RESTART 16
#define PW_RA_PLAIN 32 /* without SA_SIGINFO */

#define PW_EX_BARE 1

extern const char *const pw_file_names[];
extern const char *const pw_open_modes[];
extern const int64_t pw_lock_cmds[];
int pw_files_known(void);
int pw_open_modes_known(void);
/* Those after the first so many are for wide streams. */
#define PW_BYTE_MODES 11

const char *pw_op_spec(int op);
int pw_op_group(int op);
int pw_op_names(int op);
const char *pw_step_name(const struct pw_step *s);
/* True if the step's name says that it goes through syscall(2). */
bool pw_step_is_sys(const struct pw_step *s);

/* Has it an interrupt step? */
bool pw_prog_interrupts(const struct pw_prog *p);

size_t pw_step_format(char *out, size_t size, const struct pw_step *s);
void pw_prog_print(FILE *to, const struct pw_prog *p);
/* 0, or the number of the first line that is not understood. */
int pw_prog_parse(struct pw_prog *p, FILE *from);

#endif
