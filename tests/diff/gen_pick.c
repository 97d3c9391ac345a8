/* How the generator picks arguments. */
#define _GNU_SOURCE
#include "gen_inside.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static bool suits(const struct slot *s, enum want want)
{
	switch (want) {
	case READS:
		return s->holds == REGULAR && s->rd;
	case WRITES:
		return s->holds == REGULAR && s->wr;
	case A_FILE:
		return s->holds == REGULAR;
	case A_SOCKET:
		return s->holds == SOCKET;
	case PREALLOCATED:
		return s->holds == REGULAR && s->wr && s->file == PW_PREALLOCATED;
	case NOT_PREALLOCATED:
		return s->holds == REGULAR && s->file >= 0 && s->file != PW_PREALLOCATED;
	default:
		return true;
	}
}

/* A slot that suits, or -1. */
int pw_pick_slot(struct gen *g, enum want want)
{
	int n = 0, fit[PW_SLOTS];

	if (want != A_SOCKET && chance(g, 50) && suits(&mine(g)->slot[g->hot], want))
		return g->hot;
	for (int i = 0; i < PW_SLOTS; i++)
		if (suits(&mine(g)->slot[i], want))
			fit[n++] = i;
	return n ? fit[rnd(g, n)] : -1;
}

int64_t pw_pick_fd(struct gen *g, enum want want)
{
	int r = rnd(g, 100), slot;

	if (r < 86) {
		slot = pw_pick_slot(g, want);
		if (slot >= 0)
			return PW_SLOT(slot);
	}
	if (r < 93)
		return PW_SLOT(rnd(g, PW_SLOTS));
	if (r < 96)
		return PW_NUMBER(rnd(g, 3));
	return PW_NUMBER(
		PICK(g, -1, -100, 3, 4, 5, 6, 7, 9, 20, 1000, 1 << 20, 0x7fffffff));
}

static int64_t pick_number(struct gen *g)
{
	int r = rnd(g, 100);

	if (r < 45)
		return PW_SLOT(rnd(g, PW_SLOTS));
	if (r < 80)
		return PW_NUMBER(3 + rnd(g, 12));
	if (r < 90)
		return PW_NUMBER(rnd(g, 3));
	return PW_NUMBER(PICK(g, -1, 50, 1000, 1023, 1024, 1 << 20, 0x7fffffff));
}

int pw_pick_regular(struct gen *g)
{
	return chance(g, 60) ? rnd(g, 4) : rnd(g, PW_REGULAR);
}

static int64_t pick_file(struct gen *g)
{
	if (chance(g, 88))
		return pw_pick_regular(g);
	return PW_REGULAR + rnd(g, pw_files_known() - PW_REGULAR);
}

static int64_t pick_open_flags(struct gen *g)
{
	int64_t f = PICK(g, O_RDONLY, O_RDONLY, O_RDONLY, O_RDWR, O_RDWR, O_WRONLY);

	if (chance(g, 25))
		f |= O_CREAT;
	if (chance(g, 5))
		f |= O_TRUNC;
	if (chance(g, 7))
		f |= O_APPEND;
	if (chance(g, 12))
		f |= O_CLOEXEC;
	if (chance(g, 3))
		f |= O_DIRECT;
	if (chance(g, 3))
		f |= O_NONBLOCK;
	if (chance(g, 2))
		f |= O_NOATIME;
	if (chance(g, 3))
		f |= PICK(g, O_EXCL, O_DIRECTORY, O_PATH, O_NOFOLLOW, 3);
	return f;
}

static int64_t pick_size(struct gen *g)
{
	int r = rnd(g, 100);

	if (r < 3)
		return 0;
	if (r < 12)
		return 1;
	if (r < 50)
		return 1 + rnd(g, 64);
	if (r < 62)
		return 512;
	if (r < 72)
		return 4096;
	if (r < 92)
		return rnd(g, 9000);
	if (r < 97)
		return PICK(g, 16384, 65536, 65535, 65537, 131072);
	return rnd(g, 262145);
}

static int64_t file_size(struct gen *g, int slot)
{
	const struct slot *s = slot >= 0 ? &mine(g)->slot[slot] : NULL;

	if (s && s->holds == REGULAR && s->file >= 0 && g->p->file[s->file].there)
		return g->p->file[s->file].size;
	return 20000;
}

