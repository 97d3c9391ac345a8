/*
 * Streams of a program, and what they are: those over files and numbers, which the library
 * may serve, and others beside them. Shared by do_stdio.c (bytes), do_wide.c (wide
 * characters) and do_stream.c (all that is about the stream itself).
 */
#ifndef PW_DIFF_STREAMS_H
#define PW_DIFF_STREAMS_H

#include "interp.h"

enum pw_stream_kind {
	PW_ST_FILE,   /* over a descriptor */
	PW_ST_PIPE,   /* popen */
	PW_ST_MEMORY, /* fmemopen */
	PW_ST_GROWS,  /* open_memstream, open_wmemstream */
	PW_ST_COOKIE  /* fopencookie */
};

/* The stream of this number, or NULL, and the step was skipped. */
FILE *pw_stream_any(const struct pw_step *s, int64_t t);
/* The same, but not wide with an error: glibc's seek may never end in what it can't decode. */
FILE *pw_stream_sound(const struct pw_step *s, int64_t t);
/* The same for steps in bytes: one that is wide is skipped, for mixing them is undefined. */
FILE *pw_stream_bytes(const struct pw_step *s, int64_t t);
/* For steps in wide characters: one that bytes have been read from is skipped. */
FILE *pw_stream_wide(const struct pw_step *s, int64_t t);

/* "eof", "error"... */
const char *pw_stream_state(FILE *f);
/* True, and skipped: a line of /dev/zero has no end. */
bool pw_stream_endless(const struct pw_step *s, FILE *f);
/* True, and skipped: the step's stream is there already. */
bool pw_stream_taken(const struct pw_step *s);
/* True, and skipped: it writes now, or only; what is put back there is nobody's concern. */
bool pw_stream_writing(const struct pw_step *s, FILE *f);
/* The step's stream is f, or NULL if it could not be had. */
void pw_stream_opened(const struct pw_step *s, FILE *f, enum pw_stream_kind kind);
enum pw_stream_kind pw_stream_kind(int64_t t);
/* Streams that take no part any more, though they are not closed. */
void pw_streams_end(void);

/* Memory that goes with the stream: what fmemopen reads, what open_memstream has written. */
struct pw_stream_memory {
	char room[600];
	char *p;
	size_t size;
	int fd; /* a cookie's */
};
struct pw_stream_memory *pw_stream_memory(int64_t t);

#endif
