/*
 * test_segment_ro.c - what a hit needs of the shared segment: nothing. The segment is taken
 * away in several ways, and hot reads and seeks go on.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "_self.h"

#define SIZE 400000

/*
 * The segment's mapping in this process, by raw calls; false if there is none. By device
 * and inode: it was made without a name, which is what the kernel shows.
 */
static bool find_segment(unsigned long *from, unsigned long *to)
{
	static char text[1 << 18];
	const char *path = getenv("PAGEWELL_SEGMENT");
	struct stat st;
	char key[64];
	size_t n = 0;
	long got;
	long fd = raw3(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	char *at;

	while ((got = raw3(SYS_read, fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	raw1(SYS_close, fd);
	if (!path || raw2(SYS_stat, path, &st))
		return false;
	snprintf(key, sizeof(key), " %02x:%02x %lu ", major(st.st_dev), minor(st.st_dev),
		 (unsigned long)st.st_ino);
	at = strstr(text, key);
	if (!at)
		return false;
	while (at > text && at[-1] != '\n')
		at--;
	*from = strtoul(at, &at, 16);
	*to = strtoul(at + 1, NULL, 16);
	return true;
}

/*
 * Read all over until no read goes to the kernel any more: a cache page is touched for the
 * first time, which has to do with the segment, when enough reads of it have been made.
 */
static int open_hot(const char *path, unsigned id)
{
	static __thread unsigned char buf[512];
	int fd = open_made(path, id, SIZE, O_RDONLY);
	int passes = 0;
	long before;

	warm(fd);
	do {
		before = read_calls();
		for (off_t at = 0; at < SIZE - 512; at += 4096)
			NEED(pread(fd, buf, sizeof(buf), at) == sizeof(buf));
		NEED(++passes < 500);
	} while (before >= 0 && read_calls() > before + 1);
	return fd;
}

#define ROUNDS 5000

/* Reads and seeks, nearly all of which must be hits. */
static void use_hot(int fd, unsigned id)
{
	static __thread unsigned char buf[512];
	long before;
	long calls;

	for (int i = 0; i < 3; i++)
		read(fd, buf, sizeof(buf)); /* the kernel fills the buffer once */
	before = read_calls();
	for (int i = 0; i < ROUNDS; i++) {
		off_t at = (i * 4999L) % (SIZE - 1024);
		bool ok = lseek(fd, at, SEEK_SET) == at && read(fd, buf, 300) == 300 &&
			  is_content(buf, 300, id, at) &&
			  lseek(fd, 50, SEEK_CUR) == at + 350 && read(fd, buf, 1) == 1 &&
			  is_content(buf, 1, id, at + 350) &&
			  pread(fd, buf, sizeof(buf), at + 9) == sizeof(buf) &&
			  is_content(buf, sizeof(buf), id, at + 9);

		CHECK(ok, "at %ld", (long)at);
	}
	calls = read_calls() - before;
	CHECK(before < 0 || calls < ROUNDS / 10, "%ld of %d reads went to the kernel",
	      calls, 3 * ROUNDS);
}

static void make_read_only(unsigned long *from, unsigned long *to)
{
	NEED(find_segment(from, to));
	NEED(!raw3(SYS_mprotect, *from, *to - *from, PROT_READ));
}

static void read_only(void)
{
	int fd = open_hot("a", 1);
	unsigned long from;
	unsigned long to;

	make_read_only(&from, &to);
	use_hot(fd, 1);
	NEED(!raw3(SYS_mprotect, from, to - from, PROT_READ | PROT_WRITE));
	close(fd);
	need_unmapped_file("a");
}

static pthread_barrier_t barrier;
static int the_fd;

static void *in_thread(void *arg)
{
	int fd = open_hot("b", 2);

	use_hot(the_fd, 1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* read-only now */
	use_hot(fd, 2);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier); /* writable again */
	close(fd);
	return arg;
}

static void read_only_threads(void)
{
	unsigned long from;
	unsigned long to;
	pthread_t t;

	the_fd = open_hot("a", 1);
	pthread_barrier_init(&barrier, NULL, 2);
	NEED(!pthread_create(&t, NULL, in_thread, NULL));
	pthread_barrier_wait(&barrier);
	make_read_only(&from, &to);
	pthread_barrier_wait(&barrier);
	use_hot(the_fd, 1);
	pthread_barrier_wait(&barrier);
	NEED(!raw3(SYS_mprotect, from, to - from, PROT_READ | PROT_WRITE));
	pthread_barrier_wait(&barrier);
	NEED(!pthread_join(t, NULL));
	need_unmapped_file("b");
}

/* This case again, in a process whose segment would be there. Returns in that one. */
static void with_segment(const char *name, const char *path)
{
	const char *now = getenv("PAGEWELL_SEGMENT");

	if (now && !strcmp(now, path))
		return;
	setenv("PAGEWELL_SEGMENT", path, 1);
	execl(self_exe, self_exe, "--case", name, "preloaded", NULL);
	NEED(false);
}

static void all_well(void)
{
	int a = open_hot("c", 1);
	int b = open_hot("d", 2);

	use_hot(a, 1);
	use_hot(b, 2);
	close(a);
	close(b);
	need_unmapped_file("c");
	need_unmapped_file("d");
}

static void no_folder(void)
{
	unsigned long from;
	unsigned long to;

	with_segment("no-folder", "/nonexistent/folder/segment");
	all_well();
	CHECK(!find_segment(&from, &to), "there is one");
	CHECK(access("/nonexistent", F_OK), "it was made");
}

/* Not on tmpfs. */
static void in_proc(void)
{
	with_segment("in-proc", "/proc/pagewell-segment");
	all_well();
}

/* A path that is a folder. */
static void is_folder(void)
{
	with_segment("is-folder", "/dev/shm");
	all_well();
}

static void deleted(void)
{
	const char *path = getenv("PAGEWELL_SEGMENT");
	int fd = open_hot("a", 1);
	unsigned long from;
	unsigned long to;
	int status;
	pid_t pid;

	NEED(path && find_segment(&from, &to) && !unlink(path));
	use_hot(fd, 1);
	close(open_hot("b", 2));
	need_unmapped_file("b");
	/* A child goes on with the mapping it has; a new process makes another file. */
	pid = fork();
	if (!pid) {
		close(open_hot("c", 3));
		execl(self_exe, self_exe, "--case", "read-only", "preloaded", NULL);
		_exit(97);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK(!status, "status %x", (unsigned)status);
	CHECK(!access(path, F_OK), "no new segment");
	close(fd);
	all_well();
}

/* Cut short while it is mapped: hits go on, and so does everything else. */
static void truncated(void)
{
	const char *path = getenv("PAGEWELL_SEGMENT");
	int fd = open_hot("a", 1);
	unsigned long from;
	unsigned long to;

	NEED(path && find_segment(&from, &to) && !truncate(path, 0));
	use_hot(fd, 1);
	all_well();
	close(fd);
	need_unmapped_file("a");
	NEED(!unlink(path));
}

static const struct self_case cases[] = {
	{"read-only", read_only, SELF_OURS},
	{"read-only-threads", read_only_threads, SELF_OURS},
	{"no-folder", no_folder, SELF_OURS},
	{"in-proc", in_proc, SELF_OURS},
	{"is-folder", is_folder, SELF_OURS},
	{"truncated", truncated, SELF_OURS},
	{"deleted", deleted, SELF_OURS},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
