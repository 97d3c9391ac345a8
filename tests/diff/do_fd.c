/* Steps that make, copy, change and close descriptors. */
#define _GNU_SOURCE
#include "interp.h"
#include "twins.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void got(const struct pw_step *s, int fd)
{
	pw_slot[s->arg[0]] = fd;
	pw_said(s, fd, " ");
}

void pw_do_OPEN(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]];
	int flags = s->arg[2], fd;
	mode_t mode = s->arg[3];

	/* Without a partner the opening of a fifo would wait for ever. */
	if (s->arg[1] == PW_FIFO)
		flags |= O_NONBLOCK;
	switch (s->name) {
	case 0:
		fd = PW_CALL(open(path, flags, mode));
		break;
	case 1:
		fd = PW_CALL(open64(path, flags, mode));
		break;
	case 2:
		fd = PW_CALL(openat(AT_FDCWD, path, flags, mode));
		break;
	case 3:
		fd = PW_CALL(openat64(AT_FDCWD, path, flags, mode));
		break;
	case 4:
		fd = PW_CALL(__open(path, flags, mode));
		break;
	case 5:
		fd = PW_CALL(__open64(path, flags, mode));
		break;
	case 6:
		fd = PW_CALL(syscall(SYS_open, path, flags, mode));
		break;
	default:
		fd = PW_CALL(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
		break;
	}
	got(s, fd);
}

void pw_do_OPEN2(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]];
	int flags = s->arg[2], fd;

	if (s->arg[1] == PW_FIFO)
		flags |= O_NONBLOCK;
	/* glibc ends a program that leaves out a mode it needs. */
	if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {
		pw_skipped(s, "needs a mode");
		return;
	}
	switch (s->name) {
	case 0:
		fd = PW_CALL(__open_2(path, flags));
		break;
	case 1:
		fd = PW_CALL(__open64_2(path, flags));
		break;
	case 2:
		fd = PW_CALL(__openat_2(AT_FDCWD, path, flags));
		break;
	default:
		fd = PW_CALL(__openat64_2(AT_FDCWD, path, flags));
		break;
	}
	got(s, fd);
}

void pw_do_CREAT(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[1]];
	mode_t mode = s->arg[2];
	int fd;

	if (s->arg[1] == PW_FIFO) {
		pw_skipped(s, "would wait");
		return;
	}
	if (s->name == 0)
		fd = PW_CALL(creat(path, mode));
	else if (s->name == 1)
		fd = PW_CALL(creat64(path, mode));
	else
		fd = PW_CALL(syscall(SYS_creat, path, mode));
	got(s, fd);
}

void pw_do_OPENDIR(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[2]];

	got(s, PW_CALL(openat(pw_fd(s->arg[1]), path, (int)s->arg[3] | O_NONBLOCK,
			      (mode_t)s->arg[4])));
}

void pw_do_REOPEN(const struct pw_step *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", pw_fd(s->arg[1]));
	got(s, PW_CALL(open(path, (int)s->arg[2] | O_NONBLOCK)));
}

/* Opens under a limit that leaves room for n more descriptors. */
void pw_do_RLIMNOFILE(const struct pw_step *s)
{
	struct rlimit old, now;
	int fd;

	getrlimit(RLIMIT_NOFILE, &old);
	now = old;
	now.rlim_cur = s->arg[3] & 0xff;
	setrlimit(RLIMIT_NOFILE, &now);
	fd = PW_CALL(open(pw_file_names[s->arg[1]], (int)s->arg[2] | O_NONBLOCK, 0600));
	got(s, fd);
	fd = PW_CALL(dup(fd));
	pw_said(s, fd, "dup");
	if (fd >= 0)
		close(fd);
	setrlimit(RLIMIT_NOFILE, &old);
}

void pw_do_CLOSE(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), ret;

	if (s->name == 0)
		ret = PW_CALL(close(fd));
	else if (s->name == 1)
		ret = PW_CALL(__close(fd));
	else
		ret = PW_CALL(syscall(SYS_close, fd));
	pw_said(s, ret, " ");
}

void pw_do_CLOSERANGE(const struct pw_step *s)
{
	unsigned int lo = pw_fd(s->arg[0]), hi = pw_fd(s->arg[1]);
	int flags = s->arg[2], ret;

	if (s->name == 0)
		ret = PW_CALL(close_range(lo, hi, flags));
	else
		ret = PW_CALL(syscall(SYS_close_range, lo, hi, flags));
	pw_said(s, ret, " ");
}

