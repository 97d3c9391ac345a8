/*
 * kill.c - processes that are killed, or stopped, at named points of the library while others
 * read the same file by the same segment. Nobody else may be held up for longer than a
 * deadline, be given a wrong byte, or find the segment the worse for it afterwards.
 *
 *	kill LIB DEBUG_LIB	prints a line per case, and one for the longest call
 *
 * Members of the debug library meet the points (cache/points.h); the readers who are not to
 * suffer have the library as it is delivered.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/layout.h"
#include "cache/word.h"
#include "kill.h"

#define READERS 3
#define PASSES 3
/* More than the readers open windows: a pass must put more than one page right. */
#define MANY 12
/* A call may wait for one deadline of 50 ms, and for a busy machine. A process that is stuck
 * for good, or sleeps one deadline per page, is not found by this, but by what follows. */
#define WORST_NS UINT64_C(2000000000)

enum ending { DIES, STOPS, STOPS_THEN_DIES, IS_CUT };
static const char *const ending_name[] = {"killed", "stopped", "stopped-then-killed",
					  "cut"};

struct spot {
	const char *point;
	const char *size;   /* PAGEWELL_SIZE of who is sent there */
	bool first;	    /* before anybody else has made the segment */
	bool after_death;   /* there is a slot to be swept */
	bool after_waiting; /* others must sleep on the word */
	bool locked;	    /* a page is locked: readers will come across it */
};

static const struct spot spots[] = {
	{.point = "attach.created", .first = true},
	{.point = "attach.mapped"},
	{.point = "attach.slot"},
	{.point = "page.locked#5", .locked = true},
	{.point = "page.filling#5", .locked = true},
	{.point = "page.filled#5", .locked = true},
	{.point = "page.before_wake", .after_waiting = true},
	{.point = "page.done#5"},
	{.point = "size.locked"},
	{.point = "reclaim.scan", .size = "1M"},
	{.point = "sweep.claimed", .size = "64K", .after_death = true},
	{.point = "window.closing"},
	{.point = "stats.leaving#2"},
};

static struct crew_env plain;
static struct crew_env debug;
static char file[4300];
static char reports[4300];
static const char *segment;
static uint64_t worst_ever;
static bool all_ok = true;

static char why[400];