/* A place in the file that the slot was opened on, or near its end, or odd. */
int64_t pw_pick_offset(struct gen *g, int slot)
{
	int64_t size = file_size(g, slot);
	int r = rnd(g, 100);

	if (r < 60)
		return rnd(g, size + 1);
	if (r < 75)
		return size - 5 + (int64_t)rnd(g, 10);
	if (r < 85)
		return (int64_t)rnd(g, size / 4096 + 2) * 4096 - 1 + (int64_t)rnd(g, 3);
	if (r < 93)
		return rnd(g, 3);
	if (r < 96)
		return size + rnd(g, 100000);
	return PICK(g, -1, -4096, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff,
		    0x100000000, 1ll << 44, (1ll << 47) - 1, 1ll << 47, 1ll << 48,
		    INT64_MAX - 4096, INT64_MAX, INT64_MIN);
}

static int64_t pick_length(struct gen *g)
{
	int r = rnd(g, 100);

	if (r < 70)
		return pw_pick_offset(g, g->hot);
	if (r < 80)
		return 0;
	return rnd(g, 400000);
}

static int64_t pick_buffer(struct gen *g)
{
	int r = rnd(g, 1000), mem = g->weight[PW_G_MEM] > 100 ? 350 : 80;

	if (r < mem)
		return PW_BUF(PW_AREA_M, rnd(g, PW_M_PAGES * 4096));
	if (r < mem + mem / 3)
		return PW_BUF(PW_AREA_F, rnd(g, PW_F_PAGES * 1024));
	if (r < mem + mem / 3 + 25)
		return PW_BUF(
			PICK(g, PW_AREA_NULL, PW_AREA_KERN, PW_AREA_WRAP, PW_AREA_RODATA),
			rnd(g, 64));
	if (r < 600)
		return PW_BUF(PW_AREA_B, PICK(g, 0, 0, 0, 1, 4095, 4096, 4090, 8192, 77));
	if (r < 800)
		return PW_BUF(PW_AREA_S, PICK(g, 0, 1, 100));
	return PW_BUF(PW_AREA_H, PICK(g, 0, 1, 16));
}

static int64_t pick_seed(struct gen *g)
{
	return chance(g, 2) ? -1 : (int64_t)rnd(g, 1000);
}

static int64_t pick_free_slot(struct gen *g)
{
	int start = rnd(g, PW_SLOTS);

	if (chance(g, 85))
		for (int i = 0; i < PW_SLOTS; i++)
			if (mine(g)->slot[(start + i) % PW_SLOTS].holds == NOTHING)
				return (start + i) % PW_SLOTS;
	return start;
}

static int64_t pick_stream(struct gen *g)
{
	int start = rnd(g, PW_STREAMS);

	if (chance(g, 90))
		for (int i = 0; i < PW_STREAMS; i++)
			if (mine(g)->stream[(start + i) % PW_STREAMS])
				return (start + i) % PW_STREAMS;
	return rnd(g, PW_STREAMS + 3);
}

bool pw_makes_stream(int op)
{
	switch (op) {
	case PW_OP_FOPEN:
	case PW_OP_FDOPEN:
	case PW_OP_TMPFILE:
	case PW_OP_FMEMOPEN:
	case PW_OP_MEMSTREAM:
	case PW_OP_COOKIE:
	case PW_OP_POPENS:
		return true;
	}
	return false;
}

static int64_t pick_free_stream(struct gen *g)
{
	int start = rnd(g, PW_STREAMS);

	for (int i = 0; i < PW_STREAMS; i++)
		if (!mine(g)->stream[(start + i) % PW_STREAMS])
			return (start + i) % PW_STREAMS;
	return start;
}

/* An actor of some sort, or 0. */
int pw_pick_actor(struct gen *g, bool used, bool alive)
{
	int start = rnd(g, PW_MAX_ACTORS);

	for (int i = 0; i < PW_MAX_ACTORS; i++) {
		int a = (start + i) % PW_MAX_ACTORS;

		if (a && g->actor[a].used == used && g->actor[a].alive == alive)
			return a;
	}
	return 0;
}

