/*
 * test_numbers.c - high numbers, and many of them: descriptors beyond every size a table
 * might have been given, and thousands of files that are windowed at once.
 */
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "_self.h"

#define SIZE 50000

/* As many numbers as the system lets us have; at least `least`. */
static rlim_t raise_limit(rlim_t least)
{
	struct rlimit r;
	FILE *f = fopen("/proc/sys/fs/nr_open", "r");
	unsigned long most = 0;

	NEED(f && fscanf(f, "%lu", &most) == 1);
	fclose(f);
	NEED(!getrlimit(RLIMIT_NOFILE, &r));
	if (r.rlim_max < most) {
		struct rlimit all = {most, most};

		if (!setrlimit(RLIMIT_NOFILE, &all))
			return most;
	}
	r.rlim_cur = r.rlim_max;
	NEED(!setrlimit(RLIMIT_NOFILE, &r));
	if (r.rlim_cur < least)
		self_skip("RLIMIT_NOFILE does not allow it");
	return r.rlim_cur;
}

static void used(int fd)
{
	warm(fd);
	need_hits(fd);
	say_seek(fd, 700, SEEK_SET);
	say_read(fd, 50);
	say_pread(fd, 20, 40000);
	say_seek(fd, -30, SEEK_CUR);
	say_read(fd, 5);
}

/* A number above `n`, by each of the calls that can make one. */
static void above(int n)
{
	int low;
	int fd;

	raise_limit((rlim_t)n + 4);
	low = open_made("a", 1, SIZE, O_RDONLY);
	warm(low);
	fd = fcntl(low, F_DUPFD, n);
	say("F_DUPFD %d", fd);
	used(fd);
	say_pos(low);
	say_ret("dup2", dup2(fd, n + 2));
	used(n + 2);
	close(low);
	need_mapped(fd);
	say_ret("dup3", dup3(fd, n + 3, O_CLOEXEC));
	close(fd);
	used(n + 3);
	close(n + 2);
	close(n + 3);
	need_unmapped_file("a");
	say_read(n + 3, 5);
	say_pos(n + 2);
	/* the number stands for something else */
	low = open_made("b", 2, SIZE, O_RDWR);
	say_ret("dup2", dup2(low, n + 2));
	close(low);
	used(n + 2);
	say_ret("write", write(n + 2, "xyz", 3));
	say_pos(n + 2);
	say_ret("close_range", close_range((unsigned)n, ~0U, 0));
	need_unmapped_file("b");
	say_read(n + 2, 5);
	say_file("b");
}

/* Where the table goes from its first part to chunks: 62, 64 and 65 are used. */
static void above_62(void)
{
	above(62);
}

static void above_1024(void)
{
	above(1024);
}

static void above_65536(void)
{
	above(65536);
}

static void highest(void)
{
	above((int)raise_limit(2000) - 4);
}

/* No free number below 3000: open itself gives high ones. */
static void opened_high(void)
{
	int null;
	int fd;

	raise_limit(4000);
	null = open("/dev/null", O_RDONLY);
	while (dup(null) < 3000)
		;
	fd = open_made("a", 1, SIZE, O_RDONLY);
	say("open %d", fd);
	used(fd);
	closefrom(3);
	need_unmapped_file("a");
	fd = open("a", O_RDONLY);
	say("open %d", fd);
	used(fd);
}

/* Beyond the limit, and numbers that no limit allows. */
static void impossible(void)
{
	struct rlimit r = {500, 1000};
	int fd = open_made("a", 1, SIZE, O_RDONLY);

	warm(fd);
	NEED(!setrlimit(RLIMIT_NOFILE, &r));
	for (size_t i = 0; i < 6; i++) {
		int to = (int[]){500, 1 << 20, (1 << 20) + 7, 1 << 30, INT32_MAX, -7}[i];

		say_ret("dup2", dup2(fd, to));
		say_ret("F_DUPFD", fcntl(fd, F_DUPFD, to));
		say_read(to, 5);
		say_pread(to, 5, 5);
		say_pos(to);
		say_ret("write", write(to, "x", 1));
		say_ret("close", close(to));
		say_ret("dup", dup(to));
	}
	say_read(fd, 5);
	need_mapped(fd);
	need_hits(fd);
}

