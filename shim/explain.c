/* explain.c - see explain.h. System calls go by the table or raw: errno stays as it is. */
#include "shim/explain.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/fdtable.h"
#include "shim/life.h"
#include "shim/stdio_hook.h"
#include "shim/thread.h"
#include "shim/trust.h"

PW_HOT_PAGE struct pw_shm_explain *pw_explain_table;

static void count(uint64_t *counter, uint64_t n)
{
	pw_add_relaxed(counter, n);
}

/* No system calls of ours: in a process that has stepped aside they may be forbidden by now,
 * and in a vfork child this is not our place. */
static bool quiet(void)
{
	return pw_me.vforked || !pw_alive();
}

/* ---- which record ---------------------------------------------------------------------- */

/* The numbers of Linux's terminals: consoles, /dev/tty and serial lines, pseudo terminals. */
static bool is_terminal(dev_t dev)
{
	unsigned major = (unsigned)(dev >> 8) & 0xfff;

	return major == 4 || major == 5 || (major >= 136 && major <= 143);
}

static unsigned record_of_kind(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFIFO:
		return PW_TOLD_PIPE;
	case S_IFSOCK:
		return PW_TOLD_SOCKET;
	case S_IFDIR:
		return PW_TOLD_FOLDER;
	case S_IFCHR:
		return is_terminal(st->st_rdev) ? PW_TOLD_TERMINAL : PW_TOLD_DEVICE;
	case S_IFBLK:
		return PW_TOLD_DEVICE;
	default:
		return PW_TOLD_ODD;
	}
}

static unsigned record_of_file(int fd, const struct stat *st)
{
	bool mine;
	unsigned at = pw_explain_record(pw_explain_table, pw_file_id(st), &mine);
	char path[1024];
	struct statfs fs;
	size_t n;

	if (mine) {
		n = pw_fd_name(fd, path, sizeof(path));
		if (pw_sys->fstatfs(fd, &fs))
			fs.f_type = 0;
		pw_explain_name(&pw_explain_table->file[at], path, n,
				(uint32_t)fs.f_type);
	}
	return at;
}

/* Looked for once in a handle's life. */
static unsigned record_of_handle(struct pw_handle *h, int fd)
{
	uint32_t told = pw_load_relaxed(&h->told);
	struct stat st;

	if (told)
		return told - 1;
	if (quiet() || pw_sys->fstat(fd, &st))
		return PW_TOLD_REST;
	told = S_ISREG(st.st_mode) ? record_of_file(fd, &st) : record_of_kind(&st);
	pw_store_relaxed(&h->told, told + 1);
	return told;
}

/* ---- why ------------------------------------------------------------------------------- */

/* Of a regular file that is on the list of file systems or trusted, or neither. */
static enum pw_why why_of_place(int fd, const struct stat *st)
{
	struct statfs fs;

	if (pw_file_served(fd, st))
		return PW_SERVED;
	if (pw_sys->fstatfs(fd, &fs))
		return PW_WHY_OTHER;
	if (!pw_place_listed(fd))
		return PW_WHY_FS;
	if (st->st_size <= 0)
		return PW_WHY_EMPTY;
	if ((uint32_t)fs.f_type == TMPFS_MAGIC &&
	    (!st->st_nlink || st->st_blocks * 512 < st->st_size))
		return PW_WHY_HOLES;
	return PW_WHY_FS;
}

/* A regular file under a number that is not tracked. */
static enum pw_why why_untracked(int fd, const struct stat *st, uint32_t marks)
{
	long flags = pw_syscall2(SYS_fcntl, fd, F_GETFL);
	enum pw_why why;

