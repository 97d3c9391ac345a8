/* explain_json.c - the explanation as one JSON object; `pagewell explain --help` has its
 * shape. */
#include <sys/wait.h>

#include "cache/command/explain.h"

typedef unsigned long long ull;

/* Printable ASCII only, so that these two are all there is to escape. */
static void print_string(FILE *out, const char *clean)
{
	putc('"', out);
	for (; *clean; clean++) {
		if (*clean == '"' || *clean == '\\')
			putc('\\', out);
		putc(*clean, out);
	}
	putc('"', out);
}

static void print_account(FILE *out, const struct pw_account *a)
{
	bool first = true;

	fprintf(out,
		"\"calls\": %llu, \"reads\": %llu, \"seeks\": %llu, \"writes\": %llu, "
		"\"served_reads\": %llu, \"served_seeks\": %llu, \"stores\": %llu, "
		"\"served_bytes\": %llu, "
		"\"passed_bytes\": %llu, \"windows\": %llu, \"touched_pages\": %llu, "
		"\"touched_ns\": %llu, "
		"\"saved_calls\": %llu, \"saved_ns\": %.0f, \"passed\": {",
		(ull)a->all, (ull)a->calls[PW_CALL_READ], (ull)a->calls[PW_CALL_SEEK],
		(ull)a->calls[PW_CALL_WRITE], (ull)a->served_reads, (ull)a->served_seeks,
		(ull)a->stores, (ull)a->served_bytes, (ull)a->passed_bytes,
		(ull)a->windows, (ull)a->touched, (ull)a->touched_ns, (ull)a->served,
		a->saved_ns);
	for (int i = 1; i < PW_WHY_COUNT; i++) {
		if (!a->why[i])
			continue;
		fprintf(out, "%s\"%s\": %llu", first ? "" : ", ", pw_why_name[i],
			(ull)a->why[i]);
		first = false;
	}
	fprintf(out, "}");
}

void pw_explain_json(FILE *out, const struct pw_explanation *x)
{
	fprintf(out, "{\n  \"version\": \"" PW_VERSION "\",\n");
	if (WIFSIGNALED(x->status))
		fprintf(out, "  \"exit\": null, \"signal\": %d,\n", WTERMSIG(x->status));
	else
		fprintf(out, "  \"exit\": %d, \"signal\": null,\n",
			WEXITSTATUS(x->status));
	fprintf(out,
		"  \"processes\": %u, \"stepped_aside\": %u, \"stepped_aside_for\": ",
		x->attached, x->aside);
	if (x->aside_for[0])
		print_string(out, x->aside_for);
	else
		fprintf(out, "null");
	fprintf(out,
		",\n  \"without_streams\": %u,\n  \"costs_ns\": {\"call\": %u, "
		"\"touch\": %u, "
		"\"map\": %u},\n  \"totals\": {",
		x->streams, x->costs.call, x->costs.touch, x->costs.map);
	print_account(out, &x->total);
	fprintf(out, "},\n  \"files\": [");
	for (uint32_t i = 0; i < x->files; i++) {
		const struct pw_explained *f = &x->file[i];

		fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
		print_string(out, f->name);
		fprintf(out, ", \"kind\": \"%s\", \"file_system\": ", f->kind);
		if (f->place)
			print_string(out, f->place);
		else
			fprintf(out, "null");
		fprintf(out, ", ");
		print_account(out, &f->a);
		fprintf(out, "}");
	}
	fprintf(out,
		"%s],\n  \"verdict\": \"%s\",\n  \"advice\": ", x->files ? "\n  " : "",
		pw_verdict_name[x->verdict]);
	print_string(out, x->advice);
	fprintf(out, "\n}\n");
}
