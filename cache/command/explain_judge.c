/* explain_judge.c - worth it, not worth it, or what to change. */
#include <string.h>

#include "cache/command/explain.h"

#define MS 1e6 /* less is nothing to change anything for */

struct wish {
	enum pw_why why;
	const char *hint; /* %s: the file with most of them */
};

/* What can be changed, by a knob or in the program. */
static const struct wish wishes[] = {
	{PW_WHY_FS, NULL}, /* place_hint() */
	{PW_WHY_EXCLUDED, "%s is left out by PAGEWELL_INCLUDE or PAGEWELL_EXCLUDE"},
	{PW_WHY_UNSEEN,
	 "let the program open %s itself instead of inheriting it (\"cat file\" and not "
	 "\"cat <file\")"},
	{PW_WHY_DIRECT, "open %s without O_DIRECT"},
	{PW_WHY_APPEND, "open %s for reading without O_APPEND (not \"a+\")"},
	{PW_WHY_SHARED,
	 "open %s after the fork and not before, in each process that reads it"},
	{PW_WHY_RETURNED,
	 "read and write %s through descriptors of their own, not through one"},
	{PW_WHY_VECTOR, "read %s with read or pread instead of readv"},
	{PW_WHY_LIMIT, "let files be mapped: no ulimit -v (RLIMIT_AS), no mlockall, "
		       "SIGBUS not ignored"},
	{PW_WHY_SIGBUS, "don't block SIGBUS in threads that read %s"},
	{PW_WHY_STREAMS, "this libc's streams are not known: see PAGEWELL_LOG"},
};

#define WISHES (sizeof(wishes) / sizeof(wishes[0]))

static bool wished(const struct pw_explained *f, enum pw_why why)
{
	return f->a.why[why] && !(why == PW_WHY_FS && f->hopeless);
}

/* What stands in the way of most calls, and the file where it does so most. */
struct best {
	const struct wish *wish;
	const struct pw_explained *file;
	double calls;
};

static struct best look(const struct pw_explanation *x)
{
	struct best best = {0};

	for (size_t w = 0; w < WISHES; w++) {
		enum pw_why why = wishes[w].why;
		struct best now = {.wish = &wishes[w]};

		for (uint32_t i = 0; i < x->files; i++) {
			const struct pw_explained *f = &x->file[i];

			if (!wished(f, why))
				continue;
			now.calls += (double)f->a.why[why];
			if (!now.file || f->a.why[why] > now.file->a.why[why])
				now.file = f;
		}
		if (now.calls > best.calls)
			best = now;
	}
	return best;
}

static void put_hint(char *to, size_t size, const struct best *b)
{
	const char *name = b->file->name;

	if (b->wish->why != PW_WHY_FS)
		snprintf(to, size, b->wish->hint, name);
	else if (b->file->usual)
		snprintf(to, size, "serve %s: take -%s out of PAGEWELL_FS", name,
			 b->file->place);
	else if (b->file->listed)
		snprintf(to, size,
			 "serve %s with --fs=+%s, if what README.md says of it is "
			 "no matter",
			 name, b->file->place);
	else
		snprintf(to, size,
			 "serve %s, on %s, with --trust=FOLDER, if close-to-open "
			 "is enough there",
			 name,
			 b->file->place ? b->file->place : "an unknown file system");
}

/* The reason for most of what went to the kernel, writes aside. */
static enum pw_why main_reason(const struct pw_account *a)
{
	enum pw_why most = PW_SERVED;

	for (int i = 1; i < PW_WHY_COUNT; i++)
		if (i != PW_WHY_WRITE && (most == PW_SERVED || a->why[i] > a->why[most]))
			most = (enum pw_why)i;
	return most;
}

static void judge_served(struct pw_explanation *x, uint64_t asked)
{
	char time[32];
	enum pw_why why = main_reason(&x->total);

	x->verdict = PW_NOT_WORTH_IT;
	if (asked < PW_EXPLAIN_FEW) {
		snprintf(x->advice, sizeof(x->advice),
			 "only %llu reads and seeks: there is nothing to gain",
			 (unsigned long long)asked);
		return;
	}
	if (x->total.saved_ns < 0) {
		pw_put_time(time, sizeof(time), -x->total.saved_ns);
		snprintf(x->advice, sizeof(x->advice),
			 "it took about %s more than it saved", time);
		return;
	}
	if (x->total.served > asked / 2) {
		pw_put_time(time, sizeof(time), x->total.saved_ns);
		snprintf(x->advice, sizeof(x->advice), "no more than about %s saved",
			 time);
		return;
	}
	snprintf(x->advice, sizeof(x->advice),
		 "most reads and seeks went to the kernel (%s), and nothing can be done "
		 "about that",
		 pw_reason[why].words);
}

void pw_explain_judge(struct pw_explanation *x)
{
	struct best best = look(x);
	double possible = best.calls * x->costs.call;
	uint64_t asked = x->total.calls[PW_CALL_READ] + x->total.calls[PW_CALL_SEEK];
	char hint[sizeof(x->advice) / 2];
	char more[32];
	char time[32];

	if (!x->attached && x->aside) {
		x->verdict = PW_UNKNOWN;
		snprintf(x->advice, sizeof(x->advice),
			 "the library stayed out, because of %s", x->aside_for);
		return;
	}
	if (!x->attached) {
		x->verdict = PW_UNKNOWN;
		snprintf(x->advice, sizeof(x->advice),
			 "the library was never at work: %s",
			 x->absent ? x->absent
				   : "LD_PRELOAD was taken away, or the program cannot "
				     "see /proc");
		return;
	}
	pw_put_time(more, sizeof(more), possible);
	if (best.file)
		put_hint(hint, sizeof(hint), &best);
	if (x->total.saved_ns >= MS) {
		bool worth_saying = possible >= MS && possible > x->total.saved_ns / 4;

		x->verdict = PW_WORTH_IT;
		pw_put_time(time, sizeof(time), x->total.saved_ns);
		snprintf(x->advice, sizeof(x->advice), "about %s saved%s%s%s%s", time,
			 worth_saying ? "; for up to " : "", worth_saying ? more : "",
			 worth_saying ? " more: " : "", worth_saying ? hint : "");
	} else if (possible >= MS) {
		x->verdict = PW_CHANGE;
		snprintf(x->advice, sizeof(x->advice), "for up to %s: %s", more, hint);
	} else {
		judge_served(x, asked);
	}
}
