/* explain_text.c - the explanation for people. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cache/command/explain.h"

#define SHOWN 20u  /* files, unless all are asked for */
#define REASONS 3u /* of a file */
#define INDENT 4
#define WIDTH 79

/* Spaces between groups of three digits. */
static void put_number(char *to, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ' ';
		*to++ = digits[i];
	}
	*to = 0;
}

void pw_put_time(char *to, size_t size, double ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	const char *sign = ns < 0 ? "-" : "";
	int i = 0;

	if (ns < 0)
		ns = -ns;
	while (ns >= 999.5 && i < 3) {
		ns /= 1000;
		i++;
	}
	snprintf(to, size, ns < 9.95 && i ? "%s%.1f %s" : "%s%.0f %s", sign, ns, unit[i]);
}

/* Never 100 for nearly all, nor 0 for a few. */
static void put_share(char *to, size_t size, uint64_t part, uint64_t all)
{
	double percent = all ? 100.0 * (double)part / (double)all : 0;

	if (part && percent < 0.1)
		percent = 0.1;
	if (part < all && percent > 99.9)
		percent = 99.9;
	snprintf(to, size, part == 0 || part == all ? "%.0f %%" : "%.1f %%", percent);
}

static void print_row(FILE *out, const struct pw_account *a, const char *name)
{
	char calls[32];
	char share[32];
	char time[32] = "-";

	put_number(calls, a->all);
	put_share(share, sizeof(share), a->served, a->all);
	if (a->served || a->windows)
		pw_put_time(time, sizeof(time), a->saved_ns);
	fprintf(out, "%11s  %7s  %7s  %s\n", calls, share, time, name);
}

/* The indices of the reasons that a has, most calls first; how many. */
static unsigned sort_reasons(const struct pw_account *a, int order[PW_WHY_COUNT])
{
	unsigned n = 0;

	for (int i = 1; i < PW_WHY_COUNT; i++) {
		unsigned at = n;

		if (!a->why[i])
			continue;
		for (; at && a->why[order[at - 1]] < a->why[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
		n++;
	}
	return n;
}

/* Prints text with line breaks between words where they are needed, after `indent` spaces. */
static void print_wrapped(FILE *out, const char *text, int indent)
{
	int at = 0;

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at && at + 1 + n > WIDTH) {
			fputc('\n', out);
			at = 0;
		}
		at += fprintf(out, "%*s%.*s", at ? 1 : indent, "", n, text);
		text += n;
		text += *text == ' ';
	}
	fputc('\n', out);
}

static void print_reasons(FILE *out, const struct pw_account *a)
{
	static const char head[] = "to the kernel:";
	int order[PW_WHY_COUNT];
	unsigned n = sort_reasons(a, order);
	char number[32];
	char item[128];
	int at;

	if (!n)
		return;
	at = fprintf(out, "%*s%s", INDENT, "", head);
	for (unsigned i = 0; i < n && i < REASONS; i++) {
		put_number(number, a->why[order[i]]);
		snprintf(item, sizeof(item), " %s %s%s", number,
			 pw_reason[order[i]].words, i + 1 < n ? "," : "");
		if (at + (int)strlen(item) > WIDTH)
			at = fprintf(out, "\n%*s", INDENT + (int)strlen(head), "") - 1;
		at += fprintf(out, "%s", item);
	}
	fprintf(out, "%s\n", n > REASONS ? " ..." : "");
}

/* One sentence for each reason that there was, and only those. */
static void print_legend(FILE *out, const struct pw_explanation *x)
{
	int order[PW_WHY_COUNT];
	unsigned n = sort_reasons(&x->total, order);
	char line[512];

	for (unsigned i = 0; i < n; i++) {
		snprintf(line, sizeof(line), "%s: %s", pw_reason[order[i]].words,
			 pw_reason[order[i]].sentence);
		print_wrapped(out, line, 2);
	}
}

static void print_head(FILE *out, const struct pw_explanation *x)
{
	char calls[32];
	char saved[32];
	char time[32];

	put_number(calls, x->total.all);
	put_number(saved, x->total.served);
	pw_put_time(time, sizeof(time), x->total.saved_ns);
	fprintf(out, "%s calls of %u process%s; saved %s, about %s\n", calls, x->attached,
		x->attached == 1 ? "" : "es", saved, time);
	if (x->aside)
		fprintf(out,
			"%u process%s did without the library from a call of %s on\n",
			x->aside, x->aside == 1 ? "" : "es",
			x->aside_for[0] ? x->aside_for : "an unknown function");
	if (x->streams)
		fprintf(out,
			"of %u the streams (fopen, fread...) could not be followed, and "
			"are not counted\n",
			x->streams);
}

static void print_costs(FILE *out, const struct pw_explanation *x)
{
	char line[256];

	if (!x->costs.map)
		return;
	snprintf(line, sizeof(line),
		 "Times are estimates, of %u ns a call and %u ns a mapping on this "
		 "machine; "
		 "what the counting itself cost is not in them.",
		 x->costs.call, x->costs.map);
	fputc('\n', out);
	print_wrapped(out, line, 0);
}

void pw_explain_text(FILE *out, const struct pw_explanation *x, bool all, bool colours)
{
	const char *bold = colours ? "\033[1m" : "";
	const char *plain = colours ? "\033[0m" : "";
	uint32_t shown = all || x->files < SHOWN ? x->files : SHOWN;

	fprintf(out, "%spagewell explain:%s ", bold, plain);
	if (x->attached || x->aside)
		print_head(out, x);
	if (x->files) {
		fprintf(out, "\n%s%11s  %7s  %7s  %s%s\n", bold, "calls", "served",
			"saved", "file", plain);
		for (uint32_t i = 0; i < shown; i++) {
			print_row(out, &x->file[i].a, x->file[i].name);
			print_reasons(out, &x->file[i].a);
		}
		if (shown < x->files)
			fprintf(out, "%*sand %u more: --all\n", INDENT, "",
				x->files - shown);
		fprintf(out, "\n");
		print_legend(out, x);
		print_costs(out, x);
	}
	fprintf(out, "%s%s:%s %s\n", bold, pw_verdict_name[x->verdict], plain, x->advice);
}
