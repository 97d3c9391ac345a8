/* linger.c - see linger.h. */
#include "linger.h"

#include <sched.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

int opened(const struct check *c, const char *path)
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

int prepared(const struct check *c, const char *path)
{
	int fd = opened(c, path);

	if (c->before)
		c->before(fd, path);
	return fd;
}

/* ---- locks and leases ---- */

void take_flock(int fd, const char *path)
{
	(void)path;
	say_ret("flock", flock(fd, LOCK_EX));
}

void try_flock(const char *path)
{
	int fd = (int)raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);

	say("another's flock: %ld", raw2(SYS_flock, fd, LOCK_EX | LOCK_NB));
	raw1(SYS_close, fd);
}

void take_ofd(int fd, const char *path)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	(void)path;
	say_ret("F_OFD_SETLK", fcntl(fd, F_OFD_SETLK, &l));
}

void try_ofd(const char *path)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = (int)raw3(SYS_open, path, O_RDWR | O_CLOEXEC, 0);

	say("another's lock: %ld", raw3(SYS_fcntl, fd, F_OFD_SETLK, &l));
	raw1(SYS_close, fd);
}

void try_lease(const char *path)
{
	int fd = (int)raw3(SYS_open, path, O_RDWR | O_CLOEXEC, 0);

	say("lease for writing: %ld", raw3(SYS_fcntl, fd, F_SETLEASE, F_WRLCK));
	raw1(SYS_close, fd);
	fd = (int)raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	say("lease for reading: %ld", raw3(SYS_fcntl, fd, F_SETLEASE, F_RDLCK));
	raw1(SYS_close, fd);
}

/* ---- events ---- */

static int watcher;

void watch(int fd, const char *path)
{
	(void)fd;
	if (watcher)
		close(watcher);
	watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	NEED(inotify_add_watch(watcher, path, IN_CLOSE) >= 0);
}

void see_events(const char *path)
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
}

/* ---- executables ---- */

void copy_program(const char *path)
{
	char command[4500];

	snprintf(command, sizeof(command), "cp '%s' %s", self_static, path);
	NEED(!system(command));
}

void execute(const char *path)
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

/* ---- space and mounts ---- */

void mount_small(void)
{
	mkdir(MOUNTED, 0700);
	/* Raw: the library steps aside at unshare(). */
	if (raw1(SYS_unshare, CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", MOUNTED, "tmpfs", 0, "size=8M"))
		self_skip("no mounts in a namespace here");
}

void remove_it(int fd, const char *path)
{
	struct statfs fs;

	(void)fd;
	unlink(path);
	NEED(!statfs(MOUNTED, &fs));
	say("while open %ld blocks free", (long)fs.f_bfree);
}

void see_space(const char *path)
{
	struct statfs fs;

	(void)path;
	NEED(!statfs(MOUNTED, &fs));
	say("%ld blocks free, of %ld", (long)fs.f_bfree, (long)fs.f_blocks);
}