void pw_do_CLOSEFROM(const struct pw_step *s)
{
	PW_CALL((closefrom(pw_fd(s->arg[0])), 0));
	pw_said(s, 0, " ");
}

void pw_do_DUP(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[1]);

	got(s, s->name ? PW_CALL(syscall(SYS_dup, fd)) : PW_CALL(dup(fd)));
}

void pw_do_DUP2(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[1]), to = pw_fd(s->arg[2]);

	if (s->name == 0)
		fd = PW_CALL(dup2(fd, to));
	else if (s->name == 1)
		fd = PW_CALL(__dup2(fd, to));
	else
		fd = PW_CALL(syscall(SYS_dup2, fd, to));
	got(s, fd);
}

void pw_do_DUP3(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[1]), to = pw_fd(s->arg[2]), flags = s->arg[3];

	got(s, s->name ? PW_CALL(syscall(SYS_dup3, fd, to, flags))
		       : PW_CALL(dup3(fd, to, flags)));
}

void pw_do_FDUPFD(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[1]), min = s->arg[2];

	switch (s->name) {
	case 0:
		fd = PW_CALL(fcntl(fd, F_DUPFD, min));
		break;
	case 1:
		fd = PW_CALL(fcntl64(fd, F_DUPFD, min));
		break;
	case 2:
		fd = PW_CALL(__fcntl(fd, F_DUPFD, min));
		break;
	case 3:
		fd = PW_CALL(syscall(SYS_fcntl, fd, F_DUPFD, min));
		break;
	case 4:
		fd = PW_CALL(fcntl(fd, F_DUPFD_CLOEXEC, min));
		break;
	default:
		fd = PW_CALL(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, min));
		break;
	}
	got(s, fd);
}

void pw_do_GETFL(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), ret;

	if (s->name == 0)
		ret = PW_CALL(fcntl(fd, F_GETFL));
	else if (s->name == 1)
		ret = PW_CALL(fcntl64(fd, F_GETFL));
	else
		ret = PW_CALL(syscall(SYS_fcntl, fd, F_GETFL));
	pw_said(s, ret, " ");
}

void pw_do_SETFL(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), ret;
	long now = PW_RAW3(SYS_fcntl, fd, F_GETFL, 0);

	/* O_NONBLOCK stays, lest a step on a pipe wait for ever. */
	if (now < 0)
		now = 0;
	now = (now & ~(O_APPEND | O_DIRECT | O_NOATIME)) | s->arg[1];
	if (s->name == 0)
		ret = PW_CALL(fcntl(fd, F_SETFL, now));
	else if (s->name == 1)
		ret = PW_CALL(fcntl64(fd, F_SETFL, now));
	else
		ret = PW_CALL(syscall(SYS_fcntl, fd, F_SETFL, now));
	pw_said(s, ret, " ");
}

void pw_do_GETFD(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]);

	pw_said(s,
		s->name ? PW_CALL((int)syscall(SYS_fcntl, fd, F_GETFD))
			: PW_CALL(fcntl(fd, F_GETFD)),
		" ");
}

void pw_do_SETFD(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), on = s->arg[1] & FD_CLOEXEC;

	pw_said(s,
		s->name ? PW_CALL((int)syscall(SYS_fcntl, fd, F_SETFD, on))
			: PW_CALL(fcntl(fd, F_SETFD, on)),
		" ");
}

void pw_do_FIONREAD(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), left = -1, ret;

	ret = s->name ? PW_CALL((int)syscall(SYS_ioctl, fd, FIONREAD, &left))
		      : PW_CALL(ioctl(fd, FIONREAD, &left));
	pw_said(s, ret, "left=%d", left);
}

void pw_do_FSTAT(const struct pw_step *s)
{
	struct stat st = {0};
	int ret = PW_CALL(fstat(pw_fd(s->arg[0]), &st));

	pw_said(s, ret, "size=%lld mode=%o links=%d", (long long)st.st_size, st.st_mode,
		(int)st.st_nlink);
}

void pw_do_STAT(const struct pw_step *s)
{
	struct stat st = {0};
	int ret = PW_CALL(stat(pw_file_names[s->arg[0]], &st));

	pw_said(s, ret, "size=%lld mode=%o links=%d", (long long)st.st_size, st.st_mode,
		(int)st.st_nlink);
}

