/*
 * test_linger.c - nothing lingers: once the last number of a description is closed, all
 * that hangs on it is gone, as without the library. A mapping that outlived it would keep
 * locks, leases, events, executables, disk space and mounts busy.
 *
 * Each check is made after a close in several settings: contexts() below.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "linger.h"

static void alone(const struct check *c, const char *path)
{
	close(prepared(c, path));
	c->after(path);
	need_unmapped_file(path);
}

/* Another description of the same file stays open, with a window of its own. */
static void other_open(const struct check *c, const char *path)
{
	int fd = opened(c, path);
	int other = open(path, O_RDONLY | O_CLOEXEC);

	warm(other);
	if (c->before)
		c->before(fd, path);
	close(fd);
	c->after(path);
	need_mapped(other);
	say_read(other, 10);
	close(other);
	need_unmapped_file(path);
}

static void last_of_three(const struct check *c, const char *path)
{
	int fd = prepared(c, path);
	int twin = dup(fd);
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 200);

	close(fd);
	say_read(twin, 10);
	dup2(high, twin);
	need_mapped(high);
	close(twin);
	close(high);
	c->after(path);
	need_unmapped_file(path);
}

static void by_stream(const struct check *c, const char *path)
{
	FILE *f = fdopen(prepared(c, path), "r");

	fclose(f);
	c->after(path);
	need_unmapped_file(path);
}

static void in_child(const struct check *c, const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		alone(c, path);
		exit(0);
	}
	say_wait(pid);
}

/* On tmpfs a file without a name is not windowed again: it might be a memfd. */
static void warm_again(int fd, const char *path)
{
	warm_try(fd);
	if (!access(path, F_OK))
		need_mapped(fd);
}

/* Opened before the fork, closed by the parent first and by the child last. */
static void inherited(const struct check *c, const char *path)
{
	int fd = prepared(c, path);
	struct turns t;
	pid_t pid;

	turns_make(&t);
	pid = fork();
	if (!pid) {
		warm_again(fd, path);
		turns_wait(&t, 1);
		close(fd);
		c->after(path);
		need_unmapped_file(path);
		exit(0);
	}
	warm_again(fd, path);
	close(fd);
	need_unmapped_file(path);
	turns_pass(&t, 0);
	say_wait(pid);
}

static void by_range(const struct check *c, const char *path)
{
	int fd = prepared(c, path);

	say_ret("close_range", close_range((unsigned)fd, (unsigned)fd, 0));
	c->after(path);
	need_unmapped_file(path);
}

static void replaced(const struct check *c, const char *path)
{
	int fd = prepared(c, path);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	say_ret("dup2", dup2(null, fd) == fd);
	close(null);
	c->after(path);
	need_unmapped_file(path);
	close(fd);
}

/* Nobody closes it: the process ends, or becomes another. */
static void ended(const struct check *c, const char *path, void (*end)(int fd))
{
	pid_t pid;

	make_file(path, 1, SIZE); /* a watcher needs one */
	if (c->before == watch)
		watch(-1, path);
	pid = fork();
	if (!pid) {
		int fd = opened(c, path);

		if (c->before && c->before != watch)
			c->before(fd, path);
		end(fd);
		_exit(96);
	}
	say_wait(pid);
	c->after(path);
}

static void end_by_exit(int fd)
{
	(void)fd;
	exit(0);
}

static void end_by_kill(int fd)
{
	(void)fd;
	kill(getpid(), SIGKILL);
}

static void end_by_exec(int fd)
{
	char *argv[6];

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	reader_args(argv, self_static, fd, 1, "executed");
	execv(self_static, argv);
}

static void exited(const struct check *c, const char *path)
{
	ended(c, path, end_by_exit);
}

static void killed(const struct check *c, const char *path)
{
	ended(c, path, end_by_kill);
}

static void executed(const struct check *c, const char *path)
{
	ended(c, path, end_by_exec);
}

