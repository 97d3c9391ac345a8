/* shared.c - see shared.h. */
#include "cache/command/shared.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/command/options.h"
#include "cache/command/say.h"

const char *pw_shared_path(const char *given)
{
	static char standard[PW_SEGMENT_PATH_MAX];

	if (!given)
		given = getenv("PAGEWELL_SEGMENT");
	if (given && *given)
		return given;
	pw_segment_default_path(standard);
	return standard;
}

static void note(const char *what, const char *where, long err)
{
	if (err)
		pw_say("%s: %s: %s", where, what, strerror((int)err));
	else
		pw_say("%s: %s", where, what);
}

/* The file may be cut short while we use it. */
static void lost(int sig)
{
	static const char line[] = "pagewell: the segment was cut short meanwhile\n";

	(void)sig;
	pw_syscall3(SYS_write, STDERR_FILENO, line, sizeof(line) - 1);
	_exit(PW_FAILED);
}

void pw_shared_guard(void)
{
	pw_note = note;
	signal(SIGBUS, lost);
}

int pw_shared_open(const char *path, enum pw_shared_use use, struct pw_segment *out)
{
	pw_shared_guard();
	return use == PW_SHARED_CHANGE ? pw_segment_join(path, out)
				       : pw_segment_inspect(path, out);
}

bool pw_shared_must(const char *path, enum pw_shared_use use, struct pw_segment *out)
{
	int err = pw_shared_open(path, use, out);

	if (err == -ENOENT)
		pw_say("%s: no segment: nothing has been served yet", path);
	return !err;
}

uint64_t pw_shared_pidns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}
