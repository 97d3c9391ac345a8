/* test_vfork.c - children that run in their parent's memory, or share its numbers: vfork and
 * clone. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "_self.h"

#define SIZE 300000

/* ---- vfork ---- */

static int own_fd;
static volatile unsigned long own_at;
static volatile sig_atomic_t came;

/* Reads on from own_fd, wherever the signal came, and checks the byte. */
static void on_signal(int sig)
{
	unsigned char c = 0;
	int saved = errno;

	(void)sig;
	if (own_at == SIZE) {
		lseek(own_fd, 0, SEEK_SET);
		own_at = 0;
	}
	CHECK(read(own_fd, &c, 1) == 1 && c == content(4, own_at), "at %lu: %d", own_at,
	      c);
	own_at++;
	came++;
	errno = saved;
}

static void vfork_signals(void)
{
	struct itimerval every = {{0, 150}, {0, 150}};
	struct itimerval never = {{0, 0}, {0, 0}};
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	char *args[6];
	unsigned char buf[8];
	uint64_t at = 2000;

	own_fd = open_made("own", 4, SIZE, O_RDONLY);
	warm(fd);
	warm(own_fd);
	signal(SIGALRM, on_signal);
	signal(SIGUSR1, on_signal);
	lseek(fd, (off_t)at, SEEK_SET);
	reader_args(args, "/bin/true", 0, 0, "");
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 300; i++) {
		int status = 1;
		pid_t pid = vfork();

		if (!pid) {
			raise(SIGUSR1); /* in the child, which shares our memory */
			if (read(fd, buf, 8) != 8)
				_exit(1);
			if (i % 4 == 0)
				execv("/bin/true", args);
			if (i % 4 == 1)
				execv("/nowhere", args);
			_exit(0);
		}
		while (waitpid(pid, &status, 0) < 0)
			CHECK(errno == EINTR, "errno %d", errno);
		CHECK(!status, "round %d: status %x", i, status);
		CHECK(is_content(buf, 8, 1, at), "round %d: the child read elsewhere", i);
		at += 8;
		CHECK(read(fd, buf, 5) == 5 && is_content(buf, 5, 1, at), "round %d", i);
		at += 5;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	CHECK(came >= 300, "only %d signals", came);
	CHECK(lseek(own_fd, 0, SEEK_CUR) == (off_t)own_at, "the handler's position");
	CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)at, "the position");
	/* this process is none the worse for it */
	int c = open_made("c", 3, SIZE, O_RDONLY);

	warm(c);
	need_hits(c);
}

/* A vfork child that makes and ends numbers: its table is its own, its memory is not. */
static void vfork_numbers(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	int b = open_made("b", 2, SIZE, O_RDONLY);
	pid_t pid;

	warm(a);
	warm(b);
	say_seek(a, 100, SEEK_SET);
	say_seek(b, 200, SEEK_SET);
	pid = vfork();
	if (!pid) {
		close(a);
		dup2(b, a);
		int c = open("b", O_RDONLY);

		lseek(c, 5, SEEK_SET);
		read(a, &(char[4]){0}, 4);
		_exit(c < 0 ? 1 : 0);
	}
	say_wait(pid);
	say_read(a, 10);
	say_read(b, 10);
	say_pos(a);
	need_mapped(a);
	int c = open_made("c", 3, SIZE, O_RDONLY);

	warm(c);
	say_read(c, 10);
}

/* ---- clone ---- */

static int clone_fd;

static int in_clone(void *tag)
{
	say("%s", (const char *)tag);
	say_read(clone_fd, 10);
	say_kernel_pos(clone_fd);
	return 5;
}

static void with_clone(int flags)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;

	clone_fd = open_made("a", 1, SIZE, O_RDONLY);
	warm(clone_fd);
	say_seek(clone_fd, 600, SEEK_SET);
	pid = clone(in_clone, stack + sizeof(stack), flags | SIGCHLD, "in clone");
	say_wait(pid);
	say_read(clone_fd, 10);
	say_kernel_pos(clone_fd);
	say_ret("close", close(clone_fd));
	need_unmapped_file("a");
}

static void clone_fork(void)
{
	with_clone(0);
}

static void clone_files(void)
{
	with_clone(CLONE_FILES);
}

static void clone_vm(void)
{
	with_clone(CLONE_VM | CLONE_VFORK);
}

static void clone_thread_like(void)
{
	with_clone(CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_VFORK);
}

static const struct self_case cases[] = {
	{"vfork-signals", vfork_signals, SELF_OURS},
	{"vfork-numbers", vfork_numbers, SELF_BOTH},
	{"clone", clone_fork, SELF_BOTH},
	{"clone-files", clone_files, SELF_BOTH},
	{"clone-vm", clone_vm, SELF_BOTH},
	{"clone-vm-files", clone_thread_like, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
