/* self.c - running the cases: see _self.h. */
#include <linux/magic.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "_self.h"

#define CASE_SECONDS 120
#define TRACE_MAX ((size_t)4 << 20)

bool self_preloaded;
char self_exe[4096];
char self_bin[4096];
char self_static[4096];

static char work[4096];	   /* everything below it is removed at the end */
static char segment[4096]; /* the private PAGEWELL_SEGMENT */

static char lib[4096]; /* absolute: cases run in folders of their own */

static bool find_lib(void)
{
	const char *l = getenv("PAGEWELL_LIB");

	if (!l || !*l)
		l = "build/libpagewell.so";
	if (realpath(l, lib))
		return true;
	printf("not ok library - %s is missing\n", l);
	return false;
}

/* A folder on a file system that the library serves; or NULL, and why. */
static const char *choose_base(void)
{
	const char *tries[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
	struct statfs fs;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (!tries[i] || statfs(tries[i], &fs) || access(tries[i], W_OK))
			continue;
		if (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
		    fs.f_type == TMPFS_MAGIC)
			return tries[i];
	}
	return NULL;
}

static bool set_paths(void)
{
	ssize_t n = readlink("/proc/self/exe", self_exe, sizeof(self_exe) - 1);
	char *slash;

	if (n <= 0)
		return false;
	self_exe[n] = 0;
	snprintf(self_bin, sizeof(self_bin), "%s", self_exe);
	slash = strrchr(self_bin, '/');
	if (!slash)
		return false;
	*slash = 0;
	return snprintf(self_static, sizeof(self_static), "%s/static_reader", self_bin) <
	       (int)sizeof(self_static);
}

struct outcome {
	char *trace;
	int status;
	bool late;
};

static char *slurp(const char *path)
{
	char *buf = calloc(1, TRACE_MAX);
	int fd = open(path, O_RDONLY);

	if (!buf)
		abort();
	if (fd >= 0) {
		ssize_t n = read(fd, buf, TRACE_MAX - 1);

		buf[n > 0 ? n : 0] = 0;
	}
	if (fd >= 0)
		close(fd);
	return buf;
}

/* In the child, up to exec. */
static void become(const char *name, const char *dir, const char *trace, bool preload)
{
	struct rlimit no_core = {0, 0};
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	if (chdir(dir) || dup2(null, 0) < 0 || dup2(2, 1) < 0)
		_exit(98);
	close(null);
	setenv("SELF_TRACE", trace, 1);
	setenv("PAGEWELL_SEGMENT", segment, 1);
	if (preload)
		setenv("LD_PRELOAD", lib, 1);
	execl(self_exe, self_exe, "--case", name, preload ? "preloaded" : "plain", NULL);
	_exit(98);
}

static struct outcome run(const char *name, bool preload)
{
	struct outcome o = {NULL, 0, false};
	const char *mode = preload ? "preloaded" : "plain";
	char dir[4200];
	char trace[4220];
	struct pollfd p;
	pid_t pid;

	snprintf(dir, sizeof(dir), "%s/%s.%s", work, name, mode);
	snprintf(trace, sizeof(trace), "%s.trace", dir);
	mkdir(dir, 0700);
	pid = fork();
	if (!pid)
		become(name, dir, trace, preload);
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	p.events = POLLIN;
	if (p.fd >= 0 && poll(&p, 1, CASE_SECONDS * 1000) == 0) {
		o.late = true;
		kill(pid, SIGKILL);
	}
	waitpid(pid, &o.status, 0);
	close(p.fd);
	o.trace = slurp(trace);
	return o;
}

/* The first line that begins with c, or NULL; ends it. */
static const char *line_with(char *trace, char c)
{
	for (char *l = trace; l && *l; l = strchr(l, '\n') ? strchr(l, '\n') + 1 : NULL)
		if (*l == c) {
			l[strcspn(l, "\n")] = 0;
			return l + 1;
		}
	return NULL;
}

