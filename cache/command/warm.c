/*
 * warm.c - `pagewell warm`: reads files, which brings them into the kernel's page cache, and
 * says so in the segment, page by page, as one who is served would.
 */
#include "cache/command/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/command/options.h"
#include "cache/command/progress.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/text.h"

static const char help[] =
	"usage: pagewell warm [-r] [-q] [--segment=PATH] FILE...\n"
	"\n"
	"Brings each FILE into memory: into the kernel's page cache, for every program,\n"
	"and notes it in the segment (PATH; default: PAGEWELL_SEGMENT, else the user's\n"
	"own in /dev/shm, made if need be), so that the processes that share it don't\n"
	"have to ask the kernel page by page. A bar on stderr shows how far it is, "
	"where\n"
	"that is a terminal.\n"
	"\n"
	"  -r, --recursive   of a directory, all regular files in it and below;\n"
	"                    symbolic links in it are not followed\n"
	"  -q, --quiet       no bar, and not how much it was at the end\n"
	"  --help, --version\n"
	"\n"
	"What is more than fits into memory drives out what was read first.\n"
	"\n"
	"Exit status: 0; 1 if something could not be read; 2 for a wrong option, or no\n"
	"FILE.\n";

struct file {
	char *name;
	uint64_t size;
};

struct work {
	struct file *file;
	size_t files;
	uint64_t all;
	uint64_t done;
	bool failed;
	struct pw_progress bar;
};

static void fail(struct work *w, const char *name, int err)
{
	pw_progress_end(&w->bar);
	pw_say("warm: %s: %s", name, strerror(err));
	w->failed = true;
}

static void note_file(struct work *w, const char *name, uint64_t size)
{
	/* By doubling: full where the count is a power of two, or 0. */
	if (!(w->files & (w->files - 1))) {
		size_t room = w->files ? 2 * w->files : 1;
		struct file *more = realloc(w->file, room * sizeof(*more));

		if (!more)
			goto none;
		w->file = more;
	}
	w->file[w->files].name = strdup(name);
	if (!w->file[w->files].name)
		goto none;
	w->file[w->files++].size = size;
	w->all += size;
	return;
none:
	pw_say("out of memory");
	exit(PW_FAILED);
}

static void look_below(struct work *w, char *name)
{
	char *const names[] = {name, NULL};
	FTS *tree = fts_open(names, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *e;

	if (!tree) {
		fail(w, name, errno);
		return;
	}
	while ((e = fts_read(tree))) {
		if (e->fts_info == FTS_F && S_ISREG(e->fts_statp->st_mode))
			note_file(w, e->fts_path, (uint64_t)e->fts_statp->st_size);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
			 e->fts_info == FTS_NS)
			fail(w, e->fts_path, e->fts_errno);
	}
	fts_close(tree);
}

static void look_at(struct work *w, char *name, bool recursive)
{
	struct stat st;

	if (stat(name, &st))
		fail(w, name, errno);
	else if (S_ISREG(st.st_mode))
		note_file(w, name, (uint64_t)st.st_size);
	else if (S_ISDIR(st.st_mode) && recursive)
		look_below(w, name);
	else {
		pw_say(S_ISDIR(st.st_mode)
			       ? "warm: %s is a directory: give -r for all files in it"
			       : "warm: %s is not a regular file: nothing of it can be "
				 "kept in memory",
		       name);
		w->failed = true;
	}
}

/* Reads one cache page. Returns what read(2) does. */
static ssize_t bring_in(int fd, uint64_t id, uint64_t cp)
{
	static char page[PW_CP];
	bool mine = pw_page_begin(id, cp, true) == PW_PAGE_MINE;
	ssize_t n = pread(fd, page, sizeof(page), (off_t)(cp << PW_CP_SHIFT));
	int err = errno;

	if (mine)
		pw_page_end(id, cp, n > 0);
	errno = err;
	return n;
}

static void warm(struct work *w, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st)) {
		fail(w, name, errno);
		if (fd >= 0)
			close(fd);
		return;
	}
	/* It may be another one by now, and grow for as long as it is read. */
	if (!S_ISREG(st.st_mode))
		st.st_size = 0;
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (uint64_t cp = 0; n > 0 && cp << PW_CP_SHIFT < (uint64_t)st.st_size; cp++) {
		n = bring_in(fd, pw_file_id(&st), cp);
		if (n > 0)
			w->done += (uint64_t)n;
		pw_progress_at(&w->bar, w->done);
	}
	if (n < 0)
		fail(w, name, errno);
	close(fd);
}

/* Without a segment the files are warmed all the same. */
static void attach(const char *path)
{
	if (pw_segment_set_path(path)) {
		pw_say("warm: %s: the path is too long for a segment", path);
		return;
	}
	pw_shared_guard();
	pw_segment_get();
}

int pw_warm(int argc, char **argv)
{
	const char *path = NULL;
	bool recursive = false;
	bool quiet = false;
	const struct pw_option options[] = {
		{"segment", &path, NULL}, {"recursive", NULL, &recursive},
		{"r", NULL, &recursive},  {"quiet", NULL, &quiet},
		{"q", NULL, &quiet},	  {0},
	};
	struct work w = {0};
	char size[PW_TEXT_SIZE];
	int64_t began;
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (at == argc) {
		pw_say("warm: no file given; see pagewell warm --help");
		return PW_USAGE;
	}
	for (; at < argc; at++)
		look_at(&w, argv[at], recursive);
	if (w.files)
		attach(pw_shared_path(path));
	began = pw_sys->now_ns();
	pw_progress_begin(&w.bar, w.all, true, quiet);
	for (size_t i = 0; i < w.files; i++) {
		warm(&w, w.file[i].name);
		free(w.file[i].name);
	}
	free(w.file);
	pw_progress_end(&w.bar);
	pw_text_size(size, w.done);
	if (!quiet && w.files)
		printf("%zu file%s, %s, in %.2f s\n", w.files, w.files == 1 ? "" : "s",
		       size, (double)(pw_sys->now_ns() - began) / 1e9);
	return pw_flushed() && !w.failed ? 0 : PW_FAILED;
}
