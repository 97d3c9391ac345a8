/* Steps that read, write and seek. */
#define _GNU_SOURCE
#include "interp.h"
#include "twins.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_VECTORS 16

static bool get(struct pw_buf *b, const struct pw_step *s, int64_t arg, int64_t size)
{
	if (pw_buf_get(b, arg, size))
		return true;
	pw_skipped(s, "no such buffer");
	return false;
}

/*
 * A file read into its own mapping: with ranges that overlap the outcome is
 * whatever direction the copy has, so only ranges that don't are tried.
 */
static bool own_mapping(const struct pw_step *s, int fd, const struct pw_buf *b,
			int64_t off)
{
	struct stat st;

	if (b->area != PW_AREA_F || PW_RAW2(SYS_fstat, fd, &st) < 0 ||
	    st.st_ino != pw_mapped.ino)
		return false;
	if (off >= 0) {
		int64_t to = pw_mapped.off + (b->p - PW_F_BASE);
		int64_t size = b->size;

		if (off + size <= to || to + size <= off)
			return false;
	}
	pw_skipped(s, "reads a file over itself");
	return true;
}

static ssize_t call_read(int name, int fd, void *p, size_t n)
{
	switch (name) {
	case 0:
		return PW_CALL(read(fd, p, n));
	case 1:
		return PW_CALL(__read(fd, p, n));
	case 2:
		return PW_CALL(__read_chk(fd, p, n, n));
	default:
		return PW_CALL(syscall(SYS_read, fd, p, n));
	}
}

static ssize_t call_pread(int name, int fd, void *p, size_t n, off_t off)
{
	switch (name) {
	case 0:
		return PW_CALL(pread(fd, p, n, off));
	case 1:
		return PW_CALL(pread64(fd, p, n, off));
	case 2:
		return PW_CALL(__pread64(fd, p, n, off));
	case 3:
		return PW_CALL(__pread_chk(fd, p, n, off, n));
	case 4:
		return PW_CALL(__pread64_chk(fd, p, n, off, n));
	default:
		return PW_CALL(syscall(SYS_pread64, fd, p, n, off));
	}
}

static off_t call_lseek(int name, int fd, off_t off, int whence)
{
	switch (name) {
	case 0:
		return PW_CALL(lseek(fd, off, whence));
	case 1:
		return PW_CALL(lseek64(fd, off, whence));
	case 2:
		return PW_CALL(__lseek(fd, off, whence));
	default:
		return PW_CALL(syscall(SYS_lseek, fd, off, whence));
	}
}

void pw_do_READ(const struct pw_step *s)
{
	struct pw_buf b;
	ssize_t n;
	int fd = pw_fd(s->arg[0]);

	if (!get(&b, s, s->arg[1], s->arg[2]))
		return;
	if (!own_mapping(s, fd, &b, -1)) {
		n = call_read(s->name, fd, b.p, b.size);
		pw_said(s, n, "%s", pw_buf_tell(&b, n));
	}
	pw_buf_put(&b);
}

void pw_do_PREAD(const struct pw_step *s)
{
	struct pw_buf b;
	ssize_t n;
	int fd = pw_fd(s->arg[0]);

	if (!get(&b, s, s->arg[1], s->arg[2]))
		return;
	if (!own_mapping(s, fd, &b, s->arg[3])) {
		n = call_pread(s->name, fd, b.p, b.size, s->arg[3]);
		pw_said(s, n, "%s", pw_buf_tell(&b, n));
	}
	pw_buf_put(&b);
}

/* Cuts a buffer into vectors of unequal length, some of them empty. */
static int cut(struct iovec *v, char *p, size_t size, int64_t count)
{
	int n = count < 0 || count > MAX_VECTORS ? MAX_VECTORS : (int)count;
	size_t at = 0, part;

	for (int i = 0; i < n; i++) {
		part = i == n - 1 ? size - at : i % 3 == 1 ? 0 : (size - at) / 3;
		v[i] = (struct iovec){p + at, part};
		at += part;
	}
	return count < 0 || count > MAX_VECTORS ? (int)count : n;
}

