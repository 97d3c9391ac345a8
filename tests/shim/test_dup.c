/* test_dup.c - one position under several numbers, and numbers that are replaced. */
#include <sys/resource.h>

#include "_self.h"

#define SIZE 300000

static void both(int a, int b)
{
	say_read(a, 10);
	say_pos(b);
	say_read(b, 7);
	say_pos(a);
	say_seek(b, 1000, SEEK_SET);
	say_read(a, 100);
	say_seek(a, -50, SEEK_CUR);
	say_read(b, 3);
	say_pos(b);
}

static void plain_dup(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int d;

	say_read(fd, 100);
	warm(fd);
	d = say_ret("dup", dup(fd));
	both(fd, d);
	need_ours(d);
	need_hits(d);
	say_ret("close", close(fd));
	say_read(fd, 1);
	say_read(d, 50);
	say_pos(d);
	need_ours(d);
	say_ret("close", close(d));
	need_unmapped_file("a");
	say_read(d, 1);
}

/* Duplicated first, adopted later, under the other number. */
static void dup_then_warm(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int d = dup(fd);

	say_read(fd, 20);
	warm(d);
	both(fd, d);
	close(d);
	say_read(fd, 20);
	need_ours(fd);
	say_read(fd, 20);
}

static void dup2_over(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	int b = open_made("b", 2, SIZE, O_RDONLY);

	warm(a);
	warm(b);
	say_seek(a, 500, SEEK_SET);
	say_seek(b, 900, SEEK_SET);
	say_ret("dup2", dup2(a, b));
	need_unmapped_file("b");
	need_mapped(a);
	both(a, b);
	need_ours(a);
	/* a number whose description lives on under another */
	int c = open_made("c", 3, SIZE, O_RDONLY);
	int c2 = dup(c);

	warm(c);
	say_seek(c, 4321, SEEK_SET);
	say_ret("dup2", dup2(a, c));
	say_pos(c2);
	say_read(c2, 30);
	both(c, b);
	say_read(c2, 30);
	say_ret("close", close(a));
	say_ret("close", close(b));
	say_read(c, 9);
	say_ret("close", close(c));
	need_unmapped_file("a");
	say_read(c2, 30);
	close(c2);
	need_unmapped_file("c");
}

static void dup2_failing(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	int b = open_made("b", 2, SIZE, O_RDONLY);

	warm(a);
	warm(b);
	say_seek(a, 77, SEEK_SET);
	say_seek(b, 99, SEEK_SET);
	say_ret("dup2 from closed", dup2(700, b));
	say_read(b, 10);
	say_pos(b);
	say_ret("dup2 from -1", dup2(-1, b));
	say_read(b, 10);
	say_ret("dup2 to -1", dup2(a, -1));
	say_ret("dup2 to a huge number", dup2(a, 1 << 30));
	say_read(a, 10);
	say_ret("dup3 with bad flags", dup3(a, b, O_APPEND));
	say_read(b, 10);
	say_pos(b);
	say_ret("dup3 onto itself", dup3(a, a, O_CLOEXEC));
	say_ret("dup3 onto itself, bad flags", dup3(a, a, 1));
	say_ret("dup2 onto itself", dup2(a, a));
	say_ret("dup2 closed onto itself", dup2(700, 700));
	say_read(a, 10);
	say_pos(a);
	need_ours(a);
	say_ret("dup of closed", dup(700));
	say_ret("F_DUPFD of closed", fcntl(700, F_DUPFD, 0));
	say_ret("F_DUPFD from -1", fcntl(a, F_DUPFD, -1));
	say_ret("F_DUPFD from huge", fcntl(a, F_DUPFD, 1 << 30));
	say_read(a, 10);
	/* both numbers are each other's: nothing may be lost on the way */
	say_ret("dup2", dup2(a, b));
	say_ret("dup2 back", dup2(b, a));
	both(a, b);
}

