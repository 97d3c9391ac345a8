/* users.c - see users.h. */
#include "cache/command/users.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"

#define LIBRARY "/libpagewell.so"
#define DELETED " (deleted)"

/* The head of a mapping's lines in /proc/PID/maps and smaps. */
struct mapping {
	unsigned long start;
	unsigned long end;
	char mode[5];
	unsigned long offset;
	dev_t dev;
	ino_t ino;
	char *path; /* into the line; "" if there is none */
	bool deleted;
};

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s);
	size_t m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* The kernel writes a newline in a name as \012, and nothing else so. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (strncmp(s, "\\012", 4) == 0) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = 0;
}

/* False: it is no head, but one of the lines that follow one in smaps. */
static bool parse(char *line, struct mapping *m)
{
	unsigned major;
	unsigned minor;
	unsigned long ino;
	int at = 0;

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m->start, &m->end, m->mode,
		   &m->offset, &major, &minor, &ino, &at) < 7 ||
	    !at)
		return false;
	m->dev = makedev(major, minor);
	m->ino = ino;
	m->path = line + at;
	m->path[strcspn(m->path, "\n")] = 0;
	m->deleted = ends_in(m->path, DELETED);
	if (m->deleted)
		m->path[strlen(m->path) - strlen(DELETED)] = 0;
	unescape(m->path);
	return true;
}

static void *grown(void *array, size_t n, size_t size)
{
	/* By doubling: n is a power of two, or 0, when it is full. */
	void *more = n & (n - 1) ? array : realloc(array, (n ? 2 * n : 1) * size);

	if (!more) {
		pw_say("out of memory");
		exit(PW_FAILED);
	}
	return more;
}

/* /proc/PID/NAME; NULL, with errno. */
static FILE *open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* Memory without a file is a file of the kernel's own to it; none of them has windows. */
static bool is_memory(const struct mapping *m)
{
	return m->deleted &&
	       (strcmp(m->path, "/dev/zero") == 0 || strncmp(m->path, "/SYSV", 5) == 0 ||
		strncmp(m->path, "/memfd:", 7) == 0);
}

/*
 * A window is a mapping of a file, from its beginning, that a fork does not copy, that is
 * read-only, or shared. (Made by anyone else, such a mapping can't be told from ours.)
 */
static bool is_window(const struct mapping *m, const char *flags)
{
	return m->ino && m->path[0] == '/' && m->mode[0] == 'r' && m->mode[2] == '-' &&
	       (m->mode[1] == '-' || m->mode[3] == 's') && !is_memory(m) &&
	       strstr(flags, " dc");
}

static void add(struct pw_user *u, const struct mapping *m, uint64_t resident)
{
	struct pw_used *f = NULL;

	for (size_t i = 0; i < u->files && !f; i++)
		if (u->file[i].dev == m->dev && u->file[i].ino == m->ino)
			f = &u->file[i];
	if (!f) {
		u->file = grown(u->file, u->files, sizeof(*f));
		f = &u->file[u->files++];
		*f = (struct pw_used){.dev = m->dev, .ino = m->ino};
		f->path = strdup(m->path);
		f->deleted = m->deleted;
		if (!f->path)
			exit(PW_FAILED);
	}
	f->windows += m->offset == 0; /* the kernel may have split it */
	f->mapped += m->end - m->start;
	f->resident += resident;
	f->writable |= m->mode[1] == 'w';
}

static void look_at_windows(struct pw_user *u)
{
	FILE *f = open_of(u->pid, "smaps");
	struct mapping m = {0};
	char *head = NULL;
	char *line = NULL;
	size_t head_size = 0;
	size_t line_size = 0;
	uint64_t resident = 0;

	while (f && getline(&line, &line_size, f) > 0) {
		if (!isupper((unsigned char)line[0])) {
			char *swap = head;
			size_t size = head_size;

			head = line;
			head_size = line_size;
			line = swap;
			line_size = size;
			resident = 0;
			if (!parse(head, &m))
				m.ino = 0;
		} else if (strncmp(line, "Rss:", 4) == 0) {
			resident = strtoull(line + 4, NULL, 10) * 1024;
		} else if (strncmp(line, "VmFlags:", 8) == 0 && is_window(&m, line)) {
			add(u, &m, resident);
		}
	}
	free(head);
	free(line);
	if (f)
		fclose(f);
}