void pw_do_READV(const struct pw_step *s)
{
	struct iovec v[MAX_VECTORS];
	struct pw_buf b;
	ssize_t n;
	int fd = pw_fd(s->arg[0]), count;

	if (!get(&b, s, s->arg[1], s->arg[2]))
		return;
	if (!own_mapping(s, fd, &b, -1)) {
		count = cut(v, b.p, b.size, s->arg[3]);
		n = s->name ? PW_CALL(syscall(SYS_readv, fd, v, count))
			    : PW_CALL(readv(fd, v, count));
		pw_said(s, n, "%s", pw_buf_tell(&b, n));
	}
	pw_buf_put(&b);
}

void pw_do_PREADV(const struct pw_step *s)
{
	struct iovec v[MAX_VECTORS];
	struct pw_buf b;
	ssize_t n;
	off_t off = s->arg[4];
	int fd = pw_fd(s->arg[0]), count;

	if (!get(&b, s, s->arg[1], s->arg[2]))
		return;
	if (!own_mapping(s, fd, &b, off)) {
		count = cut(v, b.p, b.size, s->arg[3]);
		if (s->name == 0)
			n = PW_CALL(preadv(fd, v, count, off));
		else if (s->name == 1)
			n = PW_CALL(preadv64(fd, v, count, off));
		else
			n = PW_CALL(syscall(SYS_preadv, fd, v, count, off, 0L));
		pw_said(s, n, "%s", pw_buf_tell(&b, n));
	}
	pw_buf_put(&b);
}

void pw_do_PREADV2(const struct pw_step *s)
{
	struct iovec v[MAX_VECTORS];
	struct pw_buf b;
	ssize_t n;
	off_t off = s->arg[4];
	int fd = pw_fd(s->arg[0]), flags = s->arg[5], count;

	if (!get(&b, s, s->arg[1], s->arg[2]))
		return;
	if (!own_mapping(s, fd, &b, off)) {
		count = cut(v, b.p, b.size, s->arg[3]);
		if (s->name == 0)
			n = PW_CALL(preadv2(fd, v, count, off, flags));
		else if (s->name == 1)
			n = PW_CALL(preadv64v2(fd, v, count, off, flags));
		else
			n = PW_CALL(
				syscall(SYS_preadv2, fd, v, count, off, 0L, (long)flags));
		pw_said(s, n, "%s", pw_buf_tell(&b, n));
	}
	pw_buf_put(&b);
}

void pw_do_LSEEK(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]);
	off_t pos;

	if ((s->arg[2] == SEEK_DATA || s->arg[2] == SEEK_HOLE) && pw_prealloc_is(fd)) {
		pw_skipped(s, "preallocated");
		return;
	}
	pos = call_lseek(s->name, fd, s->arg[1], s->arg[2]);
	pw_said(s, pos, " ");
}

/*
 * Many small reads and seeks in a row, for it takes some before the library
 * thinks a file worth a window or a position worth keeping.
 */
struct burst {
	int fd;
	uint64_t rnd;
	int64_t file_size, max;
	int at;
};

static void burst_read(struct burst *u, int64_t size)
{
	struct pw_buf b;
	ssize_t n;

	if (!pw_buf_get(&b, PW_BUF(PW_AREA_B, 0), size))
		return;
	n = call_read(pw_random(&u->rnd) % 3, u->fd, b.p, size);
	pw_note("  .%d read %lld -> %zd %s %s\n", u->at, (long long)size, n,
		pw_errname(pw_err), pw_buf_tell(&b, n));
}

static void burst_pread(struct burst *u, int64_t size)
{
	struct pw_buf b;
	off_t off = pw_random(&u->rnd) % (u->file_size + 1);
	ssize_t n;

	if (!pw_buf_get(&b, PW_BUF(PW_AREA_B, 64), size))
		return;
	n = call_pread(pw_random(&u->rnd) % 5, u->fd, b.p, size, off);
	pw_note("  .%d pread %lld %lld -> %zd %s %s\n", u->at, (long long)size,
		(long long)off, n, pw_errname(pw_err), pw_buf_tell(&b, n));
}

