/*
 * run.c - `pagewell run`: sets the library's variables and becomes the program. As it
 * execs, exit status, signals, descriptors and pid are the program's own.
 */
#include "cache/command/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/command/library.h"
#include "cache/command/options.h"
#include "cache/command/program.h"
#include "cache/command/say.h"
#include "cache/pagewell.h"

/* As env(1) has them. */
enum { FAILED = 125, CANNOT_INVOKE = 126, NOT_FOUND = 127 };

static const char help[] =
	"usage: pagewell run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"\n"
	"Runs PROGRAM, and what it starts in turn, with libpagewell.so preloaded: file\n"
	"positions are kept in user space and reads are served from mapped pages.\n"
	"\n"
	"  --size=N         bound on mapped bytes, all processes together: bytes, or\n"
	"                   with K, M or G (PAGEWELL_SIZE; default: half of memory)\n"
	"  --include=GLOBS  serve only paths, as the program names them, that match one\n"
	"                   of these, separated by colons; * matches / too\n"
	"                   (PAGEWELL_INCLUDE)\n"
	"  --exclude=GLOBS  don't serve paths that match one of these\n"
	"                   (PAGEWELL_EXCLUDE)\n"
	"  --fs=SPEC        file systems to add or leave: +NAME or -NAME, separated by\n"
	"                   commas (PAGEWELL_FS)\n"
	"  --trust=TREES    trees on other file systems (NFS, FUSE...) to serve\n"
	"                   close-to-open: absolute names of directories, separated by\n"
	"                   colons (PAGEWELL_TRUST)\n"
	"  --segment=PATH   the shared segment, a file on tmpfs (PAGEWELL_SEGMENT)\n"
	"  --report=FILE    counts are written there at exit; %p is the pid\n"
	"                   (PAGEWELL_REPORT)\n"
	"  --log=FILE       notes on what was refused, and why (PAGEWELL_LOG)\n"
	"  --verbose        say on stderr what runs with which library, or why it runs\n"
	"                   without, where that can be seen beforehand\n"
	"  --help, --version\n"
	"\n"
	"Each option sets the variable named with it; PATH and FILE are made absolute.\n"
	"An LD_PRELOAD that is there is kept, behind the library. Programs that are\n"
	"set-user-id, set-group-id or have file capabilities are refused, whoever\n"
	"runs them.\n"
	"\n"
	"The exit status is PROGRAM's own, or 125 if pagewell itself failed, 126 if\n"
	"PROGRAM was found but cannot be invoked, 127 if it was not found.\n";

struct setting {
	const char *value;
	const char *variable;
	bool is_path;
};

/* The program may change its folder before the library opens a file of this name. */
static bool set_absolute(const char *variable, const char *path)
{
	char *folder = getcwd(NULL, 0);
	char *whole = NULL;
	bool done = folder && asprintf(&whole, "%s/%s", folder, path) >= 0 &&
		    setenv(variable, whole, 1) == 0;

	if (!done)
		pw_say("run: cannot make %s an absolute path: %s", path, strerror(errno));
	free(folder);
	free(whole);
	return done;
}

static bool set(const struct setting *s)
{
	if (!s->value)
		return true;
	if (s->is_path && *s->value && *s->value != '/')
		return set_absolute(s->variable, s->value);
	if (setenv(s->variable, s->value, 1) == 0)
		return true;
	pw_say("run: cannot set %s: %s", s->variable, strerror(errno));
	return false;
}

static int become(char **argv, bool verbose)
{
	char library[PATH_MAX];
	char file[PATH_MAX];
	bool found = pw_program_find(argv[0], file);
	const char *why = found ? pw_program_privileged(file) : NULL;

	if (why) {
		pw_say("%s is %s: the loader ignores LD_PRELOAD there; run it without "
		       "pagewell",
		       file, why);
		return FAILED;
	}
	if (!pw_library_find(library) || !pw_library_preload(library))
		return FAILED;
	if (verbose && found) {
		why = pw_program_unserved(file);
		if (why)
			pw_say("%s is %s: it runs without the library", file, why);
		else
			pw_say("%s runs with %s", file, library);
	}
	execvp(argv[0], argv);
	if (errno == ENOENT && found) {
		pw_say("%s: the interpreter or loader that it names is not there", file);
		return NOT_FOUND;
	}
	pw_say("%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? NOT_FOUND : CANNOT_INVOKE;
}

int pw_run(int argc, char **argv)
{
	enum { SIZE, INCLUDE, EXCLUDE, FS, TRUST, SEGMENT, REPORT, LOG, SETTINGS };
	struct setting setting[SETTINGS] = {
		[SIZE] = {.variable = "PAGEWELL_SIZE"},
		[INCLUDE] = {.variable = "PAGEWELL_INCLUDE"},
		[EXCLUDE] = {.variable = "PAGEWELL_EXCLUDE"},
		[FS] = {.variable = "PAGEWELL_FS"},
		[TRUST] = {.variable = "PAGEWELL_TRUST"},
		[SEGMENT] = {.variable = "PAGEWELL_SEGMENT", .is_path = true},
		[REPORT] = {.variable = "PAGEWELL_REPORT", .is_path = true},
		[LOG] = {.variable = "PAGEWELL_LOG", .is_path = true},
	};
	bool wants_help = false;
	bool wants_version = false;
	bool verbose = false;
	const struct pw_option options[] = {
		{"size", &setting[SIZE].value, NULL},
		{"include", &setting[INCLUDE].value, NULL},
		{"exclude", &setting[EXCLUDE].value, NULL},
		{"fs", &setting[FS].value, NULL},
		{"trust", &setting[TRUST].value, NULL},
		{"segment", &setting[SEGMENT].value, NULL},
		{"report", &setting[REPORT].value, NULL},
		{"log", &setting[LOG].value, NULL},
		{"verbose", NULL, &verbose},
		{"help", NULL, &wants_help},
		{"version", NULL, &wants_version},
		{0},
	};
	int at = pw_options_read(argc, argv, options);

	if (at < 0)
		return FAILED;
	if (wants_help || wants_version) {
		fputs(wants_help ? help : "pagewell " PW_VERSION "\n", stdout);
		return pw_flushed() ? 0 : FAILED;
	}
	if (at == argc) {
		pw_say("run: no program given; see pagewell run --help");
		return FAILED;
	}
	for (int i = 0; i < SETTINGS; i++)
		if (!set(&setting[i]))
			return FAILED;
	return become(argv + at, verbose);
}
