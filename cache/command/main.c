/* main.c - the `pagewell` command: which subcommand is it? */
#include <stdio.h>
#include <string.h>

#include "cache/command/run.h"
#include "cache/command/say.h"
#include "cache/command/stat.h"

enum { FAILED = 1, USAGE = 2 };

static const char help[] =
	"usage: pagewell run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"       pagewell stat [--json] [--segment=PATH]\n"
	"       pagewell --help | --version\n"
	"\n"
	"run    runs a program with its file reads and seeks served from mapped pages\n"
	"stat   shows what the processes that do so have mapped and counted\n"
	"\n"
	"pagewell run --help and pagewell stat --help say more.\n"
	"\n"
	"Exit status: of run, the program's own, or 125, 126, 127 as from env(1); of\n"
	"stat, 0, or 1 if there is no segment; and 2 if there is no such subcommand,\n"
	"or option of stat.\n";

int main(int argc, char **argv)
{
	if (argc < 2) {
		pw_say("say what to do: run or stat; see pagewell --help");
		return USAGE;
	}
	if (strcmp(argv[1], "run") == 0)
		return pw_run(argc - 1, argv + 1);
	if (strcmp(argv[1], "stat") == 0)
		return pw_stat(argc - 1, argv + 1);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "--version") == 0) {
		fputs(argv[1][2] == 'h' ? help : "pagewell " PW_VERSION "\n", stdout);
		return pw_flushed() ? 0 : FAILED;
	}
	pw_say("%s is not a subcommand; give run or stat, see pagewell --help", argv[1]);
	return USAGE;
}
