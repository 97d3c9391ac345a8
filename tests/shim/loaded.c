/*
 * loaded.c - the program of test_loading.sh. Wrong lines go to stderr (loading.h).
 *
 *	loaded main FILE	reads FILE
 *	loaded goes-on FILE	goes on where libctor's constructor stopped
 *	loaded deep FILE LIB	in turns with LIB, opened with RTLD_DEEPBIND
 *	loaded stacks FILE	in threads with the smallest stacks there are
 *	loaded allocates FILE	with much allocation in between, in threads
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include "loading.h"

static const char *path;

static int once(void)
{
	int fd = open(path, O_RDONLY);
	int wrong = exercise(fd, 1);

	if (!wrong)
		wrong = with_child(fd, 1);
	return close(fd) ? __LINE__ : wrong;
}

static int goes_on(void)
{
	int *fd = dlsym(RTLD_DEFAULT, "loading_fd");
	unsigned char buf[50];

	if (!fd || raw3(SYS_lseek, *fd, 0, SEEK_CUR) != 5040 ||
	    read(*fd, buf, 50) != 50 || !loading_is(buf, 50, 1, 5040))
		return __LINE__;
	return exercise(*fd, 1);
}

static int deep(const char *library)
{
	void *lib = dlopen(library, RTLD_NOW | RTLD_DEEPBIND);
	int (*deep_read)(const char *, unsigned);
	int wrong;

	if (!lib)
		return __LINE__;
	*(void **)&deep_read = dlsym(lib, "deep_read");
	wrong = deep_read ? 0 : __LINE__;
	/* The numbers are the same, over and over. */
	for (int i = 0; i < 10 && !wrong; i++) {
		wrong = once();
		if (!wrong)
			wrong = deep_read(path, 1);
	}
	return dlclose(lib) ? __LINE__ : wrong;
}

static void *in_thread(void *arg)
{
	*(int *)arg = once();
	return NULL;
}

static int in_threads(void *(*body)(void *), size_t stack)
{
	pthread_attr_t attr;
	pthread_t t[4];
	int wrong[4];

	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, stack))
		return __LINE__;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], &attr, body, &wrong[i]))
			return __LINE__;
	for (int i = 0; i < 4; i++)
		if (pthread_join(t[i], NULL) || wrong[i])
			return wrong[i] ? wrong[i] : __LINE__;
	return 0;
}

/* Buffers come and go, large ones with their pages. */
static void *allocate(void *arg)
{
	int *wrong = arg;
	int fd = open(path, O_RDONLY);

	*wrong = exercise(fd, 1);
	for (int i = 0; i < 3000 && !*wrong; i++) {
		size_t n = i % 10 ? 100 + (size_t)i % 5000 : 200000;
		unsigned char *buf = malloc(n);
		ssize_t got = buf ? pread(fd, buf, n, i) : -1;

		if (got != (ssize_t)n || !loading_is(buf, n, 1, (uint64_t)i))
			*wrong = __LINE__;
		free(buf);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int wrong = __LINE__;

	if (argc < 3)
		return 2;
	path = argv[2];
	if (!strcmp(argv[1], "main"))
		wrong = once();
	else if (!strcmp(argv[1], "goes-on"))
		wrong = goes_on();
	else if (!strcmp(argv[1], "deep"))
		wrong = deep(argv[3]);
	else if (!strcmp(argv[1], "stacks"))
		wrong = in_threads(in_thread, PTHREAD_STACK_MIN);
	else if (!strcmp(argv[1], "allocates"))
		wrong = in_threads(allocate, 1 << 20);
	tell("main", wrong);
	return 0;
}