static void ending(char *to, size_t size, int status)
{
	if (WIFSIGNALED(status))
		snprintf(to, size, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(to, size, "exit status %d", WEXITSTATUS(status));
}

/* The first lines that differ; both are cut off there. */
static void diverge(char **a, char **b)
{
	char *x = *a;
	char *y = *b;

	while (*x && *x == *y) {
		if (*x == '\n') {
			*a = x + 1;
			*b = y + 1;
		}
		x++;
		y++;
	}
	(*a)[strcspn(*a, "\n")] = 0;
	(*b)[strcspn(*b, "\n")] = 0;
}

/* 97: no trace could be written; 98: the case could not be started; 99: NEED. */
static bool harness_gave_up(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) >= 97 &&
	       WEXITSTATUS(status) <= 99;
}

static bool verdict(const struct self_case *c)
{
	struct outcome plain = {NULL, 0, false};
	struct outcome ours;
	char how[2][64];
	const char *why;
	bool ok = false;

	if (c->how == SELF_BOTH)
		plain = run(c->name, false);
	ours = run(c->name, true);
	ending(how[0], sizeof(how[0]), plain.status);
	ending(how[1], sizeof(how[1]), ours.status);
	fprintf(stderr, "---- %s, preloaded:\n%s", c->name, ours.trace);

	why = plain.trace ? line_with(plain.trace, '?') : NULL;
	if (!why)
		why = line_with(ours.trace, '?');
	if (why) {
		printf("skip %s - %s\n", c->name, why);
		ok = true;
	} else if (plain.trace && (why = line_with(plain.trace, '!'))) {
		printf("not ok %s - already without the library: %s\n", c->name, why);
	} else if (plain.late || ours.late) {
		printf("not ok %s - did not end%s\n", c->name,
		       plain.late ? ", without the library" : "");
	} else if ((why = line_with(ours.trace, '!'))) {
		printf("not ok %s - %s\n", c->name, why);
	} else if (plain.trace && !*plain.trace && !plain.status) {
		printf("not ok %s - left no trace\n", c->name);
	} else if (harness_gave_up(plain.status) || harness_gave_up(ours.status)) {
		printf("not ok %s - the test itself gave up: %s, %s\n", c->name, how[0],
		       how[1]);
	} else if (plain.trace && strcmp(plain.trace, ours.trace) != 0) {
		char *a = plain.trace;
		char *b = ours.trace;

		diverge(&a, &b);
		printf("not ok %s - kernel: '%s', library: '%s' (%s)\n", c->name, a, b,
		       how[1]);
	} else if (ours.status != plain.status) {
		printf("not ok %s - kernel: %s, library: %s\n", c->name, how[0], how[1]);
	} else {
		printf("ok %s\n", c->name);
		ok = true;
	}
	fflush(stdout);
	free(plain.trace);
	free(ours.trace);
	return ok;
}

static int run_case(int argc, char **argv, const struct self_case *cases, size_t n)
{
	self_preloaded = argc > 3 && !strcmp(argv[3], "preloaded");
	for (size_t i = 0; i < n; i++)
		if (!strcmp(cases[i].name, argv[2])) {
			cases[i].body();
			exit(0);
		}
	return 98;
}

int self_main(int argc, char **argv, const struct self_case *cases, size_t n)
{
	const char *given;
	const char *base;
	char command[4300];
	bool all = true;

	if (!set_paths())
		return 98;
	if (argc > 2 && !strcmp(argv[1], "--read"))
		return self_reader(argc, argv);
	if (argc > 2 && !strcmp(argv[1], "--case"))
		return run_case(argc, argv, cases, n);
	base = choose_base();
	if (!base) {
		printf("skip all - no folder on a file system that is served\n");
		return 0;
	}
	if (!find_lib())
		return 1;
	snprintf(work, sizeof(work), "%s/pagewell-test.XXXXXX", base);
	if (!mkdtemp(work))
		return 98;
	/* Below the name the runner gave us, if it did: it clears away after a kill. */
	given = getenv("PAGEWELL_SEGMENT");
	snprintf(segment, sizeof(segment), "%s-%d",
		 given && *given ? given : "/dev/shm/pagewell-test", getpid());
	for (size_t i = 0; i < n; i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			all &= verdict(&cases[i]);
	unlink(segment);
	snprintf(command, sizeof(command), "rm -rf --one-file-system '%s'", work);
	if (system(command))
		fprintf(stderr, "could not remove %s\n", work);
	return all ? 0 : 1;
}
