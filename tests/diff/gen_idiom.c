/*
 * Steps in a row: the bursts that make the library take a file up, the probes
 * that show where it stands, and idioms, which are sequences that real programs
 * use and that single random steps would rarely hit upon.
 */
#define _GNU_SOURCE
#include "gen_inside.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

void pw_gen_step(struct gen *g, int op, int count, const int64_t *args)
{
	struct pw_step *s = pw_gen_begin(g, op);

	for (int i = 0; i < count; i++)
		s->arg[i] = args[i];
	pw_gen_end(g);
}

int pw_gen_open_some(struct gen *g, int file, int64_t flags)
{
	struct pw_step *s = pw_gen_begin(g, PW_OP_OPEN);
	int slot = s->arg[0];

	s->arg[1] = file;
	s->arg[2] = flags;
	pw_gen_end(g);
	return slot;
}

void pw_gen_burst_on(struct gen *g, int64_t fd)
{
	struct pw_step *s = pw_gen_begin(g, PW_OP_BURST);

	s->arg[0] = fd;
	s->arg[2] = 85 + rnd(g, 90);
	s->arg[3] = chance(g, 70) ? 1 + rnd(g, 200) : 1 + rnd(g, 4096);
	pw_gen_end(g);
	if (PW_IS_SLOT(fd))
		g->hot = PW_VALUE(fd);
}

void pw_gen_burst(struct gen *g)
{
	int slot = pw_pick_slot(g, READS);
	int mode = O_RDONLY;

	/* For stores (gen_pick.c). */
	if (getenv("PAGEWELL_WRITE") && chance(g, 60)) {
		mode = chance(g, 70) ? O_RDWR : O_WRONLY;
		slot = -1;
	}
	if (slot < 0 || chance(g, 15))
		slot = pw_gen_open_some(g, pw_pick_regular(g),
					mode != O_RDONLY ? mode
							 : PICK(g, O_RDONLY, O_RDONLY,
								O_RDWR, O_RDWR | O_CREAT,
								O_RDONLY | O_CLOEXEC));
	pw_gen_burst_on(g, PW_SLOT(slot));
}

void pw_gen_look(struct gen *g, int64_t fd)
{
	if (chance(g, 60))
		STEP(g, LSEEK, fd, 0, SEEK_CUR);
	if (chance(g, 70))
		STEP(g, READ, fd, PW_BUF(PW_AREA_B, 0), 1 + (int64_t)rnd(g, 300));
	else
		STEP(g, PREAD, fd, PW_BUF(PW_AREA_B, 0), 1 + (int64_t)rnd(g, 300),
		     pw_pick_offset(g, PW_IS_SLOT(fd) ? PW_VALUE(fd) : -1));
}

void pw_gen_probe(struct gen *g)
{
	int slot = chance(g, 70) ? g->hot : pw_pick_slot(g, READS);

	if (slot >= 0)
		pw_gen_look(g, PW_SLOT(slot));
}

/* A file that has been read so much that it is served. */
static int served(struct gen *g, int64_t flags)
{
	int slot = pw_gen_open_some(g, pw_pick_regular(g), flags);

	pw_gen_burst_on(g, PW_SLOT(slot));
	return slot;
}

static int64_t lock_cur(struct gen *g)
{
	return rnd(g, 20);
}

/* Is a description gone when the program has closed it? */
static void idiom_gone(struct gen *g)
{
	int file = pw_pick_regular(g);
	int a = pw_gen_open_some(g, file, O_RDWR);

	pw_gen_burst_on(g, PW_SLOT(a));
	if (chance(g, 70))
		STEP(g, FLOCK, PW_SLOT(a), LOCK_EX);
	if (chance(g, 30))
		STEP(g, READ, PW_SLOT(a), PW_BUF(PW_AREA_B, 0), 10);
	STEP(g, CLOSE, PW_SLOT(a));
	a = pw_gen_open_some(g, file, O_RDWR);
	STEP(g, FLOCK, PW_SLOT(a), LOCK_EX);
	STEP(g, LEASE, PW_SLOT(a), 1);
	STEP(g, FLOCK, PW_SLOT(a), LOCK_UN);
}

