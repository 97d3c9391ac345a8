/* drop.c - `pagewell drop`: page words forgotten, and processes asked to give up windows. */
#include "cache/command/drop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/text.h"
#include "cache/command/users.h"

/* Of a larger file than this, looking for each page's word takes longer than it is worth. */
#define MOST_PAGES ((uint64_t)1 << 24) /* 1 TiB */

static const char help[] =
	"usage: pagewell drop [--segment=PATH] FILE...\n"
	"       pagewell drop [--segment=PATH] --all\n"
	"\n"
	"Forgets what the segment (PATH; default: PAGEWELL_SEGMENT, else the user's own\n"
	"in /dev/shm) says of the pages of each FILE, and asks the processes that have\n"
	"windows of it to give up all of theirs. With --all: of all files, and all\n"
	"processes.\n"
	"\n"
	"A process does so at its next read that no window can answer, such as one at\n"
	"the end of a file, or where it has not read before; it makes new windows when\n"
	"they pay again. One that reads only what it has touched, or sleeps, keeps them\n"
	"until then (pagewell ls shows it). Nothing is ever wrong with what is read.\n"
	"\n"
	"The kernel's page cache is not touched: what is in memory stays there.\n"
	"\n"
	"Exit status: 0; 1 if there is no segment, it was refused, or a FILE can't be\n"
	"looked at; 2 for a wrong option, or none of FILE and --all.\n";

/* True: it has a slot, and so can be asked. */
static bool ask(const struct pw_segment *s, uint64_t ns, pid_t pid)
{
	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		struct pw_shm_slot *slot = &s->slots[i];

		if (pw_load_relaxed(&slot->owner) != (uint32_t)pid ||
		    pw_load_relaxed(&slot->pidns) != ns)
			continue;
		pw_store_relaxed(&slot->shrink, PW_SHRINK_ALL);
		return true;
	}
	return false;
}

static unsigned forget_all(const struct pw_segment *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < PW_WORDS; i++) {
		uint32_t seen = pw_load_relaxed(&s->words[i]);

		/* A locked one is somebody's at this moment. */
		if ((seen & PW_W_UPTODATE) && !(seen & PW_W_LOCKED))
			n += pw_page_free(s, i, seen);
	}
	return n;
}

static unsigned forget(const struct pw_segment *s, const struct stat *st)
{
	uint64_t id = pw_file_id(st);
	uint64_t pages = ((uint64_t)st->st_size + PW_CP - 1) >> PW_CP_SHIFT;
	unsigned n = 0;

	if (pages > MOST_PAGES)
		return forget_all(s);
	for (uint64_t cp = 0; cp < pages; cp++)
		n += pw_page_forget(s, id, cp);
	return n;
}

static void print(unsigned words, unsigned asked)
{
	printf("%u page word%s cleared, %u process%s asked\n", words,
	       words == 1 ? "" : "s", asked, asked == 1 ? "" : "es");
}

static void drop_all(const struct pw_segment *s)
{
	unsigned asked = 0;

	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		if (!pw_load_relaxed(&s->slots[i].owner))
			continue;
		pw_store_relaxed(&s->slots[i].shrink, PW_SHRINK_ALL);
		asked++;
	}
	print(forget_all(s), asked);
}

static bool drop(const struct pw_segment *s, const struct pw_users *users,
		 const char *name)
{
	uint64_t ns = pw_shared_pidns();
	unsigned asked = 0;
	struct stat st;

	if (stat(name, &st)) {
		pw_say("drop: %s: %s", name, strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		pw_say("drop: %s is not a regular file: only these have windows", name);
		return false;
	}
	for (size_t i = 0; i < users->users; i++) {
		const struct pw_user *u = &users->user[i];

		for (size_t k = 0; k < u->files; k++) {
			if (!pw_used_is(u, &u->file[k], &st))
				continue;
			if (ask(s, ns, u->pid))
				asked++;
			else
				pw_say("drop: %s: process %d has no slot in the segment "
				       "and can't be asked",
				       name, (int)u->pid);
			break;
		}
	}
	pw_text_name(name);
	printf(": ");
	print(forget(s, &st), asked);
	return true;
}

int pw_drop(int argc, char **argv)
{
	const char *path = NULL;
	bool all = false;
	const struct pw_option options[] = {
		{"segment", &path, NULL},
		{"all", NULL, &all},
		{0},
	};
	struct pw_segment segment;
	struct pw_users users;
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (all == (at < argc)) {
		pw_say(all ? "drop: --all takes no files; see pagewell drop --help"
			   : "drop: name files, or give --all; see pagewell drop --help");
		return PW_USAGE;
	}
	if (!pw_shared_must(pw_shared_path(path), PW_SHARED_CHANGE, &segment))
		return PW_FAILED;
	if (all) {
		drop_all(&segment);
		return pw_flushed() ? 0 : PW_FAILED;
	}
	if (!pw_users_find(&segment, NULL, &users))
		return PW_FAILED;
	for (; at < argc; at++)
		if (!drop(&segment, &users, argv[at]))
			status = PW_FAILED;
		else if (status != PW_FAILED)
			status = 0;
	pw_users_free(&users);
	return pw_flushed() ? status : PW_FAILED;
}
