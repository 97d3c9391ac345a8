#define _GNU_SOURCE
#include "driver.h"
#include "files.h"
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/close_range.h>

/* A run takes milliseconds; one that takes this long has come to a halt. */
#define TOO_LONG_MS 10000

/* Everything before the trace is small, and fresh for every run. */
#define HEAD_SIZE offsetof(struct pw_shared, trace)

bool pw_driver_open(struct pw_driver *d, const char *lib, const char *tmp)
{
	ssize_t n;
	int fd;

	*d = (struct pw_driver){.lib = lib};
	n = readlink("/proc/self/exe", d->program, sizeof(d->program) - 1);
	if (n <= 0)
		return false;
	strcpy(d->work, "/dev/shm/pagewell-diff-XXXXXX");
	snprintf(d->work_tmp, sizeof(d->work_tmp), "%s/pagewell-diff-XXXXXX", tmp);
	if (!mkdtemp(d->work) || !mkdtemp(d->work_tmp))
		return false;
	snprintf(d->shared, sizeof(d->shared), "%s/shared", d->work);
	fd = open(d->shared, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*d->sh)))
		return false;
	d->sh = mmap(NULL, sizeof(*d->sh), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	/* Orphans of a run come to us, so that none outlives it. */
	return d->sh != MAP_FAILED && !prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void pw_driver_close(struct pw_driver *d)
{
	munmap(d->sh, sizeof(*d->sh));
	pw_files_remove(d->work);
	pw_files_remove(d->work_tmp);
}

static void report_path(const struct pw_driver *d, char *path, size_t size)
{
	snprintf(path, size, "%s/report.%%p", d->work);
}

/* In the child: descriptors, limits, environment, and then the interpreter. */
static void become(const struct pw_driver *d, const struct pw_prog *p, const char *dir,
		   bool with_lib)
{
	struct rlimit fsize = {p->fsize, RLIM_INFINITY}, nofile = {1024, 4096};
	struct rlimit none = {0, 0};
	const char *input = p->input < 0 || !p->file[p->input].there
				    ? "/dev/null"
				    : pw_file_names[p->input];
	char report[256];
	int fd;

	setpgid(0, 0);
	if (chdir(dir))
		_exit(124);
	umask(022);
	close_range(0, ~0u, 0);
	fd = open(input, O_RDONLY);
	if (fd != 0)
		_exit(124);
	fd = open("out", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd != 1 || dup(1) != 2)
		_exit(124);
	setrlimit(RLIMIT_NOFILE, &nofile);
	setrlimit(RLIMIT_CORE, &none);
	/* The same addresses every time, so that the same instruction is interrupted. */
	if (pw_prog_interrupts(p)) {
		personality(ADDR_NO_RANDOMIZE);
		setenv("LD_BIND_NOW", "1", 1);
	}
	unsetenv("LD_PRELOAD");
	if (with_lib && d->lib) {
		report_path(d, report, sizeof(report));
		setenv("LD_PRELOAD", d->lib, 1);
		setenv("PAGEWELL_REPORT", report, 1);
	}
	if (p->fsize)
		setrlimit(RLIMIT_FSIZE, &fsize);
	execl(d->program, d->program, "--run", d->shared, NULL);
	_exit(124);
}

static void collect_report(struct pw_driver *d, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256];
	long n;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "hits %ld", &n) == 1)
			d->hits += n;
		if (sscanf(line, "seeks %ld", &n) == 1)
			d->seeks += n;
		if (sscanf(line, "stores %ld", &n) == 1)
			d->stores += n;
	}
	if (f)
		fclose(f);
	unlink(path);
}

/* What the processes of a run under the library say about how much was served. */
static void collect_reports(struct pw_driver *d)
{
	char pattern[256];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/report.*", d->work);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		collect_report(d, found.gl_pathv[i]);
	globfree(&found);
}

static pid_t start_tracer(struct pw_driver *d)
{
	pid_t pid = fork();

	if (!pid)
		pw_tracer(d->sh);
	return pid;
}

