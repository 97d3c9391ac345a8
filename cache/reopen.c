/* reopen.c - see reopen.h. The child runs on a stack of its own, and makes bare calls only. */
#include "cache/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK 8192u

struct order {
	int fd;
	size_t len;
	long at; /* written by the child, while the caller sleeps */
};

/* clone_x86_64.S: clone(flags, stack), and in the child _exit(run(arg)). The child's pid or
 * -errno. */
long pw_clone_call(int (*run)(void *arg), void *arg, void *stack_top, long flags);

static void name_of(int fd, char *to)
{
	char digits[12];
	int n = 0;

	for (const char *s = "/proc/self/fd/"; *s; s++)
		*to++ = *s;
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		*to++ = digits[--n];
	*to = 0;
}

static bool same_file(int a, int b)
{
	struct stat x;
	struct stat y;

	return !pw_sys->fstat(a, &x) && !pw_sys->fstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static int in_child(void *arg)
{
	struct order *o = arg;
	char path[32];
	long fd;

	name_of(o->fd, path);
	fd = pw_sys->open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		o->at = fd;
	else if (!same_file((int)fd, o->fd))
		o->at = -ESTALE; /* /proc is not what it should be */
	else
		o->at = pw_sys->mmap(NULL, o->len, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_NORESERVE, (int)fd, 0);
	return 0; /* its numbers end with it */
}

long pw_reopen_map(int fd, size_t len)
{
	/* What it stays at where the child does not share our memory (valgrind). */
	struct order o = {.fd = fd, .len = len, .at = -ENOSYS};
	long stack = pw_sys->mmap(NULL, STACK, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long pid;

	if (pw_is_err(stack))
		return stack;
	/* No signal when it ends: the program must not hear of it. We sleep until it has. */
	pid = pw_clone_call(in_child, &o, (char *)stack + STACK, CLONE_VM | CLONE_VFORK);
	if (pid < 0)
		o.at = pid;
	else
		pw_syscall4(SYS_wait4, pid, NULL, __WCLONE, NULL);
	pw_sys->munmap((void *)stack, STACK);
	return o.at;
}
