/* test_fork.c - processes that come to share a position: fork in its several forms. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>

#include "_self.h"

#define SIZE 300000

/* ---- both sides read in turn ---- */

static void alternate(struct turns *t, int side, int fd, int twin)
{
	for (int i = 0; i < 30; i++) {
		turns_wait(t, side);
		say("side %d", side);
		say_read(fd, 11);
		if (i % 5 == side)
			say_seek(twin, 100 * i, SEEK_SET);
		if (i % 7 == 0)
			say_read(twin, 2);
		say_pos(fd);
		say_kernel_pos(fd);
		turns_pass(t, side);
	}
}

static void two_sides(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int twin = dup(fd);
	struct turns t;
	pid_t pid;

	turns_make(&t);
	warm(fd);
	say_seek(fd, 1234, SEEK_SET);
	say_read(fd, 6);
	pid = fork();
	if (!pid) {
		alternate(&t, 1, fd, twin);
		turns_wait(&t, 1);
		/* what the child opens is its own */
		int b = open_made("b", 2, SIZE, O_RDONLY);

		warm(b);
		say_read(b, 20);
		need_hits(b);
		close(b);
		need_unmapped_file("b");
		warm_window(fd); /* the bytes of a shared one may be served, by pread */
		need_hits(fd);
		exit(7);
	}
	turns_pass(&t, 0);
	alternate(&t, 0, fd, twin);
	say_wait(pid);
	need_mapped(fd);
	say_kernel_pos(fd);
	say_read(fd, 10);
	/* and the parent's next file is adopted again */
	int c = open_made("c", 3, SIZE, O_RDONLY);

	warm(c);
	say_read(c, 10);
}

/* Grandchildren, and one fork after another. */
static void generations(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);

	warm(fd);
	for (int i = 0; i < 4; i++) {
		int own = open_made("own", 9 + i, SIZE, O_RDONLY);
		pid_t pid;

		warm(own);
		say_seek(own, 50, SEEK_SET);
		pid = fork();
		if (pid) {
			say_wait(pid);
			say_read(fd, 5);
			say_read(own, 5);
			say_kernel_pos(own);
			exit(i);
		}
		say_read(fd, 3);
		say_read(own, 3);
		close(own);
	}
	say_read(fd, 1);
	say_kernel_pos(fd);
}

/* The child closes what it inherited; numbers are used again. */
static void child_closes(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	int b = open_made("b", 2, SIZE, O_RDWR);
	pid_t pid;

	warm(a);
	warm(b);
	say_seek(a, 10, SEEK_SET);
	say_seek(b, 20, SEEK_SET);
	pid = fork();
	if (!pid) {
		say_ret("close", close(a));
		int c = say_ret("open", open_made("c", 3, SIZE, O_RDONLY));

		warm(c);
		say_read(c, 4);
		say_ret("dup2", dup2(c, b));
		for (int i = 0; i < 20; i++)
			say_read(b, 4);
		need_ours(c);
		exit(0);
	}
	say_wait(pid);
	say_read(a, 4);
	say_read(b, 4);
	say_ret("write", write(b, "xyz", 3));
	say_pos(b);
	say_file("b");
}

/* ---- a child of a process whose other threads are reading ---- */

#define RECORDS 20000u
static unsigned char *seen; /* shared: how often each record was read */
static int shared_fd;
static volatile bool stop;

static void take(unsigned times)
{
	uint32_t record;

	for (unsigned i = 0; i < times && !stop; i++) {
		ssize_t n = read(shared_fd, &record, sizeof(record));

		if (n == 0)
			return;
		CHECK(n == sizeof(record), "read %zd errno %d", n, errno);
		CHECK(record && record <= RECORDS, "record %u", record);
		if (record && record <= RECORDS)
			__atomic_add_fetch(&seen[record], 1, __ATOMIC_RELAXED);
	}
}

static void *taker(void *arg)
{
	(void)arg;
	take(RECORDS);
	return NULL;
}

