/* libctor.c - a library that reads, seeks and forks in its constructor, and reads once more
 * in its destructor. Preloaded before or after the library under test, or linked. */
#include "loading.h"

int loading_fd = -1; /* at 5040 when main begins */

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("LOADING_FILE");
	int wrong;

	loading_fd = path ? open(path, O_RDONLY) : -1;
	wrong = exercise(loading_fd, 1);
	if (!wrong)
		wrong = with_child(loading_fd, 1);
	tell("constructor", wrong);
}

__attribute__((destructor)) static void finish(void)
{
	int wrong = exercise(loading_fd, 1);
	const char *path = getenv("LOADING_FILE");
	int fd = path ? open(path, O_RDONLY) : -1;

	if (!wrong)
		wrong = exercise(fd, 1);
	close(fd);
	tell("destructor", wrong);
}
