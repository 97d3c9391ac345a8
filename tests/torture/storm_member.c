/* storm_member.c - see storm.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storm.h"

#define BLOCK 512
#define BLOCKS (CREW_PAGE / BLOCK)

static const char *file;

static int opened(void)
{
	int fd = timed_open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		crew_wrong("open: errno %d", errno);
	return fd;
}

static void closed(int fd)
{
	if (timed_close(fd))
		crew_wrong("close: errno %d", errno);
}

/* Reads of one place, by place: others may share the position. */
static void spot(int fd, int64_t page, int reads)
{
	for (int i = 0; i < reads && !me->wrongs; i++)
		crew_pread(fd, BLOCK, page * CREW_PAGE + i % BLOCKS * BLOCK);
}

static void all(int fd)
{
	crew_seek(fd, 0, SEEK_SET, 0);
	for (int64_t at = 0; at < STORM_PAGES * CREW_PAGE && !me->wrongs; at += BLOCK)
		crew_read(fd, BLOCK, at);
}

static void brief(int how)
{
	int fd = opened();

	spot(fd, how % STORM_PAGES, 1500);
	if (how % 8 == 1)
		kill(getpid(), SIGKILL);
	if (how % 8 == 2)
		_exit(crew_status_of_me());
	if (how % 8 == 3)
		return; /* open as it is */
	closed(fd);
}

static void reader(void)
{
	while (atomic_load(&crew->go) != STORM_END && !me->wrongs) {
		int fd = opened();

		spot(fd, 0, 1000);
		all(fd);
		closed(fd);
		crew_nap_ms(2);
	}
}

/* ---- threads --------------------------------------------------------------------------- */

static int shared_fd;

static void *thread(void *arg)
{
	int64_t page = (intptr_t)arg % STORM_PAGES;
	int fd = opened();
	int more[3]; /* so that all threads get memory for handles, not only the first */

	for (int i = 0; i < 3; i++)
		more[i] = opened();

	spot(fd, page, 300);
	crew_seek(fd, CREW_PAGE, SEEK_SET, CREW_PAGE);
	for (int i = 0; i < 100 && !me->wrongs; i++)
		crew_read(fd, BLOCK, CREW_PAGE + (int64_t)i * BLOCK);
	spot(shared_fd, page, 100);
	for (int i = 0; i < 3; i++)
		closed(more[i]);
	closed(fd);
	return NULL;
}

static bool mapped(void)
{
	char line[8192];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, file) != NULL;
	if (f)
		fclose(f);
	return found;
}

static void threads(int n)
{
	pthread_t *t = calloc((size_t)n + 1, sizeof(*t));

	while (t && atomic_load(&crew->go) != STORM_END && !me->wrongs) {
		int made = 0;

		shared_fd = opened();
		while (made < n &&
		       !pthread_create(&t[made], NULL, thread, (void *)(intptr_t)made))
			made++;
		if (made < n)
			crew_wrong("%d threads, no more: errno %d", made, errno);
		for (int i = 0; i < made; i++)
			pthread_join(t[i], NULL);
		closed(shared_fd);
		if (mapped())
			crew_wrong("a window is left where all is closed");
	}
	free(t);
}

/* ---- a server that forks --------------------------------------------------------------- */

static void child(int fd, int n)
{
	int own = opened();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	spot(fd, n % STORM_PAGES, 50);
	spot(own, n % STORM_PAGES, 300);
	closed(own);
	spot(fd, n % STORM_PAGES, 50);
	if (n % 2)
		exit(crew_status_of_me());
	_exit(crew_status_of_me());
}

static void server(int n)
{
	int fd = opened();
	int status;

	spot(fd, 0, 2000);
	for (int i = 0; i < n && !me->wrongs; i++) {
		pid_t pid = fork();

		if (!pid)
			child(fd, i);
		spot(fd, i % STORM_PAGES, 20);
		/* A few at a time. */
		if (i >= 4 && (wait(&status) < 0 || status))
			crew_wrong("a child ended with %x", (unsigned)status);
		if (i % 50 == 0)
			all(fd);
	}
	while (wait(&status) > 0)
		if (status)
			crew_wrong("a child ended with %x", (unsigned)status);
	closed(fd);
}

static void holder(void)
{
	int fd = opened();

	spot(fd, 0, 1500);
	atomic_store(&me->ready, 1);
	while (atomic_load(&crew->go) == STORM_WAIT)
		crew_nap_ms(20);
	all(fd);
	closed(fd);
	fd = opened();
	spot(fd, 1, 1500);
	atomic_store(&me->ready, 2);
	while (atomic_load(&crew->go) != STORM_END)
		crew_nap_ms(20);
	closed(fd);
}

int storm_member(char **argv)
{
	const char *role = argv[1];
	int n = argv[4] ? atoi(argv[4]) : 0;

	crew_join(argv[2]);
	file = argv[3];
	if (!strcmp(role, "brief"))
		brief(n);
	else if (!strcmp(role, "reader"))
		reader();
	else if (!strcmp(role, "threads"))
		threads(n);
	else if (!strcmp(role, "server"))
		server(n);
	else if (!strcmp(role, "holder"))
		holder();
	else
		return 2;
	return crew_status_of_me();
}
