/*
 * Steps in a row on streams: what their buffers hold when something else happens to the file,
 * the number, the process or the stream itself.
 */
#define _GNU_SOURCE
#include "gen_inside.h"

#include <fcntl.h>
#include <unistd.h>

/* A stream over a regular file that is served, and a slot with its number. */
struct served {
	int64_t t, slot, fd;
	int file;
};

static int64_t free_stream(struct gen *g)
{
	for (int i = 0; i < PW_STREAMS; i++)
		if (!mine(g)->stream[i])
			return i;
	return -1;
}

static int64_t buffer_size(struct gen *g)
{
	return PICK(g, 0, 1, 2, 7, 100, 511, 1000, 4095, 4096, 4097, 8192, 65536);
}

static void set_buffer(struct gen *g, int64_t t)
{
	STEP(g, SETBUF, t, PICK(g, _IOFBF, _IOFBF, _IOLBF, _IONBF), buffer_size(g));
}

static void stream_burst(struct gen *g, int64_t t)
{
	STEP(g, FBURST, t, (int64_t)rnd(g, PW_BURST_MIXED + 1), 85 + (int64_t)rnd(g, 90),
	     chance(g, 70) ? 1 + (int64_t)rnd(g, 200) : 1 + (int64_t)rnd(g, 4096),
	     (int64_t)rnd(g, 1000));
}

/* mode: as pw_open_modes numbers them. */
static bool open_stream(struct gen *g, struct served *x, int64_t mode)
{
	x->t = free_stream(g);
	if (x->t < 0)
		return false;
	x->file = pw_pick_regular(g);
	x->slot = rnd(g, PW_SLOTS);
	x->fd = PW_SLOT(x->slot);
	if (chance(g, 70)) {
		STEP(g, FOPEN, x->t, x->file, mode);
		STEP(g, FILENO, x->slot, x->t);
	} else {
		x->slot = pw_gen_open_some(g, x->file, mode == 1 ? O_RDWR : O_RDONLY);
		x->fd = PW_SLOT(x->slot);
		STEP(g, FDOPEN, x->t, x->fd, mode);
	}
	if (chance(g, 30))
		set_buffer(g, x->t);
	stream_burst(g, x->t);
	return true;
}

static int64_t read_or_both(struct gen *g)
{
	return rnd(g, 2);
}

/* Something small by the stream. */
static void touch(struct gen *g, const struct served *x)
{
	switch (rnd(g, 12)) {
	case 0:
		STEP(g, FGETC, x->t);
		break;
	case 1:
		STEP(g, FGETS, x->t, 2 + (int64_t)rnd(g, 100));
		break;
	case 2:
		STEP(g, UNGETC, x->t, 'a' + (int64_t)rnd(g, 26));
		break;
	case 3:
		STEP(g, FTELL, x->t);
		break;
	case 4:
		STEP(g, FSEEK, x->t, (int64_t)rnd(g, 9000), SEEK_SET);
		break;
	case 5:
		STEP(g, FSEEK, x->t, (int64_t)rnd(g, 300) - 150, SEEK_CUR);
		break;
	case 6:
		STEP(g, FFLUSH, x->t);
		break;
	case 7:
		STEP(g, FSEEK, x->t, 0, SEEK_CUR);
		STEP(g, FWRITE, x->t, 1 + (int64_t)rnd(g, 60), 3);
		break;
	case 8:
		STEP(g, GETPOS, x->t, (int64_t)rnd(g, 4));
		break;
	case 9:
		STEP(g, SETPOS, x->t, (int64_t)rnd(g, 4));
		break;
	default:
		STEP(g, FREAD, x->t, 1 + (int64_t)rnd(g, 200));
		break;
	}
}

static void touches(struct gen *g, const struct served *x, int most)
{
	for (int n = 1 + rnd(g, most); n; n--)
		touch(g, x);
}

/* One handle after the other, as POSIX allows it: flush or seek, then the other. */
static void idiom_handover(struct gen *g)
{
	struct served x;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	for (int i = 0; i < 4; i++) {
		touches(g, &x, 3);
		STEP(g, FFLUSH, x.t);
		pw_gen_look(g, x.fd);
		if (chance(g, 30))
			pw_gen_burst_on(g, x.fd);
		if (chance(g, 30))
			STEP(g, WRITE, x.fd, 1 + (int64_t)rnd(g, 100), 5);
		if (chance(g, 50))
			STEP(g, LSEEK, x.fd, (int64_t)rnd(g, 5000), SEEK_SET);
		STEP(g, FSEEK, x.t, 0, chance(g, 80) ? SEEK_CUR : SEEK_END);
		STEP(g, FTELL, x.t);
	}
}

