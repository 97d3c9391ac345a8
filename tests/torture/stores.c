/*
 * stores: is each byte that the library stores (PAGEWELL_WRITE=map) where a write would have
 * put it? The counterpart of exact.
 *
 * This process is a plain one. It starts the same program anew under LD_PRELOAD=$PAGEWELL_LIB,
 * has it make writes, and after each batch compares the file, as it reads it itself, with a
 * model in memory (stores_steps.c). Ends with one line of the test protocol on stdout.
 *
 * Environment: PAGEWELL_LIB; STORES_NOLIB=1 runs the writer without a library.
 */
#include "stores.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t writer;
static int writer_status;
static char report[1100];

bool stores_writer_is_gone(void)
{
	if (writer && waitpid(writer, &writer_status, WNOHANG) == writer)
		writer = 0;
	return !writer;
}

static void become_writer(int memory)
{
	const char *library = getenv("PAGEWELL_LIB");
	char arg[16];

	snprintf(arg, sizeof(arg), "%d", memory);
	if (library && !getenv("STORES_NOLIB")) {
		setenv("LD_PRELOAD", library, 1);
		setenv("PAGEWELL_WRITE", "map", 1);
		setenv("PAGEWELL_REPORT", report, 1);
	}
	execl("/proc/self/exe", "stores", arg, NULL);
	_exit(127);
}

/* How many writes the library says that it stored. */
static uint64_t stored(void)
{
	uint64_t n = 0;
	char line[256];
	FILE *f = fopen(report, "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "stores %" SCNu64, &n) == 1)
			break;
	if (f)
		fclose(f);
	unlink(report);
	return n;
}

static struct shared *shared_at(int memory)
{
	void *m = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		       memory, 0);

	return m == MAP_FAILED ? NULL : m;
}

/* There nothing is stored (cache/place.h). */
static bool small_blocks(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && st.st_blksize < 4096;
}

static int verdict(const struct stores_options *o, const struct stores_tally *t,
		   const char *wrong)
{
	uint64_t n = stored();

	fprintf(stderr,
		"%s: seed %" PRIu64 ", steps %" PRIu64 ", turns %" PRIu64
		", writes %" PRIu64 ", stores %" PRIu64 ", reads %" PRIu64
		", strangers' changes %" PRIu64 "\n",
		o->name, o->seed, t->steps, t->turns, t->writes, n, t->reads,
		t->strangers);
	if (!wrong && writer_status)
		wrong = "the writer did not end well";
	if (!wrong && small_blocks(o->dir)) {
		if (n)
			wrong = "stored where blocks are smaller than a page";
	} else if (!wrong && n < t->writes / 30 && !getenv("STORES_NOLIB"))
		wrong = "hardly a write was stored, which proves nothing";
	if (wrong)
		printf("not ok %s - step %" PRIu64 ": %s, seed %" PRIu64 "\n", o->name,
		       t->steps, wrong, o->seed);
	else
		printf("ok %s\n", o->name);
	return wrong ? 1 : 0;
}

static int run(const struct stores_options *o)
{
	struct stores_tally t = {0};
	int memory = memfd_create("stores", 0);
	struct shared *s;
	const char *wrong;
	int fd;

	if (memory < 0 || ftruncate(memory, sizeof(*s)) || !(s = shared_at(memory)))
		return 2;
	snprintf(s->path, sizeof(s->path), "%s/stored", o->dir);
	snprintf(report, sizeof(report), "%s/report", o->dir);
	fd = open(s->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		return 2;
	close(fd);
	writer = fork();
	if (!writer)
		become_writer(memory);
	wrong = stores_steps(s, o, &t);
	stores_over(s);
	if (writer)
		waitpid(writer, &writer_status, 0);
	unlink(s->path);
	return verdict(o, &t, wrong);
}

/* stores NAME DIR SEED STEPS; the writer: stores NUMBER-OF-THE-MEMORY */
int main(int argc, char **argv)
{
	struct shared *s;

	if (argc == 2 && (s = shared_at(atoi(argv[1]))))
		return stores_write(s);
	if (argc != 5 || (!getenv("PAGEWELL_LIB") && !getenv("STORES_NOLIB"))) {
		fprintf(stderr,
			"usage: stores NAME DIR SEED STEPS, with PAGEWELL_LIB set\n");
		return 2;
	}
	return run(&(struct stores_options){.name = argv[1],
					    .dir = argv[2],
					    .seed = strtoull(argv[3], NULL, 10),
					    .steps = strtoull(argv[4], NULL, 10)});
}
