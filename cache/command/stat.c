/* stat.c - `pagewell stat`. */
#include "cache/command/stat.h"

#include <stdio.h>
#include <stdlib.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"

static const char help[] =
	"usage: pagewell stat [--json] [--segment=PATH]\n"
	"\n"
	"Shows what the processes that share a segment have mapped, and what became of\n"
	"their reads. PATH is the segment; default: PAGEWELL_SEGMENT, else the user's\n"
	"own in /dev/shm. A process hands its counts in now and then, and when it ends:\n"
	"what is shown of a running one may be old.\n"
	"\n"
	"  pages      cache pages (64 KiB) mapped now; size is the same in bytes\n"
	"  windows    mapped files now; mapped: in all\n"
	"  hits       reads served from a window; hit_bytes: the bytes of these\n"
	"  seeks      lseek calls served\n"
	"  fills      cold cache pages brought in\n"
	"  waits      sleeps until another process had brought one in\n"
	"  timeouts   sleeps that ended at the deadline\n"
	"  reclaims   cache pages given back to keep the bound\n"
	"  doubts     reads given to the kernel for want of proof\n"
	"\n"
	"A process is alive; elsewhere, that is in another pid namespace; gone, killed\n"
	"before it could hand its counts in; or damaged. The totals are those of\n"
	"processes that ended well, are alive, or elsewhere.\n"
	"\n"
	"--json prints one object; numbers are integers, new members may be added:\n"
	"  version, path              strings\n"
	"  bytes, abi, page_bytes     of the segment, its layout, one cache page\n"
	"  costs_ns                   {call, touch, map}: measured here; 0: not yet\n"
	"  words                      {uptodate, locked, waiters, capacity}\n"
	"  files                      {entries, capacity}\n"
	"  totals, past               {pages ... doubts, mapped}; past: ended processes\n"
	"  processes                  [{pid, comm, state, pages ... doubts, mapped}]\n"
	"\n"
	"Exit status: 0; 1 if there is no segment, or it was refused; 2 for a wrong\n"
	"option.\n";

static struct pw_picture picture;

int pw_stat(int argc, char **argv)
{
	struct pw_segment segment;
	const char *path = NULL;
	bool json = false;
	const struct pw_option options[] = {
		{"segment", &path, NULL},
		{"json", NULL, &json},
		{0},
	};
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (at < argc) {
		pw_say("stat: unexpected argument %s; see pagewell stat --help",
		       argv[at]);
		return PW_USAGE;
	}
	path = pw_shared_path(path);
	if (!pw_shared_must(path, PW_SHARED_LOOK, &segment))
		return PW_FAILED;
	picture.path = path;
	pw_picture_take(&picture, &segment);
	if (json)
		pw_stat_json(&picture);
	else
		pw_stat_text(&picture);
	return pw_flushed() ? 0 : PW_FAILED;
}