static off_t burst_seek(struct burst *u, off_t off, int whence)
{
	off_t pos = call_lseek(pw_random(&u->rnd) % 3, u->fd, off, whence);

	pw_note("  .%d lseek %lld %d -> %lld %s\n", u->at, (long long)off, whence,
		(long long)pos, pw_errname(pw_err));
	return pos;
}

/* Over the same page mostly: it takes some before a page pays for being stored to. */
static void burst_write(struct burst *u, int64_t some)
{
	int64_t below = u->file_size < 3000 ? u->file_size : 3000;
	long long sum = 0;
	off_t off = 0;

	for (int i = 0; i < 8; i++) {
		uint64_t r = pw_random(&u->rnd);
		const char *from = pw_bytes(some, r);
		ssize_t n;

		if (r % 16 == 1)
			below = u->file_size + 10;
		off = (r >> 8) % (below + 1);
		if (r % 3)
			n = PW_CALL(pwrite(u->fd, from, some, off));
		else if (call_lseek(0, u->fd, off, SEEK_SET) < 0)
			n = -2;
		else
			n = PW_CALL(write(u->fd, from, some));
		sum = sum * 31 + n + pw_err;
	}
	pw_note("  .%d writes %lld about %lld -> %lld\n", u->at, (long long)some,
		(long long)off, sum);
}

static void burst_once(struct burst *u, int kind)
{
	int64_t some = 1 + pw_random(&u->rnd) % u->max;
	off_t there = pw_random(&u->rnd) % (u->file_size + 1);

	switch (kind) {
	case PW_BURST_SEQ:
		burst_read(u, some);
		break;
	case PW_BURST_BYTES:
		burst_read(u, 1);
		break;
	case PW_BURST_RAND:
		burst_seek(u, there, SEEK_SET);
		burst_read(u, some);
		break;
	case PW_BURST_PREAD:
		burst_pread(u, some);
		break;
	case PW_BURST_WRITES:
		burst_write(u, some);
		if (u->at % 16 == 0)
			burst_pread(u, some);
		break;
	case PW_BURST_LINES:
		/* As bash reads a line: more than it needs, then back. */
		burst_read(u, u->max);
		burst_seek(u, -(some / 2), SEEK_CUR);
		break;
	case PW_BURST_SEEKS:
		if (some % 3 == 0)
			burst_seek(u, there, SEEK_SET);
		else if (some % 3 == 1)
			burst_seek(u, some / 2 - some, SEEK_CUR);
		else
			burst_seek(u, -there, SEEK_END);
		break;
	}
}

void pw_do_BURST(const struct pw_step *s)
{
	struct burst u = {.fd = pw_fd(s->arg[0]), .rnd = s->arg[4], .max = s->arg[3]};
	struct stat st;

	if (u.max < 1 || u.max > 4096)
		u.max = 64;
	u.file_size = 4096;
	if (!PW_RAW2(SYS_fstat, u.fd, &st) && S_ISREG(st.st_mode) && st.st_size < 1 << 26)
		u.file_size = st.st_size;
	for (u.at = 0; u.at < s->arg[2]; u.at++)
		burst_once(&u, s->arg[1] == PW_BURST_MIXED
				       ? (int)(pw_random(&u.rnd) % PW_BURST_MIXED)
				       : (int)s->arg[1]);
	pw_err = PW_UNTOUCHED;
	pw_said(s, s->arg[2], "file had %lld", (long long)u.file_size);
}

/* Seed -1 stands for a buffer that is not there. */
static const char *to_write(int64_t size, int64_t seed)
{
	return seed == -1 ? NULL : pw_bytes(size, seed);
}

static bool fits(const struct pw_step *s, int64_t size)
{
	if (size >= 0 && size <= PW_BYTES_MAX)
		return true;
	pw_skipped(s, "too much to write");
	return false;
}