/* A number that is closed in some way and then means another file. */
static void idiom_reuse(struct gen *g)
{
	int a = served(g, O_RDONLY), b;
	int64_t t;

	switch (rnd(g, 6)) {
	case 0:
		STEP(g, CLOSERANGE, PW_SLOT(a), PW_SLOT(a), 0);
		break;
	case 1:
		STEP(g, CLOSEFROM, PW_SLOT(a));
		break;
	case 2:
		b = pw_gen_open_some(g, pw_pick_regular(g), O_RDONLY);
		t = (a + 5) % PW_SLOTS;
		if (chance(g, 50))
			STEP(g, DUP, t, PW_SLOT(a));
		STEP(g, DUP2, a, PW_SLOT(b), PW_SLOT(a));
		pw_gen_look(g, PW_SLOT(t));
		break;
	case 3:
		t = rnd(g, PW_STREAMS);
		if (!mine(g)->stream[t]) {
			STEP(g, FDOPEN, t, PW_SLOT(a), 0);
			STEP(g, FCLOSE, t);
		}
		break;
	case 4:
		STEP(g, VFORK, PW_SLOT(a), PW_CH_CLOSE | PW_CH_EXIT, 10);
		break;
	default:
		STEP(g, CLOSE, PW_SLOT(a));
		break;
	}
	pw_gen_look(g, PW_SLOT(a));
	b = pw_gen_open_some(g, pw_pick_regular(g), O_RDONLY);
	pw_gen_look(g, PW_SLOT(b));
	pw_gen_look(g, PW_SLOT(a));
}

/* The file changes under a reader who knows its size. */
static void idiom_changes(struct gen *g)
{
	int file = pw_pick_regular(g), a = pw_gen_open_some(g, file, O_RDWR);
	int64_t size = g->p->file[file].there ? g->p->file[file].size : 100;
	int64_t cut = rnd(g, size + 1);

	pw_gen_burst_on(g, PW_SLOT(a));
	for (int i = 0; i < 3; i++) {
		switch (rnd(g, 5)) {
		case 0:
			STEP(g, XWRITE, file, 1 + (int64_t)rnd(g, 5000),
			     (int64_t)rnd(g, size + 5000), (int64_t)rnd(g, 100));
			break;
		case 1:
			STEP(g, FTRUNC, PW_SLOT(a), size + (int64_t)rnd(g, 9000));
			break;
		case 2:
			STEP(g, XTRUNC, file, size);
			break;
		default:
			STEP(g, XTRUNC, file, cut);
			break;
		}
		STEP(g, PREAD, PW_SLOT(a), PW_BUF(PW_AREA_B, 0), 1 + (int64_t)rnd(g, 500),
		     cut < 100 ? 0 : cut - (int64_t)rnd(g, 100));
		STEP(g, LSEEK, PW_SLOT(a), -(int64_t)rnd(g, 50), SEEK_END);
		STEP(g, READ, PW_SLOT(a), PW_BUF(PW_AREA_B, 0), 100);
	}
}

/* Both sides of a fork read in turn. */
static void idiom_fork(struct gen *g)
{
	int child = pw_pick_actor(g, false, false), a, self = g->self;

	if (!child || g->spawns <= 0)
		return;
	a = served(g, O_RDONLY);
	STEP(g, FORK, child);
	for (int i = 0; i < 5; i++) {
		g->self = chance(g, 50) ? child : self;
		pw_gen_look(g, PW_SLOT(a));
		if (chance(g, 20))
			STEP(g, LSEEK, PW_SLOT(a), (int64_t)rnd(g, 100), SEEK_SET);
	}
	g->self = self;
}

/* Threads on one description. */
static void idiom_threads(struct gen *g)
{
	int other = pw_pick_actor(g, false, false), a, self = g->self;

	if (!other)
		return;
	a = served(g, O_RDONLY);
	STEP(g, THREAD, other, (int64_t)rnd(g, 2));
	for (int i = 0; i < 6; i++) {
		g->self = chance(g, 50) ? other : self;
		pw_gen_look(g, PW_SLOT(a));
		if (chance(g, 15))
			pw_gen_burst_on(g, PW_SLOT(a));
	}
	g->self = self;
}

