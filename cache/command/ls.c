/* ls.c - `pagewell ls`: files with windows, by process. */
#include "cache/command/ls.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/text.h"
#include "cache/command/users.h"

static const char help[] =
	"usage: pagewell ls [--json] [--segment=PATH]\n"
	"\n"
	"Lists the files that processes have windows of at this moment, that is, whose\n"
	"reads are served from a mapping: a line for each file of each process. Looked\n"
	"at are all processes that have the library loaded, and those with a slot in\n"
	"the segment PATH (default: PAGEWELL_SEGMENT, else the user's own in /dev/shm),\n"
	"as far as they may be looked at; how many may not is said on stderr.\n"
	"\n"
	"  WINDOWS   how often it is mapped: once for each opening that has earned it\n"
	"  MAPPED    address space that this takes, room for the file to grow included\n"
	"  RESIDENT  how much of that the process has touched: memory of the kernel's\n"
	"            page cache, there once, however many processes have it\n"
	"\n"
	"--json prints one object; numbers are integers, new members may be added:\n"
	"  version                    string\n"
	"  processes                  [{pid, comm, files}]\n"
	"  files                      [{path, deleted, writable, windows, mapped,\n"
	"                             resident}]: in bytes\n"
	"  unseen                     processes that could not be looked at\n"
	"\n"
	"Exit status: 0, whether there are any or not; 1 if nothing could be looked at;\n"
	"2 for a wrong option.\n";

static void print_text(const struct pw_users *all)
{
	int width = (int)strlen("COMMAND");

	for (size_t i = 0; i < all->users; i++)
		if (all->user[i].files && (int)strlen(all->user[i].comm) > width)
			width = (int)strlen(all->user[i].comm);
	printf("%7s  %-*s  %7s  %6s  %8s  %s\n", "PID", width, "COMMAND", "WINDOWS",
	       "MAPPED", "RESIDENT", "FILE");
	for (size_t i = 0; i < all->users; i++) {
		const struct pw_user *u = &all->user[i];

		for (size_t k = 0; k < u->files; k++) {
			const struct pw_used *f = &u->file[k];
			char mapped[PW_TEXT_SIZE];
			char resident[PW_TEXT_SIZE];

			pw_text_size(mapped, f->mapped);
			pw_text_size(resident, f->resident);
			printf("%7d  %-*s  %7llu  %6s  %8s  ", (int)u->pid, width,
			       u->comm, (unsigned long long)f->windows, mapped, resident);
			pw_text_name(f->path);
			printf("%s\n", f->deleted ? " (deleted)" : "");
		}
	}
}

static void print_json(const struct pw_users *all)
{
	const char *between = "";

	printf("{\n  \"version\": \"" PW_VERSION "\",\n  \"processes\": [");
	for (size_t i = 0; i < all->users; i++) {
		const struct pw_user *u = &all->user[i];

		if (!u->files)
			continue;
		printf("%s\n    {\"pid\": %d, \"comm\": ", between, (int)u->pid);
		between = ",";
		pw_text_json(u->comm);
		printf(", \"files\": [");
		for (size_t k = 0; k < u->files; k++) {
			const struct pw_used *f = &u->file[k];

			printf("%s\n      {\"path\": ", k ? "," : "");
			pw_text_json(f->path);
			printf(", \"deleted\": %s, \"writable\": %s, \"windows\": %llu, "
			       "\"mapped\": %llu, \"resident\": %llu}",
			       f->deleted ? "true" : "false",
			       f->writable ? "true" : "false",
			       (unsigned long long)f->windows,
			       (unsigned long long)f->mapped,
			       (unsigned long long)f->resident);
		}
		printf("]}");
	}
	printf("%s],\n  \"unseen\": %zu\n}\n", *between ? "\n  " : "", all->unseen);
}

int pw_ls(int argc, char **argv)
{
	const char *path = NULL;
	bool json = false;
	const struct pw_option options[] = {
		{"segment", &path, NULL},
		{"json", NULL, &json},
		{0},
	};
	struct pw_segment segment;
	struct pw_users all;
	bool there;
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (at < argc) {
		pw_say("ls: unexpected argument %s; see pagewell ls --help", argv[at]);
		return PW_USAGE;
	}
	/* Without a segment, or with one that is refused, there can be windows, too. */
	there = pw_shared_open(pw_shared_path(path), PW_SHARED_LOOK, &segment) == 0;
	if (!pw_users_find(there ? &segment : NULL, NULL, &all))
		return PW_FAILED;
	if (json)
		print_json(&all);
	else
		print_text(&all);
	if (all.unseen)
		pw_say("%zu process%s could not be looked at%s", all.unseen,
		       all.unseen == 1 ? "" : "es", geteuid() ? "; root may" : "");
	pw_users_free(&all);
	return pw_flushed() ? 0 : PW_FAILED;
}
