/*
 * How much later a program is done because the library was loaded into it.
 *
 *	startup LIB PAIRS SECONDS PROGRAM [ARG]...
 *
 * Starts PROGRAM and waits for it, in turn without and with LD_PRELOAD=LIB, PAIRS times
 * but not for longer than SECONDS, and prints a line of four figures in microseconds for
 * each pair: time on the wall
 * without and with, the child's processor time without and with. The difference is some
 * hundredths of a millisecond in about one, so it needs many pairs and a parent that
 * costs nothing: hence not the driver's own spawning. The processor time is there because
 * it can be told apart from noise with far fewer pairs. LIB `-` is plain against plain.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pw_die(const char *what, int error)
{
	fprintf(stderr, "startup: %s: %s\n", what, strerror(error));
	exit(1);
}

struct pw_took {
	double wall;
	double cpu;
};

static double pw_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec * 1e-3;
}

static double pw_usec(struct timeval tv)
{
	return (double)tv.tv_sec * 1e6 + (double)tv.tv_usec;
}

static struct pw_took pw_start(char **argv, char **env)
{
	double began = pw_now();
	struct pw_took took;
	struct rusage use;
	pid_t pid;
	int status, error = posix_spawn(&pid, argv[0], NULL, NULL, argv, env);

	if (error)
		pw_die(argv[0], error);
	if (wait4(pid, &status, 0, &use) != pid)
		pw_die("wait4", errno);
	if (status) {
		fprintf(stderr, "startup: %s failed (status %#x)\n", argv[0], status);
		exit(1);
	}
	took.wall = pw_now() - began;
	took.cpu = pw_usec(use.ru_utime) + pw_usec(use.ru_stime);
	return took;
}

int main(int argc, char **argv)
{
	char *preload, **plain, **loaded;
	int n = 0, pairs, seconds;
	double until;

	if (argc < 5 || (pairs = atoi(argv[2])) <= 0 || (seconds = atoi(argv[3])) <= 0) {
		fprintf(stderr, "usage: startup LIB PAIRS SECONDS PROGRAM [ARG]...\n");
		return 2;
	}
	unsetenv("LD_PRELOAD");
	while (environ[n])
		n++;
	plain = environ;
	loaded = calloc((size_t)n + 2, sizeof(*loaded));
	if (!loaded || asprintf(&preload, "LD_PRELOAD=%s", argv[1]) < 0)
		pw_die("memory", ENOMEM);
	memcpy(loaded, plain, (size_t)n * sizeof(*loaded));
	if (strcmp(argv[1], "-") != 0)
		loaded[n] = preload;
	/* The first starts bring program and libraries into the page cache. */
	until = pw_now() + seconds * 1e6;
	for (int i = -5; i < pairs && (i < 1 || pw_now() < until); i++) {
		struct pw_took without = pw_start(argv + 4, plain);
		struct pw_took with = pw_start(argv + 4, loaded);

		if (i >= 0)
			printf("%.1f %.1f %.1f %.1f\n", without.wall, with.wall,
			       without.cpu, with.cpu);
	}
	return 0;
}
