/*
 * Many small steps on one stream: in a row, for it takes some before the library thinks a
 * file worth a window; and by several threads at once, where only totals can be told.
 */
#define _GNU_SOURCE
#include "streams.h"

#include <pthread.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

struct burst {
	FILE *f;
	uint64_t rnd;
	int64_t size, max;
	int at;
};

static void told(const struct burst *u, const char *what, long long ret, const void *p,
		 size_t n)
{
	pw_note("  .%d %s -> %lld %s h=%08x %s\n", u->at, what, ret, pw_errname(pw_err),
		n ? (unsigned int)pw_hash(p, n) : 0, pw_stream_state(u->f));
}

static void take_bytes(const struct burst *u, int64_t some)
{
	static char room[4096];
	size_t n = PW_CALL(fread(room, 1, (size_t)some, u->f));

	told(u, "fread", (long long)n, room, n);
}

/* A line without an end, a byte a call, many times over: that takes too long. */
static bool by_the_line(FILE *f)
{
	return __fbufsize(f) >= 512;
}

static void take_line(struct burst *u, int64_t some)
{
	char line[200], *p;
	size_t size = 0;
	ssize_t n;

	if ((some & 1) || !by_the_line(u->f)) {
		p = PW_CALL(fgets(line, (int)(2 + some % 190), u->f));
		n = p ? (ssize_t)strlen(line) : -1;
		told(u, "fgets", n, line, n < 0 ? 0 : (size_t)n);
		return;
	}
	p = NULL;
	n = PW_CALL(getline(&p, &size, u->f));
	told(u, "getline", n, p, n < 0 ? 0 : (size_t)n);
	free(p);
}

static void take_wide(struct burst *u, int64_t some)
{
	wchar_t line[200], *p;
	int i;

	if (some & 1) {
		p = PW_CALL(fgetws(line, (int)(2 + some % 190), u->f));
		told(u, "fgetws", p ? 0 : -1, line, p ? wcslen(p) * sizeof(*p) : 0);
		return;
	}
	for (i = 0; i < some % 20; i++) {
		line[i] = (wchar_t)PW_CALL(fgetwc(u->f));
		if (line[i] == (wchar_t)WEOF)
			break;
	}
	told(u, "fgetwc", i, line, (size_t)i * sizeof(*line));
}

static void take(struct burst *u, int kind, int64_t some)
{
	char c[16];
	int i = 0;

	if (fwide(u->f, 0) > 0) {
		take_wide(u, some);
	} else if (kind == PW_BURST_LINES) {
		take_line(u, some);
	} else if (kind == PW_BURST_BYTES) {
		for (; i < some % 16; i++)
			c[i] = (char)PW_CALL(fgetc(u->f));
		told(u, "fgetc", i, c, (size_t)i);
	} else {
		take_bytes(u, some);
	}
}

static void move(const struct burst *u, int64_t off, int whence)
{
	int ret = PW_CALL(fseeko(u->f, off, whence));

	told(u, "fseeko", ret, NULL, 0);
}

static void once(struct burst *u, int kind)
{
	int64_t some = 1 + (int64_t)(pw_random(&u->rnd) % (uint64_t)u->max);
	int64_t there = (int64_t)(pw_random(&u->rnd) % (uint64_t)(u->size + 1));

	switch (kind) {
	case PW_BURST_RAND:
		move(u, there, SEEK_SET);
		break;
	case PW_BURST_SEEKS:
		if (some & 1)
			move(u, some / 2 - some % 100, SEEK_CUR);
		else
			move(u, -there, SEEK_END);
		told(u, "ftello", PW_CALL(ftello(u->f)), NULL, 0);
		break;
	case PW_BURST_PREAD:
		/* Its number, which may be a little ahead. */
		told(u, "lseek", PW_CALL(lseek(fileno(u->f), 0, SEEK_CUR)), NULL, 0);
		break;
	}
	take(u, kind, some);
	if (feof(u->f) && kind != PW_BURST_RAND)
		PW_CALL((rewind(u->f), 0));
}

