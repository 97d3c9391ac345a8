/* crew.c - see crew.h: starting members, waiting for them, their notes. */
#include "crew.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOTES_FD 100
#define LATE_MS 10000

struct crew *crew;
struct member *me;

uint64_t crew_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void crew_nap_ms(unsigned ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static struct crew *map_notes(void)
{
	struct stat st = {0};
	void *at = fstat(NOTES_FD, &st)
			   ? MAP_FAILED
			   : mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
				  MAP_SHARED, NOTES_FD, 0);

	if (at == MAP_FAILED) {
		perror("crew: notes");
		exit(2);
	}
	return at;
}

struct crew *crew_make(size_t more)
{
	int fd = memfd_create("crew", 0);
	off_t size = (off_t)(sizeof(struct crew) + more);

	if (fd < 0 || ftruncate(fd, size) || dup2(fd, NOTES_FD) < 0) {
		perror("crew: memfd");
		exit(2);
	}
	close(fd);
	crew = map_notes();
	return crew;
}

static void set(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

pid_t crew_start(const struct crew_env *env, const char *role, int index,
		 const char *const *args)
{
	struct rlimit no_core = {0, 0};
	const char *argv[16] = {"/proc/self/exe", role};
	pid_t parent = getpid();
	char number[12];
	int n = 3;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(2);
	setrlimit(RLIMIT_CORE, &no_core);
	set("LD_PRELOAD", env->lib);
	set("PAGEWELL_POINT", env->point);
	set("PAGEWELL_SIZE", env->size);
	set("PAGEWELL_REPORT", env->report);
	snprintf(number, sizeof(number), "%d", index);
	argv[2] = number;
	while (args && *args && n < 15)
		argv[n++] = *args++;
	execv(argv[0], (char *const *)argv);
	_exit(2);
}

int crew_status;

enum crew_end crew_await(pid_t pid)
{
	int status;

	for (int ms = 0; ms < LATE_MS; ms++) {
		pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);

		if (!got) {
			crew_nap_ms(1);
			continue;
		}
		crew_status = status;
		if (got == pid && WIFSTOPPED(status))
			return CREW_STOPPED;
		if (got == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			return CREW_KILLED;
		return got == pid && WIFEXITED(status) && !WEXITSTATUS(status)
			       ? CREW_WELL
			       : CREW_BADLY;
	}
	return CREW_LATE;
}

void crew_join(const char *index)
{
	crew = map_notes();
	me = &crew->member[atoi(index)];
}

void crew_wrong(const char *fmt, ...)
{
	va_list ap;

	if (atomic_fetch_add(&me->wrongs, 1))
		return;
	va_start(ap, fmt);
	vsnprintf(me->wrong, sizeof(me->wrong), fmt, ap);
	va_end(ap);
}
