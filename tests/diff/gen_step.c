/*
 * Single steps: arguments that hang together, and what the generator believes
 * after the step.
 */
#define _GNU_SOURCE
#include "gen_inside.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

struct pw_step *pw_gen_begin(struct gen *g, int op)
{
	struct pw_step *s =
		g->p->steps < PW_MAX_STEPS ? &g->p->step[g->p->steps] : &g->spare;
	const char *spec = pw_op_spec(op);

	memset(s, 0, sizeof(*s));
	s->op = op;
	s->actor = g->self;
	s->name = chance(g, 50) ? 0 : rnd(g, pw_op_names(op));
	/* After these by syscall(2) the library serves nothing any more. */
	if (pw_step_is_sys(s) && chance(g, 90) &&
	    (pw_op_group(op) == PW_G_MEM || op == PW_OP_BUSMASK))
		s->name = 0;
	for (int i = 0; spec[i]; i++)
		s->arg[i] = pw_pick_arg(g, op, spec[i]);
	return s;
}

/* Slot that a descriptor argument names, or -1. */
static int slot_of(int64_t arg)
{
	return PW_IS_SLOT(arg) ? PW_VALUE(arg) : -1;
}

/* Is it about bytes, about wide characters, or about neither? */
static enum way way_of(int op)
{
	switch (op) {
	case PW_OP_FREAD:
	case PW_OP_FGETS:
	case PW_OP_FGETC:
	case PW_OP_UNGETC:
	case PW_OP_GETLINE:
	case PW_OP_FSCANF:
	case PW_OP_FWRITE:
	case PW_OP_FPRINTF:
	case PW_OP_FPOS:
	case PW_OP_UNGETS:
	case PW_OP_FITEMS:
	case PW_OP_FPUTC:
	case PW_OP_FPURGE:
	case PW_OP_FTHREADS:
		return BYTES;
	case PW_OP_FGETWC:
	case PW_OP_FGETWS:
	case PW_OP_UNGETWC:
	case PW_OP_FPUTWC:
	case PW_OP_FPUTWS:
	case PW_OP_FWSCANF:
		return WIDE;
	}
	return UNUSED;
}

/* Finds a stream that is used in this way, or in none so far. */
static bool find_way(struct gen *g, int64_t *stream, enum way want)
{
	const struct proc *p = mine(g);

	for (int i = 0; i < PW_STREAMS; i++) {
		int t = (int)((*stream + i) % PW_STREAMS);

		if (p->stream[t] && (p->way[t] == want || p->way[t] == UNUSED)) {
			*stream = t;
			return true;
		}
	}
	return false;
}

