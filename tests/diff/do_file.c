/* Steps that change files: lengths, names, copies, and another writer's doings. */
#define _GNU_SOURCE
#include "interp.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

void pw_do_FTRUNC(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), ret;

	if (s->name == 0)
		ret = PW_CALL(ftruncate(fd, s->arg[1]));
	else if (s->name == 1)
		ret = PW_CALL(ftruncate64(fd, s->arg[1]));
	else
		ret = PW_CALL(syscall(SYS_ftruncate, fd, s->arg[1]));
	pw_said(s, ret, " ");
}

void pw_do_TRUNC(const struct pw_step *s)
{
	const char *path = pw_file_names[s->arg[0]];
	int ret;

	if (s->name == 0)
		ret = PW_CALL(truncate(path, s->arg[1]));
	else if (s->name == 1)
		ret = PW_CALL(truncate64(path, s->arg[1]));
	else
		ret = PW_CALL(syscall(SYS_truncate, path, s->arg[1]));
	pw_said(s, ret, " ");
}

/*
 * Where the holes of a preallocated file are depends, for SEEK_DATA, on what
 * happens to be in the page cache (ext4), and for a file with punched holes on
 * who has looked at them (tmpfs). Neither is a matter of right and wrong, so
 * such files are remembered and not asked.
 */
static void pw_prealloc_add(int fd)
{
	struct stat st;
	uint64_t *ino = pw_sh->prealloc;

	if (PW_RAW2(SYS_fstat, fd, &st) < 0)
		return;
	for (int i = 0; i < 32 && ino[i] != st.st_ino; i++)
		if (!ino[i])
			ino[i] = st.st_ino;
}

bool pw_prealloc_is(int fd)
{
	struct stat st;

	if (PW_RAW2(SYS_fstat, fd, &st) < 0)
		return false;
	for (int i = 0; i < 32; i++)
		if (pw_sh->prealloc[i] == st.st_ino)
			return true;
	return false;
}

void pw_do_FALLOC(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), mode = s->arg[1], ret;

	pw_prealloc_add(fd);
	if (s->name == 0)
		ret = PW_CALL(fallocate(fd, mode, s->arg[2], s->arg[3]));
	else if (s->name == 1)
		ret = PW_CALL(fallocate64(fd, mode, s->arg[2], s->arg[3]));
	else
		ret = PW_CALL(syscall(SYS_fallocate, fd, mode, s->arg[2], s->arg[3]));
	pw_said(s, ret, " ");
}

void pw_do_PFALLOC(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]);

	pw_prealloc_add(fd);
	pw_said(s,
		s->name ? PW_CALL(posix_fallocate64(fd, s->arg[1], s->arg[2]))
			: PW_CALL(posix_fallocate(fd, s->arg[1], s->arg[2])),
		" ");
}

static off_t *offset(off_t *at, int64_t arg)
{
	*at = arg;
	return arg == -1 ? NULL : at;
}

void pw_do_COPYRANGE(const struct pw_step *s)
{
	off_t in, out, *pin = offset(&in, s->arg[1]), *pout = offset(&out, s->arg[3]);
	int from = pw_fd(s->arg[0]), to = pw_fd(s->arg[2]);
	ssize_t n;

	n = s->name ? PW_CALL(syscall(SYS_copy_file_range, from, pin, to, pout, s->arg[4],
				      0L))
		    : PW_CALL(copy_file_range(from, pin, to, pout, s->arg[4], 0));
	pw_said(s, n, "in=%lld out=%lld", (long long)in, (long long)out);
}

static ssize_t call_sendfile(int name, int to, int from, off_t *off, size_t n)
{
	if (name == 0)
		return PW_CALL(sendfile(to, from, off, n));
	if (name == 1)
		return PW_CALL(sendfile64(to, from, off, n));
	return PW_CALL(syscall(SYS_sendfile, to, from, off, n));
}

void pw_do_SENDFILE(const struct pw_step *s)
{
	off_t at, *off = offset(&at, s->arg[2]);
	ssize_t n = call_sendfile(s->name, pw_fd(s->arg[0]), pw_fd(s->arg[1]), off,
				  s->arg[3]);

	pw_said(s, n, "off=%lld", (long long)at);
}

/* A pipe that exists for one step only, read out by the kernel alone. */

static bool make_pipe(const struct pw_step *s, int fd[2])
{
	if (!PW_RAW2(SYS_pipe2, fd, O_NONBLOCK))
		return true;
	pw_skipped(s, "no pipe");
	return false;
}

static unsigned int drain_pipe(int fd[2])
{
	uint64_t h = 0;
	char part[2048];
	long n;

	while ((n = PW_RAW3(SYS_read, fd[0], part, sizeof(part))) > 0)
		h = h * 31 + pw_hash(part, n);
	PW_RAW1(SYS_close, fd[0]);
	PW_RAW1(SYS_close, fd[1]);
	return h;
}