static void threads_and_forks(void)
{
	pthread_t t[2];
	pid_t pid[20];
	unsigned once = 0;
	int made = open("records", O_RDWR | O_CREAT, 0600);

	seen = mmap(NULL, RECORDS + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	NEED(seen != MAP_FAILED && made >= 0);
	for (uint32_t i = 1; i <= RECORDS; i++)
		NEED(write(made, &i, sizeof(i)) == sizeof(i));
	close(made);
	shared_fd = open("records", O_RDONLY);
	warm(shared_fd);
	for (int i = 0; i < 2; i++)
		NEED(!pthread_create(&t[i], NULL, taker, NULL));
	for (int i = 0; i < 20; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			take(200);
			_exit(0);
		}
	}
	for (int i = 0; i < 20; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		CHECK(status == 0, "child's status %x", status);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 1; i <= RECORDS; i++)
		once += seen[i] == 1;
	CHECK(once == RECORDS, "%u of %u records were read exactly once", once, RECORDS);
}

/* ---- unseen forks ---- */

static pid_t raw_fork(void)
{
	return (pid_t)raw6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
}

static void after_raw_fork(int fd)
{
	unsigned char buf[64];
	long at = raw3(SYS_lseek, fd, 0, SEEK_CUR);
	int b;

	/* It passes through: the kernel's position is the position. */
	CHECK(lseek(fd, 0, SEEK_CUR) == at, "the child's position is not the kernel's");
	CHECK(read(fd, buf, 10) == 10 && is_content(buf, 10, 1, (uint64_t)at),
	      "wrong bytes");
	CHECK(pread(fd, buf, 50, 5000) == 50 && is_content(buf, 50, 1, 5000),
	      "wrong bytes");
	b = open_made("b", 2, SIZE, O_RDONLY);
	CHECK(b >= 0, "errno %d", errno);
	for (int i = 0; i < 400; i++)
		CHECK(read(b, buf, 7) == 7 && is_content(buf, 7, 2, 7 * (uint64_t)i),
		      "%d", i);
	CHECK(!close(b) && !close(fd), "errno %d", errno);
	b = open("b", O_RDONLY);
	CHECK(read(b, buf, 3) == 3 && is_content(buf, 3, 2, 0), "wrong bytes");
	CHECK(dup2(b, 0) == 0 && getchar() == content(2, 3), "stdin");
}

