/*
 * test_calls.c - calls that use or move the kernel's position beside read, write and lseek.
 * Each begins with a position of ours, and everything that follows says where it went.
 */
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "calls.h"

static void with_sendfile(void)
{
	int in = ready("a", 1, O_RDONLY, 100);
	int out = ready("out", 2, O_RDWR, 5000);
	int p[2];
	off_t off = 777;

	NEED(!pipe(p));
	say_ret("to a pipe", sendfile(p[1], in, NULL, 300));
	say_read(p[0], 300);
	go_on(in);
	say_ret("to a pipe, offset", sendfile(p[1], in, &off, 300));
	say("offset %ld", (long)off);
	say_read(p[0], 300);
	go_on(in);
	/* the target's position is used as well */
	say_ret("to a file", sendfile(out, in, NULL, 300));
	say_pos(out);
	say_file("out");
	go_on(out);
	off = 40;
	say_ret("to a file, offset", sendfile64(out, in, &off, 300));
	say_pos(out);
	say_file("out");
	go_on(in);
	say_ret("into itself", sendfile(out, out, NULL, 10));
	say_pos(out);
	say_file("out");
}

static void with_splice(void)
{
	int in = ready("a", 1, O_RDONLY, 100);
	int out = ready("out", 2, O_RDWR, 5000);
	off64_t off = 777;
	int p[2];

	NEED(!pipe(p));
	say_ret("splice", splice(in, NULL, p[1], NULL, 300, 0));
	go_on(in);
	say_ret("splice, offset", splice(in, &off, p[1], NULL, 300, 0));
	say("offset %ld", (long)off);
	go_on(in);
	say_ret("splice to file", splice(p[0], NULL, out, NULL, 200, 0));
	say_pos(out);
	go_on(out);
	off = 60000;
	say_ret("splice to file, offset", splice(p[0], NULL, out, &off, 200, 0));
	say_pos(out);
	say_ret("tee", tee(in, p[1], 10, 0));
	say_file("out");
	go_on(out);
}

static void with_copy_file_range(void)
{
	int in = ready("a", 1, O_RDONLY, 100);
	int out = ready("out", 2, O_RDWR, 5000);
	off64_t from = 777;
	off64_t to = 9999;

	say_ret("neither", copy_file_range(in, NULL, out, NULL, 300, 0));
	say_pos(out);
	go_on(in);
	go_on(out);
	say_ret("from", copy_file_range(in, &from, out, NULL, 300, 0));
	say_pos(out);
	go_on(in);
	say_ret("to", copy_file_range(in, NULL, out, &to, 300, 0));
	go_on(out);
	say_ret("both", copy_file_range(in, &from, out, &to, 300, 0));
	say("offsets %ld %ld", (long)from, (long)to);
	go_on(in);
	go_on(out);
	say_file("out");
}

static void with_vectors(void)
{
	int fd = ready("a", 1, O_RDWR, 100);
	char x[2][50];
	struct iovec v[2] = {{x[0], 50}, {x[1], 30}};
	struct iovec *volatile bad =
		(void *)8; /* hidden from the compiler's own checks */
	volatile int minus = -1;

	say_ret("readv", readv(fd, v, 2));
	CHECK(is_content(x[0], 50, 1, 110) && is_content(x[1], 30, 1, 160), "bytes");
	go_on(fd);
	say_ret("preadv", preadv(fd, v, 2, 4000));
	CHECK(is_content(x[0], 50, 1, 4000) && is_content(x[1], 30, 1, 4050), "bytes");
	go_on(fd);
	say_ret("preadv -1", preadv(fd, v, 2, -1));
	say_ret("preadv2", preadv2(fd, v, 2, 4000, 0));
	go_on(fd);
	say_ret("preadv2 -1", preadv2(fd, v, 2, -1, 0));
	say_pos(fd);
	say("%d %d", x[0][0], x[1][29]);
	go_on(fd);
	say_ret("preadv2 -2", preadv2(fd, v, 2, -2, 0));
	say_ret("preadv2 nowait", preadv2(fd, v, 2, -1, RWF_NOWAIT));
	go_on(fd);
	say_ret("readv none", readv(fd, v, 0));
	say_ret("readv -1", readv(fd, v, minus));
	say_ret("readv bad", readv(fd, bad, 1));
	go_on(fd);
	say_ret("writev", writev(fd, v, 2));
	go_on(fd);
	say_ret("pwritev", pwritev(fd, v, 2, 20));
	go_on(fd);
	say_ret("pwritev2 -1", pwritev2(fd, v, 2, -1, 0));
	say_pos(fd);
	go_on(fd);
	say_ret("pwritev2 append", pwritev2(fd, v, 2, 0, RWF_APPEND));
	go_on(fd);
	say_ret("pwrite", pwrite(fd, "abc", 3, 50));
	go_on(fd);
	say_file("a");
}

