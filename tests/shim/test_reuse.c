/*
 * test_reuse.c - numbers that are closed or replaced by somebody else than close and dup2,
 * and then stand for something new; and descriptions that travel to another process.
 */
#include <dirent.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <wchar.h>

#include "_self.h"

#define SIZE 300000

static int ready(const char *path, unsigned id, off_t at)
{
	int fd = open_made(path, id, SIZE, O_RDONLY);

	warm(fd);
	say_seek(fd, at, SEEK_SET);
	say_read(fd, 10);
	return fd;
}

/*
 * fd is closed, whoever did it. Its number stands for other things in turn, made by calls
 * that are seen and by calls that are not.
 */
static void used_again(int fd)
{
	char name[] = "mkstemp-XXXXXX";
	int p[2];
	FILE *f;
	int n;

	say_read(fd, 1);
	say_pos(fd);
	say_pread(fd, 1, 0);
	make_file("other", 20, SIZE);
	n = say_ret("open", open("other", O_RDONLY));
	while (n >= 0 && n < fd)
		n = open("other", O_RDONLY); /* the lower ones are taken now */
	CHECK(n == fd, "number %d, not %d", n, fd);
	say_read(fd, 20);
	say_pos(fd);
	close(fd);
	f = fopen("other", "r");
	say("fopen %d, then %d %d", fileno(f), getc(f), getc(f));
	say_read(fd, 30);
	fclose(f);
	NEED(!pipe(p) && p[0] == fd && write(p[1], "through a pipe", 14) == 14);
	say_read(fd, 14);
	say_pos(fd);
	say_pread(fd, 1, 0);
	close(p[0]);
	close(p[1]);
	n = mkstemp(name);
	NEED(n == fd);
	say_ret("write", write(fd, "0123456789", 10));
	say_pos(fd);
	say_seek(fd, 3, SEEK_SET);
	say_read(fd, 20);
	close(fd);
	n = socket(AF_UNIX, SOCK_STREAM, 0);
	NEED(n == fd);
	say_read(fd, 1);
	say_pos(fd);
	close(fd);
}

static void by_fclose(void)
{
	int fd = ready("a", 1, 100);
	FILE *f = fdopen(fd, "r");

	say("first %d, then %d", getc(f), getc(f));
	say_ret("fclose", fclose(f));
	need_unmapped_file("a");
	used_again(fd);
}

/* glibc reads a stream opened with 'm' through a mapping, by a table of its own. */
static void by_fclose_m(void)
{
	int fd = ready("a", 1, 100);
	FILE *f = fdopen(fd, "rm");

	say("first %d, then %d, at %ld", getc(f), getc(f), ftell(f));
	say_ret("fclose", fclose(f));
	need_unmapped_file("a");
	used_again(fd);
}

static void by_fclose_wide(void)
{
	int fd = ready("a", 1, 100);
	FILE *f = fdopen(fd, "r");

	say_ret("fseek", fseek(f, 300, SEEK_SET));
	say("wide %d", fwide(f, 1));
	say_ret("fclose", fclose(f));
	need_unmapped_file("a");
	used_again(fd);
}

static void by_freopen(void)
{
	int fd = ready("a", 1, 100);
	FILE *f = fdopen(fd, "r");

	make_file("b", 2, SIZE);
	say("first %d", getc(f));
	f = freopen("b", "r", f);
	need_unmapped_file("a");
	say("fileno %d, first %d", fileno(f), getc(f));
	say_pos(fd);
	say_read(fd, 10);
	f = freopen(NULL, "r", f);
	say("again %d", f ? getc(f) : -1);
	say_pos(fileno(f));
	fclose(f);
	say("failing %d", freopen("/nowhere", "r", stdin) != NULL);
	used_again(fd);
}

