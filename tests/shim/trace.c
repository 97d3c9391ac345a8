/* trace.c - what cases say, and how they look behind the library's back: see _self.h. */
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "_self.h"

static void put(const char *buf, size_t n)
{
	const char *path = getenv("SELF_TRACE");
	long fd;

	if (!path)
		return;
	fd = raw4(SYS_open, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600, 0);
	if (fd < 0)
		_exit(97);
	raw3(SYS_write, fd, buf, n);
	raw1(SYS_close, fd);
}

static void vsay(char first, const char *fmt, va_list ap)
{
	int saved = errno;
	char line[1024];
	int n = 0;

	if (first)
		line[n++] = first;
	n += vsnprintf(line + n, sizeof(line) - 2, fmt, ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	put(line, (size_t)n);
	errno = saved;
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(0, fmt, ap);
	va_end(ap);
}

static void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay('!', fmt, ap);
	va_end(ap);
}

void self_fail(const char *file, int line, const char *what, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	int saved = errno;
	char more[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(more, sizeof(more), fmt, ap);
	va_end(ap);
	complain("%s:%d: %s: %s", base ? base + 1 : file, line, what, more);
	errno = saved;
}

void self_skip(const char *why)
{
	char line[256];

	snprintf(line, sizeof(line), "?%s\n", why);
	put(line, strlen(line));
	_exit(0);
}

/* ---- files ---- */

void make_file(const char *path, unsigned id, size_t size)
{
	long fd = raw3(SYS_open, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unsigned char buf[65536];

	NEED(fd >= 0);
	for (size_t at = 0; at < size;) {
		size_t n = size - at < sizeof(buf) ? size - at : sizeof(buf);

		for (size_t i = 0; i < n; i++)
			buf[i] = content(id, at + i);
		NEED(raw3(SYS_write, fd, buf, n) == (long)n);
		at += n;
	}
	raw1(SYS_close, fd);
}

int open_made(const char *path, unsigned id, size_t size, int flags)
{
	int fd;

	make_file(path, id, size);
	fd = open(path, flags);
	NEED(fd >= 0);
	return fd;
}

bool is_content(const void *buf, size_t n, unsigned id, uint64_t off)
{
	const unsigned char *b = buf;

	for (size_t i = 0; i < n; i++)
		if (b[i] != content(id, off + i))
			return false;
	return true;
}

static unsigned long sum(const unsigned char *b, ssize_t n)
{
	unsigned long s = 5381;

	for (ssize_t i = 0; i < n; i++)
		s = s * 33 + b[i];
	return s;
}

/* ---- calls ---- */

long say_ret(const char *call, long ret)
{
	if (ret < 0)
		say("%s = %ld errno %d", call, ret, errno);
	else
		say("%s = %ld", call, ret);
	return ret;
}

static void say_bytes(const char *call, const unsigned char *buf, ssize_t got)
{
	if (got < 0)
		say("%s = %zd errno %d", call, got, errno);
	else
		say("%s = %zd sum %lx", call, got, sum(buf, got));
}

ssize_t say_read(int fd, size_t n)
{
	static __thread unsigned char buf[1 << 16];
	ssize_t got;

	memset(buf, 0xee, n < sizeof(buf) ? n : sizeof(buf));
	got = read(fd, buf, n);
	say_bytes("read", buf, got);
	return got;
}

ssize_t say_pread(int fd, size_t n, off_t off)
{
	static __thread unsigned char buf[1 << 16];
	ssize_t got;

	memset(buf, 0xee, n < sizeof(buf) ? n : sizeof(buf));
	got = pread(fd, buf, n, off);
	say_bytes("pread", buf, got);
	return got;
}

off_t say_pos(int fd)
{
	return say_ret("pos", lseek(fd, 0, SEEK_CUR));
}

off_t say_seek(int fd, off_t off, int whence)
{
	return say_ret("lseek", lseek(fd, off, whence));
}

void say_kernel_pos(int fd)
{
	say("kernel's pos = %ld", raw3(SYS_lseek, fd, 0, SEEK_CUR));
}

void say_file(const char *path)
{
	static unsigned char buf[1 << 20];
	long fd = raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? fd : raw3(SYS_read, fd, buf, sizeof(buf));

	say("file %s: %ld bytes, sum %lx", path, n, sum(buf, n));
	if (fd >= 0)
		raw1(SYS_close, fd);
}

void say_wait(pid_t pid)
{
	int status = 0;

	NEED(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		say("child: killed by %d", WTERMSIG(status));
	else
		say("child: status %d", WEXITSTATUS(status));
}

/* ---- states ---- */

static long read_calls_in(const char *path)
{
	char text[512] = "";
	long fd = raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	char *at;

	if (fd < 0)
		return -1;
	if (raw3(SYS_read, fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	raw1(SYS_close, fd);
	at = strstr(text, "syscr: ");
	return at ? strtol(at + 7, NULL, 10) : -1;
}

long read_calls(void)
{
	return read_calls_in("/proc/thread-self/io");
}

long read_calls_all(void)
{
	return read_calls_in("/proc/self/io");
}

/* Sixteen reads, after a first one: the kernel has to write to a new buffer once. */
static long misses(int fd)
{
	static __thread unsigned char buf[8];
	long before;

	pread(fd, buf, sizeof(buf), 0);
	before = read_calls();
	for (int i = 0; i < 16; i++)
		pread(fd, buf, sizeof(buf), 0);
	return before < 0 ? 0 : read_calls() - before - 1; /* one is the look itself */
}

/* How many reads earn a window depends on what the machine's calls were measured to cost.
 * Another description's window of the same file is no proof, so hits are asked for too. */
void warm_try(int fd)
{
	static __thread unsigned char buf[64];
	off_t at = lseek(fd, 0, SEEK_CUR);
	int rounds = 0;

	do {
		for (int i = 0; i < 200; i++)
			pread(fd, buf, sizeof(buf), 0);
	} while (self_preloaded && (!is_mapped(fd) || misses(fd)) && ++rounds < 100);
	for (int i = 0; i < 40; i++) {
		lseek(fd, i, SEEK_SET);
		read(fd, buf, 1);
	}
	lseek(fd, at, SEEK_SET);
}

void warm_window(int fd)
{
	warm_try(fd);
	need_mapped(fd);
}

/* While another thread is in the middle of closing something nothing is adopted, and it may
 * have lost its processor there. */
void warm(int fd)
{
	warm_window(fd);
	for (int i = 0; i < 200 && self_preloaded && !is_ours(fd); i++) {
		off_t at = lseek(fd, 0, SEEK_CUR);

		usleep(1000);
		for (int k = 0; k < 40; k++)
			lseek(fd, k, SEEK_SET);
		lseek(fd, at, SEEK_SET);
	}
	need_ours(fd);
}

/* If the kernel's position does not follow a seek, it is not the kernel's. */
bool is_ours(int fd)
{
	int saved = errno;
	off_t at = lseek(fd, 0, SEEK_CUR);
	long before = raw3(SYS_lseek, fd, 0, SEEK_CUR);
	bool ours;

	lseek(fd, at ? at - 1 : 1, SEEK_SET);
	ours = raw3(SYS_lseek, fd, 0, SEEK_CUR) == before;
	lseek(fd, at, SEEK_SET);
	errno = saved;
	return ours;
}

void need_ours(int fd)
{
	if (self_preloaded && !is_ours(fd))
		complain("state not reached: position of %d is not ours", fd);
}

/* Is a file of this device and inode in /proc/self/maps? */
static bool mapped(const struct stat *st)
{
	static __thread char text[1 << 18];
	char key[64];
	size_t n = 0;
	long fd = raw3(SYS_open, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	long got;

	NEED(fd >= 0);
	while (n < sizeof(text) - 1 &&
	       (got = raw3(SYS_read, fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	raw1(SYS_close, fd);
	snprintf(key, sizeof(key), " %02x:%02x %lu ", major(st->st_dev),
		 minor(st->st_dev), (unsigned long)st->st_ino);
	return strstr(text, key) != NULL;
}

bool is_mapped(int fd)
{
	struct stat st;

	return !raw2(SYS_fstat, fd, &st) && mapped(&st);
}

bool is_mapped_file(const char *path)
{
	struct stat st;

	return !raw2(SYS_stat, path, &st) && mapped(&st);
}

void need_mapped(int fd)
{
	if (self_preloaded && !is_mapped(fd))
		complain("state not reached: no window on %d", fd);
}

void need_unmapped_file(const char *path)
{
	if (is_mapped_file(path))
		complain("%s is still mapped", path);
}

void need_hits(int fd)
{
	long n = misses(fd);

	if (self_preloaded && n)
		complain("state not reached: %ld of 16 reads of %d went to the kernel", n,
			 fd);
}

/* ---- other programs ---- */

int self_reader(int argc, char **argv)
{
	static unsigned char buf[1 << 16];
	int fd = argc > 4 ? atoi(argv[2]) : -1;
	size_t n = argc > 4 ? strtoul(argv[3], NULL, 10) : 0;
	ssize_t got = read(fd, buf, n < sizeof(buf) ? n : sizeof(buf));

	say("%s: read = %zd errno %d sum %lx, then at %ld", argc > 4 ? argv[4] : "?", got,
	    got < 0 ? errno : 0, sum(buf, got), (long)lseek(fd, 0, SEEK_CUR));
	return 0;
}

void reader_args(char *argv[6], const char *program, int fd, size_t n, const char *tag)
{
	static char numbers[2][24];

	snprintf(numbers[0], sizeof(numbers[0]), "%d", fd);
	snprintf(numbers[1], sizeof(numbers[1]), "%zu", n);
	argv[0] = (char *)(uintptr_t)program;
	argv[1] = "--read";
	argv[2] = numbers[0];
	argv[3] = numbers[1];
	argv[4] = (char *)(uintptr_t)tag;
	argv[5] = NULL;
}

void turns_make(struct turns *t)
{
	NEED(!pipe(t->pipe[0]) && !pipe(t->pipe[1]));
}

void turns_wait(struct turns *t, int side)
{
	char c;

	NEED(raw3(SYS_read, t->pipe[side][0], &c, 1) == 1);
}

void turns_pass(struct turns *t, int side)
{
	NEED(raw3(SYS_write, t->pipe[!side][1], "", 1) == 1);
}
