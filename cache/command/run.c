/*
 * run.c - `pagewell run`: sets the library's variables and becomes the program. As it
 * execs, exit status, signals, descriptors and pid are the program's own.
 */
#include "cache/command/run.h"

#include <stdio.h>

#include "cache/command/launch.h"
#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/pagewell.h"

static const char help[] =
	"usage: pagewell run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"\n"
	"Runs PROGRAM, and what it starts in turn, with libpagewell.so preloaded: file\n"
	"positions are kept in user space and reads are served from mapped pages.\n"
	"\n" PW_LAUNCH_HELP
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

int pw_run(int argc, char **argv)
{
	struct pw_launch launch = {0};
	bool wants_help = false;
	bool wants_version = false;
	bool verbose = false;
	const struct pw_option options[] = {
		PW_LAUNCH_OPTIONS(launch),
		{"verbose", NULL, &verbose},
		{"help", NULL, &wants_help},
		{"version", NULL, &wants_version},
		{0},
	};
	int at = pw_options_read(argc, argv, options);

	if (at < 0)
		return PW_LAUNCH_FAILED;
	if (wants_help || wants_version) {
		fputs(wants_help ? help : "pagewell " PW_VERSION "\n", stdout);
		return pw_flushed() ? 0 : PW_LAUNCH_FAILED;
	}
	if (at == argc) {
		pw_say("run: no program given; see pagewell run --help");
		return PW_LAUNCH_FAILED;
	}
	if (!pw_launch_set(&launch, argv[0]))
		return PW_LAUNCH_FAILED;
	return pw_launch_become(argv + at, verbose);
}