/* Forked with bytes unread and unwritten: both sides go on, and end in their ways. */
static void idiom_fork_buffers(struct gen *g)
{
	int child = pw_pick_actor(g, false, false), self = g->self;
	struct served x, y;
	bool two;

	if (!child || g->spawns <= 0 || !open_stream(g, &x, read_or_both(g)))
		return;
	two = open_stream(g, &y, 1);
	touches(g, &x, 3);
	if (two) {
		STEP(g, FSEEK, y.t, 0, SEEK_CUR);
		STEP(g, FWRITE, y.t, 1 + (int64_t)rnd(g, 100), 8);
	}
	STEP(g, FORK, child);
	for (int i = 0; i < 6; i++) {
		g->self = chance(g, 50) ? child : self;
		touch(g, two && chance(g, 30) ? &y : &x);
		if (chance(g, 40))
			pw_gen_look(g, x.fd);
	}
	g->self = child;
	if (chance(g, 70))
		STEP(g, EXIT, (int64_t)rnd(g, 2), 0);
	g->self = self;
	pw_gen_look(g, x.fd);
	touches(g, &x, 3);
	stream_burst(g, x.t);
	STEP(g, FCLOSE, x.t);
}

/* Exec with them: they are lost, and the numbers stay where the kernel has them. */
static void idiom_exec_buffers(struct gen *g)
{
	int child = pw_pick_actor(g, false, false), self = g->self;
	struct served x;

	if (!child || g->spawns <= 1 || !open_stream(g, &x, read_or_both(g)))
		return;
	touches(g, &x, 4);
	STEP(g, FORK, child);
	g->self = child;
	touches(g, &x, 2);
	if (chance(g, 70))
		STEP(g, EXEC, 0);
	else
		STEP(g, EXECFAIL, (int64_t)rnd(g, 4));
	pw_gen_look(g, x.fd);
	g->self = self;
	touches(g, &x, 3);
	pw_gen_look(g, x.fd);
}

/* Children that read on where the stream's number stands. */
static void idiom_child_buffers(struct gen *g)
{
	struct served x;
	int64_t size = 1 + (int64_t)rnd(g, 300);

	if (g->spawns <= 0 || !open_stream(g, &x, read_or_both(g)))
		return;
	touches(g, &x, 4);
	if (chance(g, 50))
		STEP(g, FFLUSH, x.t);
	switch (rnd(g, 5)) {
	case 0:
		STEP(g, SYSTEM, x.fd, (int64_t)rnd(g, 6), size);
		break;
	case 1:
		STEP(g, POPEN, x.fd, (int64_t)rnd(g, 6), size);
		break;
	case 2:
		STEP(g, SPAWN, x.fd, (int64_t)rnd(g, 8), size);
		break;
	case 3:
		STEP(g, VFORK, x.fd, (int64_t)rnd(g, 8), size);
		break;
	default:
		STEP(g, POPENS, free_stream(g) < 0 ? 0 : free_stream(g), x.file, size);
		break;
	}
	pw_gen_look(g, x.fd);
	touches(g, &x, 4);
	stream_burst(g, x.t);
	pw_gen_look(g, x.fd);
}

/* Streams of other kinds beside one that is served, and over its number. */
static void idiom_beside(struct gen *g)
{
	struct served x, y;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	y = x;
	y.t = free_stream(g);
	if (y.t < 0)
		return;
	switch (rnd(g, 4)) {
	case 0:
		STEP(g, COOKIE, y.t, x.fd, (int64_t)rnd(g, 2));
		stream_burst(g, y.t);
		break;
	case 1:
		STEP(g, FMEMOPEN, y.t, (int64_t)rnd(g, 4), (int64_t)rnd(g, 400), 5);
		break;
	case 2:
		STEP(g, MEMSTREAM, y.t);
		break;
	default:
		STEP(g, POPENS, y.t, x.file, (int64_t)rnd(g, 1000));
		break;
	}
	for (int i = 0; i < 8; i++)
		touch(g, chance(g, 50) ? &x : &y);
	STEP(g, FCLOSE, chance(g, 50) ? x.t : y.t);
	pw_gen_look(g, x.fd);
}

