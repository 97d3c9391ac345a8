/* crew_look.c - see crew.h: what the driver looks at, and where the files are. */
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "crew.h"

uint64_t crew_report(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	unsigned long n = 0;
	char word[32];

	while (f && fscanf(f, "%31s %lu", word, &n) == 2 && strcmp(word, name) != 0)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

static unsigned long number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what)) != NULL) {
		text += strlen(what);
		n++;
	}
	return n;
}

struct crew_stat crew_stat(void)
{
	static char text[1 << 20];
	const char *bin = getenv("PAGEWELL_BIN");
	struct crew_stat s = {.there = false};
	char command[4200];
	size_t n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "'%s' stat --json",
		 bin ? bin : "build/pagewell");
	f = popen(command, "r");
	if (f)
		n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	if (!f || pclose(f))
		return s;
	s.there = true;
	s.locked = (unsigned)number_after(text, "\"locked\": ");
	s.waiters = (unsigned)number_after(text, "\"waiters\": ");
	s.hits = number_after(text, "\"hits\": "); /* the totals come first */
	s.alive = times(text, "\"state\": \"alive\"");
	s.gone = times(text, "\"state\": \"gone\"");
	s.other = times(text, "\"state\": ") - s.alive - s.gone;
	return s;
}

static char folder[4200];

const char *crew_folder(void)
{
	const char *tries[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
	struct statfs fs;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (!tries[i] || statfs(tries[i], &fs))
			continue;
		if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != BTRFS_SUPER_MAGIC &&
		    fs.f_type != TMPFS_MAGIC)
			continue;
		snprintf(folder, sizeof(folder), "%s/pagewell-test.XXXXXX", tries[i]);
		if (mkdtemp(folder))
			return folder;
	}
	return NULL;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void crew_folder_remove(void)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
