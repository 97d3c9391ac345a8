/* numbers.c - see numbers.h. */
#include "shim/numbers.h"

#include <fcntl.h>

#include "shim/bare.h"
#include "shim/explain.h"
#include "shim/knobs.h"
#include "shim/pos.h"
#include "shim/stdio_hook.h"

/*
 * An entry and its handle's count of numbers change in two steps. A handler that comes
 * between them and jumps away leaves the count wrong: too high, for a number is counted before
 * it stands in the table, and until it is gone from it. The window would never be unmapped, so
 * the jump looks after that: pw_numbers_abandoned(). (Blocking signals meanwhile would be two
 * system calls for each number opened and closed, in every program with threads.)
 */
static void change_begin(struct pw_handle *h)
{
	pw_me.changing_frame = pw_stack_now();
	pw_me.changing = h;
	pw_compiler_barrier();
}

static void change_end(void)
{
	pw_compiler_barrier();
	pw_me.changing = NULL;
}

static PW_HOT_PAGE struct pw_handle *counted; /* with one thread only */
static PW_HOT_PAGE uint32_t count;

static void count_one(int fd, uint64_t entry)
{
	(void)fd;
	count += pw_fd_handle(entry) == counted;
}

void pw_numbers_abandoned(void)
{
	struct pw_handle *h = pw_me.changing;

	pw_me.changing = NULL;
	/* Others change the table, so nobody can count: the handle is lost, and will have no window
	 * that could outlive its numbers. If it is somebody else's by now, who will miss one: the
	 * handler came when all was done. */
	if (!pw_single_threaded()) {
		pw_or_acq_rel(&h->flags, PW_H_NO_WINDOW);
		pw_window_retire(&h->win, false);
		return;
	}
	/* With one thread the table is the truth. */
	counted = h;
	count = 0;
	pw_fd_each(0, UINT32_MAX, count_one);
	pw_store_relaxed(&h->refs, count);
	if (!count)
		pw_window_retire(&h->win, true);
}

/* Appending, direct and path-only descriptors, directories by name, and those that cannot
 * be read, are the kernel's alone. */
static bool trackable(int fd, const char *path, int flags)
{
	int acc = flags & O_ACCMODE;

	/* Write-only ones are of use only where writes may be stores. */
	if (acc == O_ACCMODE || (acc == O_WRONLY && !pw_knobs.stores) ||
	    (flags & (O_APPEND | O_DIRECT | O_PATH)))
		return false;
	if ((flags & O_DIRECTORY) && (flags & O_TMPFILE) != O_TMPFILE)
		return false;
	if ((fd <= 2 && !pw_stdio_hooked()) || pw_me.closing == fd + 1)
		return false;
	if (!path || pw_knobs_admit(path))
		return true;
	pw_explain_mark(fd, PW_MARK_EXCLUDED);
	return false;
}

PW_CODE_PAGE(number) uint32_t pw_opening(void)
{
	if (pw_unlikely(pw_me.unsettled))
		pw_thread_settle(); /* a gate of our own would look like a fork under way */
	return pw_gate_epoch();
}

PW_CODE_PAGE(number) int pw_opened(uint32_t opening, int fd, const char *path, int flags)
{
	struct pw_handle *h;

	if (fd < 0 || !pw_alive() || pw_me.vforked)
		return fd;
	if (!trackable(fd, path, flags)) {
		pw_forget(fd);
		return fd;
	}
	pw_bare_look();
	h = pw_handle_new(((flags & O_ACCMODE) == O_RDWR ? PW_H_WRITABLE : 0) |
			  ((flags & O_ACCMODE) == O_WRONLY ? PW_H_WRITE_ONLY : 0) |
			  ((flags & (O_SYNC | O_DSYNC)) ? PW_H_SYNC : 0));
	if (!h) {
		pw_forget(fd);
		return fd;
	}
	change_begin(h);
	pw_fd_set(fd, h);
	change_end();
	/* A fork that came between the kernel's open and our entry gave its child a
	 * description that nobody has marked as shared. */
	if (pw_unlikely(pw_gate_is_up() || pw_gate_epoch() != opening))
		pw_share_fd(fd);
	return fd;
}

void pw_forget(int fd)
{
	if (fd >= 0 && pw_fd_handle(pw_fd_entry(fd)) && pw_alive() && !pw_me.vforked)
		pw_fd_set(fd, NULL);
}

PW_CODE_PAGE(number) void pw_let_go(int fd, uint64_t entry)
{
	change_begin(pw_fd_handle(entry));
	pw_fd_clear(fd, entry);
	change_end();
}

void pw_duplicated(struct pw_held *x, int from, int to)
{
	if (!x->h || (to <= 2 && !pw_stdio_hooked()) || pw_me.closing == to + 1 ||
	    pw_fd_entry(from) != x->entry) {
		if (x->h)
			pw_pos_share(x->h, from);
		pw_forget(to);
		return;
	}
	change_begin(x->h);
	if (pw_handle_ref(x->h))
		pw_fd_set(to, x->h);
	else
		pw_fd_set(to, NULL); /* the last number was closed meanwhile */
	change_end();
}

/*
 * The position goes back first, so that whoever still uses the number meanwhile (another
 * thread, a handler) finds the kernel right; then the entry goes; the caller closes last.
 */
PW_CODE_PAGE(number) void pw_drop(int fd)
{
	uint64_t entry = pw_fd_entry(fd);
	struct pw_held x;
	bool left;

	if (!pw_fd_handle(entry))
		return;
	pw_closing_begin();
	/* With one thread, and the position the kernel's, there is nothing to give back, and a
	 * handler does not adopt it any more. */
	if (pw_single_threaded() && pw_alive() && !pw_me.vforked &&
	    !pw_pos_ours(pw_load_relaxed(&pw_fd_handle(entry)->pos))) {
		pw_let_go(fd, entry);
		return;
	}
	do {
		if (!pw_hold(&x, fd))
			return;
		entry = x.entry;
		left = pw_pos_leave(x.h, fd);
		pw_release(&x); /* before the clearing, which may end the window */
	} while (!left);
	pw_let_go(fd, entry);
}
