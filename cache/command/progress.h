/* progress.h - a bar on stderr, where that is a terminal. */
#ifndef PW_COMMAND_PROGRESS_H
#define PW_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct pw_progress {
	bool shown;    /* is there a terminal? */
	uint64_t all;  /* bytes */
	int64_t drawn; /* when, in ns */
};

/* quiet: not even there. */
void pw_progress_begin(struct pw_progress *p, uint64_t all, bool quiet);

/* So much is done. Draws now and then. */
void pw_progress_at(struct pw_progress *p, uint64_t done);

/* Takes the bar away. */
void pw_progress_end(const struct pw_progress *p);

#endif
