/* Steps on streams, which read, seek and close behind the exported calls. */
#define _GNU_SOURCE
#include "interp.h"
#include "twins.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool standard_closed[3];

static FILE *stream_of(int64_t t)
{
	FILE *const standard[] = {stdin, stdout, stderr};

	if (t < PW_STREAMS)
		return pw_stream[t];
	return standard_closed[t - PW_STDIN] ? NULL : standard[t - PW_STDIN];
}

static FILE *stream(const struct pw_step *s, int64_t t)
{
	FILE *f = stream_of(t);

	if (!f)
		pw_skipped(s, "no stream");
	return f;
}

static const char *state(FILE *f)
{
	return feof(f) ? ferror(f) ? "eof error" : "eof" : ferror(f) ? "error" : "";
}

/* A line of /dev/zero has no end. */
static bool endless(const struct pw_step *s, FILE *f)
{
	struct stat st;

	if (PW_RAW2(SYS_fstat, fileno(f), &st) < 0 || !S_ISCHR(st.st_mode))
		return false;
	pw_skipped(s, "may have no end");
	return true;
}

static bool taken(const struct pw_step *s)
{
	if (s->arg[0] < PW_STREAMS && !pw_stream[s->arg[0]])
		return false;
	pw_skipped(s, "stream is taken");
	return true;
}

static bool would_wait(const struct pw_step *s)
{
	if (s->arg[1] != PW_FIFO)
		return false;
	pw_skipped(s, "would wait");
	return true;
}

static void opened(const struct pw_step *s, FILE *f)
{
	pw_stream[s->arg[0]] = f;
	pw_said(s, f ? fileno(f) : -1, " ");
}

void pw_do_FOPEN(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]], *mode = pw_open_modes[s->arg[2]];

	if (!taken(s) && !would_wait(s))
		opened(s, s->name ? PW_CALL(fopen64(path, mode))
				  : PW_CALL(fopen(path, mode)));
}

void pw_do_FDOPEN(const struct pw_step *s)
{
	if (!taken(s))
		opened(s, PW_CALL(fdopen(pw_fd(s->arg[1]), pw_open_modes[s->arg[2]])));
}

void pw_do_FREOPEN(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]], *mode = pw_open_modes[s->arg[2]];
	FILE *f;

	if (would_wait(s))
		return;
	f = stream(s, s->arg[0]);
	if (!f)
		return;
	f = s->name ? PW_CALL(freopen64(path, mode, f)) : PW_CALL(freopen(path, mode, f));
	if (s->arg[0] < PW_STREAMS)
		pw_stream[s->arg[0]] = f;
	pw_said(s, f ? fileno(f) : -1, " ");
}

void pw_do_FCLOSE(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);

	if (!f)
		return;
	if (s->arg[0] < PW_STREAMS)
		pw_stream[s->arg[0]] = NULL;
	else
		standard_closed[s->arg[0] - PW_STDIN] = true;
	pw_said(s, PW_CALL(fclose(f)), " ");
}

void pw_do_FREAD(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
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
	pw_said(s, n, "h=%08x %s", (unsigned int)pw_hash(b.p, n), state(f));
}

void pw_do_FGETS(const struct pw_step *s)
{
	static char line[4096];
	FILE *f = stream(s, s->arg[0]);
	int n = s->arg[1] & 0xfff;
	char *p;

	if (!f)
		return;
	memset(line, 0xa5, sizeof(line));
	p = s->name ? PW_CALL(fgets_unlocked(line, n, f)) : PW_CALL(fgets(line, n, f));
	pw_said(s, p ? 0 : -1, "h=%08x %s",
		p ? (unsigned int)pw_hash(line, sizeof(line)) : 0, state(f));
}

void pw_do_FGETC(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);

	if (f)
		pw_said(s, s->name ? PW_CALL(getc_unlocked(f)) : PW_CALL(fgetc(f)), "%s",
			state(f));
}

void pw_do_UNGETC(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(ungetc(s->arg[1] & 0xff, f)), "%s", state(f));
}

void pw_do_GETLINE(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f || endless(s, f))
		return;
	n = s->name ? PW_CALL(getdelim(&line, &size, 0x41, f))
		    : PW_CALL(getline(&line, &size, f));
	pw_said(s, n, "h=%08x %s", n > 0 ? (unsigned int)pw_hash(line, n) : 0, state(f));
	free(line);
}

void pw_do_FSCANF(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
	char word[100] = "";
	int n;

	if (!f || endless(s, f))
		return;
	n = PW_CALL(fscanf(f, "%99s", word));
	pw_said(s, n, "h=%08x %s", (unsigned int)pw_hash(word, strlen(word)), state(f));
}

void pw_do_FWRITE(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
	int64_t size = s->arg[1] < 0 || s->arg[1] > 65536 ? 65536 : s->arg[1];
	const char *p = pw_bytes(size, s->arg[2]);

	if (f)
		pw_said(s,
			s->name ? PW_CALL(fwrite_unlocked(p, 1, size, f))
				: PW_CALL(fwrite(p, 1, size, f)),
			"%s", state(f));
}

void pw_do_FPRINTF(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(fprintf(f, "%lld\n", (long long)s->arg[1])), "%s",
			state(f));
}

void pw_do_FFLUSH(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(fflush(f)), "%s", state(f));
}

void pw_do_FFLUSHALL(const struct pw_step *s)
{
	pw_said(s, PW_CALL(fflush(NULL)), " ");
}

void pw_do_FSEEK(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
	int whence = s->arg[2], ret;

	if (!f)
		return;
	if (s->name == 0)
		ret = PW_CALL(fseek(f, s->arg[1], whence));
	else if (s->name == 1)
		ret = PW_CALL(fseeko(f, s->arg[1], whence));
	else
		ret = PW_CALL(fseeko64(f, s->arg[1], whence));
	pw_said(s, ret, "%s", state(f));
}

void pw_do_FTELL(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
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
	FILE *f = stream(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL((rewind(f), 0)), "%s", state(f));
}

/* Remembers where it is, goes elsewhere, reads there, and comes back. */
void pw_do_FPOS(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);
	fpos_t pos;
	int ret;

	if (!f)
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
	pw_said(s, ret, "set %s", state(f));
}

void pw_do_SETVBUF(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL(setvbuf(f, NULL, s->arg[1], s->arg[2] & 0xffff)), " ");
}

void pw_do_FILENO(const struct pw_step *s)
{
	FILE *f = stream(s, s->arg[1]);

	if (!f)
		return;
	pw_slot[s->arg[0]] = PW_CALL(fileno(f));
	pw_said(s, pw_slot[s->arg[0]], " ");
}