/* Wide characters, by a mode with ccs= or by the first use. */
static void idiom_wide(struct gen *g)
{
	struct served x;
	int64_t mode = PICK(g, 0, 1, 11, 11, 12, 15, 16, 17);

	STEP(g, LOCALE, chance(g, 80));
	x.t = free_stream(g);
	if (x.t < 0)
		return;
	x.slot = rnd(g, PW_SLOTS);
	x.fd = PW_SLOT(x.slot);
	STEP(g, FOPEN, x.t, pw_pick_regular(g), mode);
	STEP(g, FILENO, x.slot, x.t);
	STEP(g, FWIDE, x.t, 1);
	stream_burst(g, x.t);
	for (int i = 0; i < 10; i++)
		switch (rnd(g, 12)) {
		case 0:
			STEP(g, FGETWS, x.t, 2 + (int64_t)rnd(g, 100));
			break;
		case 1:
			STEP(g, UNGETWC, x.t, 'a' + (int64_t)rnd(g, 26));
			break;
		case 2:
			STEP(g, FTELL, x.t);
			break;
		case 3:
			STEP(g, FSEEK, x.t, (int64_t)rnd(g, 9000), SEEK_SET);
			break;
		case 4:
			STEP(g, FFLUSH, x.t);
			break;
		case 5:
			STEP(g, GETPOS, x.t, 0);
			break;
		case 6:
			STEP(g, SETPOS, x.t, 0);
			break;
		case 7:
			STEP(g, FSEEK, x.t, 0, SEEK_CUR);
			STEP(g, FPUTWS, x.t, (int64_t)rnd(g, 200));
			break;
		case 8:
			pw_gen_look(g, x.fd);
			break;
		case 9:
			stream_burst(g, x.t);
			break;
		default:
			STEP(g, FGETWC, x.t);
			break;
		}
	if (chance(g, 60))
		STEP(g, FCLOSE, x.t);
}

/* What the stream keeps changes under way. */
static void idiom_buffers(struct gen *g)
{
	struct served x;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	for (int i = 0; i < 4; i++) {
		touches(g, &x, 3);
		switch (rnd(g, 5)) {
		case 0:
			STEP(g, FPURGE, x.t);
			break;
		case 1:
			STEP(g, UNGETS, x.t, 1 + (int64_t)rnd(g, 20));
			break;
		case 2:
			STEP(g, REWIND, x.t);
			break;
		default:
			set_buffer(g, x.t);
			break;
		}
		stream_burst(g, x.t);
		pw_gen_look(g, x.fd);
	}
}

/* By several threads at once, then by one again. */
static void idiom_at_once(struct gen *g)
{
	struct served x;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	for (int i = 0; i < 3; i++) {
		STEP(g, FTHREADS, x.t, (int64_t)rnd(g, 2), 1 + (int64_t)rnd(g, 200));
		STEP(g, FTELL, x.t);
		if (chance(g, 50))
			STEP(g, FSEEK, x.t, (int64_t)rnd(g, 9000), SEEK_SET);
	}
	pw_gen_look(g, x.fd);
	touches(g, &x, 3);
}

/* Two streams and numbers of one description: one of them closed. */
static void idiom_dup(struct gen *g)
{
	struct served x, y;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	y = x;
	y.t = free_stream(g);
	if (y.t < 0)
		return;
	y.slot = (x.slot + 3) % PW_SLOTS;
	y.fd = PW_SLOT(y.slot);
	STEP(g, DUP, y.slot, x.fd);
	STEP(g, FDOPEN, y.t, y.fd, (int64_t)rnd(g, 2));
	for (int i = 0; i < 4; i++)
		touch(g, chance(g, 50) ? &x : &y);
	STEP(g, FCLOSE, chance(g, 70) ? y.t : x.t);
	pw_gen_look(g, x.fd);
	pw_gen_look(g, y.fd);
	touches(g, mine(g)->stream[x.t] ? &x : &y, 3);
	pw_gen_open_some(g, pw_pick_regular(g), O_RDONLY);
	touches(g, mine(g)->stream[x.t] ? &x : &y, 3);
	/* The number goes away under the stream, too. */
	if (chance(g, 30)) {
		STEP(g, CLOSE, x.fd);
		pw_gen_open_some(g, pw_pick_regular(g), O_RDONLY);
		touches(g, &x, 3);
	}
}