void pw_do_SENDPIPE(const struct pw_step *s)
{
	off_t at, *off = offset(&at, s->arg[1]);
	int fd[2];
	ssize_t n;

	if (!make_pipe(s, fd))
		return;
	n = call_sendfile(0, fd[1], pw_fd(s->arg[0]), off, s->arg[2]);
	pw_said(s, n, "off=%lld h=%08x", (long long)at, drain_pipe(fd));
}

void pw_do_SPLICE(const struct pw_step *s)
{
	off_t at, *off = offset(&at, s->arg[1]);
	int from = pw_fd(s->arg[0]), fd[2];
	ssize_t n;

	if (!make_pipe(s, fd))
		return;
	n = s->name ? PW_CALL(syscall(SYS_splice, from, off, fd[1], NULL, s->arg[2],
				      SPLICE_F_NONBLOCK))
		    : PW_CALL(splice(from, off, fd[1], NULL, s->arg[2],
				     SPLICE_F_NONBLOCK));
	pw_said(s, n, "off=%lld h=%08x", (long long)at, drain_pipe(fd));
}

void pw_do_SPLICEIN(const struct pw_step *s)
{
	off_t at, *off = offset(&at, s->arg[1]);
	int fd[2];
	long n;

	if (!make_pipe(s, fd))
		return;
	n = PW_RAW3(SYS_write, fd[1], pw_bytes(4096, s->arg[3]),
		    s->arg[2] < 0 || s->arg[2] > 4096 ? 4096 : s->arg[2]);
	if (n > 0)
		n = PW_CALL(
			splice(fd[0], NULL, pw_fd(s->arg[0]), off, n, SPLICE_F_NONBLOCK));
	else
		pw_err = PW_UNTOUCHED;
	pw_said(s, n, "off=%lld h=%08x", (long long)at, drain_pipe(fd));
}

void pw_do_UNLINK(const struct pw_step *s)
{
	pw_said(s, PW_CALL(unlink(pw_file_names[s->arg[0]])), " ");
}

void pw_do_RENAME(const struct pw_step *s)
{
	pw_said(s, PW_CALL(rename(pw_file_names[s->arg[0]], pw_file_names[s->arg[1]])),
		" ");
}

void pw_do_LINK(const struct pw_step *s)
{
	pw_said(s, PW_CALL(link(pw_file_names[s->arg[0]], pw_file_names[s->arg[1]])),
		" ");
}

/*
 * What some other process does to a file, one that has no library: raw system
 * calls. (They borrow the lowest free descriptor number for a moment.)
 */

static void said_raw(const struct pw_step *s, long ret)
{
	pw_err = ret < 0 ? -ret : PW_UNTOUCHED;
	pw_said(s, ret < 0 ? -1 : ret, "by another");
}

void pw_do_XTRUNC(const struct pw_step *s)
{
	said_raw(s, PW_RAW2(SYS_truncate, pw_file_names[s->arg[0]], s->arg[1]));
}

void pw_do_XWRITE(const struct pw_step *s)
{
	long fd = PW_RAW3(SYS_open, pw_file_names[s->arg[0]], O_WRONLY | O_NONBLOCK, 0);
	long n;

	if (fd < 0) {
		said_raw(s, fd);
		return;
	}
	n = PW_RAW4(SYS_pwrite64, fd, pw_bytes(s->arg[1], s->arg[3]),
		    s->arg[1] > PW_BYTES_MAX ? PW_BYTES_MAX : s->arg[1], s->arg[2]);
	PW_RAW1(SYS_close, fd);
	said_raw(s, n);
}

void pw_do_XPUNCH(const struct pw_step *s)
{
	long fd = PW_RAW3(SYS_open, pw_file_names[s->arg[0]], O_RDWR | O_NONBLOCK, 0);
	long n;

	if (fd < 0) {
		said_raw(s, fd);
		return;
	}
	pw_prealloc_add(fd);
	n = PW_RAW4(SYS_fallocate, fd, s->arg[1], s->arg[2], s->arg[3]);
	PW_RAW1(SYS_close, fd);
	said_raw(s, n);
}

void pw_do_XREPLACE(const struct pw_step *s)
{
	long fd = PW_RAW3(SYS_open, "new", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	long n;

	if (fd < 0) {
		said_raw(s, fd);
		return;
	}
	n = PW_RAW3(SYS_write, fd, pw_bytes(s->arg[1], s->arg[2]),
		    s->arg[1] < 0 || s->arg[1] > PW_BYTES_MAX ? PW_BYTES_MAX : s->arg[1]);
	PW_RAW1(SYS_close, fd);
	if (n >= 0)
		n = PW_RAW2(SYS_rename, "new", pw_file_names[s->arg[0]]);
	said_raw(s, n);
}
