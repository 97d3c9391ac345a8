/*
 * report.c - see report.h. Written by raw system calls through one buffer, so that neither
 * stdio nor our own wrappers are entered; a file that cannot be written is done without.
 */
#include "shim/report.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/pagewell.h"
#include "shim/knobs.h"

struct line {
	char text[2048];
	size_t n;
};

static void put(struct line *l, const char *s)
{
	while (*s && l->n < sizeof(l->text) - 1)
		l->text[l->n++] = *s++;
}

static void put_number(struct line *l, uint64_t v)
{
	char digits[24];
	size_t n = sizeof(digits);

	digits[--n] = 0;
	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	put(l, digits + n);
}

static void append(const char *path, int flags, const struct line *l)
{
	uint64_t limit;
	long fd;

	/* Writing past RLIMIT_FSIZE would be a SIGXFSZ, which kills the host. */
	if (pw_sys->getrlimit(RLIMIT_FSIZE, &limit) || limit != RLIM64_INFINITY)
		return;
	fd = pw_sys->open(path,
			  O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags,
			  0666);
	if (fd < 0)
		return;
	pw_syscall3(SYS_write, fd, l->text, l->n);
	pw_sys->close((int)fd);
}

static void expand(const char *pattern, struct line *out)
{
	for (; *pattern; pattern++) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			put_number(out, (uint64_t)getpid());
			pattern++;
		} else if (out->n < sizeof(out->text) - 1) {
			out->text[out->n++] = *pattern;
		}
	}
	out->text[out->n] = 0;
}

void pw_report_write(void)
{
	struct line path = {.n = 0};
	struct line l = {.n = 0};
	uint64_t now[PW_S_COUNT];

	if (!pw_knobs.report)
		return;
	expand(pw_knobs.report, &path);
	pw_stat_own(now);
	for (int i = 0; i < PW_S_COUNT; i++) {
		put(&l, pw_stat_name[i]);
		put(&l, " ");
		put_number(&l, now[i]);
		put(&l, "\n");
	}
	append(path.text, O_TRUNC, &l);
}

void pw_log(const char *what, const char *where, long err)
{
	struct line l = {.n = 0};

	if (!pw_knobs.log)
		return;
	put(&l, "pagewell[");
	put_number(&l, (uint64_t)getpid());
	put(&l, "]: ");
	put(&l, what);
	put(&l, ": ");
	put(&l, where);
	if (err) {
		const char *name = strerrorname_np((int)err);

		put(&l, ": ");
		put(&l, name ? name : "unknown error");
	}
	put(&l, "\n");
	append(pw_knobs.log, O_APPEND, &l);
}
