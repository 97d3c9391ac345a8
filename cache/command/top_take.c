/* top_take.c - what pagewell top shows: the segment's slots and the mappings in /proc. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/text.h"
#include "cache/command/top.h"

static struct pw_top *noting; /* where the engine's reasons go */
static sigjmp_buf cut;

static void note(const char *what, const char *where, long err)
{
	(void)where;
	if (err)
		snprintf(noting->trouble, sizeof(noting->trouble), "%s: %s", what,
			 strerror((int)err));
	else
		snprintf(noting->trouble, sizeof(noting->trouble), "%s", what);
}

/* Only while the segment is read, which may be cut short: nothing is half done then. */
static void lost(int sig)
{
	(void)sig;
	siglongjmp(cut, 1);
}

static void take_picture(struct pw_top *t, struct pw_segment *s)
{
	if (sigsetjmp(cut, 1)) {
		memset(&t->picture, 0, sizeof(t->picture));
		snprintf(t->trouble, sizeof(t->trouble), "the segment was cut short");
	} else {
		pw_picture_take(&t->picture, s);
	}
}

/* True: there is a segment, mapped. */
static bool look_in(struct pw_top *t, struct pw_segment *s)
{
	int err;

	noting = t;
	pw_note = note;
	t->trouble[0] = 0;
	memset(&t->picture, 0, sizeof(t->picture));
	signal(SIGBUS, lost);
	err = sigsetjmp(cut, 1) ? -EIO : pw_segment_inspect(t->path, s);
	if (err == -ENOENT)
		snprintf(t->trouble, sizeof(t->trouble),
			 "no segment: nothing has been "
			 "served yet");
	else if (err && !t->trouble[0])
		snprintf(t->trouble, sizeof(t->trouble), "the segment was cut short");
	if (err)
		return false;
	take_picture(t, s);
	return true;
}

void pw_top_take(struct pw_top *t)
{
	struct pw_segment segment;
	bool there;

	t->befores = 0;
	for (uint32_t i = 0; i < t->picture.processes; i++) {
		const struct pw_process *p = &t->picture.process[i];

		t->before[t->befores].pid = p->pid;
		t->before[t->befores++].hits = p->n[PW_S_HITS];
	}
	t->taken_before = t->taken;
	pw_users_free(&t->users);
	t->taken = pw_sys->now_ns();
	there = look_in(t, &segment);
	/* Slots are only compared with numbers here; a cut segment has been seen above. */
	if (!pw_users_find(NULL, NULL, &t->users))
		snprintf(t->trouble, sizeof(t->trouble), "/proc can't be read");
	if (there)
		munmap(segment.head, PW_SEGMENT_BYTES);
	pw_top_arrange(t);
}

static double rate_of(const struct pw_top *t, const struct pw_process *p)
{
	double seconds = (double)(t->taken - t->taken_before) / 1e9;

	for (uint32_t i = 0; t->taken_before && i < t->befores; i++)
		if (t->before[i].pid == p->pid && p->n[PW_S_HITS] >= t->before[i].hits)
			return (double)(p->n[PW_S_HITS] - t->before[i].hits) / seconds;
	return 0;
}

static const struct pw_user *user_of(const struct pw_top *t, const struct pw_process *p)
{
	for (size_t i = 0; p->state == PW_ALIVE && i < t->users.users; i++)
		if ((uint32_t)t->users.user[i].pid == p->pid)
			return &t->users.user[i];
	return NULL;
}

static const struct pw_process *process_of(const struct pw_top *t,
					   const struct pw_user *u)
{
	for (uint32_t i = 0; i < t->picture.processes; i++)
		if (t->picture.process[i].pid == (uint32_t)u->pid &&
		    t->picture.process[i].state == PW_ALIVE)
			return &t->picture.process[i];
	return NULL;
}

static void add(struct pw_top *t, const struct pw_top_line *line)
{
	struct pw_top_line *more;

	/* By doubling: full where the count is a power of two, or 0. */
	if (!(t->lines & (t->lines - 1))) {
		more = realloc(t->line, (t->lines ? 2 * t->lines : 1) * sizeof(*more));
		if (!more)
			return; /* one is not shown */
		t->line = more;
	}
	t->line[t->lines++] = *line;
}

static void add_files(struct pw_top *t, const struct pw_user *u)
{
	for (size_t k = 0; k < u->files; k++) {
		struct pw_top_line line = {
			.pid = (uint32_t)u->pid,
			.comm = u->comm,
			.path = u->file[k].path,
			.windows = u->file[k].windows,
			.memory = u->file[k].resident,
		};

		add(t, &line);
	}
}

/* A process by its slot, by its mappings, or both. */
static void add_process(struct pw_top *t, const struct pw_process *p,
			const struct pw_user *u)
{
	struct pw_top_line line = {0};

	if (p) {
		line.pid = p->pid;
		line.comm = p->comm;
	} else if (u) {
		line.pid = (uint32_t)u->pid;
		line.comm = u->comm;
	}
	for (size_t k = 0; u && k < u->files; k++) {
		line.files++;
		line.windows += u->file[k].windows;
		line.memory += u->file[k].resident;
	}
	if (p && !u) { /* elsewhere, or not to be looked at: as it says itself */
		line.files = line.windows = p->n[PW_S_WINDOWS];
		line.memory = p->n[PW_S_PAGES] * PW_CP;
	}
	if (p) {
		line.rate = rate_of(t, p);
		line.hits = p->n[PW_S_HITS];
		line.waits = p->n[PW_S_WAITS];
		line.reclaims = p->n[PW_S_RECLAIMS];
	}
	t->all.files += line.files;
	t->all.windows += line.windows;
	t->all.memory += line.memory;
	t->all.rate += line.rate;
	t->all.pid++;
	if (!t->files)
		add(t, &line);
	else if (u)
		add_files(t, u);
}