/* A buffer that was good and is not any more. */
static void idiom_buffer(struct gen *g)
{
	int a = served(g, O_RDONLY);
	int64_t page = rnd(g, PW_M_PAGES - 2);
	int64_t buf = PW_BUF(PW_AREA_M, page * 4096 + PICK(g, 0, 10, 4000, 4096));
	int64_t size = PICK(g, 10, 200, 4096, 5000);

	STEP(g, MMAP, page, 2, PROT_READ | PROT_WRITE);
	for (int i = 0; i < 3; i++)
		STEP(g, READ, PW_SLOT(a), buf, size);
	switch (rnd(g, 5)) {
	case 0:
		STEP(g, MUNMAP, page, 1 + (int64_t)rnd(g, 2));
		break;
	case 1:
		STEP(g, MPROTECT, page + (int64_t)rnd(g, 2), 1,
		     PICK(g, PROT_READ, PROT_NONE));
		break;
	case 2:
		STEP(g, MREMAP, page, 2, 1 + (int64_t)rnd(g, 2));
		break;
	case 3:
		STEP(g, MMAP, page + (int64_t)rnd(g, 2), 1,
		     PICK(g, PROT_READ, PROT_NONE));
		break;
	default:
		STEP(g, MADVISE, page, 2, (int64_t)rnd(g, 4));
		break;
	}
	STEP(g, READ, PW_SLOT(a), buf, size);
	STEP(g, PREAD, PW_SLOT(a), buf, size, 5);
	pw_gen_look(g, PW_SLOT(a));
}

/* As shells redirect and daemons let go. */
static void idiom_standard(struct gen *g)
{
	int a = served(g, O_RDONLY), fd = rnd(g, 3);

	STEP(g, DUP2, (int64_t)rnd(g, PW_SLOTS), PW_SLOT(a), PW_NUMBER(fd));
	if (chance(g, 70))
		STEP(g, CLOSE, PW_SLOT(a));
	if (chance(g, 60))
		pw_gen_burst_on(g, PW_NUMBER(fd));
	if (chance(g, 50))
		STEP(g, SYSTEM, PW_NUMBER(fd), (int64_t)rnd(g, 6), (int64_t)rnd(g, 100));
	else if (fd == 0)
		STEP(g, FGETC, PW_STDIN);
	STEP(g, LSEEK, PW_NUMBER(fd), 0, SEEK_CUR);
	pw_gen_look(g, PW_NUMBER(fd));
}

/* A stream and the number under it, used by turns. */
static void idiom_stream(struct gen *g)
{
	int64_t t = rnd(g, PW_STREAMS), slot = rnd(g, PW_SLOTS);

	if (mine(g)->stream[t])
		return;
	if (chance(g, 50)) {
		STEP(g, FOPEN, t, pw_pick_regular(g), (int64_t)rnd(g, 2));
		STEP(g, FILENO, slot, t);
	} else {
		slot = served(g, O_RDWR);
		STEP(g, FDOPEN, t, PW_SLOT(slot), (int64_t)rnd(g, 2));
	}
	for (int i = 0; i < 5; i++)
		switch (rnd(g, 7)) {
		case 6:
			STEP(g, FSEEK, t, 0, SEEK_CUR);
			STEP(g, FWRITE, t, 1 + (int64_t)rnd(g, 60), 3);
			if (chance(g, 50))
				STEP(g, FFLUSH, t);
			break;
		case 0:
			pw_gen_burst_on(g, PW_SLOT(slot));
			break;
		case 1:
			STEP(g, FFLUSH, t);
			break;
		case 2:
			STEP(g, FSEEK, t, (int64_t)rnd(g, 9000), SEEK_SET);
			break;
		case 3:
			pw_gen_look(g, PW_SLOT(slot));
			break;
		case 4:
			STEP(g, FTELL, t);
			break;
		default:
			STEP(g, FREAD, t, 1 + (int64_t)rnd(g, 200));
			break;
		}
	if (chance(g, 60)) {
		STEP(g, FCLOSE, t);
		pw_gen_look(g, PW_SLOT(slot));
	}
}

