/* bench.c - `pagewell bench`: is it worth it, on this machine and for this file? */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/command/bench.h"
#include "cache/command/library.h"
#include "cache/command/options.h"
#include "cache/command/progress.h"
#include "cache/command/say.h"
#include "cache/command/text.h"
#include "cache/pagewell.h"

#define PAIRS 5
#define RUNS 10
#define SECONDS 10.0
#define OWN_BYTES (16u << 20)

static const char help[] =
	"usage: pagewell bench [--json] [--seconds=N] [FILE]\n"
	"\n"
	"Measures for ten seconds, or N, what small reads and seeks of FILE cost on "
	"this\n"
	"machine without and with the library, and says whether it is worth it. Without\n"
	"FILE it makes one of 16 MiB in TMPDIR or /tmp, and removes it. The settings in\n"
	"the environment (PAGEWELL_FS, PAGEWELL_SIZE...) apply; the segment is one of\n"
	"its own, so that nobody else's counts are changed.\n"
	"\n"
	"A program that does this work is run five times without and five times with\n"
	"the library, in turn. What is shown is the middle one of each, in ns for one\n"
	"operation, and the middle one of how many times as fast it was. Of a large\n"
	"FILE the first 64 MiB are used; they are brought into memory before.\n"
	"\n"
	"--json prints one object; new members may be added:\n"
	"  version, file              strings\n"
	"  bytes                      of the file\n"
	"  hits                       reads that were served in the last run\n"
	"  rows                       [{name, without_ns, with_ns, ratio}]\n"
	"  advice                     a sentence\n"
	"\n"
	"Exit status: 0, whether it is worth it or not; 1 if it could not be measured;\n"
	"2 for a wrong option.\n";

static const struct {
	const char *name;
	const char *title;
} rows[PW_BENCHES] = {
	[PW_BENCH_RANDOM] = {"pread_random_512", "pread of 512 bytes at random"},
	[PW_BENCH_SEEK] = {"seek_read_512", "lseek, and read of 512 bytes"},
	[PW_BENCH_SEQUENTIAL] = {"read_sequential_4096", "read of 4 KiB in sequence"},
	[PW_BENCH_OPEN] = {"open_read_close", "open, read up to 64 KiB, close"},
};

struct result {
	double ns[2][PW_BENCHES][PAIRS]; /* without, with */
	double ratio[PW_BENCHES][PAIRS];
	uint64_t hits;
};

/* ---- what is removed in the end, also by a signal ------------------------------------- */

static char own_file[PATH_MAX];
static char report[PATH_MAX];
static char segment[64];
static pid_t running; /* what measures, 0: nothing; it would make its report anew */

static void clean_up(void)
{
	if (running > 0) {
		kill(running, SIGKILL);
		waitpid(running, NULL, 0);
	}
	if (own_file[0])
		unlink(own_file);
	if (report[0])
		unlink(report);
	if (segment[0])
		unlink(segment);
}

static void interrupted(int sig)
{
	clean_up();
	signal(sig, SIG_DFL);
	raise(sig);
}

static bool make_temporary(char out[PATH_MAX], int *fd)
{
	const char *folder = getenv("TMPDIR");

	snprintf(out, PATH_MAX, "%s/pagewell-bench.XXXXXX",
		 folder && *folder ? folder : "/tmp");
	*fd = mkstemp(out);
	if (*fd >= 0)
		return true;
	pw_say("bench: cannot make a file: %s: %s; set TMPDIR", out, strerror(errno));
	out[0] = 0;
	return false;
}

static bool make_own_file(void)
{
	static char block[1 << 16];
	int fd;
	bool done;

	if (!make_temporary(own_file, &fd))
		return false;
	/* Without a zero byte: they are no witnesses. */
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)('a' + (i * 7 + (i >> 8)) % 26);
	done = true;
	for (unsigned n = 0; done && n < OWN_BYTES; n += sizeof(block))
		done = write(fd, block, sizeof(block)) == (ssize_t)sizeof(block);
	if (!done)
		pw_say("bench: %s: %s; set TMPDIR", own_file, strerror(errno));
	close(fd);
	return done;
}

/* ---- running -------------------------------------------------------------------------- */

