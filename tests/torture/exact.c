/*
 * exact: is each byte that the library serves the one the kernel would give?
 *
 * Two kinds of process, one program. This one, the writer, is started without
 * the library and changes a file. Readers are the same program executed anew
 * under LD_PRELOAD=$PAGEWELL_LIB. By default they take turns and every answer
 * is compared with the kernel's (steps.c, reader.c); with --free they run at
 * the same time and count what no moment explains (free_writer.c,
 * free_reader.c). Ends with one line of the test protocol on stdout.
 *
 * Environment: PAGEWELL_LIB; EXACT_NOLIB=1 runs the readers without a library.
 */
#include "exact.h"
#include "raw.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 8

static pid_t reader_pid[MAX_PROCESSES];
static int reader_status[MAX_PROCESSES];
static uint32_t readers;
static const char *library; /* NULL: none, to test the tester */
static char report[512];

/* What the library says of itself at exit, summed over readers. */
struct served {
	uint64_t reports, hits, seeks, doubts, windows;
};

bool reader_is_gone(void)
{
	for (uint32_t i = 0; i < readers; i++) {
		if (reader_pid[i] &&
		    waitpid(reader_pid[i], &reader_status[i], WNOHANG) == reader_pid[i])
			reader_pid[i] = 0;
		if (!reader_pid[i])
			return true;
	}
	return false;
}

