/* shared.h - the segment that a subcommand looks at or works on. */
#ifndef PW_COMMAND_SHARED_H
#define PW_COMMAND_SHARED_H

#include "cache/pagewell.h"

/* The path meant: `given` by --segment, else PAGEWELL_SEGMENT, else the user's own. */
const char *pw_shared_path(const char *given);

enum pw_shared_use { PW_SHARED_LOOK, PW_SHARED_CHANGE };

/*
 * Maps what is there, and makes nothing. 0 or -errno: what was wrong has been said, but for
 * -ENOENT, no segment, which may be no error. If the file is cut short later on, the process
 * ends with one line and the status PW_FAILED.
 */
int pw_shared_open(const char *path, enum pw_shared_use use, struct pw_segment *out);

/* That, and that the engine's reasons are said, for who does not open it here. */
void pw_shared_guard(void);

/* The same where the subcommand can't do without: the absence is said, too. */
bool pw_shared_must(const char *path, enum pw_shared_use use, struct pw_segment *out);

/* The inode of this process's pid namespace, 0 if it can't be told. */
uint64_t pw_shared_pidns(void);

#endif