/* Does it have the library, or the segment? False, with errno, if it may not be looked at. */
static bool look_at_maps(struct pw_user *u, const struct stat *at, bool *library)
{
	FILE *f = open_of(u->pid, "maps");
	struct mapping m;
	char *line = NULL;
	size_t size = 0;
	dev_t dev;

	*library = false;
	if (!f)
		return false;
	while (getline(&line, &size, f) > 0) {
		if (!parse(line, &m))
			continue;
		dev = at ? makedev(major(at->st_dev), minor(at->st_dev)) : 0;
		u->attached |= at && m.dev == dev && m.ino == at->st_ino;
		*library |= ends_in(m.path, LIBRARY);
	}
	free(line);
	fclose(f);
	return true;
}

static void name(struct pw_user *u)
{
	FILE *f = open_of(u->pid, "comm");
	char comm[17] = "";

	if (f) {
		if (fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = 0;
		fclose(f);
	}
	pw_clean(u->comm, sizeof(u->comm), comm, sizeof(comm));
}

static bool has_slot(const struct pw_segment *s, uint64_t ns, pid_t pid)
{
	for (uint32_t i = 0; s && i < PW_SLOTS; i++)
		if (pw_load_relaxed(&s->slots[i].owner) == (uint32_t)pid &&
		    pw_load_relaxed(&s->slots[i].pidns) == ns)
			return true;
	return false;
}

static int by_pid(const void *a, const void *b)
{
	const struct pw_user *x = a;
	const struct pw_user *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

bool pw_users_find(const struct pw_segment *segment, const struct stat *at,
		   struct pw_users *out)
{
	DIR *dir = opendir("/proc");
	uint64_t ns = pw_shared_pidns();
	struct dirent *e;

	*out = (struct pw_users){0};
	if (!dir) {
		pw_say("/proc: %s", strerror(errno));
		return false;
	}
	while ((e = readdir(dir))) {
		struct pw_user u = {.pid = (pid_t)strtol(e->d_name, NULL, 10)};
		bool library;

		if (!isdigit((unsigned char)e->d_name[0]) || u.pid == getpid())
			continue;
		if (!look_at_maps(&u, at, &library)) {
			out->unseen += errno == EACCES || errno == EPERM;
			continue;
		}
		if (!library && !u.attached && !has_slot(segment, ns, u.pid))
			continue;
		name(&u);
		look_at_windows(&u);
		out->user = grown(out->user, out->users, sizeof(u));
		out->user[out->users++] = u;
	}
	closedir(dir);
	if (out->users)
		qsort(out->user, out->users, sizeof(out->user[0]), by_pid);
	return true;
}

void pw_users_free(struct pw_users *u)
{
	for (size_t i = 0; i < u->users; i++) {
		for (size_t k = 0; k < u->user[i].files; k++)
			free(u->user[i].file[k].path);
		free(u->user[i].file);
	}
	free(u->user);
	*u = (struct pw_users){0};
}

bool pw_used_is(const struct pw_user *user, const struct pw_used *file,
		const struct stat *st)
{
	struct stat there;
	char *path;
	bool same;

	if (file->ino != st->st_ino)
		return false;
	if (file->dev == st->st_dev)
		return true;
	/* Where a file system has devices of its own for its volumes, by name. */
	if (file->deleted ||
	    asprintf(&path, "/proc/%d/root%s", (int)user->pid, file->path) < 0)
		return false;
	same = stat(path, &there) == 0 && there.st_dev == st->st_dev &&
	       there.st_ino == st->st_ino;
	free(path);
	return same;
}

/* The state of a thread, by /proc/PID/task/TID/stat; 0: it is gone. */
static char state_of(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256];
	size_t n = 0;
	char *end;

	if (f) {
		n = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
	}
	line[n] = 0;
	/* After the name, which is in parentheses and may have some in it. */
	end = strrchr(line, ')');
	return end && end[1] ? end[2] : 0;
}

bool pw_user_is_stuck(pid_t pid)
{
	char path[64];
	struct dirent *e;
	bool stuck = false;
	char state;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && !stuck && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%ld/stat", (int)pid,
			 strtol(e->d_name, NULL, 10));
		state = state_of(path);
		stuck = state && strchr("DTt", state);
	}
	if (dir)
		closedir(dir);
	return stuck;
}
