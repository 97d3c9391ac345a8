/* options.h - options of a subcommand, all long: --NAME, --NAME=VALUE, --NAME VALUE. */
#ifndef PW_COMMAND_OPTIONS_H
#define PW_COMMAND_OPTIONS_H

#include <stdbool.h>

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

#endif
