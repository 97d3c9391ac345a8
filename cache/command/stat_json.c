/* stat_json.c - the picture as one JSON object; `pagewell stat --help` says its shape. */
#include <limits.h>
#include <stdio.h>

#include "cache/command/say.h"
#include "cache/command/stat.h"

/* Printable ASCII only, so that these two are all there is to escape. */
static void print_string(const char *clean)
{
	putchar('"');
	for (; *clean; clean++) {
		if (*clean == '"' || *clean == '\\')
			putchar('\\');
		putchar(*clean);
	}
	putchar('"');
}

static void print_counters(const uint64_t n[PW_S_COUNT])
{
	for (int i = 0; i < PW_S_COUNT; i++)
		printf("%s\"%s\": %llu", i ? ", " : "", pw_stat_name[i],
		       (unsigned long long)n[i]);
}

void pw_stat_json(const struct pw_picture *p)
{
	char path[PATH_MAX];

	pw_clean(path, sizeof(path), p->path, PATH_MAX);
	printf("{\n  \"version\": \"" PW_VERSION "\",\n  \"path\": ");
	print_string(path);
	printf(",\n  \"bytes\": %u,\n  \"abi\": %u,\n  \"page_bytes\": %zu,\n",
	       PW_SEGMENT_BYTES, PW_ABI, PW_CP);
	printf("  \"costs_ns\": {\"call\": %u, \"touch\": %u, \"map\": %u},\n",
	       p->costs.call, p->costs.touch, p->costs.map);
	printf("  \"words\": {\"uptodate\": %u, \"locked\": %u, \"waiters\": %u, "
	       "\"capacity\": %u},\n",
	       p->uptodate, p->locked, p->waiters, PW_WORDS);
	printf("  \"files\": {\"entries\": %u, \"capacity\": %u},\n  \"totals\": {",
	       p->files, PW_FILES);
	print_counters(p->all);
	printf("},\n  \"past\": {");
	print_counters(p->past);
	printf("},\n  \"processes\": [");
	for (uint32_t i = 0; i < p->processes; i++) {
		const struct pw_process *q = &p->process[i];

		printf("%s\n    {\"pid\": %u, \"comm\": ", i ? "," : "", q->pid);
		print_string(q->comm);
		printf(", \"state\": \"%s\", ", pw_state_name[q->state]);
		print_counters(q->n);
		printf("}");
	}
	printf("%s]\n}\n", p->processes ? "\n  " : "");
}
