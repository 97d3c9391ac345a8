/* launch.h - a program with the library before it: what `run` and `explain` have in common. */
#ifndef PW_COMMAND_LAUNCH_H
#define PW_COMMAND_LAUNCH_H

#include <stdbool.h>

/* Exit statuses, as env(1) has them: we failed; it was found, but cannot be invoked; it was
 * not found. */
enum { PW_LAUNCH_FAILED = 125, PW_LAUNCH_CANNOT = 126, PW_LAUNCH_NOT_FOUND = 127 };

enum pw_setting {
	PW_SET_SIZE,
	PW_SET_INCLUDE,
	PW_SET_EXCLUDE,
	PW_SET_FS,
	PW_SET_TRUST,
	PW_SET_WRITE,
	PW_SET_SEGMENT,
	PW_SET_REPORT,
	PW_SET_LOG,
	PW_SETTINGS
};

/* What the options say; NULL: not given. */
struct pw_launch {
	const char *value[PW_SETTINGS];
};

/* Entries for a table of options (options.h). */
#define PW_LAUNCH_OPTIONS(l)                                   \
	{"size", &(l).value[PW_SET_SIZE], NULL},               \
		{"include", &(l).value[PW_SET_INCLUDE], NULL}, \
		{"exclude", &(l).value[PW_SET_EXCLUDE], NULL}, \
		{"fs", &(l).value[PW_SET_FS], NULL},           \
		{"trust", &(l).value[PW_SET_TRUST], NULL},     \
		{"write", &(l).value[PW_SET_WRITE], NULL},     \
		{"segment", &(l).value[PW_SET_SEGMENT], NULL}, \
		{"report", &(l).value[PW_SET_REPORT], NULL},   \
	{                                                      \
		"log", &(l).value[PW_SET_LOG], NULL            \
	}

/* Their part of a --help. */
#define PW_LAUNCH_HELP                                                                  \
	"  --size=N         bound on mapped bytes, all processes together: bytes, or\n" \
	"                   with K, M or G (PAGEWELL_SIZE; default: half of memory)\n"  \
	"  --include=GLOBS  serve only paths, as the program names them, that match\n"  \
	"                   one of these, separated by colons; * matches / too\n"       \
	"                   (PAGEWELL_INCLUDE)\n"                                       \
	"  --exclude=GLOBS  don't serve paths that match one of these\n"                \
	"                   (PAGEWELL_EXCLUDE)\n"                                       \
	"  --fs=SPEC        file systems to add or leave: +NAME or -NAME, separated\n"  \
	"                   by commas (PAGEWELL_FS)\n"                                  \
	"  --trust=TREES    trees on other file systems (NFS, FUSE...) to serve\n"      \
	"                   close-to-open: absolute names of directories, separated\n"  \
	"                   by colons (PAGEWELL_TRUST)\n"                               \
	"  --write=map      overwrites are stored into shared writable mappings: see\n" \
	"                   pagewell(7) (PAGEWELL_WRITE)\n"                             \
	"  --segment=PATH   the shared segment, a file on tmpfs (PAGEWELL_SEGMENT)\n"   \
	"  --report=FILE    counts are written there at exit; %p is the pid\n"          \
	"                   (PAGEWELL_REPORT)\n"                                        \
	"  --log=FILE       notes on what was refused, and why (PAGEWELL_LOG)\n"

/* Puts them into the environment. False: what was wrong has been said. command: for messages. */
bool pw_launch_set(const struct pw_launch *l, const char *command);

/* Becomes the program argv[0]. Returns only if it could not: with the exit status; why has
 * been said. verbose: says what runs, and whether with the library. */
int pw_launch_become(char **argv, bool verbose);

#endif
