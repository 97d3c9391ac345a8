/*
 * storm.c - the driver of the storms: thousands of short processes that come and go while
 * others read, threads by the hundred, a server that forks, and more processes at once than
 * the segment has slots for. All of them verify what they read.
 *
 *	storm LIB PROCESSES SECONDS	ends the first storm after so many of either
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/layout.h"
#include "storm.h"

#define WORST_NS UINT64_C(2000000000)
/* Briefs at once, and the notes of those who stay meanwhile. */
#define AT_ONCE 8
#define READER 10
#define READERS 2
#define THREADS 20
#define SERVER 21
#define HOLDERS ((int)PW_SLOTS + 64)

static struct crew_env env;
static char file[4300];
static const char *segment;
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

static void verdict(const char *name)
{
	if (*why)
		printf("not ok %s - %s\n", name, why);
	else
		printf("ok %s\n", name);
	fflush(stdout);
	all_ok &= !*why;
}

static pid_t start(const char *role, int index, int n)
{
	char number[12];
	const char *args[] = {file, number, NULL};

	snprintf(number, sizeof(number), "%d", n);
	return crew_start(&env, role, index, args);
}

static void await(pid_t pid, int index, enum crew_end want, const char *who)
{
	enum crew_end got = crew_await(pid);

	if (crew->member[index].wrongs)
		blame("%s: %s", who, crew->member[index].wrong);
	if (got != want)
		blame("%s did not end as it should: %s, status %x", who,
		      got == CREW_LATE ? "not at all" : "ended", (unsigned)crew_status);
	if (got == CREW_LATE)
		kill(pid, SIGKILL);
}

static void begin(void)
{
	why[0] = 0;
	memset(crew, 0, sizeof(*crew));
}

static uint64_t worst_of_all(void)
{
	uint64_t worst = 0;

	for (int i = 0; i < CREW_MAX; i++)
		if (crew->member[i].worst_ns > worst)
			worst = crew->member[i].worst_ns;
	if (worst > WORST_NS)
		blame("a call took %lu ms", worst / 1000000);
	return worst / 1000000;
}

/* After a last one that must make room, and so looks for the dead. */
static void check_segment(void)
{
	struct crew_env sweeper = env;
	const char *args[] = {file, "0", NULL};
	struct crew_stat s;

	sweeper.size = "64K";
	crew->go = STORM_END;
	await(crew_start(&sweeper, "holder", 30, args), 30, CREW_WELL, "the last");
	s = crew_stat();
	if (!s.there)
		blame("no segment");
	if (s.locked || s.waiters)
		blame("%u words locked, %u with waiters", s.locked, s.waiters);
	if (s.alive || s.gone || s.other)
		blame("slots: %u of the living, %u of the dead, %u others", s.alive,
		      s.gone, s.other);
}

/* ---- the storms ------------------------------------------------------------------------ */

static pid_t stayed[READERS + 2];

static void start_stayers(void)
{
	for (int i = 0; i < READERS; i++)
		stayed[i] = start("reader", READER + i, 0);
}

static void end_stayers(void)
{
	crew->go = STORM_END;
	for (int i = 0; i < READERS; i++)
		await(stayed[i], READER + i, CREW_WELL, "a reader");
}

/* One that ended: was it as it should be? */
static void reap(pid_t pids[AT_ONCE], int hows[AT_ONCE])
{
	int status;
	pid_t pid = wait(&status);
	int i = 0;

	while (i < AT_ONCE && pids[i] != pid)
		i++;
	if (i == AT_ONCE) {
		blame("another process ended: %d, status %x", pid, (unsigned)status);
		return;
	}
	if (crew->member[i].wrongs)
		blame("%s", crew->member[i].wrong);
	if (hows[i] % 8 == 1 ? status != SIGKILL : status)
		blame("a process ended with %x", (unsigned)status);
	pids[i] = 0;
}

static void processes(int most, uint64_t seconds)
{
	uint64_t until;
	pid_t pids[AT_ONCE] = {0};
	int hows[AT_ONCE] = {0};
	char name[100];
	int n = 0;

	begin();
	start_stayers();
	until = crew_now() + seconds * 1000000000;
	while (!*why && n < most && crew_now() < until) {
		for (int i = 0; i < AT_ONCE; i++)
			if (!pids[i]) {
				hows[i] = n++;
				pids[i] = start("brief", i, hows[i]);
			}
		reap(pids, hows);
	}
	for (int i = 0; i < AT_ONCE; i++)
		while (!*why && pids[i])
			reap(pids, hows);
	end_stayers();
	snprintf(name, sizeof(name), "processes: %d came and went, longest call %lu ms",
		 n, worst_of_all());
	check_segment();
	verdict(name);
}

static void threads_and_forks(void)
{
	pid_t many;
	pid_t server;
	char name[100];

	begin();
	start_stayers();
	many = start("threads", THREADS, 200);
	server = start("server", SERVER, 500);
	await(server, SERVER, CREW_WELL, "the server");
	end_stayers();
	await(many, THREADS, CREW_WELL, "the one with threads");
	snprintf(name, sizeof(name), "threads and forks: longest call %lu ms",
		 worst_of_all());
	check_segment();
	verdict(name);
}

static void await_holders(uint32_t ready)
{
	for (int ms = 0; ms < 60000; ms += 10) {
		int n = 0;

		for (int i = 0; i < HOLDERS; i++)
			n += crew->member[i].ready >= ready;
		if (n == HOLDERS)
			return;
		crew_nap_ms(10);
	}
	blame("not all came to %u", ready);
}

static void more_than_slots(void)
{
	static pid_t pid[HOLDERS];
	struct crew_stat s;

	begin();
	unlink(segment);
	for (int i = 0; i < HOLDERS; i++) {
		pid[i] = start("holder", i, 0);
		/* Not all of them at once on two processors. */
		for (int ms = 0; i >= 8 && !crew->member[i - 8].ready && ms < 10000; ms++)
			crew_nap_ms(1);
	}
	await_holders(1);
	s = crew_stat();
	if (s.alive != PW_SLOTS || s.gone || s.other)
		blame("%u slots taken, of %u", s.alive, PW_SLOTS);
	crew->go = STORM_READ;
	await_holders(2);
	crew->go = STORM_END;
	for (int i = 0; i < HOLDERS; i++)
		await(pid[i], i, CREW_WELL, "one of many");
	s = crew_stat();
	if (s.hits < (uint64_t)HOLDERS * 1000)
		blame("hardly anything was served: %lu hits", s.hits);
	check_segment();
	verdict("more processes than slots");
}

int main(int argc, char **argv)
{
	const char *folder;
	bool made;

	segment = getenv("PAGEWELL_SEGMENT");
	if (argc > 4 && argv[1][0] != '/')
		return storm_member(argv);
	if (argc < 4 || !segment)
		return 2;
	env.lib = argv[1];
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	folder = crew_folder();
	if (!folder) {
		printf("skip storm - no folder on a file system that is served\n");
		return 0;
	}
	snprintf(file, sizeof(file), "%s/file", folder);
	crew_make(0);
	unlink(segment);
	made = crew_make_file(file, STORM_PAGES);
	if (!made)
		blame("errno %d", errno);
	verdict("file");
	if (made) {
		processes(atoi(argv[2]), strtoul(argv[3], NULL, 10));
		threads_and_forks();
		more_than_slots();
	}
	unlink(segment);
	crew_folder_remove();
	return !all_ok;
}
