/*
 * told.c - a program that makes so many calls of this kind and that, for explain.sh, which
 * knows how many there are to be. told OP..., one after the other:
 *
 *   open=PATH	   for reading; it is the file of what follows
 *   open+=PATH	   for reading and writing; also opena= (appending), opend= (O_DIRECT),
 *		   openw= (for writing only)
 *   fd=N	   an inherited number instead
 *   read=N,SIZE   N reads from the position
 *   pread=N,SIZE,OFFSET,STEP	each STEP further
 *   pwrite=N,SIZE,OFFSET
 *   fresh=N	   N preads of a byte, each to a page that nobody has written into
 *   set=N,OFFSET  N seeks; also cur= and end=
 *   readv=N  write=N	of a byte
 *   mixed=N	   N times a byte read and a byte written
 *   cut=PATH,SIZE truncates; not a call that is counted
 *   fork	   the child does the rest, and the parent waits for it
 *   block	   blocks SIGBUS
 *   setuid	   to what it is
 *   stream=PATH,N N bytes by fgetc, unbuffered
 *   die	   kills itself with SIGKILL
 *
 * What calls return is not looked at, but for errors of what is not to be counted.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 1 << 20 };

static char buf[MOST] __attribute__((aligned(PAGE)));
static int fd = -1;
static ssize_t sink;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void open_it(const char *path, int flags)
{
	fd = open(path, flags);
	if (fd < 0)
		fail(path);
}

static void need(int ok, const char *op)
{
	if (!ok)
		fail(op);
}

static void fresh(long n)
{
	char *page = mmap(NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(page != MAP_FAILED, "mmap");
	for (long i = 0; i < n; i++)
		sink += pread(fd, page + i * PAGE, 1, 0);
}

static void child_goes_on(void)
{
	int status;
	pid_t child = fork();

	need(child >= 0, "fork");
	if (!child)
		return;
	need(waitpid(child, &status, 0) == child, "waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void stream(char *path, long n)
{
	FILE *f = fopen(path, "r");

	need(f != NULL, path);
	setvbuf(f, NULL, _IONBF, 0);
	while (n-- > 0)
		sink += fgetc(f);
	fclose(f);
}

static void seeks(long n, long off, int whence)
{
	for (long i = 0; i < n; i++)
		sink += lseek(fd, off, whence);
}

/* The numbers after the equals sign, or after a path and a comma. */
static void numbers(const char *from, long a[4])
{
	char *end;

	for (int i = 0; i < 4 && from && *from; i++) {
		a[i] = strtol(from, &end, 0);
		from = *end ? end + 1 : NULL;
	}
}

static int is(const char *op, const char *name)
{
	size_t n = strlen(name);

	return strncmp(op, name, n) == 0 && (!op[n] || op[n] == '=');
}

static void do_paths(const char *op, char *arg, const long *a)
{
	static const struct {
		const char *op;
		int flags;
	} how[] = {{"open", O_RDONLY},
		   {"open+", O_RDWR},
		   {"opena", O_RDWR | O_APPEND},
		   {"opend", O_RDONLY | O_DIRECT},
		   {"openw", O_WRONLY}};

	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++)
		if (is(op, how[i].op)) {
			open_it(arg, how[i].flags);
			return;
		}
	if (is(op, "cut"))
		need(truncate(arg, a[0]) == 0, arg);
	else if (is(op, "stream"))
		stream(arg, a[0]);
	else
		fail(op);
}

static void do_calls(const char *op, const long *a)
{
	struct iovec v = {buf, 1};

	if (is(op, "read"))
		for (long i = 0; i < a[0]; i++)
			sink += read(fd, buf, (size_t)a[1]);
	else if (is(op, "pread"))
		for (long i = 0; i < a[0]; i++)
			sink += pread(fd, buf, (size_t)a[1], a[2] + i * a[3]);
	else if (is(op, "readv"))
		for (long i = 0; i < a[0]; i++)
			sink += readv(fd, &v, 1);
	else if (is(op, "write"))
		for (long i = 0; i < a[0]; i++)
			sink += write(fd, buf, 1);
	else if (is(op, "pwrite"))
		for (long i = 0; i < a[0]; i++)
			sink += pwrite(fd, buf, (size_t)a[1], a[2]);
	else if (is(op, "mixed"))
		for (long i = 0; i < a[0]; i++) {
			sink += read(fd, buf, 1);
			sink += write(fd, buf, 1);
		}
	else if (is(op, "fresh"))
		fresh(a[0]);
	else if (is(op, "set"))
		seeks(a[0], a[1], SEEK_SET);
	else if (is(op, "cur"))
		seeks(a[0], a[1], SEEK_CUR);
	else if (is(op, "end"))
		seeks(a[0], a[1], SEEK_END);
	else if (is(op, "fd"))
		fd = (int)a[0];
	else
		fail(op);
}

static void do_op(char *op)
{
	char *arg = strchr(op, '=');
	char *comma = arg ? strchr(arg, ',') : NULL;
	long a[4] = {0};
	sigset_t bus;

	if (is(op, "fork")) {
		child_goes_on();
	} else if (is(op, "block")) {
		sigemptyset(&bus);
		sigaddset(&bus, SIGBUS);
		need(sigprocmask(SIG_BLOCK, &bus, NULL) == 0, op);
	} else if (is(op, "setuid")) {
		need(setuid(getuid()) == 0, op);
	} else if (is(op, "die")) {
		kill(getpid(), SIGKILL);
	} else if (arg && arg[1] == '/') {
		if (comma)
			*comma = 0;
		numbers(comma ? comma + 1 : NULL, a);
		do_paths(op, arg + 1, a);
	} else {
		numbers(arg ? arg + 1 : NULL, a);
		do_calls(op, a);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		do_op(argv[i]);
	return sink == -1;
}
