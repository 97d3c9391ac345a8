/*
 * chaos.c - the driver of the chaos test: a dozen processes read, and verify, what another
 * rewrites and truncates, while random ones of them are killed, stopped, let go on and started
 * again; and, in the first part, while the segment they share is damaged in every way. In the
 * second part it is left alone for some seconds at a time, then looked at for what deaths
 * alone leave in it, and made anew, so that pages are brought in again and again.
 *
 *	chaos LIB DEBUG_LIB SECONDS
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/layout.h"
#include "chaos.h"
#include "rng.h"

#define MEMBERS 13
#define WRITER 0
#define EPISODES 10
/* Far more than a deadline, for a dozen on two processors and a disk that is not ours: who
 * waits for somebody who never comes is found out. */
#define WORST_NS UINT64_C(5000000000)
#define STUCK_NS UINT64_C(20000000000)

static struct {
	pid_t pid;
	enum { RUNS, STOPPED, ORDERED } state; /* ORDERED: will stop or die by itself */
	bool killed;
	uint64_t since, until; /* stopped */
	uint64_t reads, seen;  /* when `reads` last rose */
} at[MEMBERS];

static struct {
	unsigned rounds, starts, kills, stops, remade, flips, cuts;
} did;

static const char *lib, *debug_lib, *segment;
static uint64_t rng;
static uint64_t worst;
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

static void verdict(const char *name)
{
	if (*why)
		printf("not ok %s - %s\n", name, why);
	else
		printf("ok %s\n", name);
	fflush(stdout);
}

/* ---- members --------------------------------------------------------------------------- */

/* Some will die or stop in the middle of something; most of them while they bring a page in,
 * which there is only so much to do of. */
static const char *some_point(char *to, size_t size)
{
	static const char *const points[] = {
		"page.locked",	    "page.filling", "page.filled",    "page.done",
		"page.before_wake", "size.locked",  "attach.slot",    "attach.mapped",
		"sweep.claimed",    "reclaim.scan", "window.closing", "stats.leaving",
	};
	bool fill = rng_one_in(&rng, 2);
	int64_t i = rng_below(&rng, fill ? 3 : sizeof(points) / sizeof(points[0]));

	snprintf(to, size, "%s#%d:%d", points[i], (int)rng_between(&rng, 1, 12),
		 rng_one_in(&rng, 2) ? SIGKILL : SIGSTOP);
	return to;
}

static void start(int i)
{
	struct crew_env env = {.lib = lib};
	char kind[12];
	char point[64];
	const char *args[] = {kind, NULL};

	at[i].state = RUNS;
	if (i != WRITER && rng_one_in(&rng, 2)) {
		env.lib = debug_lib;
		env.point = some_point(point, sizeof(point));
		at[i].state = ORDERED;
	}
	if (rng_one_in(&rng, 4))
		env.size = "1M";
	snprintf(kind, sizeof(kind), "%d", i % KINDS);
	atomic_store(&crew->member[i].ready, 0);
	at[i].killed = false;
	at[i].seen = crew_now();
	at[i].pid = crew_start(&env, i == WRITER ? "writer" : "reader", i, args);
	did.starts++;
}

static void note_stopped(int i)
{
	at[i].state = STOPPED;
	at[i].since = crew_now();
	at[i].until = at[i].since + (uint64_t)rng_between(&rng, 5, 300) * 1000000;
	did.stops++;
}

static void go_on(int i)
{
	atomic_fetch_add(&crew->member[i].stopped_ns, crew_now() - at[i].since);
	at[i].state = RUNS;
	at[i].seen = crew_now();
	kill(at[i].pid, SIGCONT);
}

/* How a member's process ended; it may be said to start again. */
static void ended(int i, int status)
{
	struct member *m = &crew->member[i];

	if (m->wrongs)
		blame("%s", m->wrong);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		blame("a member died by signal %d", WTERMSIG(status));
	else if (WIFSIGNALED(status) && !at[i].killed && at[i].state != ORDERED)
		blame("a member was killed, but not by us");
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		blame("a member ended with status %d", WEXITSTATUS(status));
	at[i].pid = 0;
}