static void become_measurer(const char *file, bool with, double seconds, int out)
{
	char amount[32];
	char library[PATH_MAX];

	snprintf(amount, sizeof(amount), "%.6f", seconds);
	/* Whoever runs us with the library measures without it all the same. */
	if (setenv("PAGEWELL_DISABLE", "1", 1) ||
	    (with && unsetenv("PAGEWELL_DISABLE")) ||
	    setenv("PAGEWELL_SEGMENT", segment, 1) ||
	    setenv("PAGEWELL_REPORT", report, 1))
		return;
	if (with && (!pw_library_find(library) || !pw_library_preload(library)))
		return;
	dup2(out, STDOUT_FILENO);
	execl("/proc/self/exe", "pagewell", "bench", "--measure", "--seconds", amount,
	      "--", file, (char *)NULL);
	pw_say("bench: cannot run myself: %s", strerror(errno));
}

/* One run. False: why not has been said. */
static bool run(const char *file, bool with, double seconds, double ns[PW_BENCHES])
{
	int pipes[2];
	int status = 0;
	FILE *in;
	pid_t pid;
	int got = 0;

	if (pipe2(pipes, O_CLOEXEC) || (pid = fork()) < 0) {
		pw_say("bench: cannot start a process: %s", strerror(errno));
		return false;
	}
	if (!pid) {
		become_measurer(file, with, seconds, pipes[1]);
		_exit(PW_FAILED);
	}
	running = pid;
	close(pipes[1]);
	in = fdopen(pipes[0], "r");
	while (in && got < PW_BENCHES && fscanf(in, "%lf", &ns[got]) == 1)
		got++;
	if (in)
		fclose(in);
	waitpid(pid, &status, 0);
	running = 0;
	if (got == PW_BENCHES && status == 0)
		return true;
	if (WIFSIGNALED(status))
		pw_say("bench: what measures was ended by signal %d", WTERMSIG(status));
	return false;
}

static uint64_t hits_of(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long n = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "hits %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double v[PAIRS])
{
	qsort(v, PAIRS, sizeof(v[0]), ascending);
	return v[PAIRS / 2];
}

static bool run_all(const char *file, double seconds, struct result *r, bool quiet)
{
	double each = seconds / ((double)RUNS * PW_BENCHES);
	struct pw_progress bar;
	double ns[2][PW_BENCHES];
	uint64_t ran = 0;
	bool done = true;

	pw_progress_begin(&bar, RUNS, false, quiet);
	for (int i = 0; i < PAIRS && done; i++) {
		/* What comes second may profit from the first, so they take turns. */
		for (int k = 0; k < 2 && done; k++) {
			int with = k ^ (i & 1);

			pw_progress_at(&bar, ran++);
			done = run(file, with, each, ns[with]);
			if (with)
				r->hits = hits_of(report);
		}
		for (int b = 0; b < PW_BENCHES && done; b++) {
			r->ns[0][b][i] = ns[0][b];
			r->ns[1][b][i] = ns[1][b];
			r->ratio[b][i] = ns[0][b] / ns[1][b];
		}
	}
	pw_progress_end(&bar);
	return done;
}

/* ---- what it means -------------------------------------------------------------------- */

static void advise(char *out, size_t size, const struct result *r, const double *ratio,
		   bool place_served)
{
	double best = 0;
	int at = 0;

	for (int i = 0; i < PW_BENCHES; i++)
		if (ratio[i] > best) {
			best = ratio[i];
			at = i;
		}
	if (!r->hits && !place_served)
		snprintf(out, size,
			 "not served: its file system is not on the list, or it is a "
			 "file that never is; see PAGEWELL_FS and PAGEWELL_TRUST in "
			 "pagewell(7)");
	else if (!r->hits)
		snprintf(out, size,
			 "not served, or it never paid; pagewell explain -- PROGRAM says "
			 "why");
	else if (best < 1.15)
		snprintf(out, size, "not worth it on this machine");
	else
		snprintf(out, size,
			 "worth it for programs that do much of this: %s (%.1f times as "
			 "fast)",
			 rows[at].title, best);
}

static void print_text(const char *file, uint64_t bytes, const double *without,
		       const double *with, const double *ratio, const char *advice)
{
	char size[PW_TEXT_SIZE];

	pw_text_size(size, bytes);
	pw_text_name(file);
	printf(", %s\n\n%-32s  %12s  %12s  %8s\n", size, "", "without", "with", "ratio");
	for (int i = 0; i < PW_BENCHES; i++)
		printf("%-32s  %9.0f ns  %9.0f ns  %8.2f\n", rows[i].title, without[i],
		       with[i], ratio[i]);
	printf("\n%s\n", advice);
}

static void print_json(const char *file, uint64_t bytes, uint64_t hits,
		       const double *without, const double *with, const double *ratio,
		       const char *advice)
{
	printf("{\n  \"version\": \"" PW_VERSION "\",\n  \"file\": ");
	pw_text_json(file);
	printf(",\n  \"bytes\": %llu,\n  \"hits\": %llu,\n  \"rows\": [",
	       (unsigned long long)bytes, (unsigned long long)hits);
	for (int i = 0; i < PW_BENCHES; i++)
		printf("%s\n    {\"name\": \"%s\", \"without_ns\": %.1f, \"with_ns\": "
		       "%.1f, "
		       "\"ratio\": %.3f}",
		       i ? "," : "", rows[i].name, without[i], with[i], ratio[i]);
	printf("\n  ],\n  \"advice\": ");
	pw_text_json(advice);
	printf("\n}\n");
}

/* Brings it into memory. False: it can't be measured, which has been said. */
static bool look_at(const char *file, uint64_t *bytes, bool *served)
{
	static char block[1 << 16];
	const char *spec = getenv("PAGEWELL_FS");
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st = {0};
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st)) {
		pw_say("bench: %s: %s", file, strerror(errno));
		goto wrong;
	}
	if (!S_ISREG(st.st_mode) || !st.st_size) {
		pw_say("bench: %s is %s; name a file with something in it", file,
		       S_ISREG(st.st_mode) ? "empty" : "not a regular file");
		goto wrong;
	}
	for (uint64_t done = 0; n > 0 && done < PW_BENCH_BYTES; done += (uint64_t)n)
		n = read(fd, block, sizeof(block));
	if (n < 0) {
		pw_say("bench: %s: %s", file, strerror(errno));
		goto wrong;
	}
	if (spec && pw_place_configure(spec)) {
		pw_say("bench: PAGEWELL_FS: %s is not +NAME or -NAME of these: %s", spec,
		       pw_place_names());
		goto wrong;
	}
	*bytes = (uint64_t)st.st_size;
	*served = pw_place_served(fd, &st);
	close(fd);
	return true;
