/*
 * The text form of programs. Each letter of an op's spec has a kind here that
 * knows how to write the argument and how to read it back.
 */
#define _GNU_SOURCE
#include "prog.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/close_range.h>
#include <linux/falloc.h>

struct op_info {
	const char *spec;
	const char *names;
	int group;
};

static const struct op_info ops[] = {
#define OP(id, group, spec, names) {spec, names, PW_G_##group},
#include "ops.def"
#undef OP
};

struct symbol {
	const char *name;
	int64_t value;
};

#define SYM(x)        \
	{             \
#x, x \
	}

const char *const pw_file_names[] = {
	"f0",
	"f1",
	"f2",
	"f3",
	"f4",
	"f5",
	"f6",
	"f7",
	"d0",
	"p0",
	"missing/x",
	"/dev/null",
	"/dev/zero",
	"/dev/full",
	"/proc/version",
	"/proc/self/comm",
	"d0/f0",
	"/proc/filesystems",
	"out",
};

const char *const pw_open_modes[] = {
	"r",
	"r+",
	"w",
	"w+",
	"a",
	"a+",
	"re",
	"r+e",
	"wx",
	"rm",
	"bad",
	"r,ccs=UTF-8",
	"r+,ccs=UTF-8",
	"w+,ccs=UTF-8",
	"a+,ccs=UTF-8",
	"r,ccs=ISO-8859-1",
	"r+,ccs=ISO-8859-1",
	"rc,ccs=UTF-8",
	"r,ccs=NONE",
};

static const struct symbol open_flags[] = {
	SYM(O_RDWR),	  SYM(O_WRONLY), SYM(O_TMPFILE),  SYM(O_APPEND),   SYM(O_TRUNC),
	SYM(O_CREAT),	  SYM(O_EXCL),	 SYM(O_CLOEXEC),  SYM(O_NONBLOCK), SYM(O_DIRECT),
	SYM(O_DIRECTORY), SYM(O_PATH),	 SYM(O_NOFOLLOW), SYM(O_NOATIME),  {NULL, 0},
};
static const struct symbol whences[] = {
	SYM(SEEK_SET),	SYM(SEEK_CUR),	SYM(SEEK_END),
	SYM(SEEK_DATA), SYM(SEEK_HOLE), {NULL, 0},
};
static const struct symbol prots[] = {
	SYM(PROT_READ),
	SYM(PROT_WRITE),
	SYM(PROT_EXEC),
	{NULL, 0},
};
static const struct symbol maptypes[] = {
	SYM(MAP_SHARED),
	SYM(MAP_PRIVATE),
	{NULL, 0},
};
static const struct symbol fallocs[] = {
	SYM(FALLOC_FL_KEEP_SIZE),      SYM(FALLOC_FL_PUNCH_HOLE),
	SYM(FALLOC_FL_COLLAPSE_RANGE), SYM(FALLOC_FL_ZERO_RANGE),
	SYM(FALLOC_FL_INSERT_RANGE),   {NULL, 0},
};
static const struct symbol lockfs[] = {
	SYM(F_ULOCK), SYM(F_LOCK), SYM(F_TLOCK), SYM(F_TEST), {NULL, 0},
};
static const struct symbol lockcmds[] = {
	SYM(F_GETLK), SYM(F_SETLK), SYM(F_OFD_GETLK), SYM(F_OFD_SETLK), {NULL, 0},
};
static const struct symbol locktypes[] = {
	SYM(F_RDLCK),
	SYM(F_WRLCK),
	SYM(F_UNLCK),
	{NULL, 0},
};
static const struct symbol flocks[] = {
	SYM(LOCK_SH), SYM(LOCK_EX), SYM(LOCK_UN), SYM(LOCK_NB), {NULL, 0},
};
static const struct symbol rwflags[] = {
	SYM(RWF_HIPRI),
	SYM(RWF_DSYNC),
	SYM(RWF_APPEND),
	{NULL, 0},
};
static const struct symbol closeflags[] = {
	SYM(CLOSE_RANGE_CLOEXEC),
	SYM(CLOSE_RANGE_UNSHARE),
	{NULL, 0},
};
static const struct symbol bufmodes[] = {
	SYM(_IOFBF),
	SYM(_IOLBF),
	SYM(_IONBF),
	{NULL, 0},
};
static const struct symbol bursts[] = {
	{"seq", PW_BURST_SEQ},	   {"bytes", PW_BURST_BYTES},	{"rand", PW_BURST_RAND},
	{"pread", PW_BURST_PREAD}, {"lines", PW_BURST_LINES},	{"seeks", PW_BURST_SEEKS},
	{"mixed", PW_BURST_MIXED}, {"writes", PW_BURST_WRITES}, {NULL, 0},
};
static const struct symbol children[] = {
	{"dup0", PW_CH_DUP0},	{"read", PW_CH_READ},
	{"close", PW_CH_CLOSE}, {"fail", PW_CH_FAIL},
	{"bare", PW_CH_BARE},	{"open", PW_CH_OPEN},
	{"exit", PW_CH_EXIT},	{NULL, 0},
};
static const struct symbol shells[] = {
	{"readline", PW_SH_READLINE},
	{"head", PW_SH_HEAD},
	{"helper", PW_SH_HELPER},
	{"cat", PW_SH_CAT},
	{"two", PW_SH_TWO},
	{"write", PW_SH_WRITE},
	{NULL, 0},
};
static const struct symbol raises[] = {
	{"jump", PW_RA_JUMP},
	{"onstack", PW_RA_ONSTACK},
	{"resethand", PW_RA_RESETHAND},
	{"nodefer", PW_RA_NODEFER},
	{"restart", PW_RA_RESTART},
	{"plain", PW_RA_PLAIN},
	{NULL, 0},
};
static const struct symbol execs[] = {{"bare", PW_EX_BARE}, {NULL, 0}};
static const struct symbol exits[] = {{"exit", 0}, {"_exit", 1}, {NULL, 0}};
static const struct symbol areas[] = {
	{"B", PW_AREA_B},	    {"H", PW_AREA_H},
	{"S", PW_AREA_S},	    {"M", PW_AREA_M},
	{"F", PW_AREA_F},	    {"null", PW_AREA_NULL},
	{"kern", PW_AREA_KERN},	    {"wrap", PW_AREA_WRAP},
	{"rodata", PW_AREA_RODATA}, {NULL, 0},
};

