/* Steps on streams, which read, seek and close behind the exported calls. */
#define _GNU_SOURCE
#include "streams.h"
#include "twins.h"

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

static bool standard_closed[3];
static enum pw_stream_kind kinds[PW_STREAMS];

static FILE *stream_of(int64_t t)
{
	FILE *const standard[] = {stdin, stdout, stderr};

	if (t < PW_STREAMS)
		return pw_stream[t];
	return standard_closed[t - PW_STDIN] ? NULL : standard[t - PW_STDIN];
}

FILE *pw_stream_any(const struct pw_step *s, int64_t t)
{
	FILE *f = stream_of(t);

	if (!f)
		pw_skipped(s, "no stream");
	return f;
}

FILE *pw_stream_sound(const struct pw_step *s, int64_t t)
{
	FILE *f = pw_stream_any(s, t);

	if (!f || fwide(f, 0) <= 0 || !ferror(f))
		return f;
	pw_skipped(s, "is wide, and has an error");
	return NULL;
}

/* Memory that has to be there up to wherever somebody seeks. */
static bool far_away(const struct pw_step *s, int64_t off)
{
	if (pw_stream_kind(s->arg[0]) != PW_ST_GROWS ||
	    (off > -(1 << 20) && off < 1 << 20))
		return false;
	pw_skipped(s, "too far");
	return true;
}

FILE *pw_stream_bytes(const struct pw_step *s, int64_t t)
{
	FILE *f = pw_stream_any(s, t);

	if (!f || fwide(f, 0) <= 0)
		return f;
	pw_skipped(s, "is wide");
	return NULL;
}

FILE *pw_stream_wide(const struct pw_step *s, int64_t t)
{
	FILE *f = pw_stream_sound(s, t);

	if (!f || fwide(f, 0) >= 0)
		return f;
	pw_skipped(s, "is not wide");
	return NULL;
}

const char *pw_stream_state(FILE *f)
{
	return feof(f) ? ferror(f) ? "eof error" : "eof" : ferror(f) ? "error" : "";
}

bool pw_stream_endless(const struct pw_step *s, FILE *f)
{
	struct stat st;

	if (PW_RAW2(SYS_fstat, fileno(f), &st) < 0 || !S_ISCHR(st.st_mode))
		return false;
	pw_skipped(s, "may have no end");
	return true;
}

bool pw_stream_taken(const struct pw_step *s)
{
	if (s->arg[0] < PW_STREAMS && !pw_stream[s->arg[0]])
		return false;
	pw_skipped(s, "stream is taken");
	return true;
}

bool pw_stream_writing(const struct pw_step *s, FILE *f)
{
	if (!__fwriting(f) && pw_stream_kind(s->arg[0]) != PW_ST_GROWS)
		return false;
	pw_skipped(s, "is being written");
	return true;
}

enum pw_stream_kind pw_stream_kind(int64_t t)
{
	return t < PW_STREAMS ? kinds[t] : PW_ST_FILE;
}

void pw_streams_end(void)
{
	memset(pw_stream, 0, sizeof(pw_stream));
	memset(standard_closed, true, sizeof(standard_closed));
}

static bool would_wait(const struct pw_step *s)
{
	if (s->arg[1] != PW_FIFO)
		return false;
	pw_skipped(s, "would wait");
	return true;
}

void pw_stream_opened(const struct pw_step *s, FILE *f, enum pw_stream_kind kind)
{
	pw_stream[s->arg[0]] = f;
	kinds[s->arg[0]] = kind;
	pw_said(s, !f ? -1 : kind == PW_ST_FILE ? fileno(f) : 0, " ");
}

void pw_do_FOPEN(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]], *mode = pw_open_modes[s->arg[2]];

	if (!pw_stream_taken(s) && !would_wait(s))
		pw_stream_opened(s,
				 s->name ? PW_CALL(fopen64(path, mode))
					 : PW_CALL(fopen(path, mode)),
				 PW_ST_FILE);
}