/* A descriptor goes through a socket and comes back. */
static void idiom_rights(struct gen *g)
{
	int a = served(g, O_RDONLY);
	int64_t x = (a + 1) % PW_SLOTS, y = (a + 2) % PW_SLOTS, b = (a + 3) % PW_SLOTS;

	STEP(g, SOCKPAIR, x, y);
	STEP(g, SENDFD, PW_SLOT(x), PW_SLOT(a));
	pw_gen_look(g, PW_SLOT(a));
	STEP(g, RECVFD, b, PW_SLOT(y));
	pw_gen_look(g, PW_SLOT(b));
	pw_gen_look(g, PW_SLOT(a));
}

/* Reads between writes at the end. */
static void idiom_append(struct gen *g)
{
	int a = served(g, O_RDWR | (chance(g, 50) ? O_APPEND : 0));

	if (chance(g, 50))
		STEP(g, SETFL, PW_SLOT(a), O_APPEND);
	for (int i = 0; i < 3; i++) {
		STEP(g, WRITE, PW_SLOT(a), 1 + (int64_t)rnd(g, 100), (int64_t)rnd(g, 50));
		pw_gen_look(g, PW_SLOT(a));
		if (chance(g, 30))
			STEP(g, SETFL, PW_SLOT(a), PICK(g, 0, O_APPEND));
	}
}

/* Calls that use the kernel's own position. */
static void idiom_position(struct gen *g)
{
	int a = served(g, O_RDWR), b = pw_gen_open_some(g, pw_pick_regular(g), O_RDWR);
	int64_t fa = PW_SLOT(a), fb = PW_SLOT(b);

	for (int i = 0; i < 3; i++) {
		switch (rnd(g, 11)) {
		case 9:
			STEP(g, WRITEV, fa, (int64_t)rnd(g, 300), 3, 7);
			break;
		case 10:
			STEP(g, PWRITEV2, fa, (int64_t)rnd(g, 300), 2, -1, 0, 7);
			break;
		case 0:
			STEP(g, COPYRANGE, fa, -1, fb, -1, (int64_t)rnd(g, 500));
			break;
		case 1:
			STEP(g, SENDFILE, fb, fa, -1, (int64_t)rnd(g, 500));
			break;
		case 2:
			STEP(g, SPLICE, fa, -1, (int64_t)rnd(g, 500));
			break;
		case 3:
			STEP(g, FLK, fa, F_GETLK, F_WRLCK, SEEK_CUR, lock_cur(g), 10);
			break;
		case 4:
			STEP(g, LOCKF, fa, F_TLOCK, 1 + lock_cur(g));
			break;
		case 5:
			STEP(g, FIONREAD, fa);
			break;
		case 6:
			STEP(g, READV, fa, PW_BUF(PW_AREA_B, 0), (int64_t)rnd(g, 300), 3);
			break;
		case 7:
			STEP(g, DPRINTF, fa, (int64_t)rnd(g, 50), 3);
			break;
		default:
			STEP(g, PREADV2, fa, PW_BUF(PW_AREA_B, 0), (int64_t)rnd(g, 300),
			     2, -1, 0);
			break;
		}
		pw_gen_look(g, fa);
		/* One that goes back and forth is left to the kernel for longer each time. */
		if (chance(g, 60))
			fa = PW_SLOT(served(g, O_RDWR));
		else
			pw_gen_burst_on(g, fa);
	}
}

/* Children that inherit a served file, and the parent after them. */
static void idiom_child(struct gen *g)
{
	int a;

	if (g->spawns <= 0)
		return;
	a = served(g, PICK(g, O_RDONLY, O_RDONLY, O_RDONLY | O_CLOEXEC));
	pw_gen_make(g, PICK(g, PW_OP_VFORK, PW_OP_SPAWN, PW_OP_SYSTEM, PW_OP_POPEN,
			    PW_OP_WORDEXP, PW_OP_EXECFAIL, PW_OP_CLONE, PW_OP_EXEC));
	pw_gen_look(g, PW_SLOT(a));
	pw_gen_burst_on(g, PW_SLOT(a));
	pw_gen_look(g, PW_SLOT(a));
}