enum want pw_wanted(int op)
{
	switch (pw_op_group(op)) {
	case PW_G_READ:
	case PW_G_BURST:
	case PW_G_PROC:
		return READS;
	case PW_G_WRITE:
	case PW_G_SIZE:
		return WRITES;
	default:
		return op == PW_OP_SETFL || op == PW_OP_SPLICEIN ? WRITES : A_FILE;
	}
}

int64_t pw_pick_arg(struct gen *g, int op, char letter)
{
	switch (letter) {
	case 'S':
		return pick_free_slot(g);
	case 'd':
		return pw_pick_fd(g, pw_wanted(op));
	case 'D':
		return pick_number(g);
	case 'f':
		return pick_file(g);
	case 'o':
		return pick_open_flags(g);
	case 'O':
		return PICK(g, 0, O_APPEND, O_APPEND, O_DIRECT, O_CLOEXEC, O_NOATIME);
	case 'm':
		return PICK(g, 0600, 0644, 0755);
	case 'b':
		return pick_buffer(g);
	case 'z':
		return pick_size(g);
	case 'p':
		return pw_pick_offset(g, g->hot);
	case 'q':
		return chance(g, 55) ? -1 : pw_pick_offset(g, g->hot);
	case 'l':
		return pick_length(g);
	case 'k':
		return PICK(g, 0, 1, 1, 2, 3, 5, 8, 16, -1, 1025);
	case 'r':
		return pick_seed(g);
	case 'w':
		return PICK(g, SEEK_SET, SEEK_SET, SEEK_CUR, SEEK_END, 17);
	case 'y':
		return PICK(g, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
			    PROT_NONE, PROT_WRITE);
	case 'x':
		return PICK(g, MAP_SHARED, MAP_PRIVATE);
	case 'A':
		return PICK(g, 0, FALLOC_FL_KEEP_SIZE,
			    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    FALLOC_FL_ZERO_RANGE,
			    FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
			    FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_INSERT_RANGE);
	case 't':
		return pw_makes_stream(op) ? pick_free_stream(g) : pick_stream(g);
	case 'M':
		if (chance(g, 60))
			return rnd(g, 2);
		/* glibc may never end where a stream that was wide is opened anew as such. */
		return rnd(g, g->streams && op == PW_OP_FOPEN ? pw_open_modes_known()
							      : PW_BYTE_MODES);
	case 'L':
		return PICK(g, F_TLOCK, F_TLOCK, F_TEST, F_ULOCK, 9);
	case 'K':
		return PICK(g, F_GETLK, F_GETLK, F_SETLK, F_OFD_GETLK, F_OFD_SETLK);
	case 'T':
		return PICK(g, F_RDLCK, F_WRLCK, F_UNLCK);
	case 'G':
		return PICK(g, LOCK_SH, LOCK_EX, LOCK_EX, LOCK_UN);
	case 'W':
		return PICK(g, 0, 0, 0, RWF_DSYNC, RWF_APPEND, 0x1000);
	case 'e':
		return PICK(g, 0, 0, CLOSE_RANGE_CLOEXEC, CLOSE_RANGE_UNSHARE, 64);
	case 'B':
		return PICK(g, _IOFBF, _IOLBF, _IONBF);
	case 'c':
		/* Programs with many overwrites are for a library that stores them. */
		if (getenv("PAGEWELL_WRITE") && chance(g, 50))
			return PW_BURST_WRITES;
		return rnd(g, PW_BURST_MIXED + 1);
	case 'v':
		return rnd(g, 128);
	case 's':
		return rnd(g, 6);
	case 'R':
		return rnd(g, 64);
	case 'E':
		return 0;
	case 'X':
		return rnd(g, 2);
	case 'g':
		return rnd(g, PW_M_PAGES);
	case 'h':
		return chance(g, 60) ? 1 + rnd(g, 4) : rnd(g, PW_M_PAGES);
	case 'i':
		return PICK(g, 0, 0, 1, 10, -10, 4096);
	case 'n':
		return rnd(g, 200);
	case 'a':
		return pw_pick_actor(g, false, false);
	case 'u':
		return pw_pick_actor(g, true, false);
	}
	return 0;
}
