/* unit.c - see unit.h. */
#include "unit.h"

#include <sys/prctl.h>
#include <ucontext.h>

#define PATHS 16
#define NOTE 400

static struct {
	char path[256];
	bool used;
} paths[PATHS];

struct shared {
	uint32_t words[64];
	uint32_t noted; /* 1: somebody writes the note, 2: it is there */
	char note[NOTE];
};

static struct shared *shared;
uint32_t *unit_word;
static pid_t test_pid;

/* ---- paths ------------------------------------------------------------------------------- */

static const char *own_path(const char *prefix, const char *name)
{
	for (int i = 0; i < PATHS; i++) {
		if (paths[i].used)
			continue;
		int n = snprintf(paths[i].path, sizeof(paths[i].path), "%s.%d.%s", prefix,
				 (int)test_pid, name);

		cr_assert(n > 0 && (size_t)n < sizeof(paths[i].path));
		paths[i].used = true;
		unlink(paths[i].path);
		return paths[i].path;
	}
	cr_assert_fail("too many paths");
	return NULL;
}

const char *unit_shm(const char *name)
{
	const char *prefix = getenv("PAGEWELL_SEGMENT");

	return own_path(prefix && prefix[0] ? prefix : "/dev/shm/pagewell-unit", name);
}

const char *unit_tmp(const char *name)
{
	const char *dir = getenv("TMPDIR");
	char prefix[200];

	snprintf(prefix, sizeof(prefix), "%s/pagewell-unit",
		 dir && dir[0] ? dir : "/tmp");
	return own_path(prefix, name);
}

unsigned char unit_byte(uint64_t at)
{
	/* Differs between neighbours, pages and cache pages. */
	return (unsigned char)(1 + (at * 7 + (at >> 12) * 31 + (at >> 16) * 101) % 255);
}

bool unit_exact(const unsigned char *buf, size_t n, uint64_t off)
{
	for (size_t i = 0; i < n; i++)
		if (buf[i] != unit_byte(off + i))
			return false;
	return true;
}

int unit_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	unsigned char buf[8192];

	cr_assert_geq(fd, 0, "%s: %s", path, strerror(errno));
	for (size_t at = 0; at < size;) {
		size_t n = size - at < sizeof(buf) ? size - at : sizeof(buf);

		for (size_t i = 0; i < n; i++)
			buf[i] = unit_byte(at + i);
		cr_assert_eq(write(fd, buf, n), (ssize_t)n);
		at += n;
	}
	return fd;
}

unsigned unit_maps(const char *path)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, path) != NULL;
	if (f)
		fclose(f);
	return n;
}

unsigned unit_fds(const char *path)
{
	char link[40];
	char target[512];
	unsigned n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		ssize_t got;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		got = readlink(link, target, sizeof(target) - 1);
		if (got <= 0)
			continue;
		target[got] = 0;
		n += strstr(target, path) != NULL;
	}
	return n;
}

/* ---- system calls -------------------------------------------------------------------------- */

static uint32_t counts[U_CALLS];
static uint32_t fail_call = U_CALLS + 1;
static uint32_t fail_nth;
static uint32_t fail_seen;
static long fail_err;

static bool fails(enum unit_call call)
{
	uint32_t which = pw_load_relaxed(&fail_call);

	if (which == U_ANY ? call == U_CLOSE || call == U_MUNMAP
			   : which != (uint32_t)call)
		return false;
	return pw_add_relaxed(&fail_seen, 1) + 1 == pw_load_relaxed(&fail_nth);
}

static long counted(enum unit_call call, long ret)
{
	if (!pw_is_err(ret))
		pw_add_relaxed(&counts[call], 1);
	return ret;
}

#define ENTRY(CALL, name, params, args)                                                 \
	static long u_##name params                                                     \
	{                                                                               \
		return fails(CALL) ? fail_err : counted(CALL, pw_sys_kernel.name args); \
	}

ENTRY(U_OPEN, open, (const char *path, int flags, unsigned mode), (path, flags, mode))
ENTRY(U_CLOSE, close, (int fd), (fd))
ENTRY(U_PREAD, pread, (int fd, void *buf, size_t n, int64_t off), (fd, buf, n, off))
ENTRY(U_LSEEK, lseek, (int fd, int64_t off, int whence), (fd, off, whence))
ENTRY(U_FSTAT, fstat, (int fd, struct stat *st), (fd, st))
ENTRY(U_STAT, stat, (const char *path, struct stat *st), (path, st))
ENTRY(U_FSTATFS, fstatfs, (int fd, struct statfs *st), (fd, st))
ENTRY(U_FALLOCATE, fallocate, (int fd, int mode, int64_t off, int64_t len),
      (fd, mode, off, len))
ENTRY(U_FCHMOD, fchmod, (int fd, unsigned mode), (fd, mode))
ENTRY(U_LINK_FD, link_fd, (int fd, const char *path), (fd, path))
ENTRY(U_MMAP, mmap, (void *at, size_t len, int prot, int flags, int fd, int64_t off),
      (at, len, prot, flags, fd, off))
ENTRY(U_MUNMAP, munmap, (void *at, size_t len), (at, len))
ENTRY(U_MPROTECT, mprotect, (void *at, size_t len, int prot), (at, len, prot))
ENTRY(U_MADVISE, madvise, (void *at, size_t len, int advice), (at, len, advice))
ENTRY(U_MINCORE, mincore, (void *at, size_t len, unsigned char *vec), (at, len, vec))
ENTRY(U_READAHEAD, readahead, (int fd, int64_t off, size_t n), (fd, off, n))
ENTRY(U_FUTEX_WAIT, futex_wait,
      (uint32_t * word, uint32_t seen, const struct timespec *rel), (word, seen, rel))
