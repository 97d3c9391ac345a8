/* library.c - see library.h. */
#include "cache/command/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/command/say.h"

#define LIBRARY "libpagewell.so"
#define PACKAGED "x86_64-linux-gnu/pagewell/" /* where Debian's package has it */

static bool at_place(const char *folder, const char *rest, char out[PATH_MAX])
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%s", folder, rest) >= sizeof(path))
		return false;
	return realpath(path, out) && access(out, R_OK) == 0;
}

bool pw_library_beside(const char *name, const char *elsewhere, char out[PATH_MAX])
{
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (n < 0) {
		pw_say("cannot find my own place: /proc/self/exe: %s", strerror(errno));
		return false;
	}
	folder[n] = 0;
	*(strrchr(folder, '/') + 1) = 0;
	if (at_place(folder, name, out) || at_place(folder, elsewhere, out))
		return true;
	pw_say("no readable %s in %s or %s%.*s; run make, or make install", name, folder,
	       folder, (int)(strrchr(elsewhere, '/') - elsewhere), elsewhere);
	return false;
}

bool pw_library_find(char out[PATH_MAX])
{
	return pw_library_beside(LIBRARY, "../lib/" LIBRARY, out);
}

bool pw_library_preload(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	size_t n = strlen(library);
	char *list;
	int err;

	/* The loader splits the list at spaces and colons, has no way to quote them, and
	 * replaces $ORIGIN and the like. */
	if (library[strcspn(library, " :$")]) {
		pw_say("%s: LD_PRELOAD cannot name a path with a space, colon or dollar "
		       "sign; "
		       "put pagewell elsewhere",
		       library);
		return false;
	}
	if (!others || !*others)
		err = setenv("LD_PRELOAD", library, 1);
	else if (strncmp(others, library, n) == 0 &&
		 (!others[n] || strchr(" :", others[n])))
		return true; /* run inside run */
	else if (asprintf(&list, "%s:%s", library, others) < 0)
		err = -1;
	else {
		err = setenv("LD_PRELOAD", list, 1);
		free(list);
	}
	if (err)
		pw_say("cannot set LD_PRELOAD: %s", strerror(errno));
	return !err;
}
