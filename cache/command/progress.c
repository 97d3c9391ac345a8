/* progress.c - see progress.h. */
#include "cache/command/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cache/command/text.h"
#include "cache/pagewell.h"

#define EVERY_NS 100000000
#define BESIDE 32 /* columns that the numbers take at the most */

void pw_progress_begin(struct pw_progress *p, uint64_t all, bool bytes, bool quiet)
{
	const char *terminal = getenv("TERM");

	p->shown = !quiet && isatty(STDERR_FILENO) && terminal &&
		   strcmp(terminal, "dumb") != 0;
	p->all = all;
	p->bytes = bytes;
	p->drawn = 0;
}

static int columns(void)
{
	struct winsize w;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || !w.ws_col ? 80 : w.ws_col;
}

void pw_progress_at(struct pw_progress *p, uint64_t done)
{
	int64_t now;
	char so_far[PW_TEXT_SIZE];
	char all[PW_TEXT_SIZE];
	int width;
	int full;

	if (!p->shown)
		return;
	now = pw_sys->now_ns();
	if (now - p->drawn < EVERY_NS)
		return;
	p->drawn = now;
	width = columns() - BESIDE;
	/* A file may have grown since it was looked at. */
	if (done > p->all)
		done = p->all;
	full = width > 0 && p->all
		       ? (int)((double)width * ((double)done / (double)p->all))
		       : 0;
	pw_text_size(so_far, done);
	pw_text_size(all, p->all);
	fputs("\r", stderr);
	if (width > 0) {
		fputc('[', stderr);
		for (int i = 0; i < width; i++)
			fputc(i < full ? '#' : ' ', stderr);
		fputs("] ", stderr);
	}
	fprintf(stderr, "%3.0f%%", p->all ? 100 * ((double)done / (double)p->all) : 0.0);
	if (p->bytes)
		fprintf(stderr, "  %s of %s", so_far, all);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void pw_progress_end(const struct pw_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}