static int start_reader(uint32_t i, int memory)
{
	char fd_arg[16], index_arg[16], report_to[560];
	char *argv[] = {"exact", "--reader", fd_arg, "--index", index_arg, NULL};

	snprintf(fd_arg, sizeof(fd_arg), "%d", memory);
	snprintf(index_arg, sizeof(index_arg), "%u", i);
	snprintf(report_to, sizeof(report_to), "%s/%%p", report);
	reader_pid[i] = fork();
	if (reader_pid[i] != 0)
		return reader_pid[i] < 0 ? -1 : 0;
	setenv("PAGEWELL_REPORT", report_to, 1);
	if (library)
		setenv("LD_PRELOAD", library, 1);
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* NULL, or how one of those readers failed that have ended; flags as for waitpid. */
static const char *reap_readers(int flags)
{
	static char why[64];
	const char *failed = NULL;

	for (uint32_t i = 0; i < readers; i++) {
		if (reader_pid[i] &&
		    waitpid(reader_pid[i], &reader_status[i], flags) == reader_pid[i])
			reader_pid[i] = 0;
		if (reader_pid[i] || !reader_status[i])
			continue;
		if (WIFSIGNALED(reader_status[i]))
			snprintf(why, sizeof(why), "a reader died of signal %d",
				 WTERMSIG(reader_status[i]));
		else
			snprintf(why, sizeof(why), "a reader ended with status %d",
				 WEXITSTATUS(reader_status[i]));
		failed = why;
	}
	return failed;
}

static void kill_readers(void)
{
	for (uint32_t i = 0; i < readers; i++) {
		if (reader_pid[i])
			kill(reader_pid[i], SIGKILL);
	}
}

static void add_report(const char *path, struct served *sum)
{
	char key[64];
	uint64_t value;
	FILE *f = fopen(path, "r");

	if (!f)
		return;
	sum->reports++;
	/* Lines of other shapes are the library's own business. */
	for (char line[512]; fgets(line, sizeof(line), f);) {
		if (sscanf(line, "%63s %" SCNu64, key, &value) != 2)
			continue;
		if (!strcmp(key, "hits"))
			sum->hits += value;
		else if (!strcmp(key, "seeks"))
			sum->seeks += value;
		else if (!strcmp(key, "doubts"))
			sum->doubts += value;
		else if (!strcmp(key, "windows"))
			sum->windows += value;
	}
	fclose(f);
}

static void read_reports(const pid_t *pid, struct served *sum)
{
	char path[560];

	for (uint32_t i = 0; i < readers; i++) {
		snprintf(path, sizeof(path), "%s/%d", report, pid[i]);
		add_report(path, sum);
		unlink(path);
	}
	rmdir(report);
}

static void print_turns(const struct exact *x, const struct served *lib)
{
	const struct tally *t = &x->tally;

	fprintf(stderr,
		"  seed %" PRIu64 ", steps %" PRIu64 ", reads %" PRIu64 ", bytes %" PRIu64
		", seeks %" PRIu64 ", opens %" PRIu64 ", own changes %" PRIu64
		", bad buffers %" PRIu64 ", differences %" PRIu64 "\n",
		x->opt.seed, x->note.step, t->reads, t->bytes, t->seeks, t->opens,
		t->own_changes, t->bad_buffers, t->differences);
	fprintf(stderr,
		"  library: hits %" PRIu64 " (%.1f%% of reads), seeks %" PRIu64
		", doubts %" PRIu64 ", windows %" PRIu64 "\n",
		lib->hits, t->reads ? 100.0 * (double)lib->hits / (double)t->reads : 0.0,
		lib->seeks, lib->doubts, lib->windows);
}

static void print_free(const struct exact *x, const struct served *lib)
{
	struct count sum[SOURCES];

	free_sum(x, sum);
	fprintf(stderr,
		"  seed %" PRIu64 ", writes %" PRIu64 ", truncations %" PRIu64 "\n",
		x->opt.seed, atomic_load(&x->free.writes), atomic_load(&x->free.cuts));
	fprintf(stderr, "  %-24s %14s %14s\n", "", "library", "kernel");
	fprintf(stderr, "  %-24s %14" PRIu64 " %14" PRIu64 "\n", "reads", sum[0].reads,
		sum[1].reads);
	fprintf(stderr, "  %-24s %14" PRIu64 " %14" PRIu64 "\n", "KiB",
		sum[0].bytes >> 10, sum[1].bytes >> 10);
	for (int k = 0; k < K_KINDS; k++)
		fprintf(stderr, "  %-24s %14" PRIu64 " %14" PRIu64 "\n",
			free_kind_name[k], sum[0].kind[k], sum[1].kind[k]);
	fprintf(stderr,
		"  library: hits %" PRIu64 ", doubts %" PRIu64 ", windows %" PRIu64 "\n",
		lib->hits, lib->doubts, lib->windows);
}

/*
 * Zeros and torn records are what a change in flight may look like, by the
 * kernel's own reads of the file systems served by default too. Both are rare,
 * so a handful proves nothing where the kernel happened to show none. One way,
 * where both read alike, the rates are compared. A witness can't tell of a
 * zeroing that is under way between the copied byte and itself, which takes
 * some 100 ns where reader and writer fight for each cache line: 1 to 3 in a
 * thousand truncations aimed at by readers. Without the second look there were
 * ten times as many (_mutants compares the two). Of the other kinds one is
 * enough.
 */
static bool convicts(const struct exact *x, enum kind k, uint64_t library,
		     uint64_t kernel)
{
	if (k != K_ZEROS && k != K_TORN)
		return kernel == 0 && library > 0;
	if (x->opt.one_way)
		return library > 10 * (kernel + 3) &&
		       library > atomic_load(&x->free.cuts) / 60;
	return library > 10 * (kernel + 3) || (kernel == 0 && library > 3);
}

static const char *judge_free(const struct exact *x)
{
	static char why[128];
	struct count sum[SOURCES];

	free_sum(x, sum);
	if (!sum[BY_LIBRARY].reads || !sum[BY_KERNEL].reads)
		return "nothing was read";
	for (int k = 0; k < K_KINDS; k++) {
		uint64_t library = sum[BY_LIBRARY].kind[k],
			 kernel = sum[BY_KERNEL].kind[k];

		if (!convicts(x, k, library, kernel))
			continue;
		snprintf(why, sizeof(why),
			 "%s: %" PRIu64 " with the library, %" PRIu64 " without",
			 free_kind_name[k], library, kernel);
		return why;
	}
	return NULL;
}

/* NULL, or what is wrong with what has been seen. */
static const char *judge(const struct exact *x, const struct served *lib)
{
	static char why[128];

	if (x->tally.differences) {
		snprintf(why, sizeof(why), "%" PRIu64 " differences, seed %" PRIu64,
			 x->tally.differences, x->opt.seed);
		return why;
	}
	if (x->opt.free_seconds && judge_free(x))
		return judge_free(x);
	if (!library)
		return NULL;
	if (lib->reports != readers)
		return "the library wrote no report (PAGEWELL_REPORT)";
	return lib->hits ? NULL : "no read was served, which proves nothing";
}

static int verdict(const struct exact *x, const char *why)
{
	if (why)
		printf("not ok %s - %s\n", x->opt.name, why);
	else
		printf("ok %s\n", x->opt.name);
	return why ? 1 : 0;
}

static int write_and_judge(struct exact *x, int memory)
{
	pid_t pid[MAX_PROCESSES];
	struct served lib = {0};
	const char *why, *died, *tmpdir = getenv("TMPDIR");

	snprintf(report, sizeof(report), "%s/pagewell-exact-report.XXXXXX",
		 tmpdir && *tmpdir ? tmpdir : "/tmp");
	if (!mkdtemp(report))
		return verdict(x, "can't make a directory for reports");
	readers = x->opt.free_seconds ? x->opt.readers : 1;
	for (uint32_t i = 0; i < readers; i++) {
		if (start_reader(i, memory))
			return verdict(x, "fork failed");
		pid[i] = reader_pid[i];
	}
	fprintf(stderr, "%s:\n", x->opt.name);
	why = x->opt.free_seconds ? free_write(x) : steps_run(x);
	if (why) {
		died = reap_readers(WNOHANG);
		if (died) /* the cause, rather than how it was noticed */
			why = died;
		kill_readers();
		reap_readers(0);
	} else {
		why = reap_readers(0);
	}
	read_reports(pid, &lib);
	if (x->opt.free_seconds)
		print_free(x, &lib);
	else
		print_turns(x, &lib);
	return verdict(x, why ? why : judge(x, &lib));
}

/* ---- options ---- */

static const struct option long_options[] = {
	{"name", required_argument, NULL, 'n'},
	{"dir", required_argument, NULL, 'd'},
	{"seed", required_argument, NULL, 's'},
	{"steps", required_argument, NULL, 'c'},
	{"differ-stop", no_argument, NULL, 'x'},
	{"read-only", no_argument, NULL, 'o'},
	{"known-limits", no_argument, NULL, 'k'},
	{"free", required_argument, NULL, 'f'},
	{"one-way", no_argument, NULL, 'w'},
	{"readers", required_argument, NULL, 'r'},
	{"threads", required_argument, NULL, 't'},
	{"reader", required_argument, NULL, 'R'},
	{"index", required_argument, NULL, 'I'},
	{NULL, 0, NULL, 0},
};

static const char usage[] =
	"usage: exact [--dir D] [--name N] [--seed S]\n"
	"             [--steps N] [--differ-stop] [--read-only] [--known-limits]\n"
	"             [--free SECONDS [--readers N] [--threads N] [--one-way]]\n"
	"--read-only compares files f0 to f5 in D, which exist, and changes nothing.\n"
	"--known-limits adds the step that DESIGN section 12 says may differ.\n"
	"--free runs writer and readers at once; --one-way lets the file grow only\n"
	"  while no reader reads.\n";

static uint64_t number_or_exit(const char *text, uint64_t most)
{
	char *end;

	errno = 0;
	uint64_t n = strtoull(text, &end, 10);
	if (errno || end == text || *end || n > most) {
		fprintf(stderr, "exact: %s: not a number up to %" PRIu64 "\n", text,
			most);
		exit(2);
	}
	return n;
}

static void parse(int argc, char **argv, struct options *o, int *memory, uint32_t *index)
{
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 'n':
			snprintf(o->name, sizeof(o->name), "%s", optarg);
			break;
		case 'd':
			snprintf(o->dir, sizeof(o->dir), "%s", optarg);
			break;
		case 's':
			o->seed = number_or_exit(optarg, UINT64_MAX);
			break;
		case 'c':
			o->steps = number_or_exit(optarg, UINT64_MAX);
			break;
		case 'x':
			o->differ_stop = true;
			break;
		case 'o':
			o->read_only = true;
			break;
		case 'k':
			o->known_limits = true;
			break;
		case 'f':
			o->free_seconds = (uint32_t)number_or_exit(optarg, 86400);
			break;
		case 'w':
			o->one_way = true;
			break;
		case 'r':
			o->readers = (uint32_t)number_or_exit(optarg, MAX_PROCESSES);
			break;
		case 't':
			o->threads = (uint32_t)number_or_exit(optarg, FREE_THREADS);
			break;
		case 'R':
			*memory = (int)number_or_exit(optarg, 1 << 20);
			break;
		case 'I':
			*index = (uint32_t)number_or_exit(optarg, MAX_PROCESSES);
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (optind < argc || !o->readers || !o->threads ||
	    o->readers * o->threads > FREE_THREADS) {
		fputs(usage, stderr);
		exit(2);
	}
}

static struct exact *map_shared(int fd)
{
	void *at = mmap(NULL, sizeof(struct exact), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	struct options o = {.name = "exact",
			    .dir = ".",
			    .seed = 1,
			    .steps = 10000,
			    .readers = 2,
			    .threads = 2};
	int memory = -1;
	uint32_t index = 0;
	struct exact *x;

	parse(argc, argv, &o, &memory, &index);
	if (memory >= 0) {
		x = map_shared(memory);
		close(memory);
		if (!x)
			return 2;
		return x->opt.free_seconds ? free_read(x, index) : reader_run(x);
	}
	if (getenv("LD_PRELOAD")) { /* the writer is to be a plain program */
		unsetenv("LD_PRELOAD");
		execv("/proc/self/exe", argv);
	}
	const char *none = getenv("EXACT_NOLIB");
	library = none && *none && strcmp(none, "0") ? NULL : getenv("PAGEWELL_LIB");
	if (!library && !none) {
		fprintf(stderr, "exact: neither PAGEWELL_LIB nor EXACT_NOLIB=1 is set\n");
		return 2;
	}
	memory = memfd_create("exact", 0);
	if (memory < 0 || ftruncate(memory, sizeof(struct exact)) ||
	    !(x = map_shared(memory))) {
		perror("exact: shared memory");
		return 2;
	}
	x->opt = o;
	return write_and_judge(x, memory);
}
