/*
 * Random programs. What can go wrong in the library needs a history: a file
 * read so often that it has a window, a position that the library keeps, and
 * then a step that disturbs it, and a look at what is left. So a program is
 * made of bursts of small reads, single steps of every kind, and probes. A
 * rough model of which slot holds what keeps most steps meaningful; where the
 * model is wrong a step merely fails, in both runs alike.
 */
#define _GNU_SOURCE
#include "gen.h"
#include "gen_inside.h"

#include <stdlib.h>
#include <string.h>

/* Kinds of programs, each dwelling on some groups of steps. */

static const int usual[PW_GROUPS] = {
	[PW_G_OPEN] = 8,  [PW_G_CLOSE] = 5,  [PW_G_READ] = 14, [PW_G_SEEK] = 12,
	[PW_G_WRITE] = 8, [PW_G_DUP] = 6,    [PW_G_FCNTL] = 5, [PW_G_LOCK] = 2,
	[PW_G_SIZE] = 4,  [PW_G_COPY] = 4,   [PW_G_NAME] = 2,  [PW_G_OTHER] = 4,
	[PW_G_MEM] = 4,	  [PW_G_SOCK] = 2,   [PW_G_PROC] = 3,  [PW_G_THREAD] = 1,
	[PW_G_STDIO] = 6, [PW_G_SIGNAL] = 2,
};

static const int dwell[][4] = {
	{PW_G_READ, PW_G_SEEK, PW_G_READ, PW_G_SEEK},
	{PW_G_WRITE, PW_G_SIZE, PW_G_OTHER, PW_G_SEEK},
	{PW_G_DUP, PW_G_CLOSE, PW_G_FCNTL, PW_G_SEEK},
	{PW_G_PROC, PW_G_DUP, PW_G_SEEK, PW_G_SOCK},
	{PW_G_PROC, PW_G_THREAD, PW_G_SEEK, PW_G_READ},
	{PW_G_STDIO, PW_G_DUP, PW_G_CLOSE, PW_G_STDIO},
	{PW_G_MEM, PW_G_MEM, PW_G_READ, PW_G_MEM},
	{PW_G_SIGNAL, PW_G_SIGNAL, PW_G_CLOSE, PW_G_OTHER},
	{PW_G_THREAD, PW_G_DUP, PW_G_CLOSE, PW_G_READ},
	{PW_G_COPY, PW_G_LOCK, PW_G_FCNTL, PW_G_SEEK},
	{PW_G_OTHER, PW_G_NAME, PW_G_READ, PW_G_SIZE},
	{PW_G_LIMIT, PW_G_OPEN, PW_G_CLOSE, PW_G_SIGNAL},
};

/* In programs about streams, beside the streams. */
static const int stream_usual[PW_GROUPS] = {
	[PW_G_OPEN] = 4,   [PW_G_CLOSE] = 3,   [PW_G_READ] = 8,	  [PW_G_SEEK] = 8,
	[PW_G_WRITE] = 4,  [PW_G_DUP] = 5,     [PW_G_FCNTL] = 2,  [PW_G_SIZE] = 3,
	[PW_G_COPY] = 2,   [PW_G_OTHER] = 4,   [PW_G_SOCK] = 1,	  [PW_G_PROC] = 3,
	[PW_G_STDIO] = 40, [PW_G_STREAM] = 50, [PW_G_THREAD] = 1,
};

static void choose_stream_weights(struct gen *g)
{
	static const int dwells[] = {PW_G_PROC,	  PW_G_DUP,    PW_G_OTHER, PW_G_THREAD,
				     PW_G_SIGNAL, PW_G_STREAM, PW_G_CLOSE};
	int kind = rnd(g, 12);

	for (int i = 0; i < PW_GROUPS; i++)
		g->weight[i] = 10 * stream_usual[i];
	if (kind < (int)(sizeof(dwells) / sizeof(dwells[0])))
		g->weight[dwells[kind]] += 100;
	g->spawns = g->weight[PW_G_PROC] > 100 ? 8 : 3;
}

static void choose_weights(struct gen *g)
{
	int kind = rnd(g, 14);

	for (int i = 0; i < PW_GROUPS; i++)
		g->weight[i] = 10 * usual[i];
	if (kind < (int)(sizeof(dwell) / sizeof(dwell[0])))
		for (int i = 0; i < 4; i++)
			g->weight[dwell[kind][i]] += dwell[kind][i] == PW_G_PROC ? 150
						     : dwell[kind][i] == PW_G_THREAD
							     ? 60
							     : 200;
	g->spawns = g->weight[PW_G_PROC] > 100 ? 8 : 2;
}

