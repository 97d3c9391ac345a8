/*
 * The differential tester's command line: seeds or written programs to run,
 * workers to share them, and what to say about those that fail.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "gen.h"
#include "run.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: diff [options] --seeds FROM-TO | --fuzz SECONDS | --prog FILE... | "
	"--show SEED\n"
	"\n"
	"Runs random programs plainly and under LD_PRELOAD=$PAGEWELL_LIB and compares\n"
	"everything they can see. Exit status: 0 no difference, 1 some, 2 trouble.\n"
	"\n"
	"  --seeds FROM-TO  the programs of these seeds\n"
	"  --fuzz SECONDS   programs of random seeds for so long\n"
	"  --prog FILE...   programs written down\n"
	"  --sweep FILE...  the same, interrupting at every instruction of a call\n"
	"  --show SEED      print a seed's program\n"
	"  --lib PATH       the library (default: $PAGEWELL_LIB)\n"
	"  --beside PATH    another library, preloaded after it\n"
	"  --plain          no library: is a run the same every time?\n"
	"  --jobs N         so many workers (default 2)\n"
	"  --streams        programs about streams\n"
	"  --steps N        about so many steps a program (default: 25 to 100)\n"
	"  --shrink N       shorten at most N failing programs (default 5)\n"
	"  --shrink-time S  seconds for each of them (default 30)\n"
	"  --until N        no more programs when N have failed\n"
	"  --stride N       sweep: at every Nth instruction (default 1)\n"
	"  --trace          print the traces of both runs\n";

struct options {
	const char *lib, *beside;
	bool plain, trace, streams;
	int jobs, steps, shrink, shrink_time;
	int fuzz, stride, show, until;
	long from, to;
	bool seeds, prog, sweep;
};

/* What the workers share. */
struct tally {
	long next;
	long runs, failed, hits, seeks, stores, late, interrupted, untraced;
	int shrunk;
};

static struct tally *tally;

static void add(long *sum, long n)
{
	__atomic_fetch_add(sum, n, __ATOMIC_RELAXED);
}

/* Says in one piece what is wrong with a program. */
static void tell_failure(struct pw_driver *d, const struct options *o, const char *name,
			 struct pw_prog *p, struct pw_outcome *plain,
			 struct pw_outcome *lib)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	struct pw_outcome again;
	int steps = p->steps;

	fprintf(to, "DIFFERS: %s, %d steps\n", name, steps);
	pw_print_difference(to, plain->text, lib->text);
	/* With an interrupt there are two plain orders, which may differ. */
	if (!pw_prog_interrupts(p)) {
		pw_driver_run(d, p, false, &again);
		if (strcmp(again.text, plain->text)) {
			fprintf(to, "BUT two plain runs differ too:\n");
			pw_print_difference(to, plain->text, again.text);
		}
		free(again.text);
	}
	if (pw_driver_same(d, p, NULL, NULL)) {
		fprintf(to, "not every time\n");
	} else if (__atomic_fetch_add(&tally->shrunk, 1, __ATOMIC_RELAXED) < o->shrink) {
		struct pw_outcome a, b;

		pw_shrink(d, p, o->shrink_time);
		fprintf(to, "shortened to %d steps:\n", p->steps);
		pw_prog_print(to, p);
		if (pw_driver_same(d, p, &a, &b))
			fprintf(to, "which does not fail every time\n");
		else
			pw_print_difference(to, a.text, b.text);
		free(a.text);
		free(b.text);
	}
	fprintf(to, "\n");
	fclose(to);
	if (write(2, text, size) < 0)
		exit(2);
	free(text);
}

/* True if nothing differs. */
static bool try_program(struct pw_driver *d, const struct options *o, const char *name,
			struct pw_prog *p)
{
	struct pw_outcome plain, lib;
	bool same = pw_driver_same(d, p, &plain, &lib);