static void mixed_with_stdio(void)
{
	int fd = ready("a", 1, 100);
	int twin = dup(fd);
	FILE *f;
	char buf[100];

	f = fdopen(fd, "r");
	setvbuf(f, NULL, _IOFBF, 64);
	say("getc %d", getc(f));
	say_pos(twin);
	say_read(twin, 5);
	say("fread %zu", fread(buf, 1, 100, f));
	say_pos(twin);
	say("ftell %ld", ftell(f));
	say_seek(twin, 5000, SEEK_SET);
	say("ftell %ld", ftell(f));
	say_ret("fseek", fseek(f, 10, SEEK_CUR));
	say("getc %d", getc(f));
	say_ret("fflush", fflush(f));
	say_pos(twin);
	say_ret("fseek", fseek(f, -3, SEEK_END));
	for (int i = 0; i < 4; i++)
		say("getc %d", getc(f));
	rewind(f);
	say_pos(twin);
	need_mapped(twin);
	for (int i = 0; i < 2000; i++)
		CHECK(getc(f) == content(1, (uint64_t)i), "%d", i);
	say_ret("fclose", fclose(f));
	say_pos(twin);
	say_read(twin, 5);
	close(twin);
	need_unmapped_file("a");
}

static void stdio_updates(void)
{
	int fd = open_made("a", 1, SIZE, O_RDWR);
	int twin = dup(fd);
	FILE *f;

	warm(fd);
	say_seek(fd, 50, SEEK_SET);
	f = fdopen(fd, "r+");
	say("getc %d", getc(f));
	say_ret("fseek", fseek(f, 0, SEEK_CUR));
	say_ret("fputs", fputs("written", f) < 0);
	say_ret("fflush", fflush(f));
	say_pos(twin);
	say_read(twin, 5);
	say_seek(twin, 80, SEEK_SET);
	say_ret("fprintf", fprintf(f, "%s", "more"));
	say_ret("fclose", fclose(f));
	say_pos(twin);
	say_file("a");
	close(twin);
	f = fopen("a", "a+");
	say("append %d", fprintf(f, "end"));
	fclose(f);
	say_file("a");
}

static void by_daemon(void)
{
	int p[2];
	pid_t pid;
	char c;

	NEED(!pipe(p));
	pid = fork();
	if (!pid) {
		int fd;

		close(p[0]);
		close(0);
		fd = ready("a", 1, 100);
		say("number %d", fd);
		chmod("a", 0600);
		say_ret("daemon", daemon(1, 0));
		need_unmapped_file("a");
		say_read(0, 10); /* /dev/null */
		say_pos(0);
		int b = open_made("b", 2, SIZE, O_RDONLY);

		warm(b);
		say_read(b, 10);
		exit(0);
	}
	close(p[1]);
	say_ret("end", raw3(SYS_read, p[0], &c, 1));
	say_wait(pid);
}

static void by_daemon_noclose(void)
{
	int p[2];
	pid_t pid;
	char c;

	NEED(!pipe(p));
	pid = fork();
	if (!pid) {
		int fd;

		close(p[0]);
		close(0);
		fd = ready("a", 1, 100);
		say("number %d", fd);
		say_ret("daemon", daemon(1, 1));
		say_read(0, 10);
		say_kernel_pos(0);
		exit(0);
	}
	close(p[1]);
	say_ret("end", raw3(SYS_read, p[0], &c, 1));
	say_wait(pid);
}

static void by_closedir(void)
{
	int fd;
	DIR *d;

	mkdir("folder", 0700);
	fd = open("folder", O_RDONLY);
	for (int i = 0; i < 30; i++)
		read(fd, &(char[1]){0}, 1);
	say_read(fd, 1);
	d = fdopendir(fd);
	/* cppcheck-suppress readdirCalled */
	say("entries %d", !!readdir(d) + !!readdir(d) + !!readdir(d));
	say_ret("closedir", closedir(d));
	used_again(fd);
	/* a folder takes a number that was a file's */
	fd = ready("a", 1, 100);
	close(fd);
	d = opendir("folder");
	NEED(d && dirfd(d) == fd);
	say_read(fd, 1);
	say_ret("closedir", closedir(d));
	used_again(fd);
}

static void by_closefrom(void)
{
	int a = ready("a", 1, 100);
	int b = ready("b", 2, 100);

	closefrom(b);
	need_unmapped_file("b");
	say_read(a, 10);
	need_ours(a);
	closefrom(-5);
	need_unmapped_file("a");
	used_again(0);
	used_again(1);
}