static void raw_child(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	unsigned char buf[64];
	int status = 1;
	pid_t pid;

	warm(fd);
	lseek(fd, 777, SEEK_SET);
	pid = raw_fork();
	if (!pid) {
		after_raw_fork(fd);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %x", status);
	CHECK(read(fd, buf, 10) == 10 && is_content(buf, 10, 1, 777),
	      "the parent's position");
	need_ours(fd);
	need_hits(fd);
}

/*
 * A child made unseen forks in its turn, in the usual way. Whatever is adopted in the
 * grandchild is shared with the child.
 */
static void raw_then_fork(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int status = 1;
	pid_t pid;

	warm(fd);
	pid = raw_fork();
	if (!pid) {
		unsigned char buf[16];
		pid_t grandchild;

		lseek(fd, 1000, SEEK_SET);
		grandchild = fork();
		if (!grandchild) {
			for (int i = 0; i < 200; i++)
				CHECK(read(fd, buf, 10) == 10 &&
					      is_content(buf, 10, 1,
							 1000 + 10 * (uint64_t)i),
				      "read %d", i);
			_exit(0);
		}
		waitpid(grandchild, &status, 0);
		CHECK(read(fd, buf, 10) == 10 && is_content(buf, 10, 1, 3000),
		      "the grandchild's reads did not move the shared position");
		_exit(status ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %x", status);
}

/* The same, and numbers change hands while nothing is recorded. */
static void raw_reopen_then_fork(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int b = open_made("b", 2, SIZE, O_RDONLY);
	int status = 1;
	pid_t pid;

	warm(fd);
	warm(b);
	pid = raw_fork();
	if (!pid) {
		unsigned char buf[16];
		int p[2];
		pid_t grandchild;

		close(fd);
		close(b);
		NEED(!pipe(p) && p[0] == fd);
		NEED(write(p[1], "0123456789abcdef", 16) == 16);
		grandchild = fork();
		if (!grandchild) {
			memset(buf, 0, sizeof(buf));
			CHECK(read(p[0], buf, 10) == 10 && !memcmp(buf, "0123456789", 10),
			      "read from a pipe gave '%.10s' errno %d", buf, errno);
			_exit(0);
		}
		waitpid(grandchild, &status, 0);
		_exit(status ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "status %x", status);
}

static void fork_raw_fork(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	pid_t pid;

	warm(fd);
	say_seek(fd, 70, SEEK_SET);
	pid = _Fork();
	if (!pid) {
		say_read(fd, 10);
		say_kernel_pos(fd);
		_exit(3);
	}
	say_wait(pid);
	say_read(fd, 10);
	say_kernel_pos(fd);
}

/* ---- what a thunk leaves for later must not outlive a fork or a thread ---- */

/* A spawn, then at once a fork: the child's own files can still be adopted. */
static void spawn_then_fork(void)
{
	char *args[] = {"true", NULL};
	char *env[] = {NULL};
	pid_t pid;

	warm(open_made("a", 1, SIZE, O_RDONLY));
	NEED(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, env));
	pid_t child = fork();

	if (!child) {
		int c = open_made("c", 3, SIZE, O_RDONLY);

		warm(c);
		say_read(c, 10);
		exit(0);
	}
	say_wait(child);
	say_wait(pid);
}

static void *spawner(void *arg)
{
	char *args[] = {"true", NULL};
	char *env[] = {NULL};
	pid_t pid;

	(void)arg;
	NEED(!posix_spawn(&pid, "/bin/true", NULL, NULL, args, env));
	return NULL;
}

/* A thread spawns something as the last thing it does. */
static void spawn_then_end(void)
{
	pthread_t t;

	/* nothing is tracked at this time, nothing has been adopted before */
	NEED(!pthread_create(&t, NULL, spawner, NULL));
	pthread_join(t, NULL);
	int c = open_made("c", 3, SIZE, O_RDONLY);

	warm(c);
	say_read(c, 10);
	say_pos(c);
}

/* ---- another thread is in the loader ---- */

static void *load_on(void *arg)
{
	for (;;) {
		void *h = dlopen("libm.so.6", RTLD_NOW);

		if (h)
			dlclose(h);
	}
	return arg;
}

/* The loader's lock is held for ever in a child forked meanwhile: names that the parent never
 * called must not be looked up there. */
static void among_loads(void)
{
	int ended = 0;
	pthread_t t;

	NEED(!pthread_create(&t, NULL, load_on, NULL));
	for (int i = 0; i < 60; i++) {
		pid_t pid = _Fork();
		int status = -1;

		NEED(pid >= 0);
		if (!pid) {
			signal(SIGALRM, SIG_DFL);
			alarm(2);
			closefrom(900);
			mprotect(NULL, 0, PROT_NONE);
			lockf(900, F_TEST, 0);
			madvise(NULL, 0, MADV_NORMAL);
			raw1(SYS_exit_group, 0);
		}
		NEED(waitpid(pid, &status, 0) == pid);
		ended += status == 0;
		if (status)
			break;
	}
	say("%d ended", ended);
	raw1(SYS_exit_group, 0);
}

static const struct self_case cases[] = {
	{"fork-in-turn", two_sides, SELF_BOTH},
	{"fork-generations", generations, SELF_BOTH},
	{"fork-child-closes", child_closes, SELF_BOTH},
	{"fork-among-threads", threads_and_forks, SELF_OURS},
	{"raw-fork", raw_child, SELF_OURS},
	{"raw-fork-then-fork", raw_then_fork, SELF_OURS},
	{"raw-fork-reopen-then-fork", raw_reopen_then_fork, SELF_OURS},
	{"_Fork", fork_raw_fork, SELF_BOTH},
	{"_Fork-among-loads", among_loads, SELF_BOTH},
	{"spawn-then-fork", spawn_then_fork, SELF_BOTH},
	{"spawn-then-thread-ends", spawn_then_end, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