enum kind {
	K_NUMBER,
	K_OCTAL,
	K_SLOT,
	K_FD,
	K_FILE,
	K_BUF,
	K_STREAM,
	K_ONE,	/* one symbol of a list, else a number */
	K_FLAGS /* symbols joined by | */
};

static const struct {
	char letter;
	enum kind kind;
	const struct symbol *symbols;
} kinds[] = {
	{'S', K_SLOT, NULL},	    /* slot that gets the descriptor */
	{'d', K_FD, NULL},	    /* descriptor */
	{'D', K_FD, NULL},	    /* descriptor number to replace or bound a range */
	{'f', K_FILE, NULL},	    /* file by name */
	{'b', K_BUF, NULL},	    /* buffer to read into */
	{'t', K_STREAM, NULL},	    /* stream */
	{'o', K_FLAGS, open_flags}, /* open flags */
	{'O', K_FLAGS, open_flags}, /* flags to set */
	{'m', K_OCTAL, NULL},	    /* mode */
	{'M', K_ONE, NULL},	    /* fopen mode: filled in below */
	{'w', K_ONE, whences},	    /* whence */
	{'y', K_FLAGS, prots},	    /* protection */
	{'x', K_ONE, maptypes},	    /* kind of mapping */
	{'A', K_FLAGS, fallocs},    /* fallocate mode */
	{'L', K_ONE, lockfs},	    /* lockf command */
	{'K', K_ONE, lockcmds},	    /* fcntl lock command */
	{'T', K_ONE, locktypes},    /* lock type */
	{'G', K_FLAGS, flocks},	    /* flock operation */
	{'W', K_FLAGS, rwflags},    /* preadv2 flags */
	{'e', K_FLAGS, closeflags}, /* close_range flags */
	{'B', K_ONE, bufmodes},	    /* stdio buffering */
	{'c', K_ONE, bursts},	    /* kind of burst */
	{'v', K_FLAGS, children},   /* what a spawned child does */
	{'s', K_ONE, shells},	    /* shell command */
	{'R', K_FLAGS, raises},	    /* kind of signal handler */
	{'E', K_FLAGS, execs},	    /* environment of an exec */
	{'X', K_ONE, exits},	    /* exit or _exit */
	{'z', K_NUMBER, NULL},	    /* size of a transfer */
	{'p', K_NUMBER, NULL},	    /* offset in a file */
	{'q', K_NUMBER, NULL},	    /* offset in a file, -1: none */
	{'l', K_NUMBER, NULL},	    /* length to set */
	{'k', K_NUMBER, NULL},	    /* number of vectors */
	{'n', K_NUMBER, NULL},	    /* count */
	{'i', K_NUMBER, NULL},	    /* signed small number */
	{'r', K_NUMBER, NULL},	    /* seed */
	{'g', K_NUMBER, NULL},	    /* page */
	{'h', K_NUMBER, NULL},	    /* number of pages */
	{'a', K_NUMBER, NULL},	    /* actor to make */
	{'u', K_NUMBER, NULL},	    /* actor */
};

