/* program.h - which file a name means, and whether the library can get into it. */
#ifndef PW_COMMAND_PROGRAM_H
#define PW_COMMAND_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

/* The file that execvp(3) will run, by PATH search. False: there is none. */
bool pw_program_find(const char *name, char out[PATH_MAX]);

/*
 * Why the loader will leave LD_PRELOAD out of account: a few words that go on after "is",
 * or NULL if nothing speaks for that.
 */
const char *pw_program_privileged(const char *path);

/* Why the library will not be loaded although the program may be run: the same. */
const char *pw_program_unserved(const char *path);

#endif