	add(&tally->runs, 1);
	if (o->trace)
		printf("--- plain\n%s--- library\n%s", plain.text, lib.text);
	if (plain.late)
		add(&tally->late, 1);
	if (!same || plain.late) {
		add(&tally->failed, 1);
		tell_failure(d, o, name, p, &plain, &lib);
	}
	free(plain.text);
	free(lib.text);
	return same && !plain.late;
}

static struct pw_driver driver;
static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	stop = sig;
}

static const char *tmp_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp ? tmp : "/tmp";
}

static void open_driver(const struct options *o)
{
	static char libs[2 * PATH_MAX];

	snprintf(libs, sizeof(libs), "%s%s%s", o->lib ? o->lib : "", o->beside ? ":" : "",
		 o->beside ? o->beside : "");
	if (!pw_driver_open(&driver, o->plain ? NULL : libs, tmp_dir())) {
		perror("pagewell diff");
		exit(2);
	}
}

static void close_driver(void)
{
	add(&tally->hits, driver.hits);
	add(&tally->seeks, driver.seeks);
	add(&tally->stores, driver.stores);
	add(&tally->interrupted, driver.interrupted);
	add(&tally->untraced, driver.untraced);
	pw_driver_close(&driver);
}

static bool enough(const struct options *o)
{
	return o->until && __atomic_load_n(&tally->failed, __ATOMIC_RELAXED) >= o->until;
}

static void work(const struct options *o)
{
	static struct pw_prog p;
	time_t end = time(NULL) + o->fuzz;
	char name[32];
	long seed;

	open_driver(o);
	while (!stop && !enough(o)) {
		seed = __atomic_fetch_add(&tally->next, 1, __ATOMIC_RELAXED);
		if (o->fuzz ? time(NULL) >= end : seed > o->to)
			break;
		snprintf(name, sizeof(name), "seed %ld", seed);
		pw_generate(&p, seed, o->steps, o->streams);
		try_program(&driver, o, name, &p);
	}
	close_driver();
	exit(0);
}

static int work_together(const struct options *o)
{
	int bad = 0, status;

	for (int i = 0; i < o->jobs; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 2;
		}
		if (!pid)
			work(o);
	}
	while (wait(&status) > 0 || errno == EINTR)
		if (status)
			bad = 2;
	return bad;
}

/* A written program is a case of the test protocol, named after its file. */
static void tell_case(const char *path, bool good)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	int n = strcspn(name, ".");

	if (good)
		printf("ok %.*s\n", n, name);
	else
		printf("not ok %.*s - differs: diff --prog %s\n", n, name, path);
}

static bool read_program(struct pw_prog *p, const char *path)
{
	FILE *f = fopen(path, "r");
	int line;

	if (!f) {
		perror(path);
		return false;
	}
	line = pw_prog_parse(p, f);
	fclose(f);
	if (line)
		fprintf(stderr, "%s:%d: not understood\n", path, line);
	return !line;
}

static bool sweep(const struct options *o, const char *path, struct pw_prog *p)
{
	int places = pw_driver_sweep(&driver, p, o->stride);

	if (places < 0) {
		fprintf(stderr, "%s: at instruction %d\n", path, -1 - places);
		if (try_program(&driver, o, path, p))
			add(&tally->failed, 1); /* but not when tried again */
		return false;
	}
	fprintf(stderr, "%s: %d instructions\n", path, places);
	return true;
}

static int run_files(const struct options *o, char **names)
{
	static struct pw_prog p;
	int bad = 0;

	open_driver(o);
	for (; *names && !stop && !enough(o); names++) {
		if (!read_program(&p, *names)) {
			bad = 2;
			break;
		}
		if (o->sweep && !pw_prog_interrupts(&p))
			continue;
		tell_case(*names, o->sweep ? sweep(o, *names, &p)
					   : try_program(&driver, o, *names, &p));
	}
	close_driver();
	return bad;
}