static void with_append(void)
{
	int fd = ready("a", 1, O_RDWR, 100);
	int fl;

	fl = fcntl(fd, F_GETFL);
	say_ret("F_SETFL", fcntl(fd, F_SETFL, fl | O_APPEND));
	go_on(fd);
	say_ret("write", write(fd, "appended", 8));
	say_pos(fd);
	say_seek(fd, 500, SEEK_SET);
	go_on(fd);
	say_ret("write", write(fd, "again", 5));
	say_pos(fd);
	say_seek(fd, 500, SEEK_SET);
	say_ret("F_SETFL", fcntl(fd, F_SETFL, fl));
	say_ret("write", write(fd, "here", 4));
	go_on(fd);
	say_file("a");
	close(fd);
	/* under a second number, and by the flag at open */
	fd = ready("b", 2, O_RDWR, 100);
	int twin = dup(fd);

	say_ret("F_SETFL", fcntl(twin, F_SETFL, O_APPEND));
	say_ret("write", write(fd, "appended", 8));
	go_on(fd);
	say_file("b");
	int app = open("b", O_RDWR | O_APPEND);

	warm_try(app);
	say_seek(app, 10, SEEK_SET);
	go_on(app);
	say_ret("write", write(app, "end", 3));
	say_pos(app);
	say_file("b");
}

static void with_direct(void)
{
	static char room[8192];
	char *at = (char *)(((uintptr_t)room + 4095) & ~4095UL);
	int fd = ready("a", 1, O_RDONLY, 4086);
	int set;

	set = fcntl(fd, F_SETFL, O_DIRECT);
	say_ret("F_SETFL", set);
	if (set)
		self_skip("no O_DIRECT here");
	if (self_preloaded)
		CHECK(!is_mapped(fd), "a direct descriptor keeps its window");
	say_pos(fd);
	say_ret("read", read(fd, at, 4096));
	CHECK(is_content(at, 4096, 1, 4096), "bytes");
	say_ret("unaligned", pread(fd, at + 1, 10, 3));
	say_pos(fd);
	say_ret("F_SETFL", fcntl(fd, F_SETFL, 0));
	go_on(fd);
}

static void with_fionread(void)
{
	int fd = ready("a", 1, O_RDONLY, 100);
	int n = -1;

	say_ret("FIONREAD", ioctl(fd, FIONREAD, &n));
	say("%d", n);
	go_on(fd);
	say_ret("FIONREAD, bad", ioctl(fd, FIONREAD, 8));
	say_ret("other", ioctl(fd, FIGETBSZ, &n));
	go_on(fd);
}

/* The old way to preallocate and punch, whose range may be relative to the position. */
struct resv {
	int16_t l_type;
	int16_t l_whence;
	int64_t l_start;
	int64_t l_len;
	int32_t l_sysid;
	uint32_t l_pid;
	int32_t l_pad[4];
};

static void with_old_fallocate(void)
{
	struct resv r = {.l_whence = SEEK_CUR, .l_start = 4096 - 10, .l_len = 4096};
	int fd = ready("a", 1, O_RDWR, 8192);

	if (say_ret("unreserve", ioctl(fd, _IOW('X', 43, struct resv), &r)))
		self_skip("no FS_IOC_UNRESVSP here");
	say_pos(fd);
	say_file("a");
	go_on(fd);
	say_seek(fd, 65536, SEEK_SET);
	r.l_start = 0;
	say_ret("zero", ioctl(fd, _IOW('X', 57, struct resv), &r));
	say_file("a");
}

