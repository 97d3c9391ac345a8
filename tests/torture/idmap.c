/*
 * idmap FROM TO: mounts FROM on TO as an idmapped mount, in which root and user 1000 stand for
 * one another. For mount(8) older than 2.39, which can't. Status 3: the kernel or the file
 * system can't.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
	int status = errno == EINVAL || errno == ENOSYS || errno == EPERM ? 3 : 1;

	perror(what);
	return status;
}

static int write_map(pid_t pid, const char *which)
{
	static const char map[] = "0 1000 1\n1000 0 1\n";
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, which);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, sizeof(map) - 1) != sizeof(map) - 1)
		return -1;
	return close(fd);
}

/* A user namespace with that map; nobody lives in it. */
static int make_namespace(void)
{
	int ready[2], fd = -1;
	char path[64], c;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ready[0]);
		if (unshare(CLONE_NEWUSER) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (read(ready[0], &c, 1) == 1 && !write_map(pid, "uid_map") &&
	    !write_map(pid, "gid_map"))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fd;
}

int main(int argc, char **argv)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
	int tree, namespace;

	if (argc != 3)
		return 2;
	namespace = make_namespace();
	if (namespace < 0)
		return fail("a user namespace");
	attr.userns_fd = (unsigned)namespace;
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, argv[1],
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0)
		return fail("open_tree");
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)))
		return fail("mount_setattr");
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, argv[2], MOVE_MOUNT_F_EMPTY_PATH))
		return fail("move_mount");
	return 0;
}
