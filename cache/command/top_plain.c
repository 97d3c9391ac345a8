/* top_plain.c - pagewell top where it is not on a terminal: a block of lines each time. */
#include <stdio.h>
#include <time.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/top.h"

static void print(const struct pw_top *t)
{
	char line[4096];

	for (int i = 0; i < PW_TOP_SUMMARY; i++) {
		pw_top_summary(t, i, line, sizeof(line));
		puts(line);
	}
	pw_top_head(t, line, sizeof(line));
	puts(line);
	for (size_t i = 0; i < t->lines; i++) {
		pw_top_format(t, &t->line[i], line, sizeof(line));
		puts(line);
	}
}

int pw_top_plain(struct pw_top *t, double seconds, unsigned long count)
{
	struct timespec pause = {(time_t)seconds,
				 (long)((seconds - (double)(time_t)seconds) * 1e9)};

	for (unsigned long i = 0; !count || i < count; i++) {
		if (i) {
			nanosleep(&pause, NULL);
			puts("");
		}
		pw_top_take(t);
		print(t);
		if (!pw_flushed())
			return PW_FAILED;
	}
	return 0;
}