static void by_close_range(void)
{
	int a = ready("a", 1, 100);
	int b = ready("b", 2, 100);
	int c = ready("c", 3, 100);

	say_ret("backwards", close_range((unsigned)c, (unsigned)a, 0));
	say_ret("bad flags", close_range((unsigned)a, (unsigned)a, 1 << 20));
	say_read(a, 3);
	say_ret("cloexec", close_range((unsigned)a, (unsigned)b, CLOSE_RANGE_CLOEXEC));
	say_ret("F_GETFD", fcntl(a, F_GETFD));
	say_read(a, 3);
	say_read(b, 3);
	need_ours(b);
	say_ret("unshare", close_range((unsigned)a, (unsigned)a, CLOSE_RANGE_UNSHARE));
	need_unmapped_file("a");
	say_read(a, 3);
	say_read(b, 3);
	say_ret("rest", close_range((unsigned)b, ~0U, 0));
	need_unmapped_file("b");
	need_unmapped_file("c");
	say_read(c, 3);
	used_again(a);
}

/* Shells and servers do this at start. */
static void by_loop(void)
{
	int a = ready("a", 1, 100);
	int b = ready("b", 2, 100);
	int high = fcntl(b, F_DUPFD, 700);
	int closed = 0;

	for (int i = 3; i < 1024; i++)
		closed += close(i) == 0;
	say("closed %d", closed);
	need_unmapped_file("a");
	need_unmapped_file("b");
	say_read(high, 3);
	used_again(a);
}

/* ---- descriptions that travel ---- */

static void send_fd(int s, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c = {.room = ""};
	struct iovec v = {"x", 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = c.room,
			   .msg_controllen = sizeof(c.room)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	NEED(sendmsg(s, &m, 0) == 1);
}

static int receive_fd(int s)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} c;
	char x;
	struct iovec v = {&x, 1};
	struct msghdr m = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = c.room,
			   .msg_controllen = sizeof(c.room)};
	int fd;

	NEED(recvmsg(s, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static void scm_rights(void)
{
	struct turns t;
	int s[2];
	int fd;
	pid_t pid;

	turns_make(&t);
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid = fork();
	if (!pid) {
		fd = receive_fd(s[1]);
		for (int i = 0; i < 40; i++)
			say_read(fd, 5);
		say_kernel_pos(fd);
		turns_pass(&t, 1);
		turns_wait(&t, 1);
		say_read(fd, 5);
		say_seek(fd, 4000, SEEK_SET);
		turns_pass(&t, 1);
		exit(0);
	}
	fd = ready("a", 1, 100);
	send_fd(s[0], fd);
	turns_wait(&t, 0);
	say_pos(fd);
	for (int i = 0; i < 40; i++)
		say_read(fd, 5);
	say_kernel_pos(fd);
	turns_pass(&t, 0);
	turns_wait(&t, 0);
	say_pos(fd);
	say_read(fd, 5);
	say_wait(pid);
}

/* To itself: two numbers that the table must not think two descriptions. */
static void scm_to_self(void)
{
	int s[2];
	int fd = ready("a", 1, 100);
	int got;

	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	send_fd(s[0], fd);
	got = receive_fd(s[1]);
	for (int i = 0; i < 40; i++) {
		say_read(fd, 5);
		say_read(got, 5);
	}
	say_pos(fd);
	say_pos(got);
	send_fd(s[0], got);
	close(fd);
	fd = receive_fd(s[1]);
	say_read(fd, 5);
	say_read(got, 5);
	close(fd);
	close(got);
	need_unmapped_file("a");
}

static const struct self_case cases[] = {
	{"fclose", by_fclose, SELF_BOTH},
	{"fclose-of-a-mapped-stream", by_fclose_m, SELF_BOTH},
	{"fclose-wide", by_fclose_wide, SELF_BOTH},
	{"freopen", by_freopen, SELF_BOTH},
	{"stdio-mixed", mixed_with_stdio, SELF_BOTH},
	{"stdio-updates", stdio_updates, SELF_BOTH},
	{"daemon", by_daemon, SELF_BOTH},
	{"daemon-noclose", by_daemon_noclose, SELF_BOTH},
	{"closedir", by_closedir, SELF_BOTH},
	{"closefrom", by_closefrom, SELF_BOTH},
	{"close_range", by_close_range, SELF_BOTH},
	{"close-loop", by_loop, SELF_BOTH},
	{"scm-rights", scm_rights, SELF_BOTH},
	{"scm-rights-to-self", scm_to_self, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