/* Arguments that hang together. False: nothing sensible, leave the step out. */
static bool adjust(struct gen *g, struct pw_step *s)
{
	int64_t *a = s->arg;
	int slot;

	if (g->streams && way_of(s->op) && a[0] < PW_STREAMS &&
	    !find_way(g, &a[0], way_of(s->op)))
		return false;
	switch (s->op) {
	case PW_OP_LSEEK:
		slot = slot_of(a[0]);
		if (chance(g, 10)) {
			/* See pw_prealloc_add in do_file.c. */
			slot = pw_pick_slot(g, NOT_PREALLOCATED);
			if (slot < 0)
				return false;
			a[0] = PW_SLOT(slot);
			a[1] = pw_pick_offset(g, slot);
			a[2] = PICK(g, SEEK_DATA, SEEK_HOLE);
		} else if (a[2] == SEEK_CUR) {
			a[1] = chance(g, 50) ? 0 : (int64_t)rnd(g, 9000) - 4500;
		} else if (a[2] == SEEK_END) {
			a[1] = PICK(g, 0, 0, -1, 1, 100) -
			       (int64_t)rnd(g, 5000) * (int64_t)rnd(g, 2);
		} else {
			a[1] = pw_pick_offset(g, slot);
		}
		return true;
	case PW_OP_READ:
	case PW_OP_PREAD:
		if (PW_BUF_AREA(a[1]) == PW_AREA_M && chance(g, 4))
			a[2] = PICK(g, -1, INT64_MAX, 0x7ffff000, 0x80000000,
				    0x100000000);
		if (PW_BUF_AREA(a[1]) == PW_AREA_WRAP)
			a[2] = 8192;
		if (PW_BUF_AREA(a[1]) == PW_AREA_S && a[2] > 3900)
			a[2] = rnd(g, 3900);
		if (s->op == PW_OP_PREAD)
			a[3] = pw_pick_offset(g, slot_of(a[0]));
		return true;
	case PW_OP_READV:
	case PW_OP_PREADV:
	case PW_OP_PREADV2:
		if (PW_BUF_AREA(a[1]) == PW_AREA_S && a[2] > 3900)
			a[2] = rnd(g, 3900);
		return true;
	case PW_OP_WRITE:
	case PW_OP_PWRITE:
		/* Few programs write as much as they read. */
		if (chance(g, 70))
			a[1] = rnd(g, 600);
		return true;
	case PW_OP_BURST:
		a[2] = 85 + rnd(g, 90);
		a[3] = chance(g, 70) ? 1 + rnd(g, 200) : 1 + rnd(g, 4096);
		return true;
	case PW_OP_OPEN:
		if (a[1] == PW_DIR && chance(g, 50))
			a[2] = O_TMPFILE | PICK(g, O_RDWR, O_WRONLY);
		return true;
	case PW_OP_OPENDIR:
		return a[2] != PW_FIFO;
	case PW_OP_FDUPFD:
		a[2] = PICK(g, 0, 0, 3, 5, 10, 60, 1023, -1, 1 << 20);
		return true;
	case PW_OP_DUP2:
	case PW_OP_DUP3:
		if (s->op == PW_OP_DUP3)
			a[3] = PICK(g, 0, 0, O_CLOEXEC, O_CLOEXEC, O_APPEND);
		/* Onto a slot that holds something, and onto itself. */
		if (chance(g, 30))
			a[2] = chance(g, 80) ? PW_SLOT(pw_pick_slot(g, ANY)) : a[1];
		return true;
	case PW_OP_CLOSE:
		/* Closing all the time leaves nothing to go wrong. */
		return slot_of(a[0]) != g->hot || chance(g, 30);
	case PW_OP_CLOSERANGE:
		if (PW_IS_SLOT(a[0]) && chance(g, 60))
			a[1] = a[0];
		return true;
	case PW_OP_CLOSEFROM:
		if (chance(g, 70))
			a[0] = PW_NUMBER(6 + rnd(g, 20));
		return true;
	case PW_OP_FLK:
		a[4] = chance(g, 60) ? (int64_t)rnd(g, 100) : pw_pick_offset(g, g->hot);
		a[5] = PICK(g, 0, 1, 10, 1000, -1);
		if (chance(g, 60))
			a[3] = SEEK_CUR;
		return true;
	case PW_OP_FALLOC:
	case PW_OP_PFALLOC:
		slot = pw_pick_slot(g, PREALLOCATED);
		if (slot < 0)
			return false;
		a[0] = PW_SLOT(slot);
		if (s->op == PW_OP_PFALLOC) {
			a[1] = rnd(g, 200000);
			a[2] = rnd(g, 100000);
			return true;
		}
		/* fall through */
	case PW_OP_XPUNCH:
		if (s->op == PW_OP_XPUNCH)
			a[0] = PW_PREALLOCATED;
		a[2] = rnd(g, 200000);
		a[3] = rnd(g, 100000);
		if (chance(g, 60)) {
			a[2] &= ~4095ll;
			a[3] &= ~4095ll;
		}
		return true;
	case PW_OP_XWRITE:
	case PW_OP_XTRUNC:
	case PW_OP_TRUNC:
		/* Most often to a file that is being read. */
		if (chance(g, 60) && mine(g)->slot[g->hot].file >= 0)
			a[0] = mine(g)->slot[g->hot].file;
		if (a[0] == PW_FIFO)
			return false;
		return true;
	case PW_OP_XREPLACE:
		if (a[0] >= PW_REGULAR || a[0] == PW_PREALLOCATED)
			return false;
		return true;
	case PW_OP_UNLINK:
		return a[0] < PW_REGULAR && a[0] != PW_PREALLOCATED;
	case PW_OP_RENAME:
	case PW_OP_LINK:
		return a[0] < PW_REGULAR && a[1] < PW_REGULAR &&
		       a[0] != PW_PREALLOCATED && a[1] != PW_PREALLOCATED;
	case PW_OP_COPYRANGE:
		a[0] = pw_pick_fd(g, READS);
		a[2] = pw_pick_fd(g, WRITES);
		return true;
	case PW_OP_SENDFILE:
		a[0] = pw_pick_fd(g, WRITES);
		a[1] = pw_pick_fd(g, READS);
		return true;
	case PW_OP_MREMAP:
		if (chance(g, 50))
			a[2] = a[1];
		return true;
	case PW_OP_MAPFILE:
		a[3] = rnd(g, 40) * 4096;
		a[4] = 1 + rnd(g, PW_F_PAGES);
		return true;
	case PW_OP_UNMAPFILE:
		a[0] = rnd(g, PW_F_PAGES);
		return true;
	case PW_OP_MAPSTORE:
		if (!mine(g)->mapped)
			return false;
		a[0] = rnd(g, PW_F_PAGES * 4096);
		return true;
	case PW_OP_SENDFD:
		a[0] = pw_pick_fd(g, A_SOCKET);
		a[1] = pw_pick_fd(g, A_FILE);
		return true;
	case PW_OP_RECVFD:
		a[1] = pw_pick_fd(g, A_SOCKET);
		return true;
	case PW_OP_FORK:
	case PW_OP_THREAD:
		return a[0] != 0;
	case PW_OP_EXIT:
		return (g->actor[g->self].proc || !g->actor[g->self].leader) && !g->stay;
	case PW_OP_WAIT:
		return a[0] != 0;
	case PW_OP_VFORK:
	case PW_OP_SPAWN:
		a[1] &= chance(g, 50) ? PW_CH_DUP0 | PW_CH_READ | PW_CH_CLOSE : 127;
		a[2] = 1 + rnd(g, 400);
		return true;
	case PW_OP_SYSTEM:
	case PW_OP_POPEN:
	case PW_OP_WORDEXP:
	case PW_OP_CLONE:
		a[s->op == PW_OP_WORDEXP || s->op == PW_OP_CLONE ? 1 : 2] =
			1 + rnd(g, 500);
		/* Once memory or descriptors are shared the library gives up. */
		if (s->op == PW_OP_CLONE && s->name && chance(g, 80))
			s->name = 0;
		return true;
	case PW_OP_EXEC:
		/* Nothing is served in a program without the library. */
		if (g->actor[g->self].proc && chance(g, 25))
			a[0] = PW_EX_BARE;
		return !g->stay && (g->actor[g->self].proc || chance(g, 20));
	case PW_OP_FDOPEN:
	case PW_OP_FOPEN:
	case PW_OP_TMPFILE:
	case PW_OP_FMEMOPEN:
	case PW_OP_MEMSTREAM:
	case PW_OP_COOKIE:
		return !mine(g)->stream[a[0]];
	case PW_OP_POPENS:
		return !mine(g)->stream[a[0]] && a[1] != PW_FIFO;
	case PW_OP_FCLOSE:
		return a[0] < PW_STREAMS || chance(g, 20);
	case PW_OP_FREOPEN:
		return a[1] < PW_REGULAR || chance(g, 50);
	case PW_OP_FSEEK:
		if (a[2] == SEEK_CUR)
			a[1] = (int64_t)rnd(g, 9000) - 4500;
		else if (a[2] == SEEK_END)
			a[1] = -(int64_t)rnd(g, 5000);
		return true;
	case PW_OP_FREAD:
		if (chance(g, 70))
			a[1] = rnd(g, 300);
		return true;
	case PW_OP_FGETS:
		a[1] = 2 + rnd(g, 200);
		return true;
	case PW_OP_SETVBUF:
		a[2] = PICK(g, 0, 1, 100, 4096);
		return true;
	case PW_OP_SETBUF:
		a[2] = PICK(g, 0, 1, 2, 3, 7, 100, 511, 512, 4095, 4096, 4097, 8192,
			    65536);
		return true;
	case PW_OP_UNGETS:
		a[1] = 1 + rnd(g, 20);
		return true;
	case PW_OP_FBURST:
		a[2] = 85 + rnd(g, 90);
		a[3] = chance(g, 70) ? 1 + rnd(g, 200) : 1 + rnd(g, 4096);
		return true;
	case PW_OP_RAISE:
		a[0] = 1 + rnd(g, 5);
		return !g->stay;
	case PW_OP_INTERRUPT:
		return false; /* needs its surroundings: idiom_interrupt */
	case PW_OP_RLIMNOFILE:
		a[3] = rnd(g, 20);
		return true;
	}
	return true;
}

