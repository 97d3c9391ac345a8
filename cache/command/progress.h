/* progress.h - a bar on stderr, where that is a terminal. */
#ifndef PW_COMMAND_PROGRESS_H
#define PW_COMMAND_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct pw_progress {
	bool shown; /* is there a terminal? */
	bool bytes; /* what is counted */
	uint64_t all;
	int64_t drawn; /* when, in ns */
};

/* All that is to do: bytes, or steps, of which no numbers are shown. quiet: no bar even there. */
void pw_progress_begin(struct pw_progress *p, uint64_t all, bool bytes, bool quiet);

/* So much is done. Draws now and then. */
void pw_progress_at(struct pw_progress *p, uint64_t done);

/* Takes the bar away. */
void pw_progress_end(const struct pw_progress *p);

#endif
