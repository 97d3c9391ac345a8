/*
 * life.c - see life.h. Start-up does as little as it can: names that handlers need, the
 * knobs, the wiped page, the stdio tables. Segment, costs, SIGBUS handler and jemalloc
 * wait for the first window.
 */
#include "shim/life.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/alloc.h"
#include "shim/bare.h"
#include "shim/explain.h"
#include "shim/fdtable.h"
#include "shim/hooks.h"
#include "shim/knobs.h"
#include "shim/pos.h"
#include "shim/real.h"
#include "shim/report.h"
#include "shim/stdio_hook.h"
#include "shim/store.h"
#include "shim/thread.h"
#include "shim/thunk.h"

static PW_HOT_PAGE struct pw_life not_yet;
struct pw_life *pw_life = &not_yet;

static void share_one(int fd, uint64_t entry)
{
	struct pw_handle *h = pw_fd_handle(entry);
	struct pw_reader *r = pw_thread_reader();
	struct pw_hazard *s = r ? pw_hazard_enter(r, &h->win) : NULL;

	if (pw_fd_entry(fd) == entry)
		pw_pos_share(h, fd);
	if (s)
		pw_window_leave(s, &h->win);
}

void pw_share_all(void)
{
	if (pw_me.vforked || !pw_alive())
		return;
	pw_fd_each(0, UINT32_MAX, share_one);
}

/* Where SIGBUS is blocked a segment that was cut short would kill; then nothing is said. */
static void hand_in(bool for_good)
{
	if (!pw_me.bus_blocked)
		pw_stat_leave(for_good);
}

/* Inside a call, or between a call's end and the unmapping that fell to it. */
static bool others_inside(void)
{
	for (struct pw_window *w = pw_windows(); w; w = w->next)
		if (pw_load_acquire(&w->state) & (PW_WIN_DYING | PW_WIN_CLOSING))
			return true;
	for (struct pw_reader *r = pw_readers(); r; r = r->next)
		if (r != pw_me.reader && pw_reader_busy(r))
			return true;
	return false;
}

/*
 * Another thread that is inside a call of ours may yet make system calls on our behalf (it
 * unmaps a window that was retired while it read), which may be too many for the filter
 * that is about to be installed for all threads. So they are waited for, but no longer than
 * a tenth of a second: one may be in a real read that takes its time.
 */
static void wait_for_others(void)
{
	struct timespec nap = {0, 100000};

	for (int i = 0; i < 1000 && others_inside(); i++)
		pw_syscall2(SYS_nanosleep, &nap, NULL);
}

void pw_step_aside(void)
{
	if (pw_me.vforked || !pw_alive())
		return;
	pw_gate_raise(); /* never lowered: nothing is adopted any more */
	pw_share_all();
	pw_windows_forbid();
	pw_store_release(&pw_life->live, PW_LIVE_NOT);
	pw_explain_aside();
	wait_for_others();
	hand_in(true);
	pw_segment_detach();
	pw_me.forking = false;
}

/* In a child made by a raw fork this does nothing, and its children stay out as well: the
 * table they inherit speaks of positions that nobody gave back. */
static void fork_prepare(void)
{
	pw_me.forking = pw_alive() && !pw_me.vforked;
	if (!pw_me.forking)
		return;
	pw_hooks_forking();
	pw_thread_settle();
	pw_gate_raise();
	pw_share_all();
}

static void fork_parent(void)
{
	if (pw_me.forking)
		pw_gate_lower();
	pw_me.forking = false;
}

static void set_live(void)
{
	pw_store_relaxed(&pw_life->live, pw_explaining() ? PW_LIVE_TOLD : PW_LIVE);
	pw_explain_attached();
}

static void reset_pos(int fd, uint64_t entry)
{
	(void)fd;
	pw_pos_fork_child(pw_fd_handle(entry));
}

/* A handler forked in the middle of a store of this thread's. The parent will finish it; the
 * child comes back into the same call, and must not write the same bytes once more, maybe
 * over what has been written since. */
static void note_store(void)
{
	for (int i = 0; pw_me.reader && i < PW_HAZARD_DEPTH; i++)
		pw_me.stored_by_parent |= pw_me.reader->slot[i].note == PW_NOTE_STORING;
}

static void fork_child(void)
{
	if (!pw_me.forking)
		return;
	pw_me.forking = false;
	pw_gate_reset();
	pw_alloc_fork_child();
	note_store();
	pw_readers_reset(pw_me.reader);
	pw_stat_fork_child();
	pw_windows_fork_child();
	pw_fd_each(0, UINT32_MAX, reset_pos);
	set_live();
}

static bool map_life(void)
{
	long at = pw_sys->mmap(NULL, PW_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pw_is_err(at))
		return false;
	if (pw_sys->madvise((void *)at, PW_PAGE, MADV_WIPEONFORK)) {
		pw_sys->munmap((void *)at, PW_PAGE);
		return false;
	}
	pw_life = (struct pw_life *)at;
	return true;
}

static void attach(void)
{
	pw_real_start();
	if (getauxval(AT_SECURE) || !pw_knobs_read())
		return;
	pw_explain_start();
	if (!pw_real_is_libc()) {
		pw_explain_calling("another library's read()");
		pw_explain_aside();
		return;
	}
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) || !map_life())
		return;
	pw_bare_start();
	pw_thunk_start();
	pw_thread_start();
	pw_handle_start();
	pw_stdio_hook();
	pw_store_start();
	set_live();
}

__attribute__((constructor)) static void start(void)
{
	int saved = errno; /* a program may begin by looking at it */

	attach();
	errno = saved;
}

void pw_life_end(void)
{
	static PW_HOT_PAGE uint32_t
		ended; /* the pid it was done for: a fork child has its own end */
	uint32_t pid = (uint32_t)getpid();

	if (!pw_alive() || pw_me.vforked || pw_xchg_acq_rel(&ended, pid) == pid)
		return;
	pw_report_write();
	hand_in(true);
}

/* The destructors of others may still read after this one. */
__attribute__((destructor)) static void finish(void)
{
	pw_life_end();
}