int pw_files_known(void)
{
	return sizeof(pw_file_names) / sizeof(pw_file_names[0]);
}

int pw_open_modes_known(void)
{
	return sizeof(pw_open_modes) / sizeof(pw_open_modes[0]);
}

const char *pw_op_spec(int op)
{
	return ops[op].spec;
}

int pw_op_group(int op)
{
	return ops[op].group;
}

/* There is an nth word: n is always below pw_op_names. */
static const char *nth_word(const char *words, int n, size_t *len)
{
	while (n-- > 0)
		words = strchr(words, ' ') + 1;
	*len = strcspn(words, " ");
	return words;
}

int pw_op_names(int op)
{
	int n = 1;

	for (const char *c = ops[op].names; *c; c++)
		n += *c == ' ';
	return n;
}

const char *pw_step_name(const struct pw_step *s)
{
	static __thread char name[40];
	size_t len;
	const char *word = nth_word(ops[s->op].names, s->name, &len);

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	return name;
}

bool pw_step_is_sys(const struct pw_step *s)
{
	size_t len;

	return !strncmp(nth_word(ops[s->op].names, s->name, &len), "sys_", 4);
}

bool pw_prog_interrupts(const struct pw_prog *p)
{
	for (int i = 0; i < p->steps; i++)
		if (p->step[i].op == PW_OP_INTERRUPT)
			return true;
	return false;
}

static int kind_of(char letter)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].letter == letter)
			return i;
	abort();
}

/* Writing. */

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt,
						      ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left)
		n = t->left ? t->left - 1 : 0;
	t->at += n;
	t->left -= n;
}

static void put_flags(struct text *t, const struct symbol *sym, int64_t v)
{
	const char *sep = "";

	for (; sym->name; sym++)
		if ((v & sym->value) == sym->value) {
			put(t, "%s%s", sep, sym->name);
			v &= ~sym->value;
			sep = "|";
		}
	if (v || !*sep)
		put(t, "%s%#llx", sep, (long long)v);
}

static void put_arg(struct text *t, char letter, int64_t v)
{
	int k = kind_of(letter);
	const struct symbol *sym = kinds[k].symbols;

	put(t, " ");
	if (letter == 'M' && v >= 0 && v < pw_open_modes_known()) {
		put(t, "%s", pw_open_modes[v]);
		return;
	}
	switch (kinds[k].kind) {
	case K_FLAGS:
		if (letter == 'o' && !(v & O_ACCMODE))
			put(t, v ? "O_RDONLY|" : "O_RDONLY");
		if (letter != 'o' || v)
			put_flags(t, sym, v);
		return;
	case K_ONE:
		for (; sym && sym->name; sym++)
			if (sym->value == v) {
				put(t, "%s", sym->name);
				return;
			}
		break;
	case K_OCTAL:
		put(t, "0%llo", (long long)v);
		return;
	case K_SLOT:
		put(t, "s%lld", (long long)v);
		return;
	case K_FD:
		put(t, PW_IS_SLOT(v) ? "s%lld" : "%lld", (long long)PW_VALUE(v));
		return;
	case K_FILE:
		put(t, "%s", pw_file_names[v]);
		return;
	case K_STREAM:
		if (v < PW_STREAMS)
			put(t, "t%lld", (long long)v);
		else
			put(t, "%s",
			    v == PW_STDIN    ? "stdin"
			    : v == PW_STDOUT ? "stdout"
					     : "stderr");
		return;
	case K_BUF:
		put(t, "%s+%lld", areas[PW_BUF_AREA(v)].name, (long long)PW_BUF_OFF(v));
		return;
	case K_NUMBER:
		break;
	}
	put(t, "%lld", (long long)v);
}