void pw_do_FDOPEN(const struct pw_step *s)
{
	if (!pw_stream_taken(s))
		pw_stream_opened(
			s, PW_CALL(fdopen(pw_fd(s->arg[1]), pw_open_modes[s->arg[2]])),
			PW_ST_FILE);
}

static void reopened(const struct pw_step *s, const char *path, const char *mode, FILE *f)
{
	/* What becomes of the memory of another stream is between libc and its owner. */
	if (pw_stream_kind(s->arg[0]) > PW_ST_PIPE) {
		pw_skipped(s, "no file");
		return;
	}
	f = s->name ? PW_CALL(freopen64(path, mode, f)) : PW_CALL(freopen(path, mode, f));
	if (s->arg[0] < PW_STREAMS) {
		pw_stream[s->arg[0]] = f;
		kinds[s->arg[0]] = PW_ST_FILE;
	}
	pw_said(s, f ? fileno(f) : -1, " ");
}

void pw_do_FREOPEN(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]], *mode = pw_open_modes[s->arg[2]];
	FILE *f;

	if (would_wait(s))
		return;
	f = pw_stream_any(s, s->arg[0]);
	if (f)
		reopened(s, path, mode, f);
}

void pw_do_FCLOSE(const struct pw_step *s)
{
	FILE *f = pw_stream_any(s, s->arg[0]);
	struct pw_stream_memory *m;
	int ret;

	if (!f)
		return;
	if (s->arg[0] < PW_STREAMS)
		pw_stream[s->arg[0]] = NULL;
	else
		standard_closed[s->arg[0] - PW_STDIN] = true;
	switch (pw_stream_kind(s->arg[0])) {
	case PW_ST_PIPE:
		/* What it was killed by, if at all, is a matter of luck. */
		PW_CALL(pclose(f));
		pw_err = PW_UNTOUCHED;
		pw_said(s, 0, "pclose");
		return;
	case PW_ST_GROWS:
		ret = PW_CALL(fclose(f));
		m = pw_stream_memory(s->arg[0]);
		pw_said(s, ret, "size=%zu h=%08x", m->size,
			(unsigned int)pw_hash(m->p, m->size));
		free(m->p);
		return;
	case PW_ST_MEMORY:
		ret = PW_CALL(fclose(f));
		m = pw_stream_memory(s->arg[0]);
		pw_said(s, ret, "h=%08x",
			(unsigned int)pw_hash(m->room, sizeof(m->room)));
		return;
	default:
		pw_said(s, PW_CALL(fclose(f)), " ");
	}
}

void pw_do_FREAD(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	struct pw_buf b;
	size_t n;

	if (!f)
		return;
	if (!pw_buf_get(&b, PW_BUF(PW_AREA_B, 128), s->arg[1])) {
		pw_skipped(s, "too much");
		return;
	}
	if (s->name == 0)
		n = PW_CALL(fread(b.p, 1, b.size, f));
	else if (s->name == 1)
		n = PW_CALL(fread_unlocked(b.p, 1, b.size, f));
	else
		n = PW_CALL(__fread_chk(b.p, b.size, 1, b.size, f));
	/* What it leaves behind the count is its own business. */
	b.size = n;
	pw_said(s, n, "h=%08x %s", (unsigned int)pw_hash(b.p, n), pw_stream_state(f));
}

void pw_do_FGETS(const struct pw_step *s)
{
	static char line[4096];
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	int n = s->arg[1] & 0xfff;
	char *p;

	if (!f)
		return;
	memset(line, 0xa5, sizeof(line));
	p = s->name ? PW_CALL(fgets_unlocked(line, n, f)) : PW_CALL(fgets(line, n, f));
	pw_said(s, p ? 0 : -1, "h=%08x %s",
		p ? (unsigned int)pw_hash(line, sizeof(line)) : 0, pw_stream_state(f));
}

void pw_do_FGETC(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);

	if (f)
		pw_said(s, s->name ? PW_CALL(getc_unlocked(f)) : PW_CALL(fgetc(f)), "%s",
			pw_stream_state(f));
}