static void with_holes(void)
{
	int fd = open_made("a", 1, SIZE, O_RDWR);

	say_ret("punch",
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 65536, 65536));
	warm(fd);
	say_seek(fd, 100, SEEK_SET);
	say_read(fd, 10);
	say_seek(fd, 50, SEEK_DATA);
	go_on(fd);
	say_seek(fd, 50, SEEK_HOLE);
	go_on(fd);
	say_seek(fd, 70000, SEEK_DATA);
	go_on(fd);
	say_seek(fd, SIZE, SEEK_DATA);
	say_seek(fd, SIZE + 9, SEEK_HOLE);
	say_seek(fd, -1, SEEK_DATA);
	say_seek(fd, 0, 17);
	go_on(fd);
}

static void with_syscall(void)
{
	int fd = ready("a", 1, O_RDWR, 100);
	int b = ready("b", 2, O_RDONLY, 300);
	char buf[100];
	struct iovec v = {buf, 20};
	int other;

	say_ret("SYS_read", syscall(SYS_read, fd, buf, 20));
	CHECK(is_content(buf, 20, 1, 110), "bytes");
	go_on(fd);
	say_ret("SYS_lseek", syscall(SYS_lseek, fd, 40, SEEK_CUR));
	go_on(fd);
	say_ret("SYS_pread64", syscall(SYS_pread64, fd, buf, 20, 600));
	go_on(fd);
	say_ret("SYS_write", syscall(SYS_write, fd, "0123456789", 10));
	go_on(fd);
	say_ret("SYS_readv", syscall(SYS_readv, fd, &v, 1));
	go_on(fd);
	other = (int)say_ret("SYS_dup", syscall(SYS_dup, fd));
	say_read(other, 5);
	go_on(fd);
	say_pos(other);
	say_ret("SYS_close", syscall(SYS_close, other));
	say_read(other, 5);
	say_read(b, 5);
	say_ret("SYS_dup2", syscall(SYS_dup2, fd, b));
	need_unmapped_file("b");
	say_read(b, 5);
	go_on(fd);
	go_on(b);
	say_ret("SYS_close", syscall(SYS_close, b));
	say_ret("SYS_close", syscall(SYS_close, fd));
	need_unmapped_file("a");
	say_read(fd, 5);
	fd = (int)say_ret("SYS_open", syscall(SYS_open, "b", O_RDONLY));
	say_read(fd, 5);
	warm_try(fd);
	say_read(fd, 5);
	say_pos(fd);
	int c = ready("c", 3, O_RDONLY, 9);

	say_ret("SYS_close_range", syscall(SYS_close_range, c, c, 0));
	need_unmapped_file("c");
	say_read(c, 1);
	pid_t pid;

	int d = ready("d", 4, O_RDONLY, 50);
	pid = (pid_t)syscall(SYS_fork);
	if (!pid) {
		say_read(d, 10);
		_exit(0);
	}
	say_wait(pid);
	say_read(d, 10);
	say_ret("SYS_execve", syscall(SYS_execve, "/nowhere", NULL, NULL));
	say_read(d, 10);
}

static void with_syscall_sendfile(void)
{
	int in = ready("a", 1, O_RDONLY, 100);
	int out = ready("out", 2, O_RDWR, 5000);

	say_ret("SYS_sendfile", syscall(SYS_sendfile, out, in, NULL, 300));
	say_pos(in);
	say_pos(out);
	say_file("out");
}

static const struct self_case cases[] = {
	{"sendfile", with_sendfile, SELF_BOTH},
	{"splice", with_splice, SELF_BOTH},
	{"copy_file_range", with_copy_file_range, SELF_BOTH},
	{"vectors", with_vectors, SELF_BOTH},
	{"append", with_append, SELF_BOTH},
	{"direct", with_direct, SELF_BOTH},
	{"fionread", with_fionread, SELF_BOTH},
	{"old-fallocate", with_old_fallocate, SELF_BOTH},
	{"holes", with_holes, SELF_BOTH},
	{"syscall", with_syscall, SELF_BOTH},
	{"syscall-sendfile", with_syscall_sendfile, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