static void contexts(const char *folder, const struct check *c)
{
	static const struct {
		const char *name;
		void (*run)(const struct check *c, const char *path);
	} all[] = {
		{"alone", alone},	  {"other-open", other_open},
		{"three", last_of_three}, {"stream", by_stream},
		{"child", in_child},	  {"inherited", inherited},
		{"range", by_range},	  {"replaced", replaced},
		{"exited", exited},	  {"killed", killed},
		{"executed", executed},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", folder, all[i].name);
		say("---- %s", all[i].name);
		all[i].run(c, path);
	}
}

/* ---- locks and leases ---- */

static void flocks(void)
{
	contexts(".", &(struct check){O_RDONLY, NULL, take_flock, try_flock});
}

static void ofd_locks(void)
{
	contexts(".", &(struct check){O_RDWR, NULL, take_ofd, try_ofd});
}

static void leases(void)
{
	contexts(".", &(struct check){O_RDONLY, NULL, NULL, try_lease});
}

static void leases_rdwr(void)
{
	contexts(".", &(struct check){O_RDWR, NULL, NULL, try_lease});
}

/* ---- events ---- */

static void close_nowrite(void)
{
	contexts(".", &(struct check){O_RDONLY, NULL, watch, see_events});
}

static void close_write(void)
{
	contexts(".", &(struct check){O_RDWR, NULL, watch, see_events});
}

/* ---- executables ---- */

static void executes(void)
{
	contexts(".", &(struct check){O_RDWR, copy_program, NULL, execute});
}

static void executes_readonly(void)
{
	contexts(".", &(struct check){O_RDONLY, copy_program, NULL, execute});
}

/* ---- space, mounts, seals ---- */

static void space(void)
{
	mount_small();
	contexts(MOUNTED, &(struct check){O_RDONLY, NULL, remove_it, see_space});
	contexts(MOUNTED, &(struct check){O_RDWR, NULL, remove_it, see_space});
}

static void unmount(const char *path)
{
	(void)path;
	say("umount: %d", umount(MOUNTED) ? errno : 0);
	if (raw2(SYS_access, MOUNTED "/.", F_OK) || umount(MOUNTED) == 0)
		return;
	NEED(!mount("none", MOUNTED, "tmpfs", 0, "size=8M"));
}

static void umounts(void)
{
	mount_small();
	alone(&(struct check){O_RDONLY, NULL, NULL, unmount}, MOUNTED "/a");
	last_of_three(&(struct check){O_RDWR, NULL, NULL, unmount}, MOUNTED "/b");
	by_stream(&(struct check){O_RDONLY, NULL, NULL, unmount}, MOUNTED "/c");
	in_child(&(struct check){O_RDONLY, NULL, NULL, unmount}, MOUNTED "/d");
	inherited(&(struct check){O_RDWR, NULL, NULL, unmount}, MOUNTED "/e");
}

/* A memfd is not served itself, but it can be opened by a name. */
static void seals(void)
{
	for (int again = 0; again < 2; again++) {
		int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
		char path[64];
		int reopened;

		for (int i = 0; i < 5000; i++)
			NEED(write(fd, "sixteen bytes...", 16) == 16);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		reopened = open(path, again ? O_RDWR : O_RDONLY);
		NEED(reopened >= 0);
		for (int i = 0; i < 4000; i++)
			pread(reopened, &(char[8]){0}, 8, 16L * i);
		say_ret("F_SEAL_WRITE", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
		close(reopened);
		say_ret("F_SEAL_SHRINK", fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
		say_ret("F_GET_SEALS", fcntl(fd, F_GET_SEALS));
		close(fd);
	}
}

static const struct self_case cases[] = {
	{"flock", flocks, SELF_BOTH},
	{"ofd-lock", ofd_locks, SELF_BOTH},
	{"lease", leases, SELF_BOTH},
	{"lease-rdwr", leases_rdwr, SELF_BOTH},
	{"close-nowrite", close_nowrite, SELF_BOTH},
	{"close-write", close_write, SELF_BOTH},
	{"exec-after-rdwr", executes, SELF_BOTH},
	{"exec-after-read", executes_readonly, SELF_BOTH},
	{"space", space, SELF_BOTH},
	{"umount", umounts, SELF_BOTH},
	{"seals", seals, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
