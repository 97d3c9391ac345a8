/* knobs.h - the PAGEWELL_… environment variables, read once at start-up. */
#ifndef PW_SHIM_KNOBS_H
#define PW_SHIM_KNOBS_H

#include <stdbool.h>

struct pw_knobs {
	const char *
		include; /* colon-separated globs or NULL; the environment's own memory */
	const char *exclude;
	const char *trust;  /* colon-separated absolute names of directories, or NULL */
	const char *report; /* file name, %p is the pid; or NULL */
	const char *log;
	bool stores; /* PAGEWELL_WRITE=map */
};

extern struct pw_knobs pw_knobs;

/* False: stay out of this process. A bad value has been told on stderr, in one line. */
bool pw_knobs_read(void);

/* May a file opened under this path be served? */
bool pw_knobs_admit(const char *path);

#endif