/* A handler that takes away what the interrupted program was reading. */
static void idiom_handler(struct gen *g)
{
	int a = served(g, O_RDONLY);

	STEP(g, RAISE, 3, (int64_t)rnd(g, 64));
	pw_gen_look(g, PW_SLOT(a));
	if (chance(g, 50)) {
		STEP(g, CLOSE, PW_SLOT(a));
		pw_gen_open_some(g, pw_pick_regular(g), O_RDONLY);
	} else {
		pw_gen_burst_on(g, PW_SLOT(a));
	}
	while (g->stay > 0)
		pw_gen_look(g, PW_SLOT(a));
	pw_gen_look(g, PW_SLOT(a));
}

/* What a handler may do to the descriptor whose call it has interrupted. */
static void disturb(struct gen *g, int64_t fd)
{
	int64_t other;

	switch (rnd(g, 9)) {
	case 0:
		STEP(g, CLOSE, fd);
		break;
	case 1:
		pw_gen_open_some(g, pw_pick_regular(g), O_RDONLY);
		break;
	case 2:
		other = pw_pick_slot(g, READS);
		if (other >= 0)
			STEP(g, DUP2, (int64_t)rnd(g, PW_SLOTS), PW_SLOT(other), fd);
		break;
	case 3:
		STEP(g, LSEEK, fd, (int64_t)rnd(g, 5000), SEEK_SET);
		break;
	case 4:
		STEP(g, LSEEK, fd, (int64_t)rnd(g, 50), SEEK_CUR);
		break;
	case 5:
		STEP(g, WRITE, fd, 1 + (int64_t)rnd(g, 50), 3);
		break;
	case 6:
		STEP(g, XTRUNC, pw_pick_regular(g), (int64_t)rnd(g, 9000));
		break;
	case 7:
		STEP(g, DUP, (int64_t)rnd(g, PW_SLOTS), fd);
		break;
	default:
		STEP(g, READ, fd, PW_BUF(PW_AREA_S, 0), 1 + (int64_t)rnd(g, 200));
		break;
	}
}

/* A signal in the middle of a call, with a handler that uses the same descriptor. */
static void idiom_interrupt(struct gen *g)
{
	int64_t how = PW_RA_ONSTACK | PW_RA_RESTART;
	int64_t heap = PW_BUF(PW_AREA_H, 0), size = 1 + (int64_t)rnd(g, 300);
	int64_t steps = 1 + (int64_t)rnd(g, 3), fd;

	if (g->interrupted)
		return;
	g->interrupted = true;
	fd = PW_SLOT(served(g, chance(g, 60) ? O_RDONLY : O_RDWR));
	for (int i = 0; i < 2; i++)
		STEP(g, READ, fd, heap, size);
	if (chance(g, 20))
		how |= PW_RA_JUMP;
	STEP(g, INTERRUPT, (int64_t)rnd(g, chance(g, 60) ? 120 : 900), steps, how);
	switch (rnd(g, 9)) {
	case 0:
		STEP(g, PREAD, fd, heap, size, pw_pick_offset(g, PW_VALUE(fd)));
		break;
	case 1:
		STEP(g, LSEEK, fd, (int64_t)rnd(g, 9000), SEEK_SET);
		break;
	case 2:
		STEP(g, LSEEK, fd, (int64_t)rnd(g, 90), SEEK_CUR);
		break;
	case 3:
		STEP(g, DUP2, (int64_t)rnd(g, PW_SLOTS), PW_NUMBER(0), fd);
		break;
	case 4:
		STEP(g, CLOSE, fd);
		break;
	case 5:
		STEP(g, WRITE, fd, 1 + (int64_t)rnd(g, 50), 5);
		break;
	default:
		STEP(g, READ, fd, heap, size);
		break;
	}
	for (int i = 0; i < steps; i++)
		disturb(g, fd);
	for (; g->stay > 0; g->stay--)
		;
	pw_gen_look(g, fd);
	pw_gen_burst_on(g, fd);
	pw_gen_look(g, fd);
}

void pw_gen_idiom(struct gen *g)
{
	static void (*const idioms[])(struct gen *) = {
		idiom_gone,    idiom_reuse,	idiom_changes,	 idiom_fork,
		idiom_threads, idiom_buffer,	idiom_standard,	 idiom_stream,
		idiom_rights,  idiom_append,	idiom_position,	 idiom_child,
		idiom_handler, idiom_interrupt, idiom_interrupt,
	};

	idioms[rnd(g, sizeof(idioms) / sizeof(idioms[0]))](g);
}