static enum pw_top_order sorting;

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int in_order(const void *a, const void *b)
{
	const struct pw_top_line *x = a;
	const struct pw_top_line *y = b;
	int c = 0;

	if (sorting == PW_TOP_RATE) {
		c = (x->rate < y->rate) - (x->rate > y->rate);
		c = c ? c : descending(x->hits, y->hits);
	} else if (sorting == PW_TOP_WINDOWS) {
		c = descending(x->windows, y->windows);
	} else if (sorting == PW_TOP_MEMORY) {
		c = descending(x->memory, y->memory);
	} else if (sorting == PW_TOP_WAITS) {
		c = descending(x->waits, y->waits);
	} else if (sorting == PW_TOP_RECLAIMS) {
		c = descending(x->reclaims, y->reclaims);
	}
	if (!c)
		c = (x->pid > y->pid) - (x->pid < y->pid);
	return !c && x->path && y->path ? strcmp(x->path, y->path) : c;
}

void pw_top_arrange(struct pw_top *t)
{
	free(t->line);
	t->line = NULL;
	t->lines = 0;
	memset(&t->all, 0, sizeof(t->all));
	for (uint32_t i = 0; i < t->picture.processes; i++) {
		const struct pw_process *p = &t->picture.process[i];

		if (p->state == PW_ALIVE || p->state == PW_ELSEWHERE)
			add_process(t, p, user_of(t, p));
	}
	for (size_t i = 0; i < t->users.users; i++) {
		const struct pw_user *u = &t->users.user[i];

		if (u->files && !process_of(t, u))
			add_process(t, NULL, u);
	}
	sorting = t->order;
	if (t->lines)
		qsort(t->line, t->lines, sizeof(t->line[0]), in_order);
}

/* ---- as text -------------------------------------------------------------------------- */

void pw_top_head(const struct pw_top *t, char *out, size_t size)
{
	if (t->files)
		snprintf(out, size, "%7s  %-15s  %7s  %6s  %s", "PID", "COMMAND",
			 "WINDOWS", "MEMORY", "FILE");
	else
		snprintf(out, size, "%7s  %-15s  %5s  %7s  %6s  %9s  %7s  %8s", "PID",
			 "COMMAND", "FILES", "WINDOWS", "MEMORY", "HITS/S", "WAITS",
			 "RECLAIMS");
}

void pw_top_format(const struct pw_top *t, const struct pw_top_line *line, char *out,
		   size_t size)
{
	char memory[PW_TEXT_SIZE];
	size_t n;

	pw_text_size(memory, line->memory);
	if (t->files) {
		snprintf(out, size, "%7u  %-15s  %7llu  %6s  ", line->pid, line->comm,
			 (unsigned long long)line->windows, memory);
		n = strlen(out);
		pw_text_copy(out + n, size - n, line->path);
		return;
	}
	snprintf(out, size, "%7u  %-15s  %5llu  %7llu  %6s  %9.0f  %7llu  %8llu",
		 line->pid, line->comm, (unsigned long long)line->files,
		 (unsigned long long)line->windows, memory, line->rate,
		 (unsigned long long)line->waits, (unsigned long long)line->reclaims);
}

void pw_top_summary(const struct pw_top *t, int which, char *out, size_t size)
{
	const struct pw_picture *p = &t->picture;
	char memory[PW_TEXT_SIZE];
	char bytes[PW_TEXT_SIZE];
	size_t n;

	if (which == 0) {
		snprintf(out, size, "segment  ");
		n = strlen(out);
		pw_text_copy(out + n, size - n, t->path);
		n = strlen(out);
		if (t->trouble[0])
			snprintf(out + n, size - n, " (%s)", t->trouble);
	} else if (which == 1) {
		pw_text_size(memory, t->all.memory);
		snprintf(out, size,
			 "now      %u processes, %llu windows, %s of memory, "
			 "%.0f hits/s",
			 t->all.pid, (unsigned long long)t->all.windows, memory,
			 t->all.rate);
		n = strlen(out);
		if (t->users.unseen)
			snprintf(out + n, size - n, "; %zu can't be looked at",
				 t->users.unseen);
	} else {
		pw_text_size(bytes, p->all[PW_S_HIT_BYTES]);
		snprintf(out, size,
			 "ever     %llu hits, %s, %llu fills, %llu waits, %llu reclaims, "
			 "%llu doubts",
			 (unsigned long long)p->all[PW_S_HITS], bytes,
			 (unsigned long long)p->all[PW_S_FILLS],
			 (unsigned long long)p->all[PW_S_WAITS],
			 (unsigned long long)p->all[PW_S_RECLAIMS],
			 (unsigned long long)p->all[PW_S_DOUBTS]);
	}
}