size_t pw_step_format(char *out, size_t size, const struct pw_step *s)
{
	struct text t = {out, size};
	const char *spec = ops[s->op].spec;

	put(&t, "@%d %s", s->actor, pw_step_name(s));
	for (int i = 0; spec[i]; i++)
		put_arg(&t, spec[i], s->arg[i]);
	return t.at - out;
}

static const char *const fill_names[] = {"nonzero", "text", "zero", "holes"};

void pw_prog_print(FILE *to, const struct pw_prog *p)
{
	char line[256];

	fprintf(to, "on %s\n", p->on_shm ? "shm" : "tmp");
	if (p->fsize)
		fprintf(to, "fsize %lld\n", (long long)p->fsize);
	if (p->input >= 0)
		fprintf(to, "input %s\n", pw_file_names[p->input]);
	for (int i = 0; i < PW_REGULAR; i++)
		if (p->file[i].there)
			fprintf(to, "file %s %lld %s %llu\n", pw_file_names[i],
				(long long)p->file[i].size, fill_names[p->file[i].fill],
				(unsigned long long)p->file[i].seed);
	for (int i = 0; i < p->steps; i++) {
		pw_step_format(line, sizeof(line), &p->step[i]);
		fprintf(to, "%s\n", line);
	}
}

/* Reading. */

static bool get_number(const char *w, int64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoll(w, &end, 0);
	return end != w && !*end && !errno;
}

static bool get_one(const struct symbol *sym, const char *w, int64_t *v)
{
	for (; sym && sym->name; sym++)
		if (!strcmp(sym->name, w)) {
			*v = sym->value;
			return true;
		}
	return get_number(w, v);
}

