/*
 * explain.c - `pagewell explain`: makes the table (cache/explain.h), runs the program with the
 * library, waits for it, says what the table holds, and ends as the program ended.
 */
#include "cache/command/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/command/launch.h"
#include "cache/command/options.h"
#include "cache/command/program.h"
#include "cache/command/say.h"

static const char help[] =
	"usage: pagewell explain [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"\n"
	"Runs PROGRAM, and what it starts in turn, with the library as pagewell run "
	"does,\n"
	"and then says on stderr what became of its calls, by file: how many there "
	"were,\n"
	"what share was served from memory, why the others went to the kernel, and how\n"
	"much time was saved; and whether it is worth it, or what to change.\n"
	"\n"
	"  -o, --output=FILE  write that to FILE instead\n"
	"  --json           as JSON (below)\n"
	"  --all            all files, not only the twenty with most "
	"calls\n" PW_LAUNCH_HELP "  --help, --version\n"
	"\n"
	"Counted are read, pread, lseek, write, pwrite, readv, writev and their kin, "
	"and\n"
	"what streams ask of the kernel. Not seen are calls that libc makes for itself\n"
	"(as mkstemp does), preadv, sendfile, splice and bare system calls. What\n"
	"runs on after PROGRAM has ended is counted up to its end. Time saved is an\n"
	"estimate: what the served calls would have cost as system calls, less what\n"
	"mapping the files took, by this machine's costs, which are measured; less than\n"
	"nothing is shown as it is. The counting makes PROGRAM slower than it would be;\n"
	"that is not part of it.\n"
	"\n"
	"--json prints one object; new members may be added. saved_ns may be negative:\n"
	"  version                   string\n"
	"  exit, signal              how the program ended: one of them is null\n"
	"  processes                 programs and forked children that had the library\n"
	"  stepped_aside, stepped_aside_for\n"
	"                            those of them that gave it up; the first one's "
	"call\n"
	"  without_streams           those whose streams could not be followed\n"
	"  costs_ns                  {call, touch, map}: of this machine\n"
	"  totals                    as in files, from calls on\n"
	"  files                     [{name, kind, file_system, calls, reads, seeks,\n"
	"                            writes, served_reads, served_seeks, stores,\n"
	"                            served_bytes, passed_bytes, windows,\n"
	"                            touched_pages, touched_ns, saved_calls,\n"
	"                            saved_ns, passed}], most calls first; kind is\n"
	"                            file, pipe, socket, terminal, device, folder,\n"
	"                            odd, or rest;\n"
	"                            passed: {REASON: calls}\n"
	"  verdict, advice           \"worth it\", \"not worth it\", \"change "
	"something\" or\n"
	"                            \"unknown\"; a sentence\n"
	"\n"
	"The exit status is PROGRAM's own, and if a signal killed it the same one kills\n"
	"pagewell; or 125 if pagewell itself failed, 126 if PROGRAM was found but "
	"cannot\n"
	"be invoked, 127 if it was not found.\n";

static struct pw_explanation explanation;

/* The descriptor, or -1: what was wrong has been said. */
static int make_table(struct pw_shm_explain **table)
{
	int fd = memfd_create(PW_EXPLAIN_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0) {
		pw_say("explain: cannot make the table: %s", strerror(errno));
		return -1;
	}
	/* All of it now: later there would be nobody to tell that memory ran out. */
	err = posix_fallocate(fd, 0, (off_t)sizeof(**table));
	if (!err && fcntl(fd, F_ADD_SEALS, PW_EXPLAIN_SEALS))
		err = errno;
	if (!err) {
		*table = mmap(NULL, sizeof(**table), PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
		err = *table == MAP_FAILED ? errno : 0;
	}
	if (!err)
		return fd;
	pw_say("explain: cannot make the table: %s", strerror(err));
	close(fd);
	return -1;
}

/* ---- the program ----------------------------------------------------------------------- */

static pid_t child;

static void hand_on(int sig)
{
	int saved = errno;

	kill(child, sig);
	errno = saved;
}

static const int signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGCHLD};

#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

struct before {
	sigset_t mask;
	struct sigaction act[SIGNALS];
};

/* Blocks what is to be handled, until there is a child to hand it on to. */
static void signals_hold(struct before *b)
{
	sigset_t hold;

	sigemptyset(&hold);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&hold, signals[i]);
	sigprocmask(SIG_BLOCK, &hold, &b->mask);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], NULL, &b->act[i]);
}

/*
 * The terminal's signals come to the program as well as to us, so that is its affair; what is
 * sent to us alone is handed on. What was ignored before stays so.
 */