ENTRY(U_FUTEX_WAKE, futex_wake, (uint32_t * word, int n), (word, n))
ENTRY(U_GETRLIMIT, getrlimit, (int what, uint64_t *cur), (what, cur))
ENTRY(U_SYSINFO, sysinfo, (struct sysinfo * si), (si))
ENTRY(U_KILL, kill, (int pid, int sig), (pid, sig))

struct pw_sys unit_sys;

static void table_reset(void)
{
	unit_sys = pw_sys_kernel;
	unit_sys.open = u_open;
	unit_sys.close = u_close;
	unit_sys.pread = u_pread;
	unit_sys.lseek = u_lseek;
	unit_sys.fstat = u_fstat;
	unit_sys.stat = u_stat;
	unit_sys.fstatfs = u_fstatfs;
	unit_sys.fallocate = u_fallocate;
	unit_sys.fchmod = u_fchmod;
	unit_sys.link_fd = u_link_fd;
	unit_sys.mmap = u_mmap;
	unit_sys.munmap = u_munmap;
	unit_sys.mprotect = u_mprotect;
	unit_sys.madvise = u_madvise;
	unit_sys.mincore = u_mincore;
	unit_sys.readahead = u_readahead;
	unit_sys.futex_wait = u_futex_wait;
	unit_sys.futex_wake = u_futex_wake;
	unit_sys.getrlimit = u_getrlimit;
	unit_sys.sysinfo = u_sysinfo;
	unit_sys.kill = u_kill;
	pw_sys = &unit_sys;
}

unsigned unit_count(enum unit_call call)
{
	return pw_load_relaxed(&counts[call]);
}

void unit_fail(enum unit_call call, unsigned nth, long err)
{
	memset(counts, 0, sizeof(counts));
	fail_seen = 0;
	fail_err = err;
	fail_nth = nth;
	fail_call = nth ? (uint32_t)call : U_CALLS + 1;
}

bool unit_failed(void)
{
	return fail_nth && pw_load_relaxed(&fail_seen) >= fail_nth;
}

/* ---- children and threads --------------------------------------------------------------------- */

bool unit_note(const char *file, int line, const char *what)
{
	uint32_t none = 0;

	if (!pw_cas(&shared->noted, &none, 1))
		return false;
	snprintf(shared->note, sizeof(shared->note), "%s:%d: %s", file, line, what);
	pw_store_release(&shared->noted, 2); /* pairs with the load in unit_verdict */
	return false;
}

void unit_on_signal(int sig, void (*handler)(int))
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_handler = handler;
	cr_assert_eq(sigaction(sig, &act, NULL), 0);
}

pid_t unit_fork(void (*f)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid) {
		cr_assert_gt(pid, 0);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	f(arg);
	_exit(0);
}

static const char *note(void)
{
	return pw_load_acquire(&shared->noted) == 2 ? shared->note : "(it left no note)";
}

void unit_join(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "child ended with %#x: %s",
		  (unsigned)status, note());
}

void unit_child(void (*f)(void *), void *arg)
{
	unit_join(unit_fork(f, arg));
}

void unit_until(const uint32_t *word, uint32_t n)
{
	while (pw_load_acquire(word) < n)
		usleep(500);
}

/* ---- windows -------------------------------------------------------------------------------------- */

static void on_sigbus(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	uintptr_t to = pw_copy_fixup((uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);

	(void)si;
	if (to)
		uc->uc_mcontext.gregs[REG_RIP] = (greg_t)to;
	else
		signal(sig, SIG_DFL); /* it comes again, and ends us */
}

void unit_guard(void)
{
	struct sigaction act;

	memset(&act, 0, sizeof(act));
	act.sa_sigaction = on_sigbus;
	act.sa_flags = SA_SIGINFO;
	cr_assert_eq(sigaction(SIGBUS, &act, NULL), 0);
}

int unit_open(struct pw_reader *r, struct pw_window *w, int fd)
{
	struct pw_hazard *s = pw_hazard_enter(r, w);
	struct stat st;
	int err = -EBADF;

	if (!s)
		return -EAGAIN;
	if (!fstat(fd, &st))
		err = pw_window_open(w, fd,
				     (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR
					     ? PW_WIN_READ_WRITE
					     : PW_WIN_READ_ONLY,
				     &st, NULL);
	pw_window_leave(s, w);
	return err;
}

enum pw_hit unit_read(struct pw_reader *r, struct pw_window *w, int fd, void *buf,
		      size_t n, uint64_t off)
{
	struct pw_hazard *s = pw_hazard_enter(r, w);
	enum pw_hit hit;

	CHECK(s != NULL);
	hit = pw_window_read(w, buf, n, off);
	/* A cache page's price is paid in at most 64 reads (PW_M_CREDIT); where it drives out one
	 * in use, in some 32 times as many. */
	for (int i = 0; i < 64 * 40 && hit == PW_MISS_TOUCH; i++) {
		pw_window_touch(w, fd, n, off, 0);
		hit = pw_window_read(w, buf, n, off);
	}
	pw_window_leave(s, w);
	return hit;
}

/* ---- beginning and end ------------------------------------------------------------------------------- */

void unit_start(void)
{
	test_pid = getpid();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)shared, MAP_FAILED);
	unit_word = shared->words;
	table_reset();
	cr_assert_eq(pw_segment_set_path(unit_shm("segment")), 0);
}

void unit_verdict(void)
{
	cr_assert(pw_load_acquire(&shared->noted) != 2, "%s", shared->note);
}

void unit_end(void)
{
	for (int i = 0; i < PATHS; i++)
		if (paths[i].used)
			unlink(paths[i].path);
}