/* ---- many ---- */

#define MANY 2000

static int fds[MANY];
static off_t at[MANY];

static unsigned id_of(int i)
{
	return (unsigned)i % 51;
}

/* How many mappings have this in their line of /proc/self/maps. */
static int mappings(const char *what)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4500];
	int n = 0;

	NEED(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, what) != NULL;
	fclose(f);
	return n;
}

static void open_many(void)
{
	char name[32];

	raise_limit(MANY + 100);
	mkdir("many", 0700);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		fds[i] = open_made(name, id_of(i), SIZE, O_RDONLY);
	}
}

/* Reads of all files in turn, each from where the last one left it. */
static void read_round(int n)
{
	static unsigned char buf[512];

	for (int i = 0; i < MANY; i++) {
		size_t len = (size_t)(1 + (i * 7 + n * 13) % 400);
		ssize_t got = read(fds[i], buf, len);

		CHECK(got == (ssize_t)len, "%zd", got);
		CHECK(is_content(buf, len, id_of(i), (uint64_t)at[i]), "file %d at %ld",
		      i, (long)at[i]);
		at[i] += got;
		if ((i + n) % 3)
			continue;
		at[i] = (i * 31L + n * 577L) % (SIZE / 2);
		CHECK(lseek(fds[i], at[i], SEEK_SET) == at[i], "errno %d", errno);
	}
}

/* Until all have windows; returns how many rounds that took. */
static int warm_many(void)
{
	int rounds = 0;

	open_many();
	for (int i = 0; i < MANY; i++)
		for (int k = 0; k < 40; k++)
			lseek(fds[i], 0, SEEK_SET);
	do
		read_round(rounds);
	while (++rounds % 50 ||
	       (self_preloaded && mappings("/many/") < MANY && rounds < 1000));
	if (self_preloaded)
		CHECK(mappings("/many/") >= MANY, "%d windows after %d rounds",
		      mappings("/many/"), rounds);
	return rounds;
}

static void many(void)
{
	int rounds = warm_many();
	long before;
	long calls;

	before = read_calls();
	for (int i = 0; i < 20; i++)
		read_round(rounds + i);
	calls = read_calls() - before;
	if (self_preloaded)
		CHECK(before < 0 || calls < MANY * 20 / 4, "%ld calls for %d reads",
		      calls, MANY * 20);
	for (int i = 0; i < MANY; i++) {
		CHECK(lseek(fds[i], 0, SEEK_CUR) == at[i], "file %d", i);
		CHECK(!close(fds[i]), "file %d", i);
	}
	CHECK(!mappings("/many/"), "%d are left", mappings("/many/"));
	say("done");
}

/* The same, but the numbers end by close_range, after a fork that used them all. */
static void many_forked(void)
{
	pid_t pid;

	warm_many();
	pid = fork();
	if (!pid) {
		CHECK(!mappings("/many/"), "windows in the child");
		for (int n = 0; n < 5; n++)
			read_round(n);
		exit(0);
	}
	say_wait(pid);
	for (int i = 0; i < MANY; i++) {
		off_t now = lseek(fds[i], 0, SEEK_CUR);

		CHECK(now == raw3(SYS_lseek, fds[i], 0, SEEK_CUR), "file %d", i);
		at[i] = now;
	}
	read_round(5);
	say_ret("close_range", close_range(3, ~0U, 0));
	CHECK(!mappings("/many/"), "%d are left", mappings("/many/"));
}

static const struct self_case cases[] = {
	{"above-62", above_62, SELF_BOTH},
	{"above-1024", above_1024, SELF_BOTH},
	{"above-65536", above_65536, SELF_BOTH},
	{"highest", highest, SELF_BOTH},
	{"opened-high", opened_high, SELF_BOTH},
	{"impossible", impossible, SELF_BOTH},
	{"many", many, SELF_BOTH},
	{"many-forked", many_forked, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