void pw_do_LOCKF(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), cmd = s->arg[1], ret;
	off_t len = s->arg[2];

	if (cmd == F_LOCK) {
		pw_skipped(s, "may wait");
		return;
	}
	ret = s->name ? PW_CALL(lockf64(fd, cmd, len)) : PW_CALL(lockf(fd, cmd, len));
	pw_said(s, ret, " ");
}

void pw_do_FLK(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), cmd = s->arg[1], ret;
	struct flock lk = {.l_type = s->arg[2],
			   .l_whence = s->arg[3],
			   .l_start = s->arg[4],
			   .l_len = s->arg[5]};

	if (s->name == 0)
		ret = PW_CALL(fcntl(fd, cmd, &lk));
	else if (s->name == 1)
		ret = PW_CALL(fcntl64(fd, cmd, &lk));
	else
		ret = PW_CALL(syscall(SYS_fcntl, fd, cmd, &lk));
	pw_said(s, ret, "type=%d whence=%d start=%lld len=%lld", lk.l_type, lk.l_whence,
		(long long)lk.l_start, (long long)lk.l_len);
}

void pw_do_FLOCK(const struct pw_step *s)
{
	int ret = PW_CALL(flock(pw_fd(s->arg[0]), s->arg[1] | LOCK_NB));

	pw_said(s, ret, " ");
}

/*
 * A lease can be had only when nobody else has the file open: it tells whether
 * a description that the program has closed is really gone.
 */
void pw_do_LEASE(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), ret;

	ret = PW_CALL(fcntl(fd, F_SETLEASE, s->arg[1] & 1 ? F_WRLCK : F_RDLCK));
	pw_said(s, ret, " ");
	if (!ret)
		fcntl(fd, F_SETLEASE, F_UNLCK);
}

void pw_do_PIPE(const struct pw_step *s)
{
	int fd[2] = {-1, -1};
	int ret = PW_CALL(pipe2(fd, O_NONBLOCK));

	pw_slot[s->arg[0]] = fd[0];
	pw_slot[s->arg[1]] = fd[1];
	pw_said(s, ret, "%d %d", fd[0], fd[1]);
}

void pw_do_SOCKPAIR(const struct pw_step *s)
{
	int fd[2] = {-1, -1};
	int ret = PW_CALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd));

	pw_slot[s->arg[0]] = fd[0];
	pw_slot[s->arg[1]] = fd[1];
	pw_said(s, ret, "%d %d", fd[0], fd[1]);
}

union control {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr head;
};

void pw_do_SENDFD(const struct pw_step *s)
{
	int sock = pw_fd(s->arg[0]), fd = pw_fd(s->arg[1]), ret;
	union control c = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
				    .cmsg_level = SOL_SOCKET,
				    .cmsg_type = SCM_RIGHTS}};
	struct iovec v = {"x", 1};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &v,
					.msg_iovlen = 1,
					.msg_control = &c,
					.msg_controllen = sizeof(c.space)}};

	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	if (s->name == 0)
		ret = PW_CALL(sendmsg(sock, &m.msg_hdr, MSG_DONTWAIT));
	else if (s->name == 1)
		ret = PW_CALL(sendmmsg(sock, &m, 1, MSG_DONTWAIT));
	else
		ret = PW_CALL(syscall(SYS_sendmsg, sock, &m.msg_hdr, MSG_DONTWAIT));
	pw_said(s, ret, " ");
}

void pw_do_RECVFD(const struct pw_step *s)
{
	int sock = pw_fd(s->arg[1]), fd = -1, ret;
	char byte = 0;
	union control c = {.space = {0}};
	struct iovec v = {&byte, 1};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &v,
					.msg_iovlen = 1,
					.msg_control = &c,
					.msg_controllen = sizeof(c.space)}};

	if (s->name == 0)
		ret = PW_CALL(recvmsg(sock, &m.msg_hdr, MSG_DONTWAIT));
	else if (s->name == 1)
		ret = PW_CALL(recvmmsg(sock, &m, 1, MSG_DONTWAIT, NULL));
	else
		ret = PW_CALL(syscall(SYS_recvmsg, sock, &m.msg_hdr, MSG_DONTWAIT));
	if (ret > 0 && m.msg_hdr.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    c.head.cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(&c.head), sizeof(fd));
	pw_slot[s->arg[0]] = fd;
	pw_said(s, ret, "byte=%d fd=%d", byte, fd);
}