wrong:
	if (fd >= 0)
		close(fd);
	return false;
}

static int measure(const char *file, double seconds)
{
	double ns[PW_BENCHES];

	if (!pw_bench_measure(file, seconds * 1e9, ns))
		return PW_FAILED;
	for (int i = 0; i < PW_BENCHES; i++)
		printf("%.3f\n", ns[i]);
	return pw_flushed() ? 0 : PW_FAILED;
}

static bool bench(const char *file, double seconds, bool json)
{
	static struct result r;
	double without[PW_BENCHES];
	double with[PW_BENCHES];
	double ratio[PW_BENCHES];
	char advice[256];
	uint64_t bytes;
	bool served;
	int fd;

	if (!file && !make_own_file())
		return false;
	file = file ? file : own_file;
	if (!look_at(file, &bytes, &served) || !make_temporary(report, &fd))
		return false;
	close(fd);
	if (!run_all(file, seconds, &r, json))
		return false;
	for (int i = 0; i < PW_BENCHES; i++) {
		without[i] = median(r.ns[0][i]);
		with[i] = median(r.ns[1][i]);
		ratio[i] = median(r.ratio[i]);
	}
	advise(advice, sizeof(advice), &r, ratio, served);
	if (json)
		print_json(file, bytes, r.hits, without, with, ratio, advice);
	else
		print_text(file, bytes, without, with, ratio, advice);
	return true;
}

int pw_bench(int argc, char **argv)
{
	const char *amount = NULL;
	bool json = false;
	bool measures = false;
	const struct pw_option options[] = {
		{"json", NULL, &json},
		{"seconds", &amount, NULL},
		{"measure", NULL, &measures}, /* how it runs itself */
		{0},
	};
	double seconds = SECONDS;
	char *end = NULL;
	bool done;
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (amount) {
		seconds = strtod(amount, &end);
		if (end == amount || *end || !(seconds > 0 && seconds <= 3600)) {
			pw_say("bench: --seconds=%s: give a number from 0.001 to 3600",
			       amount);
			return PW_USAGE;
		}
	}
	if (at + 1 < argc) {
		pw_say("bench: unexpected argument %s; see pagewell bench --help",
		       argv[at + 1]);
		return PW_USAGE;
	}
	if (measures)
		return measure(argv[at], seconds);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	signal(SIGHUP, interrupted);
	snprintf(segment, sizeof(segment), "/dev/shm/pagewell-measure-%d", (int)getpid());
	done = bench(at < argc ? argv[at] : NULL, seconds, json);
	clean_up();
	return pw_flushed() && done ? 0 : PW_FAILED;
}