/* The three that are there from the beginning, led elsewhere. */
static void idiom_standard_streams(struct gen *g)
{
	int64_t n = rnd(g, 3);
	struct served x = {PW_STDIN + n, 0, PW_NUMBER(n), 0};

	x.file = pw_pick_regular(g);
	if (chance(g, 60)) {
		STEP(g, FREOPEN, x.t, x.file, n ? 1 : read_or_both(g));
	} else {
		x.slot = pw_gen_open_some(g, x.file, n ? O_RDWR : O_RDONLY);
		STEP(g, DUP2, (int64_t)rnd(g, PW_SLOTS), PW_SLOT(x.slot), x.fd);
	}
	if (chance(g, 40))
		set_buffer(g, x.t);
	stream_burst(g, x.t);
	touches(g, &x, 4);
	if (chance(g, 30) && g->spawns > 0)
		STEP(g, SYSTEM, x.fd, (int64_t)rnd(g, 6), (int64_t)rnd(g, 100));
	pw_gen_look(g, x.fd);
	touches(g, &x, 3);
	if (chance(g, 10))
		STEP(g, FCLOSE, x.t);
}

/* All of them at once. */
static void idiom_all(struct gen *g)
{
	struct served x, y;

	if (!open_stream(g, &x, read_or_both(g)) || !open_stream(g, &y, 1))
		return;
	touches(g, &x, 3);
	touches(g, &y, 3);
	if (chance(g, 70))
		STEP(g, FFLUSHALL);
	else
		pw_gen_make(g, PW_OP_FCLOSEALL);
	pw_gen_look(g, x.fd);
	pw_gen_look(g, y.fd);
}

/* The same stream over another file, or the same file in another mode. */
static void idiom_reopen(struct gen *g)
{
	struct served x;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	for (int i = 0; i < 3; i++) {
		touches(g, &x, 3);
		if (chance(g, 60))
			STEP(g, FREOPEN, x.t, pw_pick_regular(g),
			     PICK(g, 0, 0, 1, 1, 3, 5, 6, 9));
		else
			STEP(g, FREOPENNULL, x.t, PICK(g, 0, 1, 1, 5));
		if (chance(g, 60))
			stream_burst(g, x.t);
		STEP(g, FILENO, x.slot, x.t);
		pw_gen_look(g, x.fd);
	}
}

/* Somebody changes the file, while the buffer holds what it was. */
static void idiom_file_changes(struct gen *g)
{
	struct served x;
	int64_t size;

	if (!open_stream(g, &x, read_or_both(g)))
		return;
	size = g->p->file[x.file].there ? g->p->file[x.file].size : 100;
	for (int i = 0; i < 4; i++) {
		touches(g, &x, 2);
		if (chance(g, 50))
			STEP(g, XWRITE, x.file, 1 + (int64_t)rnd(g, 5000),
			     (int64_t)rnd(g, size + 100), (int64_t)rnd(g, 100));
		else
			STEP(g, XTRUNC, x.file, (int64_t)rnd(g, size + 1));
		STEP(g, FSEEK, x.t, -(int64_t)rnd(g, 100), SEEK_END);
		STEP(g, FREAD, x.t, 1 + (int64_t)rnd(g, 200));
		STEP(g, FSEEK, x.t, (int64_t)rnd(g, size + 1), SEEK_SET);
		STEP(g, FREAD, x.t, 1 + (int64_t)rnd(g, 200));
	}
	stream_burst(g, x.t);
}

void pw_gen_stream_idiom(struct gen *g)
{
	static void (*const idioms[])(struct gen *) = {
		idiom_handover,		idiom_fork_buffers, idiom_exec_buffers,
		idiom_child_buffers,	idiom_beside,	    idiom_wide,
		idiom_buffers,		idiom_at_once,	    idiom_dup,
		idiom_standard_streams, idiom_all,	    idiom_reopen,
		idiom_file_changes,
	};

	idioms[rnd(g, sizeof(idioms) / sizeof(idioms[0]))](g);
}