/* Waits for the first process; true if it ended by itself in time. */
static bool await(pid_t pid, pid_t tracer, int *status)
{
	struct pollfd ended = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	bool in_time = ended.fd < 0 || poll(&ended, 1, TOO_LONG_MS) == 1;

	if (ended.fd >= 0)
		close(ended.fd);
	if (!in_time)
		kill(-pid, SIGKILL);
	waitpid(pid, status, 0);
	kill(-pid, SIGKILL);
	if (tracer > 0)
		kill(tracer, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return in_time;
}

static void run_in_order(struct pw_driver *d, const struct pw_prog *p, bool with_lib,
			 int order, struct pw_outcome *o)
{
	char dir[4200], *files;
	size_t size;
	int status = 0;
	pid_t pid, tracer = 0;
	FILE *to;

	o->text = NULL;
	o->late = false;
	snprintf(dir, sizeof(dir), "%s/run", p->on_shm ? d->work : d->work_tmp);
	if (!pw_files_make(dir, p)) {
		perror(dir);
		exit(2);
	}
	memset(d->sh, 0, HEAD_SIZE);
	d->sh->prog = *p;
	d->sh->actor[0].life = PW_ALIVE;
	d->sh->actor[0].leader = 1;
	d->sh->order = order;
	if (order == PW_AT && pw_prog_interrupts(p))
		tracer = start_tracer(d);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid)
		become(d, p, dir, with_lib);
	setpgid(pid, pid);
	o->late = !await(pid, tracer, &status);
	files = pw_files_tell(dir);
	to = open_memstream(&o->text, &size);
	fprintf(to, "%.*s", (int)d->sh->len, d->sh->trace);
	if (d->sh->len >= PW_TRACE_MAX - 1)
		fprintf(to, "\nthe trace is full\n");
	if (o->late)
		fprintf(to, "IT DOES NOT END: step %d, turn of @%u\n", d->sh->pc,
			d->sh->turn);
	else
		fprintf(to, "status %x\n", status);
	fprintf(to, "%s", files);
	fclose(to);
	free(files);
	d->interrupted += d->sh->interrupted;
	d->untraced += d->sh->trap.failed;
	if (with_lib)
		collect_reports(d);
}

void pw_driver_run(struct pw_driver *d, const struct pw_prog *p, bool with_lib,
		   struct pw_outcome *o)
{
	run_in_order(d, p, with_lib, with_lib ? PW_AT : PW_BEFORE, o);
}

/* So many bytes are alike. */
static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

bool pw_driver_same(struct pw_driver *d, const struct pw_prog *p,
		    struct pw_outcome *plain, struct pw_outcome *lib)
{
	struct pw_outcome a, b;
	bool same;

	pw_driver_run(d, p, false, &a);
	pw_driver_run(d, p, true, &b);
	same = !strcmp(a.text, b.text);
	if (!same && pw_prog_interrupts(p)) {
		/* The handler came before the call, it seems not: then after it. */
		struct pw_outcome after;

		run_in_order(d, p, false, PW_AFTER, &after);
		same = !strcmp(after.text, b.text);
		if (same || common(after.text, b.text) > common(a.text, b.text)) {
			free(a.text);
			a = after;
		} else {
			free(after.text);
		}
	}
	if (plain)
		*plain = a;
	else
		free(a.text);
	if (lib)
		*lib = b;
	else
		free(b.text);
	return same;
}

int pw_driver_sweep(struct pw_driver *d, struct pw_prog *p, int stride)
{
	struct pw_outcome before, after, lib;
	struct pw_step *s = p->step;
	int done = 0;

	while (s->op != PW_OP_INTERRUPT)
		s++;
	run_in_order(d, p, false, PW_BEFORE, &before);
	run_in_order(d, p, false, PW_AFTER, &after);
	for (int at = 0; !done; at += stride) {
		s->arg[0] = at;
		run_in_order(d, p, true, PW_AT, &lib);
		if (strcmp(lib.text, before.text) && strcmp(lib.text, after.text))
			done = -1 - at;
		else if (!d->sh->interrupted || at > 20000)
			done = at + 1;
		free(lib.text);
	}
	free(before.text);
	free(after.text);
	return done;
}

static size_t line_length(const char *s)
{
	return strcspn(s, "\n");
}

void pw_print_difference(FILE *to, const char *plain, const char *lib)
{
	const char *before[4] = {NULL};

	while (*plain && *lib) {
		size_t n = line_length(plain);

		if (n != line_length(lib) || memcmp(plain, lib, n))
			break;
		memmove(before, before + 1, sizeof(before) - sizeof(before[0]));
		before[3] = plain;
		plain += n + (plain[n] == '\n');
		lib += n + (lib[n] == '\n');
	}
	for (int i = 0; i < 4; i++)
		if (before[i])
			fprintf(to, "  both:    %.*s\n", (int)line_length(before[i]),
				before[i]);
	fprintf(to, "  plain:   %.*s\n", (int)line_length(plain), plain);
	fprintf(to, "  library: %.*s\n", (int)line_length(lib), lib);
}