void pw_do_FBURST(const struct pw_step *s)
{
	struct burst u = {.rnd = (uint64_t)s->arg[4], .max = s->arg[3]};
	FILE *f = pw_stream_sound(s, s->arg[0]);
	int count = (int)(s->arg[2] & 0xff);
	struct stat st;

	if (!f || pw_stream_endless(s, f))
		return;
	if (u.max < 1 || u.max > 4096)
		u.max = 4096;
	u.f = f;
	u.size = PW_RAW2(SYS_fstat, fileno(f), &st) < 0 ? 0 : st.st_size;
	if (u.size > 1 << 24)
		u.size = 1 << 24;
	for (u.at = 0; u.at < count && !(fwide(f, 0) > 0 && ferror(f)); u.at++)
		once(&u, s->arg[1] == PW_BURST_MIXED
				 ? (int)(pw_random(&u.rnd) % PW_BURST_MIXED)
				 : (int)s->arg[1]);
	pw_said(s, u.at, "%s", pw_stream_state(f));
}

/*
 * Threads at once. Whoever gets a piece, each call gets the next one whole, so that the sum
 * over all pieces does not depend on it.
 */

enum { BY_FGETC, BY_FLOCKFILE, BY_FREAD, BY_GETLINE, BY_FFLUSH, BY_FPUTS };

struct crew {
	FILE *f;
	int how, count;
	uint64_t sum, pieces;
	int err;
};

static bool piece(struct crew *c, char **line, size_t *room, uint64_t *h)
{
	char part[60];
	size_t n = 0;
	ssize_t got;
	int ch;

	switch (c->how) {
	case BY_FLOCKFILE:
		flockfile(c->f);
		while (n < 3 && (ch = getc_unlocked(c->f)) != EOF)
			part[n++] = (char)ch;
		funlockfile(c->f);
		break;
	case BY_FREAD:
		n = fread(part, 1, 37, c->f);
		break;
	case BY_GETLINE:
		if (!by_the_line(c->f)) {
			n = fgets(part, sizeof(part), c->f) ? strlen(part) : 0;
			break;
		}
		got = getline(line, room, c->f);
		*h = got > 0 ? pw_hash(*line, (size_t)got) : 0;
		return got > 0;
	default:
		ch = fgetc(c->f);
		part[0] = (char)ch;
		n = ch != EOF;
		break;
	}
	*h = pw_hash(part, n);
	return n != 0;
}

static void *member(void *arg)
{
	struct crew *c = arg;
	char *line = NULL;
	size_t room = 0;
	uint64_t h = 0;
	int err = 0;

	for (int i = 0; i < c->count; i++) {
		errno = PW_UNTOUCHED;
		if (c->how == BY_FPUTS ? fputs("a line like all the others\n", c->f) < 0
				       : !piece(c, &line, &room, &h)) {
			err = errno;
			break;
		}
		__atomic_fetch_add(&c->sum, h, __ATOMIC_RELAXED);
		__atomic_fetch_add(&c->pieces, 1, __ATOMIC_RELAXED);
		/* It may take the kernel's place back, but nothing that is read. */
		if (c->how == BY_FFLUSH && i % 8 == 7 && fflush(c->f))
			err = errno;
	}
	if (err)
		__atomic_store_n(&c->err, err, __ATOMIC_RELAXED);
	free(line);
	return NULL;
}

void pw_do_FTHREADS(const struct pw_step *s)
{
	struct crew c = {.how = s->name, .err = PW_UNTOUCHED};
	int count = 2 + (int)(s->arg[1] & 1), made = 0;
	pthread_t thread[3];
	pthread_attr_t attr;

	c.count = (int)(s->arg[2] & 0xff);
	c.f = pw_stream_bytes(s, s->arg[0]);
	if (!c.f || pw_stream_endless(s, c.f))
		return;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	while (made < count && !pthread_create(&thread[made], &attr, member, &c))
		made++;
	for (int i = 0; i < made; i++)
		pthread_join(thread[i], NULL);
	pthread_attr_destroy(&attr);
	pw_err = c.err;
	pw_said(s, made, "pieces=%llu sum=%016llx %s", (unsigned long long)c.pieces,
		(unsigned long long)c.sum, pw_stream_state(c.f));
}