static void signals_for_waiting(const struct before *b)
{
	for (size_t i = 0; i < SIGNALS; i++) {
		struct sigaction act = {.sa_flags = SA_RESTART};

		if (signals[i] == SIGCHLD)
			act.sa_handler = SIG_DFL;
		else if (signals[i] == SIGINT || signals[i] == SIGQUIT ||
			 b->act[i].sa_handler == SIG_IGN)
			act.sa_handler = SIG_IGN;
		else
			act.sa_handler = hand_on;
		sigaction(signals[i], &act, NULL);
	}
	sigprocmask(SIG_SETMASK, &b->mask, NULL);
}

static void become(const struct before *b, const struct pw_launch *l, char **argv,
		   int table, int failed)
{
	char path[64];
	int status = PW_LAUNCH_FAILED;

	sigprocmask(SIG_SETMASK, &b->mask, NULL);
	snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getppid(), table);
	if (setenv(PW_EXPLAIN_VARIABLE, path, 1))
		pw_say("explain: cannot set " PW_EXPLAIN_VARIABLE ": %s",
		       strerror(errno));
	else if (pw_launch_set(l, "explain"))
		status = pw_launch_become(argv, false);
	/* One byte: the status is not a program's. */
	if (write(failed, "", 1) != 1)
		status = PW_LAUNCH_FAILED;
	_exit(status);
}

/* Runs it to its end. False: it was not run; *status is what to end with then, else as from
 * waitpid(). */
static bool run(const struct pw_launch *l, char **argv, int table, int *status)
{
	struct before before;
	int told[2];
	char byte;
	ssize_t n;

	*status = PW_LAUNCH_FAILED;
	if (pipe2(told, O_CLOEXEC)) {
		pw_say("explain: cannot make a pipe: %s", strerror(errno));
		return false;
	}
	signals_hold(&before);
	child = fork();
	if (child == 0)
		become(&before, l, argv, table, told[1]);
	if (child < 0) {
		pw_say("explain: cannot fork: %s", strerror(errno));
		return false;
	}
	signals_for_waiting(&before);
	close(told[1]);
	do
		n = read(told[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	close(told[0]);
	while (waitpid(child, status, 0) < 0)
		if (errno != EINTR) {
			pw_say("explain: cannot wait for %s: %s", argv[0],
			       strerror(errno));
			*status = PW_LAUNCH_FAILED;
			return false;
		}
	if (n == 1)
		*status = WEXITSTATUS(*status);
	return n == 0;
}

/* As the program ended; without a second core. */
static int end_as(int status)
{
	int sig = WTERMSIG(status);
	sigset_t one;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	prctl(PR_SET_DUMPABLE, 0);
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
	return 128 + sig;
}

/* ---- the report ------------------------------------------------------------------------ */

static const char *why_absent(const char *program)
{
	const char *off = getenv("PAGEWELL_DISABLE");
	char file[PATH_MAX];
	static char why[128];
	const char *is;

	if (off && strcmp(off, "1") == 0)
		return "PAGEWELL_DISABLE is set";
	is = pw_program_find(program, file) ? pw_program_unserved(file) : NULL;
	if (!is)
		return NULL;
	snprintf(why, sizeof(why), "the program is %s", is);
	return why;
}

static bool coloured(FILE *out)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

int pw_explain_main(int argc, char **argv)
{
	struct pw_explanation *x = &explanation;
	struct pw_launch launch = {0};
	struct pw_shm_explain *table;
	const char *segment;
	const char *output = NULL;
	FILE *out = stderr;
	bool json = false;
	bool all = false;
	const struct pw_option options[] = {
		PW_LAUNCH_OPTIONS(launch), {"output", &output, NULL},
		{"o", &output, NULL},	   {"json", NULL, &json},
		{"all", NULL, &all},	   {0},
	};
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);
	int fd;

	if (at < 0)
		return status == PW_USAGE || status == PW_FAILED ? PW_LAUNCH_FAILED
								 : status;
	if (at == argc) {
		pw_say("explain: no program given; see pagewell explain --help");
		return PW_LAUNCH_FAILED;
	}
	if (output)
		out = fopen(output, "we");
	if (!out) {
		pw_say("explain: cannot write %s: %s", output, strerror(errno));
		return PW_LAUNCH_FAILED;
	}
	fd = make_table(&table);
	if (fd < 0)
		return PW_LAUNCH_FAILED;
	pw_explain_format(table);
	if (!run(&launch, argv + at, fd, &status))
		return status;
	x->status = status;
	segment = launch.value[PW_SET_SEGMENT];
	if (!segment)
		segment = getenv("PAGEWELL_SEGMENT");
	if (segment && *segment == '/')
		pw_segment_set_path(segment);
	x->absent = why_absent(argv[at]);
	pw_explain_take(x, table);
	pw_explain_judge(x);
	if (json) {
		pw_explain_json(out, x);
	} else {
		if (!output)
			fputc('\n', out); /* apart from what the program said */
		pw_explain_text(out, x, all, coloured(out));
	}
	if (fflush(out) || ferror(out))
		pw_say("explain: cannot write %s: %s", output ? output : "to stderr",
		       strerror(errno));
	return end_as(status);
}