	if (flags < 0)
		return PW_WHY_ERROR;
	if ((flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY)
		return PW_WHY_ACCESS;
	if (flags & O_DIRECT)
		return PW_WHY_DIRECT;
	if (flags & O_APPEND)
		return PW_WHY_APPEND;
	why = why_of_place(fd, st);
	if (why != PW_SERVED)
		return why;
	if (marks & PW_MARK_EXCLUDED)
		return PW_WHY_EXCLUDED;
	if (marks & PW_MARK_DROPPED)
		return PW_WHY_EMPTY; /* only that can have changed since */
	return pw_stdio_hooked() ? PW_WHY_UNSEEN : PW_WHY_STREAMS;
}

/* No window, or no position of ours: what the handle says of it. */
static unsigned why_of_handle(const struct pw_handle *h, int fd, unsigned why)
{
	uint32_t flags = pw_load_relaxed(&h->flags);
	uint32_t denied = pw_load_relaxed(&h->denied);
	struct stat st;

	if ((flags & PW_H_NEVER) && (flags & PW_H_QUALIFIED))
		return PW_WHY_PASS; /* earn_write.c */
	if (flags & PW_H_NEVER) {
		if (quiet() || pw_sys->fstat(fd, &st))
			return PW_WHY_OTHER;
		return S_ISREG(st.st_mode) ? why_untracked(fd, &st, PW_MARK_DROPPED)
					   : PW_WHY_KIND;
	}
	if (why == PW_WHY_KERNELS && (flags & PW_H_SHARED))
		return PW_WHY_SHARED;
	if (!pw_me.serving)
		return PW_WHY_SIGBUS;
	if (why == PW_WHY_KERNELS &&
	    pw_load_relaxed(&h->calls) < pw_load_relaxed(&h->adopt_at))
		return PW_WHY_RETURNED;
	if (flags & PW_H_NO_WINDOW)
		return PW_WHY_LIMIT;
	if (flags & PW_H_VAIN)
		return PW_WHY_ONCE;
	return denied ? denied : PW_WHY_EARN;
}

enum pw_why pw_explain_miss(const struct pw_window *w, enum pw_hit hit)
{
	switch (hit) {
	case PW_HIT:
		return PW_SERVED;
	case PW_MISS_TOUCH:
		return PW_WHY_TOUCH;
	case PW_MISS_WITNESS:
	case PW_MISS_LOST:
		return PW_WHY_WITNESS;
	case PW_MISS_FAULT:
		return PW_WHY_FAULT;
	case PW_MISS_END:
		break;
	}
	return pw_load_relaxed(&w->known) || pw_load_relaxed(&w->storable) ? PW_WHY_END
									   : PW_WHY_REST;
}

/* ---- notes ----------------------------------------------------------------------------- */

/* Not tracked, or not to be touched here. */
static unsigned look_untracked(int fd, unsigned *why)
{
	struct pw_handle *h = pw_fd_handle(pw_fd_entry(fd));
	unsigned at = PW_TOLD_REST;
	uint32_t marks;
	struct stat st;

	if (quiet()) {
		if (*why != PW_WHY_WRITE)
			*why = PW_WHY_ASIDE;
		return h ? record_of_handle(h, fd) : PW_TOLD_REST;
	}
	if (pw_sys->fstat(fd, &st)) {
		*why = PW_WHY_ERROR;
		return PW_TOLD_REST;
	}
	if (!S_ISREG(st.st_mode)) {
		*why = PW_WHY_KIND;
		return record_of_kind(&st);
	}
	at = record_of_file(fd, &st);
	marks = pw_load_relaxed(&pw_explain_table->file[at].marks);
	if (*why == PW_WHY_WRITE && (marks & PW_MARK_PASSED))
		*why = PW_WHY_PASS;
	else if (*why != PW_WHY_WRITE && *why != PW_WHY_VECTOR)
		*why = h ? PW_WHY_OTHER : why_untracked(fd, &st, marks);
	return at;
}

void pw_explain_note(struct pw_handle *h, int fd, enum pw_call call, unsigned why,
		     int64_t got)
{
	uint64_t bytes = call == PW_CALL_READ && got > 0 ? (uint64_t)got : 0;
	struct pw_shm_told *t;
	unsigned at;

	if (!h) {
		at = look_untracked(fd, &why);
	} else {
		at = record_of_handle(h, fd);
		if (at != PW_TOLD_REST && at < PW_TOLD_FIRST)
			why = PW_WHY_KIND; /* whatever else: it has not been looked at yet */
		else if (why == PW_WHY_KERNELS || why == PW_WHY_EARN)
			why = why_of_handle(h, fd, why);
	}
	t = &pw_explain_table->file[at];
	count(&t->calls[call], 1);
	if (why != PW_SERVED) {
		count(&t->why[why < PW_WHY_COUNT ? why : PW_WHY_OTHER], 1);
		count(&t->passed_bytes, bytes);
	} else if (call == PW_CALL_SEEK) {
		count(&t->served_seeks, 1);
	} else if (call == PW_CALL_WRITE) {
		count(&t->stores, 1);
	} else {
		count(&t->served_reads, 1);
		count(&t->served_bytes, bytes);
	}
}

static void note_costs(void)
{
	const struct pw_costs *c = pw_costs();

	pw_store_relaxed(&pw_explain_table->cost_touch, c->touch);
	pw_store_relaxed(&pw_explain_table->cost_map, c->map);
	pw_store_relaxed(&pw_explain_table->cost_call, c->call);
}

void pw_explain_note_touched(struct pw_handle *h, int fd, uint64_t before, size_t n)
{
	struct pw_shm_told *t = &pw_explain_table->file[record_of_handle(h, fd)];
	uint64_t now = pw_load_relaxed(&h->win.pages);
	uint32_t own = pw_load_relaxed(&h->win.touch_ns);

	if (now <= before) /* nothing, or the reclaimer was there */
		return;
	count(&t->touched, now - before);
	count(&t->touched_ns,
	      (now - before) * (PW_CP / PW_PAGE) * (own ? own : pw_costs()->touch));
	count(&t->slow_bytes, n > PW_PAGE ? n - PW_PAGE : 0);
}

void pw_explain_note_window(struct pw_handle *h, int fd)
{
	pw_store_relaxed(&h->denied, 0);
	count(&pw_explain_table->file[record_of_handle(h, fd)].windows, 1);
	note_costs();
}

void pw_explain_note_mark(int fd, uint32_t mark)
{
	struct stat st;
	unsigned at = PW_TOLD_REST;

	if (!quiet() && !pw_sys->fstat(fd, &st) && S_ISREG(st.st_mode))
		at = record_of_file(fd, &st);
	if (at >= PW_TOLD_FIRST)
		pw_or_acq_rel(&pw_explain_table->file[at].marks, mark);
}

/* ---- the process ----------------------------------------------------------------------- */

const char *pw_explain_call;

void pw_explain_aside(void)
{
	struct pw_shm_explain *e = pw_explain_table;
	const char *name = pw_load_relaxed(&pw_explain_call);
	uint32_t no = 0;

	if (!pw_explaining())
		return;
	pw_add_relaxed(&e->aside, 1);
	if (!name || !pw_cas(&e->aside_named, &no, 1))
		return;
	for (size_t i = 0; i < sizeof(e->aside_for) - 1 && name[i]; i++)
		e->aside_for[i] = name[i];
}

void pw_explain_attached(void)
{
	if (!pw_explaining())
		return;
	pw_add_relaxed(&pw_explain_table->attached, 1);
	if (!pw_stdio_hooked())
		pw_add_relaxed(&pw_explain_table->streams, 1);
}

/* Sealed, so that nobody can cut it short under us. */
static struct pw_shm_explain *map_table(int fd)
{
	struct pw_shm_explain *e;
	struct stat st;
	long at;

	if (pw_sys->fstat(fd, &st) || st.st_size != (int64_t)sizeof(*e) ||
	    pw_syscall2(SYS_fcntl, fd, F_GET_SEALS) != PW_EXPLAIN_SEALS)
		return NULL;
	at = pw_sys->mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pw_is_err(at))
		return NULL;
	e = (struct pw_shm_explain *)at;
	if (pw_explain_valid(e, (uint64_t)st.st_size))
		return e;
	pw_sys->munmap(e, sizeof(*e));
	return NULL;
}

void pw_explain_start(void)
{
	static const char target[] = "/memfd:" PW_EXPLAIN_NAME " (deleted)";
	const char *path = getenv(PW_EXPLAIN_VARIABLE);
	char is[sizeof(target)];
	long fd;

	/* The command may be gone, and its pid and number another's: what is opened there must
	 * not be a device or a pipe. */
	if (!path ||
	    pw_syscall3(SYS_readlink, path, is, sizeof(is)) != (long)sizeof(target) - 1 ||
	    memcmp(is, target, sizeof(target) - 1) != 0)
		return;
	fd = pw_sys->open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return;
	pw_store_relaxed(&pw_explain_table, map_table((int)fd));
	pw_sys->close((int)fd);
}