static void look_after(int i)
{
	struct member *m = &crew->member[i];
	uint64_t now;
	int status;

	if (at[i].pid && waitpid(at[i].pid, &status, WNOHANG | WUNTRACED) == at[i].pid) {
		if (!WIFSTOPPED(status))
			ended(i, status);
		else if (at[i].state == ORDERED)
			note_stopped(i);
	}
	if (at[i].state == STOPPED && crew_now() >= at[i].until)
		go_on(i);
	now = crew_now();
	if (m->reads != at[i].reads || at[i].state == STOPPED || i == WRITER) {
		at[i].reads = m->reads;
		at[i].seen = now;
	} else if (at[i].pid && now - at[i].seen > STUCK_NS) {
		blame("member %d has not read for %lu s", i, STUCK_NS / 1000000000);
	}
}

static void kill_one(int i)
{
	if (!at[i].pid)
		return;
	kill(at[i].pid, SIGKILL);
	at[i].killed = true;
	did.kills++;
}

static void stop_one(int i)
{
	if (!at[i].pid || at[i].state != RUNS || at[i].killed)
		return;
	note_stopped(i);
	kill(at[i].pid, SIGSTOP);
}

/* Waits until all have come to that; who is stopped goes on. */
static void await_ready(uint32_t ready)
{
	uint64_t began = crew_now();

	for (int i = 0; i < MEMBERS; i++) {
		while (!*why && at[i].pid && crew->member[i].ready < ready) {
			for (int k = 0; k < MEMBERS; k++)
				look_after(k);
			if (crew_now() - began > STUCK_NS)
				blame("member %d did not come to %u", i, ready);
			crew_nap_ms(1);
		}
	}
}

static void end_all(void)
{
	for (int i = 0; i < MEMBERS; i++)
		kill_one(i);
	for (int i = 0; i < MEMBERS; i++) {
		if (at[i].pid)
			waitpid(at[i].pid, NULL, 0);
		at[i].pid = 0;
	}
	/* Their children died with them, and came to us: a process that nobody has waited for
	 * would still be there. */
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* ---- mischief -------------------------------------------------------------------------- */

static void flip(int fd)
{
	uint64_t garbage[64];
	/* Half of it where it matters more: head, files and slots are the lesser part. */
	int64_t low = rng_one_in(&rng, 2) ? PW_FILES_AT : 0;

	for (int i = 0; i < 64; i++)
		garbage[i] = rng_next(&rng);
	for (int64_t n = rng_between(&rng, 1, 2000); n > 0; n--)
		(void)!pwrite(fd, garbage, (size_t)rng_between(&rng, 1, sizeof(garbage)),
			      rng_between(&rng, low, PW_SEGMENT_BYTES - 512));
	did.flips++;
}

static void harm_segment(void)
{
	int fd = open(segment, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	switch (rng_below(&rng, 8)) {
	case 0:
		did.cuts += !ftruncate(fd, rng_below(&rng, PW_SEGMENT_BYTES));
		break;
	case 1:
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  rng_below(&rng, PW_SEGMENT_BYTES), 1 << 18);
		break;
	case 2:
	case 3:
	case 4:
		unlink(segment); /* who comes next makes another */
		did.remade++;
		break;
	default:
		flip(fd);
		break;
	}
	close(fd);
}

/* ---- the two parts --------------------------------------------------------------------- */

static void run(double seconds, bool harm)
{
	uint64_t until = crew_now() + (uint64_t)(seconds * 1e9);

	while (!*why && crew_now() < until) {
		/* The writer is seldom stopped: while it is, much is forgiven. */
		int i = (int)rng_below(&rng, MEMBERS);

		did.rounds++;
		for (int k = 0; k < MEMBERS; k++) {
			look_after(k);
			if (!at[k].pid)
				start(k);
		}
		if (rng_one_in(&rng, 3))
			kill_one(i);
		else if (i != WRITER || rng_one_in(&rng, 4))
			stop_one(i);
		if (harm && rng_one_in(&rng, 3))
			harm_segment();
		crew_nap_ms((unsigned)rng_between(&rng, 5, 40));
	}
}

static void begin(void)
{
	/* The writer first: there must be files. */
	crew->go = CHAOS_READ;
	start(WRITER);
	for (int ms = 0; !*why && crew->member[WRITER].ready != CHAOS_STARTED; ms++) {
		crew_nap_ms(1);
		if (ms > 20000)
			blame("no files");
	}
}

static bool still_mapped(pid_t pid)
{
	char name[64];
	char line[8192];
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f))
		for (int i = 0; i < FILES; i++)
			found |= strstr(line, chaos_shared()->path[i]) != NULL;
	if (f)
		fclose(f);
	else
		blame("%s: errno %d", name, errno);
	return found;
}

