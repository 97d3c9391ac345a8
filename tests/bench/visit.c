/*
 * Reads many small files: each opened, read to its end in blocks, closed.
 *
 *	visit FOLDER FILES BLOCK TIMES		one process reads them all, so many times
 *	visit FOLDER FILES BLOCK TIMES each	a process for each file reads it so many times
 *	visit FILE BLOCK TIMES			what such a process does
 *
 * The files are FOLDER/0000/000000 and so on, a hundred in a folder (files.make_tree).
 * Prints how many bytes were read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char pw_buf[1 << 20];

static void pw_die(const char *what)
{
	fprintf(stderr, "visit: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long pw_read_all(const char *path, size_t block)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long bytes = 0;
	ssize_t k;

	if (fd < 0)
		pw_die(path);
	while ((k = read(fd, pw_buf, block)) > 0)
		bytes += k;
	if (k < 0)
		pw_die(path);
	close(fd);
	return bytes;
}

static void pw_name(char path[PATH_MAX], const char *folder, int i)
{
	snprintf(path, PATH_MAX, "%s/%04d/%06d", folder, i / 100, i);
}

static void pw_start(const char *self, const char *path, char **numbers)
{
	char *const argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)path,
			      numbers[0], numbers[1], NULL};
	int status, error;
	pid_t pid;

	error = posix_spawn(&pid, self, NULL, NULL, argv, environ);
	if (error) {
		errno = error;
		pw_die(self);
	}
	if (waitpid(pid, &status, 0) < 0 || status)
		pw_die(path);
}

static void pw_usage(void)
{
	fprintf(stderr,
		"usage: visit FOLDER FILES BLOCK TIMES [each] | FILE BLOCK TIMES\n");
	exit(2);
}

static int pw_number(const char *text)
{
	int n = atoi(text);

	if (n <= 0 || n > 1 << 20)
		pw_usage();
	return n;
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	long bytes = 0;

	if (argc == 4) {
		for (int t = pw_number(argv[3]); t > 0; t--)
			pw_read_all(argv[1], (size_t)pw_number(argv[2]));
		return 0;
	}
	if (argc < 5 || argc > 6 || (argc == 6 && strcmp(argv[5], "each") != 0))
		pw_usage();
	if (argc == 6) {
		for (int i = 0; i < pw_number(argv[2]); i++) {
			pw_name(path, argv[1], i);
			pw_start(argv[0], path, argv + 3);
		}
		return 0;
	}
	for (int t = pw_number(argv[4]); t > 0; t--) {
		for (int i = 0; i < pw_number(argv[2]); i++) {
			pw_name(path, argv[1], i);
			bytes += pw_read_all(path, (size_t)pw_number(argv[3]));
		}
	}
	printf("%ld\n", bytes);
	return 0;
}