void pw_do_UNGETC(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);

	if (f && !pw_stream_writing(s, f))
		pw_said(s, PW_CALL(ungetc(s->arg[1] & 0xff, f)), "%s",
			pw_stream_state(f));
}

void pw_do_GETLINE(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f || pw_stream_endless(s, f))
		return;
	n = s->name ? PW_CALL(getdelim(&line, &size, 0x41, f))
		    : PW_CALL(getline(&line, &size, f));
	pw_said(s, n, "h=%08x %s", n > 0 ? (unsigned int)pw_hash(line, n) : 0,
		pw_stream_state(f));
	free(line);
}

void pw_do_FSCANF(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	char word[100] = "";
	int n;

	if (!f || pw_stream_endless(s, f))
		return;
	n = PW_CALL(fscanf(f, "%99s", word));
	pw_said(s, n, "h=%08x %s", (unsigned int)pw_hash(word, strlen(word)),
		pw_stream_state(f));
}

void pw_do_FWRITE(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	int64_t size = s->arg[1] < 0 || s->arg[1] > 65536 ? 65536 : s->arg[1];
	const char *p = pw_bytes(size, s->arg[2]);

	if (f)
		pw_said(s,
			s->name ? PW_CALL(fwrite_unlocked(p, 1, size, f))
				: PW_CALL(fwrite(p, 1, size, f)),
			"%s", pw_stream_state(f));
}

void pw_do_FPRINTF(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(fprintf(f, "%lld\n", (long long)s->arg[1])), "%s",
			pw_stream_state(f));
}

void pw_do_FFLUSH(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(fflush(f)), "%s", pw_stream_state(f));
}

void pw_do_FFLUSHALL(const struct pw_step *s)
{
	pw_said(s, PW_CALL(fflush(NULL)), " ");
}

void pw_do_FSEEK(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);
	int whence = s->arg[2], ret;

	if (!f || far_away(s, s->arg[1]))
		return;
	if (s->name == 0)
		ret = PW_CALL(fseek(f, s->arg[1], whence));
	else if (s->name == 1)
		ret = PW_CALL(fseeko(f, s->arg[1], whence));
	else
		ret = PW_CALL(fseeko64(f, s->arg[1], whence));
	pw_said(s, ret, "%s", pw_stream_state(f));
}

void pw_do_FTELL(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);
	long long at;

	if (!f)
		return;
	if (s->name == 0)
		at = PW_CALL(ftell(f));
	else if (s->name == 1)
		at = PW_CALL(ftello(f));
	else
		at = PW_CALL(ftello64(f));
	pw_said(s, at, " ");
}

void pw_do_REWIND(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL((rewind(f), 0)), "%s", pw_stream_state(f));
}

/* Remembers where it is, goes elsewhere, reads there, and comes back. */
void pw_do_FPOS(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	fpos_t pos;
	int ret;

	if (!f || far_away(s, s->arg[1]))
		return;
	ret = PW_CALL(fgetpos(f, &pos));
	pw_said(s, ret, "get");
	if (ret)
		return;
	ret = PW_CALL(fseek(f, s->arg[1], SEEK_SET));
	pw_said(s, ret, "seek");
	ret = PW_CALL(fgetc(f));
	pw_said(s, ret, "read");
	ret = PW_CALL(fsetpos(f, &pos));
	pw_said(s, ret, "set %s", pw_stream_state(f));
}

void pw_do_SETVBUF(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(setvbuf(f, NULL, s->arg[1], s->arg[2] & 0xffff)), " ");
}

void pw_do_FILENO(const struct pw_step *s)
{
	FILE *f = pw_stream_any(s, s->arg[1]);

	if (!f)
		return;
	pw_slot[s->arg[0]] = PW_CALL(fileno(f));
	pw_said(s, pw_slot[s->arg[0]], " ");
}

/* The same file again, in another mode. */
void pw_do_FREOPENNULL(const struct pw_step *s)
{
	FILE *f = pw_stream_any(s, s->arg[0]);

	if (f)
		reopened(s, NULL, pw_open_modes[s->arg[1]], f);
}