static void dup3_flags(void)
{
	int a = open_made("a", 1, SIZE, O_RDWR);
	int b = open_made("b", 2, SIZE, O_RDWR);

	warm(a);
	warm(b);
	say_seek(a, 222, SEEK_SET);
	say_ret("dup3", dup3(a, b, O_CLOEXEC));
	say_ret("F_GETFD a", fcntl(a, F_GETFD));
	say_ret("F_GETFD b", fcntl(b, F_GETFD));
	both(a, b);
	say_ret("write", write(b, "hello", 5));
	say_read(a, 5);
	say_ret("write", write(a, "world", 5));
	say_pos(b);
	say_file("a");
}

static void f_dupfd(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	int b;
	int c;

	warm(a);
	say_seek(a, 31, SEEK_SET);
	b = say_ret("F_DUPFD", fcntl(a, F_DUPFD, 100));
	c = say_ret("F_DUPFD_CLOEXEC", fcntl(a, F_DUPFD_CLOEXEC, 2000));
	say_ret("F_GETFD b", fcntl(b, F_GETFD));
	say_ret("F_GETFD c", fcntl(c, F_GETFD));
	both(a, b);
	both(b, c);
	need_ours(c);
	need_hits(c);
	close(a);
	close(b);
	both(c, c);
	close(c);
	need_unmapped_file("a");
}

static void table_full(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	struct rlimit lim;
	int d[64];
	int e[3];
	int n = 0;

	warm(a);
	say_seek(a, 5, SEEK_SET);
	NEED(!getrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_cur = 32;
	NEED(!setrlimit(RLIMIT_NOFILE, &lim));
	while (n < 64 && (d[n] = dup(a)) >= 0)
		n++;
	e[0] = errno;
	e[1] = fcntl(a, F_DUPFD, 0) < 0 ? errno : 0;
	/* cppcheck-suppress leakReturnValNotUsed ; it is to fail */
	e[2] = open("a", O_RDONLY) < 0 ? errno : 0;
	close(d[0]); /* room for the trace */
	say("%d duplicates, errno %d, F_DUPFD %d, open %d", n, e[0], e[1], e[2]);
	for (int i = 1; i < n; i++) {
		say_read(d[i], 3);
		say_pos(d[n - i]);
	}
	need_ours(a);
	close(a);
	for (int i = 1; i < n - 1; i++) {
		close(d[i]);
		say_read(d[i + 1], 11);
	}
	need_mapped(d[n - 1]);
	close(d[n - 1]);
	need_unmapped_file("a");
}

/* A number opened again by name is another description, with a position of its own. */
static void by_proc(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	char name[40];
	int b;

	warm(a);
	say_seek(a, 400, SEEK_SET);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", a);
	b = open(name, O_RDONLY);
	warm(b);
	say_pos(b);
	both(a, b);
	close(a);
	need_mapped(b);
	say_read(b, 10);
	close(b);
	need_unmapped_file("a");
}

/* dd and the shells: a file becomes standard input. */
static void onto_stdin(void)
{
	int a = open_made("a", 1, SIZE, O_RDONLY);
	char word[100] = "";

	warm(a);
	say_seek(a, 50, SEEK_SET);
	say_ret("dup2", dup2(a, 0));
	say_ret("close", close(a));
	for (int i = 0; i < 20; i++)
		say_read(0, 30);
	need_ours(0);
	need_hits(0);
	say_pos(0);
	say("getchar %d", getchar());
	say("scanf %d", scanf("%20c", word));
	say("got %.20s", word);
	say_pos(0);
	/* and another behind the stream's back */
	int b = open_made("b", 2, SIZE, O_RDONLY);

	warm(b);
	say_ret("dup2", dup2(b, 0));
	need_unmapped_file("a");
	say_read(0, 30);
	say("getchar %d", getchar());
	say_pos(0);
}

static const struct self_case cases[] = {
	{"dup", plain_dup, SELF_BOTH},
	{"dup-then-warm", dup_then_warm, SELF_BOTH},
	{"dup2-over-tracked", dup2_over, SELF_BOTH},
	{"dup2-failing", dup2_failing, SELF_BOTH},
	{"dup3", dup3_flags, SELF_BOTH},
	{"f-dupfd", f_dupfd, SELF_BOTH},
	{"table-full", table_full, SELF_BOTH},
	{"again-by-proc", by_proc, SELF_BOTH},
	{"onto-stdin", onto_stdin, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