/* The model after the step, as if it had succeeded. */
static void account(struct gen *g, const struct pw_step *s)
{
	struct proc *p = mine(g);
	const int64_t *a = s->arg;
	struct slot *to = &p->slot[a[0] & (PW_SLOTS - 1)], *from;
	int slot, acc;

	if (way_of(s->op) && a[0] < PW_STREAMS)
		p->way[a[0]] = way_of(s->op);
	switch (s->op) {
	case PW_OP_OPEN:
	case PW_OP_OPEN2:
	case PW_OP_RLIMNOFILE:
	case PW_OP_CREAT:
		acc = s->op == PW_OP_CREAT ? O_WRONLY : a[2] & O_ACCMODE;
		*to = (struct slot){a[1] < PW_REGULAR ? REGULAR : OTHER,
				    a[1] < PW_REGULAR ? a[1] : -1,
				    acc == O_RDONLY || acc == O_RDWR,
				    acc == O_WRONLY || acc == O_RDWR};
		if (s->op != PW_OP_CREAT && (a[2] & O_TMPFILE) == O_TMPFILE)
			to->holds = REGULAR;
		else if (s->op != PW_OP_CREAT && a[2] & (O_PATH | O_DIRECTORY))
			to->holds = OTHER;
		break;
	case PW_OP_OPENDIR:
	case PW_OP_RECVFD:
		*to = (struct slot){OTHER, -1, false, false};
		if (s->op == PW_OP_RECVFD)
			*to = (struct slot){REGULAR, -1, true, true};
		break;
	case PW_OP_REOPEN:
	case PW_OP_DUP:
	case PW_OP_DUP2:
	case PW_OP_DUP3:
	case PW_OP_FDUPFD:
		slot = slot_of(a[1]);
		from = slot >= 0 ? &p->slot[slot] : NULL;
		*to = from ? *from : (struct slot){OTHER, -1, false, false};
		if ((s->op == PW_OP_DUP2 || s->op == PW_OP_DUP3) && slot_of(a[2]) >= 0)
			p->slot[slot_of(a[2])] = *to;
		break;
	case PW_OP_CLOSE:
		if (slot_of(a[0]) >= 0)
			p->slot[slot_of(a[0])].holds = NOTHING;
		break;
	case PW_OP_CLOSERANGE:
		if (a[0] == a[1] && slot_of(a[0]) >= 0)
			p->slot[slot_of(a[0])].holds = NOTHING;
		else if (!a[2] && !PW_IS_SLOT(a[1]))
			memset(p->slot, 0, sizeof(p->slot));
		break;
	case PW_OP_PIPE:
	case PW_OP_SOCKPAIR:
		p->slot[a[0]].holds = s->op == PW_OP_PIPE ? PIPE : SOCKET;
		p->slot[a[1]].holds = p->slot[a[0]].holds;
		break;
	case PW_OP_FORK:
		g->actor[a[0]].used = g->actor[a[0]].alive = true;
		g->actor[a[0]].leader = true;
		g->actor[a[0]].proc = a[0];
		g->proc[a[0]] = *p;
		break;
	case PW_OP_THREAD:
		g->actor[a[0]].used = g->actor[a[0]].alive = true;
		g->actor[a[0]].proc = g->actor[g->self].proc;
		break;
	case PW_OP_EXIT:
	case PW_OP_EXEC:
		for (int i = 0; i < PW_MAX_ACTORS; i++)
			if (g->actor[i].proc == g->actor[g->self].proc && i != g->self &&
			    (s->op == PW_OP_EXEC || g->actor[g->self].leader))
				g->actor[i].alive = false;
		if (s->op == PW_OP_EXIT)
			g->actor[g->self].alive = false;
		else
			memset(p->stream, 0, sizeof(p->stream));
		break;
	case PW_OP_FOPEN:
	case PW_OP_FDOPEN:
	case PW_OP_TMPFILE:
	case PW_OP_FMEMOPEN:
	case PW_OP_MEMSTREAM:
	case PW_OP_COOKIE:
	case PW_OP_POPENS:
		p->stream[a[0]] = true;
		p->way[a[0]] =
			s->op == PW_OP_FOPEN && a[2] >= PW_BYTE_MODES ? WIDE : UNUSED;
		break;
	case PW_OP_FREOPEN:
	case PW_OP_FREOPENNULL:
		if (a[0] < PW_STREAMS)
			p->way[a[0]] = UNUSED;
		break;
	case PW_OP_FWIDE:
		if (a[0] < PW_STREAMS && p->way[a[0]] == UNUSED && a[1])
			p->way[a[0]] = a[1] > 0 ? WIDE : BYTES;
		break;
	case PW_OP_FCLOSEALL:
		memset(p->stream, 0, sizeof(p->stream));
		break;
	case PW_OP_FCLOSE:
		if (a[0] < PW_STREAMS)
			p->stream[a[0]] = false;
		break;
	case PW_OP_FILENO:
		*to = (struct slot){REGULAR, -1, true, false};
		break;
	case PW_OP_MAPFILE:
		p->mapped = true;
		break;
	case PW_OP_RAISE:
		g->stay = a[0];
		break;
	case PW_OP_INTERRUPT:
		g->stay = a[1] + 1;
		break;
	}
}

