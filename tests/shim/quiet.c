/*
 * quiet.c - what test_quiet.sh watches.
 *
 *	quiet loop FILE ROUNDS	hot reads and seeks by one thread, then by two, each time
 *				between two calls that a tracer can see
 *	quiet state FILE	the state of the process, as main finds it and after it was
 *				served, on stdout: lines `before: …` and `after: …`
 */
#include <dirent.h>
#include <pthread.h>

#include "_self.h"

static int rounds = 10000;
static int fd;

/* Seen by a tracer; does nothing. */
static void mark(const char *what)
{
	raw3(SYS_write, -1, what, strlen(what));
}

static void hot(void)
{
	char buf[512];

	for (int i = 0; i < rounds; i++) {
		off_t at = i % 3000;

		if (lseek(fd, at, SEEK_SET) != at || read(fd, buf, 1) != 1 ||
		    lseek(fd, 3, SEEK_CUR) != at + 4 || read(fd, buf, 512) != 512 ||
		    pread(fd, buf, 100, at) != 100)
			_exit(2);
	}
}

static pthread_barrier_t barrier;

/* Its position is the other thread's as well, so only places are read. */
static void *second(void *arg)
{
	char buf[512];

	for (int i = 0; i < rounds; i++)
		pread(fd, buf, sizeof(buf), i % 3000);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* marked */
	for (int i = 0; i < rounds; i++)
		if (pread(fd, buf, sizeof(buf), i % 3000) != sizeof(buf))
			_exit(2);
	return arg;
}

static int loops(void)
{
	pthread_t t;

	hot(); /* until all is warm */
	mark("begin one");
	hot();
	mark("end one");
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, second, NULL))
		return 2;
	pthread_barrier_wait(&barrier);
	hot();
	mark("begin two");
	hot();
	mark("end two");
	pthread_barrier_wait(&barrier);
	return pthread_join(t, NULL);
}

static void copy_lines(const char *tag, const char *path, const char *const *keys)
{
	static char text[16384];
	char *next;
	long in = raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	long n = raw3(SYS_read, in, text, sizeof(text) - 1);

	raw1(SYS_close, in);
	text[n > 0 ? n : 0] = 0;
	for (char *l = strtok_r(text, "\n", &next); l; l = strtok_r(NULL, "\n", &next)) {
		bool wanted = !keys;

		for (const char *const *k = keys; k && *k; k++)
			wanted |= !strncmp(l, *k, strlen(*k));
		if (wanted)
			dprintf(1, "%s: %s\n", tag, l);
	}
}

static void state(const char *tag)
{
	static const char *const keys[] = {
		"Umask",      "Uid",	 "Gid",	   "Groups",	"Threads", "SigPnd",
		"ShdPnd",     "SigBlk",	 "SigIgn", "SigCgt",	"CapEff",  "CapPrm",
		"NoNewPrivs", "Seccomp", "VmLck",  "TracerPid", NULL};
	char at[4096] = "";
	stack_t st;
	DIR *d;

	copy_lines(tag, "/proc/self/status", keys);
	copy_lines(tag, "/proc/self/limits", NULL);
	dprintf(1, "%s: cwd %s\n", tag, getcwd(at, sizeof(at)));
	raw2(SYS_sigaltstack, NULL, &st);
	dprintf(1, "%s: altstack %d\n", tag, st.ss_flags);
	d = opendir("/proc/self/fd");
	/* cppcheck-suppress readdirCalled */
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		char link[300];
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%s", e->d_name);
		n = readlink(link, at, sizeof(at) - 1);
		at[n > 0 ? n : 0] = 0;
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
			dprintf(1, "%s: fd %s %s flags %x %x\n", tag, e->d_name, at,
				(unsigned)raw3(SYS_fcntl, atoi(e->d_name), F_GETFD, 0),
				(unsigned)raw3(SYS_fcntl, atoi(e->d_name), F_GETFL, 0));
	}
	closedir(d);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "state"))
		state("before");
	fd = open(argv[2], O_RDONLY);
	if (fd < 0)
		return 2;
	if (argc > 3)
		rounds = atoi(argv[3]);
	self_preloaded = getenv("LD_PRELOAD") != NULL;
	warm(fd);
	if (!strcmp(argv[1], "loop"))
		return loops();
	hot();
	close(fd);
	state("after");
	return 0;
}
