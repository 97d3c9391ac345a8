/*
 * ends: SEEK_END and its lock. One program, several parts:
 *
 *	ends lock DIR		holds the size lock of DIR/file, as its owner would who never lets
 *				go, and keeps the file growing, until the end of stdin
 *	ends marks FILE	COUNT	seeks, between calls that a tracer sees; to be run under the
 *				library
 *	ends append DIR SECONDS	a hundred processes append to DIR/file, and others, under the
 *				library, ask for its end; prints `ok`, or what was wrong
 */
#include "cache/file.h"

#include "raw.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APPENDERS 100
#define ASKERS 4
#define RECORD 1009 /* no multiple of anything */
#define FIRST 300   /* records that are there at the beginning */

static char buf[1 << 16];
static const char *library;

static int fail(const char *what)
{
	fprintf(stderr, "ends: %s: %s\n", what, strerror(errno));
	return 2;
}

static void *map_file(const char *path, size_t n)
{
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : memfd_create("ends", 0);
	void *at;

	if (fd < 0 || (!path && ftruncate(fd, (off_t)n)))
		return NULL;
	at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static int open_in(const char *dir, int flags)
{
	char path[1100];

	snprintf(path, sizeof(path), "%s/file", dir);
	return open(path, flags | O_CLOEXEC, 0600);
}

/* ---- the lock, held ---- */

static struct pw_shm_file *entry_of(char *segment, int fd)
{
	struct pw_shm_file *files = (void *)(segment + PW_FILES_AT);
	struct stat st;

	if (fstat(fd, &st))
		return NULL;
	for (uint32_t i = 0; i < PW_FILES; i++)
		if (files[i].key == pw_file_id(&st))
			return &files[i];
	return NULL;
}

static uint32_t now_ms(void)
{
	return (uint32_t)(raw_now_ns() / 1000000) | 1;
}

/* The stamp is kept fresh, so that nobody takes the lock for a dead process's. */
static int hold_lock(const char *dir)
{
	char *segment = map_file(getenv("PAGEWELL_SEGMENT"), PW_SEGMENT_BYTES);
	int fd = open_in(dir, O_RDWR | O_APPEND);
	struct pw_shm_file *f = segment && fd >= 0 ? entry_of(segment, fd) : NULL;
	uint32_t told = 0;

	if (!f)
		return fail("the segment has no such file");
	fcntl(0, F_SETFL, O_NONBLOCK);
	for (char c; read(0, &c, 1) != 0;) {
		__atomic_store_n(&f->lock, now_ms(), __ATOMIC_RELAXED);
		if (!told++)
			puts("held");
		fflush(stdout);
		if (write(fd, "more", 4) != 4)
			return fail("append");
		usleep(2000);
	}
	__atomic_store_n(&f->lock, 0, __ATOMIC_RELEASE);
	return 0;
}

/* ---- seeks to be counted ---- */

static void mark(const char *what)
{
	raw(SYS_write, -1, what, strlen(what));
}

static int seeks(int fd, int count, int whence, int64_t size)
{
	int64_t end = size;

	for (int i = 0; i < count; i++) {
		int64_t want = whence == SEEK_END ? size : whence == SEEK_SET ? i : i + 1;
		int64_t got;

		if (whence == SEEK_CUR && lseek(fd, i, SEEK_SET) != i)
			return 2;
		got = lseek(fd,
			    whence == SEEK_CUR	 ? 1
			    : whence == SEEK_SET ? i
						 : 0,
			    whence);
		/* Where the size lock is held the file grows. */
		if (whence == SEEK_END ? got < end : got != want)
			return 2;
		if (whence == SEEK_END)
			end = got;
	}
	return 0;
}

static int marks(const char *path, int count)
{
	int fd = open(path, O_RDONLY);
	int64_t size = raw_size(fd);
	int status = 0;

	for (int i = 0; i < 30000; i++)
		if (pread(fd, buf, 100, i % 1000) != 100)
			return fail("pread");
	/* Which earns the position too. */
	for (int i = 0; i < 200; i++)
		if (lseek(fd, i, SEEK_SET) != i || read(fd, buf, 10) != 10 ||
		    lseek(fd, 0, SEEK_END) < size)
			return fail("lseek");
	mark("begin set");
	status |= seeks(fd, count, SEEK_SET, size);
	mark("end set");
	mark("begin cur");
	status |= seeks(fd, count, SEEK_CUR, size);
	mark("end cur");
	mark("begin end");
	status |= seeks(fd, count, SEEK_END, size);
	mark("end end");
	return status;
}

/* ---- a hundred appenders ---- */

/*
 * The file's size was at each moment between the two, and a multiple of RECORD; or of a page's
 * size, because the kernel moves the end page by page while it writes.
 */
struct growth {
	_Atomic int64_t completed, begun;
	_Atomic int stop;
	_Atomic uint64_t asked, wrong;
	char what[200];
};

static void append(struct growth *g, const char *dir)
{
	int fd = open_in(dir, O_WRONLY | O_APPEND);

	while (fd >= 0 && !atomic_load(&g->stop)) {
		atomic_fetch_add(&g->begun, RECORD);
		if (write(fd, buf, RECORD) != RECORD)
			_exit(1);
		atomic_fetch_add(&g->completed, RECORD);
		raw_sleep_ns(2000000);
	}
	_exit(fd < 0 ? 1 : 0);
}

static void wrong(struct growth *g, const char *what, int64_t got, int64_t least,
		  int64_t most)
{
	if (!atomic_fetch_add(&g->wrong, 1))
		snprintf(g->what, sizeof(g->what), "%s: %ld, not in %ld to %ld", what,
			 (long)got, (long)least, (long)most);
}

static int ask(struct growth *g, const char *dir)
{
	int fd = open_in(dir, O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int64_t i = 0; fd >= 0 && !atomic_load(&g->stop); i++) {
		int64_t least = atomic_load(&g->completed);
		int64_t end = lseek(fd, 0, SEEK_END);
		int64_t most = atomic_load(&g->begun);

		if (end < least || end > most || (end % RECORD && end % 4096))
			wrong(g, "SEEK_END", end, least, most);
		/* Up to there all has been written. */
		if (lseek(fd, -RECORD, SEEK_CUR) != end - RECORD ||
		    read(fd, buf, RECORD) != RECORD || memchr(buf, 0, RECORD))
			wrong(g, "the last record", end, least, most);
		atomic_fetch_add(&g->asked, 1);
		/* Reads at a place that stays, so that the library serves the file. */
		for (int k = 0; k < 20; k++)
			if (pread(fd, buf, 100, 100 * k) != 100)
				wrong(g, "pread", k, 0, 0);
	}
	return fd < 0;
}

static pid_t start_asker(char **argv, int memory)
{
	char number[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(number, sizeof(number), "%d", memory);
	setenv("LD_PRELOAD", library, 1);
	execl("/proc/self/exe", "ends", "ask", argv[2], number, NULL);
	_exit(127);
}

static int appenders(char **argv, long seconds)
{
	int memory = memfd_create("ends", 0);
	int fd = open_in(argv[2], O_RDWR | O_CREAT | O_TRUNC);
	pid_t pid[APPENDERS + ASKERS];
	struct growth *g;
	int status, bad = 0;

	library = getenv("PAGEWELL_LIB");
	if (!library)
		return fail("PAGEWELL_LIB");
	if (memory < 0 || fd < 0 || ftruncate(memory, sizeof(*g)))
		return fail(argv[2]);
	g = mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	memset(buf, 'r', sizeof(buf));
	for (int i = 0; i < FIRST; i++)
		if (write(fd, buf, RECORD) != RECORD)
			return fail("write");
	g->begun = g->completed = (int64_t)FIRST * RECORD;
	for (int i = 0; i < APPENDERS + ASKERS; i++) {
		pid[i] = i < ASKERS ? start_asker(argv, memory) : fork();
		if (!pid[i])
			append(g, argv[2]);
	}
	sleep((unsigned)seconds);
	atomic_store(&g->stop, 1);
	for (int i = 0; i < APPENDERS + ASKERS; i++)
		bad |= waitpid(pid[i], &status, 0) != pid[i] || status;
	fprintf(stderr, "ends asked for %lu, records appended %ld\n",
		(unsigned long)g->asked, (long)(g->completed / RECORD - FIRST));
	if (g->wrong)
		printf("%s\n", g->what);
	else
		puts(bad ? "a process failed" : g->asked ? "ok" : "nothing was asked");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "lock"))
		return hold_lock(argv[2]);
	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "marks"))
		return marks(argv[2], atoi(argv[3]));
	if (!strcmp(argv[1], "append"))
		return appenders(argv, atol(argv[3]));
	void *shared = mmap(NULL, sizeof(struct growth), PROT_READ | PROT_WRITE,
			    MAP_SHARED, atoi(argv[3]), 0);
	close(atoi(argv[3]));
	return shared == MAP_FAILED ? 2 : ask(shared, argv[2]);
}
