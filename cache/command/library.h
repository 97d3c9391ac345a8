/* library.h - where libpagewell.so is, and how it gets into LD_PRELOAD. */
#ifndef PW_COMMAND_LIBRARY_H
#define PW_COMMAND_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

/*
 * Beside the real file of this command (a build folder), or in ../lib from there (an
 * installation, wherever it was moved to), or where a Debian package has it. False: what was
 * wrong has been said.
 */
bool pw_library_find(char out[PATH_MAX]);

/*
 * The same of another file that belongs to the command; elsewhere: its path in an installation,
 * from the folder of the command on.
 */
bool pw_library_beside(const char *name, const char *elsewhere, char out[PATH_MAX]);

/* Puts it first in LD_PRELOAD, before what is there. False: the same. */
bool pw_library_preload(const char *library);

#endif
