/*
 * Steps about streams as such: where they come from, their buffers and places, and streams
 * that lie beside those over files, which the library has to leave alone.
 */
#define _GNU_SOURCE
#include "streams.h"

#include <poll.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static struct pw_stream_memory memory[PW_STREAMS];

struct pw_stream_memory *pw_stream_memory(int64_t t)
{
	return &memory[t];
}

void pw_do_TMPFILE(const struct pw_step *s)
{
	if (!pw_stream_taken(s))
		pw_stream_opened(s, s->name ? PW_CALL(tmpfile64()) : PW_CALL(tmpfile()),
				 PW_ST_FILE);
}

void pw_do_FMEMOPEN(const struct pw_step *s)
{
	struct pw_stream_memory *m;

	if (pw_stream_taken(s))
		return;
	m = pw_stream_memory(s->arg[0]);
	memcpy(m->room, pw_bytes(sizeof(m->room), s->arg[3]), sizeof(m->room));
	pw_stream_opened(
		s,
		PW_CALL(fmemopen(m->room, s->arg[2] & 0x1ff, pw_open_modes[s->arg[1]])),
		PW_ST_MEMORY);
}

void pw_do_MEMSTREAM(const struct pw_step *s)
{
	struct pw_stream_memory *m;

	if (pw_stream_taken(s))
		return;
	m = pw_stream_memory(s->arg[0]);
	pw_stream_opened(s,
			 s->name ? PW_CALL(open_wmemstream((wchar_t **)&m->p, &m->size))
				 : PW_CALL(open_memstream(&m->p, &m->size)),
			 PW_ST_GROWS);
}

/* A stream of its own making over a descriptor that the library may serve. */

static ssize_t cookie_read(void *c, char *buf, size_t n)
{
	return read(((struct pw_stream_memory *)c)->fd, buf, n);
}

static ssize_t cookie_write(void *c, const char *buf, size_t n)
{
	ssize_t put = write(((struct pw_stream_memory *)c)->fd, buf, n);

	return put < 0 ? 0 : put;
}

static int cookie_seek(void *c, off64_t *off, int whence)
{
	*off = lseek(((struct pw_stream_memory *)c)->fd, *off, whence);
	return *off < 0 ? -1 : 0;
}

static int cookie_close(void *c)
{
	(void)c;
	return 0;
}

void pw_do_COOKIE(const struct pw_step *s)
{
	cookie_io_functions_t io = {cookie_read, cookie_write, cookie_seek, cookie_close};
	struct pw_stream_memory *m;

	if (pw_stream_taken(s))
		return;
	m = pw_stream_memory(s->arg[0]);
	m->fd = pw_fd(s->arg[1]);
	pw_stream_opened(s, PW_CALL(fopencookie(m, pw_open_modes[s->arg[2]], io)),
			 PW_ST_COOKIE);
}

/* Its end is awaited, so that nothing of the child is still there for later steps. */
void pw_do_POPENS(const struct pw_step *s)
{
	struct pollfd p = {.events = POLLIN};
	char cmd[100];
	FILE *f;

	if (pw_stream_taken(s))
		return;
	if (s->arg[1] == PW_FIFO) {
		pw_skipped(s, "would wait");
		return;
	}
	snprintf(cmd, sizeof(cmd), "head -c %d %s", (int)(s->arg[2] & 0x3ff),
		 pw_file_names[s->arg[1]]);
	f = PW_CALL(popen(cmd, "r"));
	p.fd = f ? fileno(f) : -1;
	while (f && !(p.revents & POLLHUP)) {
		PW_RAW3(SYS_poll, &p, 1, -1);
		PW_RAW3(SYS_poll, NULL, 0, 1);
	}
	pw_stream_opened(s, f, PW_ST_PIPE);
}

