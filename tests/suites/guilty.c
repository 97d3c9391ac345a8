/*
 * guilty.c - a library to be preloaded that is wrong on purpose. GUILTY_OF names its crime;
 * each is what a library that keeps positions or bytes in user space does when it forgets
 * one rule. Judges that let these pass prove nothing by finding no fault in the real one.
 *
 *	dup	a duplicated descriptor has a position of its own
 *	fork	so has a child's
 *	exec	the position at exec is the one before the last read
 *	end	SEEK_END goes to where the file ended when it was first asked
 *	stale	bytes read once are read again from a copy, whatever was written since
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUMBERS 256
#define BYTES 4096

struct file {
	ssize_t last; /* what the last read returned */
	off_t end;    /* where it ended; 0: not asked yet */
	bool copied;
	size_t held;
	char copy[BYTES]; /* its first bytes */
};

static struct file files[NUMBERS];
static const char *crime = "";

static bool guilty_of(const char *name)
{
	return strcmp(crime, name) == 0;
}

static bool regular(int fd)
{
	struct stat st;

	return fd >= 0 && fd < NUMBERS && syscall(SYS_fstat, fd, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

static void forget(int fd)
{
	if (fd >= 0 && fd < NUMBERS)
		memset(&files[fd], 0, sizeof(files[fd]));
}

/* Another description of the same file at the same position; -1 if there can't be one. */
static int opened_again(int fd)
{
	char path[32];
	long mode = syscall(SYS_fcntl, fd, F_GETFL);
	int fresh;

	if (!regular(fd) || mode < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fresh = (int)syscall(SYS_openat, AT_FDCWD, path,
			     mode & ~(O_CREAT | O_EXCL | O_TRUNC));
	if (fresh >= 0)
		syscall(SYS_lseek, fresh, syscall(SYS_lseek, fd, 0, SEEK_CUR), SEEK_SET);
	return fresh;
}

/* Puts another description of fd's file at `to`; false if fd has to be duplicated honestly. */
static bool copy_to(int fd, int to, int flags)
{
	int fresh = opened_again(fd);

	if (fresh < 0)
		return false;
	if (fresh != to) {
		syscall(SYS_dup3, fresh, to, flags);
		syscall(SYS_close, fresh);
	}
	return true;
}

static void in_child(void)
{
	for (int fd = 0; fd < NUMBERS; fd++) {
		long flags = syscall(SYS_fcntl, fd, F_GETFD);

		if (flags >= 0)
			copy_to(fd, fd + NUMBERS, 0);
		if (flags >= 0 && syscall(SYS_fcntl, fd + NUMBERS, F_GETFD) >= 0) {
			syscall(SYS_dup3, fd + NUMBERS, fd,
				flags & FD_CLOEXEC ? O_CLOEXEC : 0);
			syscall(SYS_close, fd + NUMBERS);
		}
	}
}

__attribute__((constructor)) static void begin(void)
{
	const char *name = getenv("GUILTY_OF");

	if (name)
		crime = name;
	if (guilty_of("fork"))
		pthread_atfork(NULL, NULL, in_child);
}

static ssize_t from_copy(int fd, void *buf, size_t n, off_t at)
{
	struct file *f = &files[fd];

	if (!f->copied) {
		ssize_t held = syscall(SYS_pread64, fd, f->copy, BYTES, 0);

		f->held = held > 0 ? (size_t)held : 0;
		f->copied = true;
	}
	if (at < 0 || (size_t)at + n > f->held)
		return -1;
	memcpy(buf, f->copy + at, n);
	return (ssize_t)n;
}

static ssize_t read_by_guilty(int fd, void *buf, size_t n)
{
	ssize_t got = -1;

	if (guilty_of("stale") && n > 0 && regular(fd)) {
		got = from_copy(fd, buf, n, syscall(SYS_lseek, fd, 0, SEEK_CUR));
		if (got > 0)
			syscall(SYS_lseek, fd, got, SEEK_CUR);
	}
	if (got < 0)
		got = syscall(SYS_read, fd, buf, n);
	if (got > 0 && regular(fd))
		files[fd].last = got;
	return got;
}

ssize_t read(int fd, void *buf, size_t n)
{
	return read_by_guilty(fd, buf, n);
}

ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t size)
{
	(void)size;
	return read_by_guilty(fd, buf, n);
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	ssize_t got = -1;

	if (guilty_of("stale") && n > 0 && regular(fd))
		got = from_copy(fd, buf, n, at);
	return got >= 0 ? got : syscall(SYS_pread64, fd, buf, n, at);
}

ssize_t pread64(int fd, void *buf, size_t n, off_t at) __attribute__((alias("pread")));

off_t lseek(int fd, off_t to, int whence)
{
	if (fd >= 0 && fd < NUMBERS)
		files[fd].last = 0;
	if (guilty_of("end") && whence == SEEK_END && regular(fd)) {
		if (!files[fd].end)
			files[fd].end = syscall(SYS_lseek, fd, 0, SEEK_END);
		return syscall(SYS_lseek, fd, files[fd].end + to, SEEK_SET);
	}
	return syscall(SYS_lseek, fd, to, whence);
}

off_t lseek64(int fd, off_t to, int whence) __attribute__((alias("lseek")));

int close(int fd)
{
	forget(fd);
	return (int)syscall(SYS_close, fd);
}

int dup(int fd)
{
	int fresh = guilty_of("dup") ? opened_again(fd) : -1;

	if (fresh < 0)
		fresh = (int)syscall(SYS_dup, fd);
	forget(fresh);
	return fresh;
}

int dup2(int fd, int to)
{
	if (fd != to)
		forget(to);
	if (guilty_of("dup") && fd != to && to >= 0 && copy_to(fd, to, 0))
		return to;
	return (int)syscall(SYS_dup2, fd, to);
}

int dup3(int fd, int to, int flags)
{
	forget(to);
	if (guilty_of("dup") && fd != to && to >= 0 && copy_to(fd, to, flags))
		return to;
	return (int)syscall(SYS_dup3, fd, to, flags);
}

int fcntl(int fd, int command, ...)
{
	va_list list;
	long argument;
	int fresh = -1;

	va_start(list, command);
	argument = va_arg(list, long);
	va_end(list);
	if (command != F_DUPFD && command != F_DUPFD_CLOEXEC)
		return (int)syscall(SYS_fcntl, fd, command, argument);
	if (guilty_of("dup"))
		fresh = opened_again(fd);
	if (fresh < 0)
		return (int)syscall(SYS_fcntl, fd, command, argument);
	int moved = (int)syscall(SYS_fcntl, fresh, command, argument);
	syscall(SYS_close, fresh);
	return moved;
}

int fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));

int execve(const char *path, char *const argv[], char *const envp[])
{
	for (int fd = 0; guilty_of("exec") && fd < NUMBERS; fd++) {
		if (files[fd].last > 0 && regular(fd))
			syscall(SYS_lseek, fd, -files[fd].last, SEEK_CUR);
	}
	return (int)syscall(SYS_execve, path, argv, envp);
}
