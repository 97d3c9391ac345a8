/* top.c - see top.h. */
#include "cache/command/top.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cache/command/library.h"
#include "cache/command/options.h"
#include "cache/command/say.h"

#define PROGRAM "pagewell-top"

int pw_top(int argc, char **argv)
{
	char path[PATH_MAX];

	(void)argc;
	if (!pw_library_beside(PROGRAM, "../libexec/pagewell/" PROGRAM, path))
		return PW_FAILED;
	execv(path, argv);
	pw_say("%s: %s", path, strerror(errno));
	return PW_FAILED;
}