/* All close their files, and end. */
static void close_all(void)
{
	for (int i = 0; i < MEMBERS; i++)
		if (at[i].state == STOPPED)
			go_on(i);
	crew->go = CHAOS_CLOSE;
	await_ready(CHAOS_CLOSED);
	for (int i = 0; !*why && i < MEMBERS; i++)
		if (at[i].pid && still_mapped(at[i].pid))
			blame("member %d has a window left", i);
	crew->go = CHAOS_LEAVE;
	for (int i = 0; !*why && i < MEMBERS; i++) {
		enum crew_end end = at[i].pid ? crew_await(at[i].pid) : CREW_WELL;

		/* One may yet come to its point on the way out. */
		if (end == CREW_STOPPED && at[i].state == ORDERED) {
			kill(at[i].pid, SIGKILL);
			end = crew_await(at[i].pid);
		}
		if (end != CREW_WELL && !(end == CREW_KILLED && at[i].state == ORDERED))
			blame("member %d did not end well", i);
		else
			at[i].pid = 0;
	}
}

/* What is left in the segment, after one more pass by one, and one by another who must make
 * room and so looks for the dead. */
static void check_segment(void)
{
	const char *const none[] = {NULL};
	struct crew_env env = {.lib = lib};
	struct crew_stat s;

	for (int i = 0; !*why && i < 2; i++) {
		enum crew_end end;

		env.size = i ? "64K" : NULL;
		end = crew_await(crew_start(&env, "all", MEMBERS, none));
		if (end != CREW_WELL)
			blame("the last reader: %s", crew->member[MEMBERS].wrong);
	}
	s = crew_stat();
	if (!s.there)
		blame("no segment");
	if (s.locked || s.waiters)
		blame("%u words locked, %u with waiters", s.locked, s.waiters);
	if (s.alive || s.gone || s.other)
		blame("slots: %u of the living, %u of the dead, %u others", s.alive,
		      s.gone, s.other);
	if (s.hits < 10000)
		blame("hardly anything was served: %lu hits", s.hits);
}

static void note_worst(void)
{
	for (int i = 0; i < MEMBERS; i++)
		if (i != WRITER && crew->member[i].worst_ns > worst)
			worst = crew->member[i].worst_ns;
	if (worst > WORST_NS)
		blame("a call took %lu ms", worst / 1000000);
}

static void episode(double seconds)
{
	unlink(segment);
	begin();
	run(seconds, false);
	if (!*why)
		close_all();
	end_all();
	note_worst();
	if (!*why)
		check_segment();
}

static int drive(const char *shm, const char *folder, double seconds)
{
	double damaged = seconds / 2;
	bool ok;

	rng = crew_now();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	crew_make(sizeof(struct chaos));
	for (int i = 0; i < FILES; i++)
		snprintf(chaos_shared()->path[i], sizeof(chaos_shared()->path[i]),
			 "%s/pagewell-chaos-%d.%d", i % 2 ? shm : folder, getpid(), i);
	unlink(segment);
	begin();
	run(damaged, true);
	end_all();
	note_worst();
	verdict("damaged-segment");
	ok = !*why;
	for (int n = 0; !*why && n < EPISODES; n++)
		episode((seconds - damaged) / EPISODES);
	verdict("kills-and-stops");
	ok &= !*why;
	printf("%s chaos: %u rounds, %u starts, %u kills, %u stops; segment remade %u "
	       "times, "
	       "cut %u, overwritten %u; worst stall %lu ms\n",
	       ok ? "ok" : "not ok", did.rounds, did.starts, did.kills, did.stops,
	       did.remade, did.cuts, did.flips, worst / 1000000);
	for (int i = 0; i < FILES; i++)
		unlink(chaos_shared()->path[i]);
	unlink(segment);
	return !ok;
}

int main(int argc, char **argv)
{
	const char *folder;
	int status;

	if (argc > 3 && !strcmp(argv[1], "reader"))
		return chaos_reader(argv);
	if (argc > 2 && !strcmp(argv[1], "writer"))
		return chaos_writer(argv);
	if (argc > 2 && !strcmp(argv[1], "all"))
		return chaos_all(argv);
	segment = getenv("PAGEWELL_SEGMENT");
	if (argc < 4 || !segment)
		return 2;
	lib = argv[1];
	debug_lib = argv[2];
	folder = crew_folder();
	if (!folder) {
		printf("skip chaos - no folder on a file system that is served\n");
		return 0;
	}
	status = drive("/dev/shm", folder, strtod(argv[3], NULL));
	crew_folder_remove();
	return status;
}
