/* test_inside.c - calls that libc makes itself, past every exported name. */
#include <execinfo.h>

#include "calls.h"

static void with_dprintf(void)
{
	int fd = ready("a", 1, O_RDWR, 100);

	say_ret("dprintf", dprintf(fd, "%d and %s", 12, "more"));
	say_pos(fd);
	go_on(fd);
	say_file("a");
}

/* Messages of libc's own to number 2, when that is a file whose position is ours. */
static void with_perror(void)
{
	int fd;

	close(2);
	fd = open_made("log", 1, SIZE, O_RDWR);
	NEED(fd == 2);
	warm(2);
	say_seek(2, 1000, SEEK_SET);
	errno = ENOENT;
	perror("message");
	say_pos(2);
	say_file("log");
	go_on(2);
	fprintf(stderr, "more %d", 5);
	say_pos(2);
	say_file("log");
}

/* libc writes these lines by itself, past write and writev. */
static void with_backtrace(void)
{
	int fd = ready("a", 1, O_RDWR, 5000);
	void *at[2] = {(void *)with_backtrace, (void *)with_perror};
	unsigned char first = 0;

	backtrace_symbols_fd(at, 2, fd);
	say("moved: %d", lseek(fd, 0, SEEK_CUR) > 5010);
	pread(fd, &first, 1, 5010);
	say("written there: %d", first != content(1, 5010));
	pread(fd, &first, 1, 0);
	say("written at 0: %d", first != content(1, 0));
}

static void say_two(void)
{
	int n[2] = {-1, -1};
	int got = scanf("%d %d", &n[0], &n[1]);

	say("%d: %d %d", got, n[0], n[1]);
}

static void with_scanf(void)
{
	int fd;

	make_file("numbers", 1, 0);
	fd = open("numbers", O_WRONLY);
	for (int i = 0; i < 3000; i++)
		dprintf(fd, "%d ", i);
	close(fd);
	close(0);
	fd = open("numbers", O_RDONLY);
	NEED(fd == 0);
	warm(0);
	say_read(0, 10); /* "0 1 2 3 4 " */
	say_two();
	say_pos(0);
	say_seek(0, 190, SEEK_SET);
	say_two();
	say_ret("fseek", fseek(stdin, 390, SEEK_SET));
	say_two();
	say("ftell %ld", ftell(stdin));
	/* cppcheck-suppress fflushOnInputStream */
	say_ret("fflush", fflush(stdin));
	say_pos(0);
	say_read(0, 10);
}

static const struct self_case cases[] = {
	{"dprintf", with_dprintf, SELF_BOTH},
	{"perror", with_perror, SELF_BOTH},
	{"backtrace", with_backtrace, SELF_BOTH},
	{"scanf", with_scanf, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