static bool get_flags(const struct symbol *sym, char *w, int64_t *v)
{
	int64_t one;
	char *save;

	*v = 0;
	for (char *p = strtok_r(w, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
		/* O_RDONLY is no bit, so it has no place in the list. */
		if (!strcmp(p, "O_RDONLY"))
			continue;
		if (!get_one(sym, p, &one))
			return false;
		*v |= one;
	}
	return true;
}

static bool get_file(const char *w, int64_t *v)
{
	for (int i = 0; i < pw_files_known(); i++)
		if (!strcmp(pw_file_names[i], w)) {
			*v = i;
			return true;
		}
	return false;
}

static bool get_indexed(const char *w, char letter, int limit, int64_t *v)
{
	return w[0] == letter && isdigit(w[1]) && get_number(w + 1, v) && *v < limit;
}

static bool get_buf(char *w, int64_t *v)
{
	char *plus = strchr(w, '+');
	int64_t off, area;

	if (!plus)
		return false;
	*plus = 0;
	if (!get_one(areas, w, &area) || area < 0 || area > PW_AREA_RODATA ||
	    !get_number(plus + 1, &off) || off < 0 || off > 0xffffffff)
		return false;
	*v = PW_BUF(area, off);
	return true;
}

static bool get_stream(const char *w, int64_t *v)
{
	static const struct symbol std[] = {{"stdin", PW_STDIN},
					    {"stdout", PW_STDOUT},
					    {"stderr", PW_STDERR},
					    {NULL, 0}};

	return get_indexed(w, 't', PW_STREAMS, v) ||
	       (!isdigit(w[0]) && get_one(std, w, v));
}

static bool get_fd(const char *w, int64_t *v)
{
	int64_t n;

	if (get_indexed(w, 's', PW_SLOTS, &n)) {
		*v = PW_SLOT(n);
		return true;
	}
	if (!get_number(w, &n))
		return false;
	*v = PW_NUMBER(n);
	return true;
}

static bool get_arg(char letter, char *w, int64_t *v)
{
	int k = kind_of(letter);

	if (letter == 'M') {
		for (*v = 0; *v < pw_open_modes_known(); ++*v)
			if (!strcmp(pw_open_modes[*v], w))
				return true;
		return false;
	}
	switch (kinds[k].kind) {
	case K_FLAGS:
		return get_flags(kinds[k].symbols, w, v);
	case K_ONE:
		return get_one(kinds[k].symbols, w, v);
	case K_SLOT:
		return get_indexed(w, 's', PW_SLOTS, v);
	case K_FD:
		return get_fd(w, v);
	case K_FILE:
		return get_file(w, v);
	case K_STREAM:
		return get_stream(w, v);
	case K_BUF:
		return get_buf(w, v);
	case K_NUMBER:
		if ((letter == 'a' || letter == 'u') &&
		    !(get_number(w, v) && *v > 0 && *v < PW_MAX_ACTORS))
			return false;
		/* fall through */
	case K_OCTAL:
		return get_number(w, v);
	}
	return false;
}

static bool find_op(const char *w, struct pw_step *s)
{
	size_t len;

	for (int op = 0; op < PW_OPS; op++)
		for (int i = 0; i < pw_op_names(op); i++) {
			const char *name = nth_word(ops[op].names, i, &len);

			if (strlen(w) == len && !memcmp(w, name, len)) {
				s->op = op;
				s->name = i;
				return true;
			}
		}
	return false;
}

static bool parse_step(struct pw_prog *p, char *w, char **save)
{
	struct pw_step *s = &p->step[p->steps];
	const char *spec;
	int64_t n;

	if (p->steps == PW_MAX_STEPS)
		return false;
	memset(s, 0, sizeof(*s));
	if (*w == '@') {
		if (!get_number(w + 1, &n) || n < 0 || n >= PW_MAX_ACTORS)
			return false;
		s->actor = n;
		w = strtok_r(NULL, " \t\n", save);
	}
	if (!w || !find_op(w, s))
		return false;
	spec = ops[s->op].spec;
	for (int i = 0; spec[i]; i++) {
		w = strtok_r(NULL, " \t\n", save);
		if (!w || !get_arg(spec[i], w, &s->arg[i]))
			return false;
	}
	p->steps++;
	return !strtok_r(NULL, " \t\n", save);
}

static bool parse_file(struct pw_prog *p, char **save)
{
	char *name = strtok_r(NULL, " \t\n", save);
	char *size = strtok_r(NULL, " \t\n", save);
	char *fill = strtok_r(NULL, " \t\n", save);
	char *seed = strtok_r(NULL, " \t\n", save);
	int64_t file, s;

	if (!seed || !get_file(name, &file) || file >= PW_REGULAR ||
	    !get_number(size, &p->file[file].size) || !get_number(seed, &s))
		return false;
	p->file[file].there = true;
	p->file[file].seed = s;
	for (int i = 0; i < 4; i++)
		if (!strcmp(fill, fill_names[i])) {
			p->file[file].fill = i;
			return true;
		}
	return false;
}

static bool parse_line(struct pw_prog *p, char *line)
{
	char *save, *w = strtok_r(line, " \t\n", &save);
	int64_t n;

	if (!w || *w == '#')
		return true;
	if (!strcmp(w, "file"))
		return parse_file(p, &save);
	if (strcmp(w, "on") && strcmp(w, "fsize") && strcmp(w, "input"))
		return parse_step(p, w, &save);
	line = w;
	w = strtok_r(NULL, " \t\n", &save);
	if (!w)
		return false;
	if (!strcmp(line, "on")) {
		p->on_shm = !strcmp(w, "shm");
		return p->on_shm || !strcmp(w, "tmp");
	}
	if (!strcmp(line, "fsize"))
		return get_number(w, &p->fsize);
	if (!get_file(w, &n) || n >= PW_REGULAR)
		return false;
	p->input = n;
	return true;
}

int pw_prog_parse(struct pw_prog *p, FILE *from)
{
	char *line = NULL;
	size_t size = 0;
	int n = 0;

	memset(p, 0, sizeof(*p));
	p->input = -1;
	while (getline(&line, &size, from) >= 0) {
		n++;
		if (!parse_line(p, line)) {
			free(line);
			return n;
		}
	}
	free(line);
	return 0;
}
