/* top_main.c - the program pagewell-top, which `pagewell top` becomes. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/top.h"

static const char help[] =
	"usage: pagewell top [-d SECONDS] [-n COUNT] [--segment=PATH]\n"
	"\n"
	"Shows the processes that have windows, anew every two seconds, or SECONDS: how\n"
	"many files and windows each has, how much memory it has touched in them, its\n"
	"hits a second, and how often it waited for another to bring a page in, or gave\n"
	"pages back to keep the bound. PATH is the segment; default: PAGEWELL_SEGMENT,\n"
	"else the user's own in /dev/shm.\n"
	"\n"
	"On a terminal it fills the screen. Keys: h, w, m, a, r and p sort by hits,\n"
	"windows, memory, waits, reclaims and process; f changes between processes and\n"
	"their files; the arrow and page keys move; q quits. Elsewhere it prints a "
	"block\n"
	"of lines each time.\n"
	"\n"
	"  -d SECONDS   how long between two looks: 0.1 to 3600\n"
	"  -n COUNT     end after so many looks\n"
	"  --help, --version\n"
	"\n"
	"Hits a second are 0 at the first look. A process hands its counts in now and\n"
	"then: one that reads only what it has touched may seem idle. If NO_COLOR is\n"
	"set there are no colours.\n"
	"\n"
	"Exit status: 0; 1 if it can't write; 2 for a wrong option.\n";

static bool read_number(const char *option, const char *text, double least, double most,
			double *out)
{
	char *end;

	if (!text)
		return true;
	*out = strtod(text, &end);
	if (end != text && !*end && *out >= least && *out <= most)
		return true;
	pw_say("top: -%s %s: give a number from %g to %g", option, text, least, most);
	return false;
}

int main(int argc, char **argv)
{
	static struct pw_top top;
	const char *path = NULL;
	const char *seconds_text = NULL;
	const char *count_text = NULL;
	const struct pw_option options[] = {
		{"segment", &path, NULL},
		{"d", &seconds_text, NULL},
		{"n", &count_text, NULL},
		{0},
	};
	double seconds = 2;
	double count = 0;
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (at < argc) {
		pw_say("top: unexpected argument %s; see pagewell top --help", argv[at]);
		return PW_USAGE;
	}
	if (!read_number("d", seconds_text, 0.1, 3600, &seconds) ||
	    !read_number("n", count_text, 1, 1e9, &count))
		return PW_USAGE;
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	top.path = pw_shared_path(path);
	status = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO)
			 ? pw_top_screen(&top, seconds, (unsigned long)count)
			 : -1;
	if (status < 0)
		status = pw_top_plain(&top, seconds, (unsigned long)count);
	return status;
}