void pw_do_SETBUF(const struct pw_step *s)
{
	static char room[PW_STREAMS + 3][65536 + 16];
	FILE *f = pw_stream_sound(s, s->arg[0]);
	char *p = room[s->arg[0]];
	size_t n = s->arg[2] < 0 || s->arg[2] > 65536 ? 65536 : (size_t)s->arg[2];

	if (!f)
		return;
	if (pw_stream_kind(s->arg[0]) == PW_ST_GROWS) {
		pw_skipped(s, "has a buffer");
		return;
	}
	if (s->name == 0)
		pw_said(s, PW_CALL(setvbuf(f, p, (int)s->arg[1], n)), " ");
	else if (s->name == 1)
		pw_said(s, PW_CALL((setbuffer(f, p, n), 0)), " ");
	else if (s->name == 2)
		pw_said(s, PW_CALL((setbuf(f, p), 0)), " ");
	else
		pw_said(s, PW_CALL((setlinebuf(f), 0)), " ");
}

void pw_do_UNGETS(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	int n = s->arg[1] & 0x7f, done = 0;

	if (!f || pw_stream_writing(s, f))
		return;
	while (done < n && PW_CALL(ungetc('a' + done % 26, f)) != EOF)
		done++;
	pw_said(s, done, "%s", pw_stream_state(f));
}

void pw_do_FITEMS(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	size_t size = (size_t)s->arg[1] & 0xff, n, count;
	struct pw_buf b;

	if (!f)
		return;
	if (!pw_buf_get(&b, PW_BUF(PW_AREA_B, 128), s->arg[2])) {
		pw_skipped(s, "too much");
		return;
	}
	count = size ? b.size / size : 0;
	n = s->name ? PW_CALL(fread_unlocked(b.p, size, count, f))
		    : PW_CALL(fread(b.p, size, count, f));
	pw_said(s, (long long)n, "h=%08x %s", (unsigned int)pw_hash(b.p, n * size),
		pw_stream_state(f));
}

void pw_do_FPUTC(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);
	int c = (int)s->arg[1];

	if (f)
		pw_said(s, s->name ? PW_CALL(putc_unlocked(c, f)) : PW_CALL(fputc(c, f)),
			"%s", pw_stream_state(f));
}

/* Places that are kept over other steps. */

static fpos_t place[4];
static bool kept[4];

void pw_do_GETPOS(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);
	int i = s->arg[1] & 3, ret;

	if (!f)
		return;
	ret = s->name ? PW_CALL(fgetpos64(f, (fpos64_t *)&place[i]))
		      : PW_CALL(fgetpos(f, &place[i]));
	kept[i] |= !ret;
	pw_said(s, ret, " ");
}

void pw_do_SETPOS(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);
	int i = s->arg[1] & 3;

	if (!f)
		return;
	if (!kept[i]) {
		pw_skipped(s, "no such place");
		return;
	}
	pw_said(s,
		s->name ? PW_CALL(fsetpos64(f, (fpos64_t *)&place[i]))
			: PW_CALL(fsetpos(f, &place[i])),
		"%s", pw_stream_state(f));
}

void pw_do_CLEARERR(const struct pw_step *s)
{
	FILE *f = pw_stream_sound(s, s->arg[0]);

	if (!f)
		return;
	if (s->name)
		PW_CALL((clearerr_unlocked(f), 0));
	else
		PW_CALL((clearerr(f), 0));
	pw_said(s, 0, "%s", pw_stream_state(f));
}

void pw_do_FPURGE(const struct pw_step *s)
{
	FILE *f = pw_stream_bytes(s, s->arg[0]);

	if (f)
		pw_said(s, PW_CALL((__fpurge(f), 0)), "%s", pw_stream_state(f));
}

/* libc flushes them all and takes their buffers away; they are not used any more. */
void pw_do_FCLOSEALL(const struct pw_step *s)
{
	for (int i = 0; i < PW_STREAMS; i++)
		if (pw_stream[i] && pw_stream_kind(i) == PW_ST_GROWS) {
			pw_skipped(s, "has a buffer");
			return;
		}
	pw_said(s, PW_CALL(fcloseall()), " ");
	pw_streams_end();
}