static void blame(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void blame(const char *fmt, ...)
{
	va_list ap;

	if (*why)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
}

/* ---- members --------------------------------------------------------------------------- */

static pid_t start(const struct crew_env *env, int index, int from, int to, int passes,
		   const char *how)
{
	char number[3][12];
	const char *args[] = {file, number[0], number[1], number[2], how, NULL};

	snprintf(number[0], sizeof(number[0]), "%d", from);
	snprintf(number[1], sizeof(number[1]), "%d", to);
	snprintf(number[2], sizeof(number[2]), "%d", passes);
	return crew_start(env, "read", index, args);
}

static void await(pid_t pid, int index, enum crew_end want, const char *who)
{
	static const char *const name[] = {"ended", "stopped", "was killed",
					   "ended badly", "did not end"};
	enum crew_end got = crew_await(pid);
	struct member *m = &crew->member[index];

	if (m->wrongs)
		blame("%s: %s", who, m->wrong);
	if (got != want)
		blame("%s %s, and not %s", who, name[got], name[want]);
	if (got == CREW_LATE || (got == CREW_STOPPED && want != got)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* One that does no more than reading, undisturbed. */
static void run_reader(const struct crew_env *env, int passes, enum crew_end want)
{
	await(start(env, 20, 0, KILL_PAGES, passes, ""), 20, want, "a lone reader");
}

struct reader {
	pid_t pid;
	char report[4400];
};
static struct reader reader[READERS];

static void start_readers(void)
{
	for (int i = 0; i < READERS; i++) {
		struct crew_env env = plain;

		snprintf(reader[i].report, sizeof(reader[i].report), "%s.%d", reports, i);
		unlink(reader[i].report);
		env.report = reader[i].report;
		reader[i].pid = start(&env, i, 0, KILL_PAGES, PASSES, "w");
	}
	for (int ms = 0; ms < 10000; ms++) {
		bool ready = true;

		for (int i = 0; i < READERS; i++)
			ready &= crew->member[i].ready != 0;
		if (ready)
			return;
		crew_nap_ms(1);
	}
	blame("the readers never began");
}

/* Returns how many deadlines were met. A process meets one per window at the most, however
 * many pages are locked. */
static uint64_t end_readers(void)
{
	uint64_t met = 0;

	for (int i = 0; i < READERS; i++) {
		const char *report = reader[i].report;
		struct member *m = &crew->member[i];
		uint64_t timeouts;

		await(reader[i].pid, i, CREW_WELL, "a reader");
		timeouts = crew_report(report, "timeouts");
		met += timeouts;
		if (crew_report(report, "mapped") < PASSES ||
		    crew_report(report, "hits") < m->reads / 2)
			blame("a reader was hardly served");
		if (timeouts > crew_report(report, "mapped"))
			blame("%lu deadlines in %lu windows", timeouts,
			      crew_report(report, "mapped"));
		if (m->worst_ns > worst_ever)
			worst_ever = m->worst_ns;
	}
	return met;
}

/* ---- the segment ----------------------------------------------------------------------- */

static const char *map_segment(void)
{
	int fd = open(segment, O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, PW_SEGMENT_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static bool somebody_sleeps(const char *at)
{
	const uint32_t *words = (const uint32_t *)(at + PW_WORDS_AT);

	for (uint32_t i = 0; i < PW_WORDS; i++)
		if (pw_load_relaxed(&words[i]) & PW_W_WAITERS)
			return true;
	return false;
}

static unsigned sizes_locked(const char *at)
{
	const struct pw_shm_file *files = (const void *)(at + PW_FILES_AT);
	unsigned n = 0;

	for (uint32_t i = 0; i < PW_FILES; i++)
		n += pw_load_relaxed(&files[i].lock) != 0;
	return n;
}

/* One more pass; then one by a process that must make room, and looks for slots of the dead. */
static void check_segment(void)
{
	struct crew_env small = plain;
	struct crew_stat s;
	const char *at;

	crew_nap_ms(120); /* when a size lock's owner counts as dead (file.c) */
	run_reader(&plain, 1, CREW_WELL);
	small.size = "64K";
	run_reader(&small, 1, CREW_WELL);
	s = crew_stat();
	if (!s.there)
		blame("no segment at the end");
	if (s.locked || s.waiters)
		blame("%u words locked and %u with waiters at the end", s.locked,
		      s.waiters);
	if (s.alive || s.gone || s.other)
		blame("slots at the end: %u of the living, %u of the dead, %u others",
		      s.alive, s.gone, s.other);
	at = map_segment();
	if (at && sizes_locked(at))
		blame("%u sizes locked at the end", sizes_locked(at));
	if (at)
		munmap((void *)at, PW_SEGMENT_BYTES);
}

/* Out of the page cache, where the file system can do that. */
static void make_cold(void)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

/* ---- cases ----------------------------------------------------------------------------- */

/* Whatever this machine's costs are, and however busy it is: windows and touches pay. */
static void set_costs(void)
{
	const uint32_t costs[] = {20000, 100, 1000,
				  1000}; /* a call, a touch, a window; rounds */
	int fd = open(segment, O_WRONLY | O_CLOEXEC);

	static_assert(offsetof(struct pw_shm_head, cost_rounds) ==
			      offsetof(struct pw_shm_head, cost_call) + 12,
		      "in this order");
	if (pwrite(fd, costs, sizeof(costs), offsetof(struct pw_shm_head, cost_call)) !=
	    sizeof(costs))
		blame("the costs could not be set: errno %d", errno);
	close(fd);
}

/* The first process makes the segment, and brings the first page in, where all begin: it must
 * not be the one in question. (It makes no pass, for then it would ask for the end, too.) */
static void make_segment(void)
{
	await(start(&plain, 20, 0, 0, 1, ""), 20, CREW_WELL, "the first");
	set_costs();
	memset(&crew->member[20], 0, sizeof(crew->member[20]));
}

static void prepare(void)
{
	why[0] = 0;
	memset(crew, 0, sizeof(*crew));
	unlink(segment);
	make_cold();
}

static void verdict(const char *name)
{
	if (*why)
		printf("not ok %s - %s\n", name, why);
	else
		printf("ok %s\n", name);
	fflush(stdout);
	all_ok &= !*why;
}

/* The victim, at its point. */
static pid_t send_there(const struct spot *s, enum ending end)
{
	struct crew_env env = debug;
	char point[100];
	pid_t pid;

	snprintf(point, sizeof(point), "%s:%d", s->point,
		 end == DIES ? SIGKILL : SIGSTOP);
	env.point = point;
	env.size = s->size;
	pid = start(&env, 10, 0, KILL_PAGES, 1, "");
	await(pid, 10, end == DIES ? CREW_KILLED : CREW_STOPPED, "the victim");
	return pid;
}

/* What is left to do with one that was stopped. */
static void finish(pid_t pid, int index, enum ending end)
{
	bool dies = end == STOPS_THEN_DIES;

	if (end == DIES)
		return;
	kill(pid, dies ? SIGKILL : SIGCONT);
	await(pid, index, dies ? CREW_KILLED : CREW_WELL, "the victim");
}

static void at_spot(const struct spot *s, enum ending end)
{
	char name[100];
	uint64_t met;
	pid_t pid;

	prepare();
	if (!s->first)
		make_segment();
	if (s->after_death) {
		struct crew_env env = debug;

		env.point = "page.done#5:9";
		run_reader(&env, 1, CREW_KILLED);
		make_cold();
	}
	if (!s->first)
		start_readers();
	pid = send_there(s, end);
	if (s->first) {
		make_segment();
		start_readers();
	}
	if (end == IS_CUT && truncate(segment, 0))
		blame("the segment could not be cut: errno %d", errno);
	crew->go = 1;
	if (end == STOPS_THEN_DIES) {
		crew_nap_ms(10); /* by then they sleep, if they are to sleep at all */
		finish(pid, 10, end);
	}
	met = end_readers();
	if (end == STOPS || end == IS_CUT)
		finish(pid, 10, end);
	if (s->locked && (end == DIES || end == STOPS) && !met)
		blame("nobody met the locked page");
	if (end != IS_CUT)
		check_segment();
	snprintf(name, sizeof(name), "%.*s-%s", (int)strcspn(s->point, "#"), s->point,
		 ending_name[end]);
	verdict(name);
}

/*
 * Between letting go of a word on which others sleep and waking them. It is there only if they
 * came before; so it is held up while it fills, until they have. On a busy machine their
 * deadline may pass before it goes on: then once more.
 */
static bool before_wake(enum ending end)
{
	struct crew_env env = debug;
	const char *at;
	char point[100];
	bool there;
	pid_t pid;

	prepare();
	make_segment();
	start_readers();
	snprintf(point, sizeof(point), "page.filling#5:%d,page.before_wake:%d", SIGSTOP,
		 end == DIES ? SIGKILL : SIGSTOP);
	env.point = point;
	pid = start(&env, 10, 0, KILL_PAGES, 1, "");
	await(pid, 10, CREW_STOPPED, "the victim");
	at = map_segment();
	crew->go = 1;
	for (uint64_t began = crew_now(); at && !somebody_sleeps(at);)
		if (crew_now() - began > 1000000000)
			break;
	kill(pid, SIGCONT);
	if (at)
		munmap((void *)at, PW_SEGMENT_BYTES);
	there = crew_await(pid) == (end == DIES ? CREW_KILLED : CREW_STOPPED);
	end_readers();
	if (there)
		finish(pid, 10, end);
	if (!*why && there)
		check_segment();
	return there || *why;
}

static void at_before_wake(enum ending end)
{
	char name[100];
	int tries = 0;

	while (tries < 20 && !before_wake(end))
		tries++;
	if (tries == 20)
		blame("the victim never came there");
	snprintf(name, sizeof(name), "page.before_wake-%s", ending_name[end]);
	verdict(name);
}

/* Many at once, each with a page of its own. */
static void many(enum ending end)
{
	pid_t pid[MANY];
	char name[100];

	prepare();
	make_segment();
	start_readers();
	for (int i = 0; i < MANY; i++) {
		struct crew_env env = debug;

		env.point = end == DIES ? "page.locked:9" : "page.locked:19";
		pid[i] = start(&env, 10 + i, 4 + 4 * i, 5 + 4 * i, 1, "");
		await(pid[i], 10 + i, end == DIES ? CREW_KILLED : CREW_STOPPED,
		      "a victim");
	}
	crew->go = 1;
	if (!end_readers())
		blame("nobody met a locked page");
	for (int i = 0; i < MANY; i++)
		finish(pid[i], 10 + i, end);
	check_segment();
	snprintf(name, sizeof(name), "%d-pages-%s", MANY, ending_name[end]);
	verdict(name);
}

/* What a close leaves in the segment it leaves under blocked signals where there are threads. */
static void cut_before_close(const char *how)
{
	char name[100];
	pid_t pid;

	prepare();
	make_segment();
	pid = start(&plain, 10, 0, KILL_PAGES, 1, how);
	await(pid, 10, CREW_STOPPED, "the victim");
	if (truncate(segment, 0))
		blame("the segment could not be cut: errno %d", errno);
	finish(pid, 10, IS_CUT);
	snprintf(name, sizeof(name), "close-%s-cut", how);
	verdict(name);
}

int main(int argc, char **argv)
{
	const char *folder;
	char name[40];
	bool made;

	if (argc > 6 && !strcmp(argv[1], "read"))
		return kill_member(argc, argv);
	segment = getenv("PAGEWELL_SEGMENT");
	if (argc < 3 || !segment)
		return 2;
	plain.lib = argv[1];
	debug.lib = argv[2];
	folder = crew_folder();
	if (!folder) {
		printf("skip kill - no folder on a file system that is served\n");
		return 0;
	}
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(reports, sizeof(reports), "%s/report", folder);
	crew_make(0);
	made = crew_make_file(file, KILL_PAGES);
	if (!made)
		blame("errno %d", errno);
	verdict("file");
	for (size_t i = 0; made && i < sizeof(spots) / sizeof(spots[0]); i++)
		for (enum ending end = DIES; end <= IS_CUT; end++)
			if (spots[i].after_waiting && end <= STOPS)
				at_before_wake(end);
			else if (!spots[i].after_waiting &&
				 (!spots[i].first || end != IS_CUT))
				at_spot(&spots[i], end);
	if (made) {
		many(DIES);
		many(STOPS);
		cut_before_close("s");
		cut_before_close("st");
	}
	unlink(segment);
	crew_folder_remove();
	if (made) {
		snprintf(name, sizeof(name), "longest call: %lu ms",
			 worst_ever / 1000000);
		*why = 0;
		if (worst_ever > WORST_NS)
			blame("more than %lu", WORST_NS / 1000000);
		verdict(name);
	}
	return !all_ok;
}
