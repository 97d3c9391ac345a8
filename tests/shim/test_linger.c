/*
 * test_linger.c - nothing lingers: once the last number of a description is closed, all
 * that hangs on it is gone, as without the library. A mapping that outlived it would keep
 * locks, leases, events, executables, disk space and mounts busy.
 *
 * Each check is made after a close in several settings: contexts() below.
 */
#include <sched.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "_self.h"

#define SIZE 600000

struct check {
	int flags;
	void (*make)(const char *path); /* NULL: make_file */
	void (*before)(int fd, const char *path);
	void (*after)(const char *path);
};

static int opened(const struct check *c, const char *path)
{
	int fd;

	if (c->make)
		c->make(path);
	else
		make_file(path, 1, SIZE);
	fd = open(path, c->flags);
	NEED(fd >= 0);
	warm(fd);
	return fd;
}

static int prepared(const struct check *c, const char *path)
{
	int fd = opened(c, path);

	if (c->before)
		c->before(fd, path);
	return fd;
}

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

static void contexts(const char *folder, const struct check *c)
{
	static const struct {
		const char *name;
		void (*run)(const struct check *c, const char *path);
	} all[] = {
		{"alone", alone},	  {"other-open", other_open},
		{"three", last_of_three}, {"stream", by_stream},
		{"child", in_child},	  {"inherited", inherited},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", folder, all[i].name);
		say("---- %s", all[i].name);
		all[i].run(c, path);
	}
}

/* ---- locks and leases ---- */

static void take_flock(int fd, const char *path)
{
	(void)path;
	say_ret("flock", flock(fd, LOCK_EX));
}

static void try_flock(const char *path)
{
	int fd = (int)raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);

	say("another's flock: %ld", raw2(SYS_flock, fd, LOCK_EX | LOCK_NB));
	raw1(SYS_close, fd);
}

static void take_ofd(int fd, const char *path)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	(void)path;
	say_ret("F_OFD_SETLK", fcntl(fd, F_OFD_SETLK, &l));
}

static void try_ofd(const char *path)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = (int)raw3(SYS_open, path, O_RDWR | O_CLOEXEC, 0);

	say("another's lock: %ld", raw3(SYS_fcntl, fd, F_OFD_SETLK, &l));
	raw1(SYS_close, fd);
}

static void try_lease(const char *path)
{
	int fd = (int)raw3(SYS_open, path, O_RDWR | O_CLOEXEC, 0);

	say("lease for writing: %ld", raw3(SYS_fcntl, fd, F_SETLEASE, F_WRLCK));
	raw1(SYS_close, fd);
	fd = (int)raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	say("lease for reading: %ld", raw3(SYS_fcntl, fd, F_SETLEASE, F_RDLCK));
	raw1(SYS_close, fd);
}

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

static int watcher;

static void watch(int fd, const char *path)
{
	(void)fd;
	watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	NEED(inotify_add_watch(watcher, path, IN_CLOSE) >= 0);
}

static void see_events(const char *path)
{
	char buf[4096] __attribute__((aligned(8)));
	long n = raw3(SYS_read, watcher, buf, sizeof(buf));

	(void)path;
	for (long at = 0; at < n;) {
		struct inotify_event *e = (void *)(buf + at);

		say("event %x", e->mask);
		at += (long)(sizeof(*e) + e->len);
	}
	say("events: %d", n > 0);
	close(watcher);
}

static void close_nowrite(void)
{
	contexts(".", &(struct check){O_RDONLY, NULL, watch, see_events});
}

static void close_write(void)
{
	contexts(".", &(struct check){O_RDWR, NULL, watch, see_events});
}

/* ---- executables ---- */

static void copy_program(const char *path)
{
	char command[4500];

	snprintf(command, sizeof(command), "cp '%s' %s", self_static, path);
	NEED(!system(command));
}

static void execute(const char *path)
{
	char *argv[6];
	pid_t pid;
	int err;

	reader_args(argv, path, 99, 1, "executed");
	err = posix_spawn(&pid, path, NULL, NULL, argv, environ);
	if (!err)
		NEED(waitpid(pid, NULL, 0) == pid);
	say("posix_spawn: %d", err);
	say("open for writing: %d", raw3(SYS_open, path, O_RDWR | O_CLOEXEC, 0) >= 0);
}

static void executes(void)
{
	contexts(".", &(struct check){O_RDWR, copy_program, NULL, execute});
}

static void executes_readonly(void)
{
	contexts(".", &(struct check){O_RDONLY, copy_program, NULL, execute});
}

/* ---- space, mounts, seals ---- */

#define MOUNTED "m"

static void mount_small(void)
{
	mkdir(MOUNTED, 0700);
	/* Raw: the library steps aside at unshare(). */
	if (raw1(SYS_unshare, CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", MOUNTED, "tmpfs", 0, "size=8M"))
		self_skip("no mounts in a namespace here");
}

static void remove_it(int fd, const char *path)
{
	struct statfs fs;

	(void)fd;
	unlink(path);
	NEED(!statfs(MOUNTED, &fs));
	say("while open %ld blocks free", (long)fs.f_bfree);
}

static void see_space(const char *path)
{
	struct statfs fs;

	(void)path;
	NEED(!statfs(MOUNTED, &fs));
	say("%ld blocks free, of %ld", (long)fs.f_bfree, (long)fs.f_blocks);
}

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