void pw_do_WRITE(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]);
	int64_t size = s->arg[1];
	const char *p = to_write(size, s->arg[2]);
	ssize_t n;

	if (!fits(s, size))
		return;
	if (s->name == 0)
		n = PW_CALL(write(fd, p, size));
	else if (s->name == 1)
		n = PW_CALL(__write(fd, p, size));
	else
		n = PW_CALL(syscall(SYS_write, fd, p, size));
	pw_said(s, n, " ");
}

void pw_do_PWRITE(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]);
	int64_t size = s->arg[1];
	off_t off = s->arg[2];
	const char *p = to_write(size, s->arg[3]);
	ssize_t n;

	if (!fits(s, size))
		return;
	if (s->name == 0)
		n = PW_CALL(pwrite(fd, p, size, off));
	else if (s->name == 1)
		n = PW_CALL(pwrite64(fd, p, size, off));
	else if (s->name == 2)
		n = PW_CALL(__pwrite64(fd, p, size, off));
	else
		n = PW_CALL(syscall(SYS_pwrite64, fd, p, size, off));
	pw_said(s, n, " ");
}

void pw_do_WRITEV(const struct pw_step *s)
{
	struct iovec v[MAX_VECTORS];
	int fd = pw_fd(s->arg[0]), count;
	ssize_t n;

	if (!fits(s, s->arg[1]))
		return;
	count = cut(v, (char *)to_write(s->arg[1], s->arg[3]), s->arg[1], s->arg[2]);
	n = s->name ? PW_CALL(syscall(SYS_writev, fd, v, count))
		    : PW_CALL(writev(fd, v, count));
	pw_said(s, n, " ");
}

void pw_do_PWRITEV(const struct pw_step *s)
{
	struct iovec v[MAX_VECTORS];
	int fd = pw_fd(s->arg[0]), count;
	off_t off = s->arg[3];
	ssize_t n;

	if (!fits(s, s->arg[1]))
		return;
	count = cut(v, (char *)to_write(s->arg[1], s->arg[4]), s->arg[1], s->arg[2]);
	if (s->name == 0)
		n = PW_CALL(pwritev(fd, v, count, off));
	else if (s->name == 1)
		n = PW_CALL(pwritev64(fd, v, count, off));
	else
		n = PW_CALL(syscall(SYS_pwritev, fd, v, count, off, 0L));
	pw_said(s, n, " ");
}

void pw_do_PWRITEV2(const struct pw_step *s)
{
	struct iovec v[MAX_VECTORS];
	int fd = pw_fd(s->arg[0]), flags = s->arg[4], count;
	off_t off = s->arg[3];
	ssize_t n;

	if (!fits(s, s->arg[1]))
		return;
	count = cut(v, (char *)to_write(s->arg[1], s->arg[5]), s->arg[1], s->arg[2]);
	if (s->name == 0)
		n = PW_CALL(pwritev2(fd, v, count, off, flags));
	else if (s->name == 1)
		n = PW_CALL(pwritev64v2(fd, v, count, off, flags));
	else
		n = PW_CALL(syscall(SYS_pwritev2, fd, v, count, off, 0L, (long)flags));
	pw_said(s, n, " ");
}

__attribute__((format(printf, 2, 3))) static int call_vdprintf(int fd, const char *fmt,
							       ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = PW_CALL(vdprintf(fd, fmt, ap));
	va_end(ap);
	return n;
}

void pw_do_DPRINTF(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), count = s->arg[1] & 0xfff;
	const char *p = pw_bytes(count, 1 + s->arg[2] * 11);
	int n;

	if (s->name == 0)
		n = PW_CALL(dprintf(fd, "%d:%.*s", count, count, p));
	else if (s->name == 1)
		n = call_vdprintf(fd, "%d:%.*s", count, count, p);
	else
		n = PW_CALL(__dprintf_chk(fd, 1, "%d:%.*s", count, count, p));
	pw_said(s, n, " ");
}