/* Rare ones within their group. */
static int op_weight(const struct gen *g, int op)
{
	int w = g->weight[pw_op_group(op)] * 10;

	switch (op) {
	case PW_OP_CLOSEFROM:
	case PW_OP_CLOSERANGE:
	case PW_OP_EXIT:
	case PW_OP_SYSTEM:
	case PW_OP_WORDEXP:
	case PW_OP_MADVISE:
	case PW_OP_FFLUSHALL:
	case PW_OP_SHM:
	case PW_OP_BRK:
	case PW_OP_FTHREADS:
	case PW_OP_LOCALE:
	case PW_OP_POPENS:
		w /= 3;
		break;
	case PW_OP_FCLOSEALL:
		w /= 10;
		break;
	case PW_OP_RAISE:
	case PW_OP_READ:
	case PW_OP_FORK:
	case PW_OP_XWRITE:
	case PW_OP_XTRUNC:
		w *= 3;
		break;
	case PW_OP_LSEEK:
		w *= 2;
		break;
	}
	return w;
}

static int choose_op(struct gen *g)
{
	int sum = 0, counts[PW_GROUPS] = {0}, at;

	/* A group's weight is shared out over its ops. */
	for (int op = 0; op < PW_OPS; op++)
		counts[pw_op_group(op)]++;
	for (int op = 0; op < PW_OPS; op++)
		sum += op_weight(g, op) / counts[pw_op_group(op)];
	at = rnd(g, sum);
	for (int op = 0; op < PW_OPS; op++) {
		at -= op_weight(g, op) / counts[pw_op_group(op)];
		if (at < 0)
			return op;
	}
	return PW_OP_READ;
}

static void choose_files(struct gen *g)
{
	struct pw_prog *p = g->p;

	p->on_shm = rnd(g, 2);
	/* Under a limit nothing is stored (gen_pick.c). */
	p->fsize = getenv("PAGEWELL_WRITE") ? 0 : 32 << 20;
	p->input = chance(g, 50) ? (int)rnd(g, 4) : -1;
	for (int i = 0; i < PW_REGULAR; i++) {
		struct pw_file *f = &p->file[i];

		f->there = i < 4 || chance(g, 60);
		f->size = PICK(g, 0, 1, 100, 4095, 4096, 4097, 8192, 10000, 30000, 65536,
			       65537, 70000, 131072, 300000);
		if (i < 2)
			f->size = 6000 + rnd(g, 90000);
		else if (chance(g, 40))
			f->size = rnd(g, 200000);
		f->fill = chance(g, 70)	  ? PW_FILL_NONZERO
			  : chance(g, 60) ? PW_FILL_TEXT
			  : chance(g, 70) ? PW_FILL_HOLES
					  : PW_FILL_ZERO;
		f->seed = rnd(g, 10000);
	}
}

static void choose_actor(struct gen *g)
{
	int a;

	if (g->stay > 0 && g->actor[g->self].alive)
		return;
	if (g->actor[g->self].alive && chance(g, 65))
		return;
	do
		a = rnd(g, PW_MAX_ACTORS);
	while (!g->actor[a].alive);
	g->self = a;
}

void pw_generate(struct pw_prog *p, uint64_t seed, int steps, bool streams)
{
	static struct gen state;
	struct gen *g = &state;

	memset(p, 0, sizeof(*p));
	memset(g, 0, sizeof(*g));
	g->p = p;
	g->streams = streams;
	g->rnd = seed * 0x2545f4914f6cdd1dull + 1;
	g->actor[0].used = g->actor[0].alive = g->actor[0].leader = true;
	choose_files(g);
	if (streams)
		choose_stream_weights(g);
	else
		choose_weights(g);
	if (!steps)
		steps = 25 + rnd(g, 75);
	for (int opens = 1 + rnd(g, 3); opens; opens--)
		pw_gen_burst(g);
	while (p->steps < steps) {
		choose_actor(g);
		if (chance(g, 14))
			pw_gen_burst(g);
		else if (chance(g, 12))
			pw_gen_probe(g);
		else if (streams && chance(g, 10) && !g->stay)
			pw_gen_stream_idiom(g);
		else if (chance(g, 6) && !g->stay)
			pw_gen_idiom(g);
		else
			pw_gen_make(g, choose_op(g));
		if (chance(g, 20))
			pw_gen_probe(g);
	}
}
