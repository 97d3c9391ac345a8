/* options.h - options of a subcommand: --NAME, --NAME=VALUE, --NAME VALUE; a name of one
 * letter is short: -n, -nVALUE, -n VALUE, and several without a value as -ab. */
#ifndef PW_COMMAND_OPTIONS_H
#define PW_COMMAND_OPTIONS_H

#include <stdbool.h>

/* Exit statuses of all subcommands that don't become another program. */
enum { PW_FAILED = 1, PW_USAGE = 2 };

struct pw_option {
	const char *name;
	const char **value; /* where its value goes, or NULL: it has none, and then */
	bool *given;	    /* this becomes true */
};

/*
 * Reads options up to the first argument that is none, or to the one after "--". Returns
 * the index of that argument, or -1: what was wrong has been said. The last entry of the
 * table has no name. argv[0] is the subcommand's name.
 */
int pw_options_read(int argc, char **argv, const struct pw_option *table);

/*
 * The same for a subcommand that answers --help, by `help`, and --version itself: these two
 * need not be in the table. -1: there is nothing left to do but to end with *status.
 */
int pw_options_begin(int argc, char **argv, const struct pw_option *table,
		     const char *help, int *status);

/* "pagewell VERSION" on stdout. Returns the exit status. */
int pw_print_version(void);

#endif
