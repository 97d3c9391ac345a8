/* launch.c - see launch.h. */
#include "cache/command/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/command/library.h"
#include "cache/command/program.h"
#include "cache/command/say.h"

static const struct {
	const char *variable;
	bool is_path;
} setting[PW_SETTINGS] = {
	[PW_SET_SIZE] = {"PAGEWELL_SIZE", false},
	[PW_SET_INCLUDE] = {"PAGEWELL_INCLUDE", false},
	[PW_SET_EXCLUDE] = {"PAGEWELL_EXCLUDE", false},
	[PW_SET_FS] = {"PAGEWELL_FS", false},
	[PW_SET_TRUST] = {"PAGEWELL_TRUST", false},
	[PW_SET_WRITE] = {"PAGEWELL_WRITE", false},
	[PW_SET_SEGMENT] = {"PAGEWELL_SEGMENT", true},
	[PW_SET_REPORT] = {"PAGEWELL_REPORT", true},
	[PW_SET_LOG] = {"PAGEWELL_LOG", true},
};

/* The program may change its folder before the library opens a file of this name. */
static bool set_absolute(const char *variable, const char *path, const char *command)
{
	char *folder = getcwd(NULL, 0);
	char *whole = NULL;
	bool done = folder && asprintf(&whole, "%s/%s", folder, path) >= 0 &&
		    setenv(variable, whole, 1) == 0;

	if (!done)
		pw_say("%s: cannot make %s an absolute path: %s", command, path,
		       strerror(errno));
	free(folder);
	free(whole);
	return done;
}

bool pw_launch_set(const struct pw_launch *l, const char *command)
{
	for (int i = 0; i < PW_SETTINGS; i++) {
		const char *value = l->value[i];

		if (!value)
			continue;
		if (setting[i].is_path && *value && *value != '/') {
			if (!set_absolute(setting[i].variable, value, command))
				return false;
		} else if (setenv(setting[i].variable, value, 1)) {
			pw_say("%s: cannot set %s: %s", command, setting[i].variable,
			       strerror(errno));
			return false;
		}
	}
	return true;
}

int pw_launch_become(char **argv, bool verbose)
{
	char library[PATH_MAX];
	char file[PATH_MAX];
	bool found = pw_program_find(argv[0], file);
	const char *why = found ? pw_program_privileged(file) : NULL;

	if (why) {
		pw_say("%s is %s: the loader ignores LD_PRELOAD there; run it without "
		       "pagewell",
		       file, why);
		return PW_LAUNCH_FAILED;
	}
	if (!pw_library_find(library) || !pw_library_preload(library))
		return PW_LAUNCH_FAILED;
	if (verbose && found) {
		why = pw_program_unserved(file);
		if (why)
			pw_say("%s is %s: it runs without the library", file, why);
		else
			pw_say("%s runs with %s", file, library);
	}
	execvp(argv[0], argv);
	if (errno == ENOENT && found) {
		pw_say("%s: the interpreter or loader that it names is not there", file);
		return PW_LAUNCH_NOT_FOUND;
	}
	pw_say("%s: %s", argv[0], strerror(errno));
	return errno == ENOENT ? PW_LAUNCH_NOT_FOUND : PW_LAUNCH_CANNOT;
}