static int show(const struct options *o)
{
	static struct pw_prog p;

	pw_generate(&p, o->show, o->steps, o->streams);
	pw_prog_print(stdout, &p);
	return 0;
}

static int finish(int bad)
{
	printf("programs=%ld failed=%ld late=%ld hits=%ld seeks=%ld stores=%ld "
	       "interrupted=%ld untraced=%ld\n",
	       tally->runs, tally->failed, tally->late, tally->hits, tally->seeks,
	       tally->stores, tally->interrupted, tally->untraced);
	return bad ? bad : tally->failed ? 1 : 0;
}

static bool parse_seeds(struct options *o, const char *arg)
{
	o->seeds = true;
	return sscanf(arg, "%ld-%ld", &o->from, &o->to) == 2 && o->from <= o->to;
}

/* Options with a number have their place in struct options; others a letter. */
#define NUMBER(field) (256 + (int)offsetof(struct options, field))

static const struct option long_options[] = {
	{"seeds", 1, NULL, 's'},
	{"fuzz", 1, NULL, NUMBER(fuzz)},
	{"prog", 0, NULL, 'p'},
	{"sweep", 0, NULL, 'w'},
	{"stride", 1, NULL, NUMBER(stride)},
	{"show", 1, NULL, NUMBER(show)},
	{"lib", 1, NULL, 'l'},
	{"beside", 1, NULL, 'b'},
	{"plain", 0, NULL, 'n'},
	{"jobs", 1, NULL, NUMBER(jobs)},
	{"until", 1, NULL, NUMBER(until)},
	{"steps", 1, NULL, NUMBER(steps)},
	{"shrink", 1, NULL, NUMBER(shrink)},
	{"shrink-time", 1, NULL, NUMBER(shrink_time)},
	{"trace", 0, NULL, 't'},
	{"streams", 0, NULL, 'm'},
	{NULL, 0, NULL, 0},
};

static bool parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		switch (c) {
		case 's':
			if (!parse_seeds(o, optarg))
				return false;
			break;
		case 'p':
			o->prog = true;
			break;
		case 'w':
			o->prog = o->sweep = true;
			break;
		case 'l':
			o->lib = optarg;
			break;
		case 'b':
			o->beside = optarg;
			break;
		case 'n':
			o->plain = true;
			break;
		case 'm':
			o->streams = true;
			break;
		case 't':
			o->trace = true;
			break;
		case '?':
			return false;
		default:
			*(int *)((char *)o + c - 256) = atoi(optarg);
			break;
		}
	if (o->show >= 0)
		return true;
	return o->seeds + !!o->fuzz + o->prog == 1 && o->jobs > 0 && o->stride > 0 &&
	       o->steps >= 0 && o->steps <= PW_MAX_STEPS &&
	       (o->prog ? optind < argc : optind == argc);
}

int main(int argc, char **argv)
{
	struct options o = {
		.jobs = 2, .shrink = 5, .shrink_time = 30, .stride = 1, .show = -1};

	/* The interpreter's own ways in. */
	if (argc == 3 && !strcmp(argv[1], "--run"))
		return pw_interpret(argv[0], argv[2], 0);
	if (argc == 4 && !strcmp(argv[1], "--resume"))
		return pw_interpret(argv[0], argv[2], atoi(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "--helper"))
		return pw_help(argv[2], argv[3], argv[4]);

	o.lib = getenv("PAGEWELL_LIB");
	if (!parse(&o, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (o.show >= 0)
		return show(&o);
	if (!o.plain && (!o.lib || *o.lib != '/' || access(o.lib, R_OK))) {
		fprintf(stderr, "diff: no library at %s\n", o.lib ? o.lib : "(unset)");
		return 2;
	}
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	tally->next = o.fuzz ? time(NULL) * 1000003l % 1000000007l * 1000 : o.from;
	signal(SIGINT, on_stop);
	signal(SIGTERM, on_stop);
	return finish(o.prog ? run_files(&o, argv + optind) : work_together(&o));
}