static bool costs_process(int op)
{
	switch (op) {
	case PW_OP_FORK:
	case PW_OP_VFORK:
	case PW_OP_SPAWN:
	case PW_OP_SYSTEM:
	case PW_OP_POPEN:
	case PW_OP_POPENS:
	case PW_OP_WORDEXP:
	case PW_OP_EXEC:
	case PW_OP_CLONE:
	case PW_OP_KPOS:
	case PW_OP_MLOCKALL:
		return true;
	}
	return false;
}

void pw_gen_end(struct gen *g)
{
	const struct pw_step *s = &g->p->step[g->p->steps];

	if (g->stay > 0)
		g->stay--;
	if (g->p->steps == PW_MAX_STEPS)
		return;
	g->p->steps++;
	if (costs_process(s->op))
		g->spawns--;
	account(g, s);
}

/* Most steps on a file that can be read or written should find one. */
static bool lacks_file(struct gen *g, int op)
{
	enum want want = pw_wanted(op);

	return strchr(pw_op_spec(op), 'd') && (want == READS || want == WRITES) &&
	       pw_pick_slot(g, want) < 0;
}

static bool lacks_stream(struct gen *g, int op)
{
	if (!strchr(pw_op_spec(op), 't') || pw_makes_stream(op))
		return false;
	for (int i = 0; i < PW_STREAMS; i++)
		if (mine(g)->stream[i])
			return false;
	return true;
}

void pw_gen_make(struct gen *g, int op)
{
	struct pw_step *s;

	if (lacks_file(g, op) && chance(g, 80))
		op = PW_OP_OPEN;
	else if (lacks_stream(g, op) && chance(g, 85))
		op = chance(g, 50) ? PW_OP_FOPEN : PW_OP_FDOPEN;
	if (costs_process(op) && g->spawns <= 0)
		return;
	s = pw_gen_begin(g, op);
	if (adjust(g, s))
		pw_gen_end(g);
}
