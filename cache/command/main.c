/* main.c - the `pagewell` command: which subcommand is it? */
#include <stdio.h>
#include <string.h>

#include "cache/command/bench.h"
#include "cache/command/check.h"
#include "cache/command/drop.h"
#include "cache/command/explain.h"
#include "cache/command/ls.h"
#include "cache/command/options.h"
#include "cache/command/run.h"
#include "cache/command/say.h"
#include "cache/command/stat.h"
#include "cache/command/top.h"
#include "cache/command/warm.h"

enum { USAGE = 2 };

/* A subcommand gets the arguments from its own name on, and returns the exit status. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} command[] = {
	{"run", pw_run,
	 "runs a program with its reads and seeks served from mapped pages"},
	{"explain", pw_explain_main,
	 "runs a program, and says what became of its reads and seeks"},
	{"stat", pw_stat, "shows what the processes that do so have mapped and counted"},
	{"ls", pw_ls, "lists the files that processes have windows of"},
	{"top", pw_top, "shows processes and their files, live"},
	{"drop", pw_drop, "has words and windows forgotten, of files or all"},
	{"warm", pw_warm, "brings files into memory"},
	{"bench", pw_bench, "measures whether it is worth it here, and for a file"},
	{"check", pw_check, "looks for what can't be in the segment, and repairs it"},
};

#define COMMANDS (sizeof(command) / sizeof(command[0]))

static int help(void)
{
	printf("usage: pagewell COMMAND [OPTION]... [ARGUMENT]...\n"
	       "       pagewell --help | --version\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-8s %s\n", command[i].name, command[i].what);
	printf("\npagewell COMMAND --help says more of each, and what its exit status "
	       "means;\n"
	       "that of pagewell itself is 2 if there is no such command.\n");
	return pw_flushed() ? 0 : PW_FAILED;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		pw_say("say what to do, such as run or stat; see pagewell --help");
		return USAGE;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], command[i].name) == 0)
			return command[i].run(argc - 1, argv + 1);
	if (strcmp(argv[1], "--help") == 0)
		return help();
	if (strcmp(argv[1], "--version") == 0)
		return pw_print_version();
	pw_say("%s is not a command of pagewell; see pagewell --help", argv[1]);
	return USAGE;
}
