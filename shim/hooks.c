/*
 * hooks.c - see hooks.h. A hook changes nothing the caller can see: no argument, no errno.
 * It cannot come back after the call, so what it gives back it gives back for good; the
 * gate, which must be lowered after the call, is lowered by the thread's next call that gets
 * here or to pw_hold().
 */
#include "shim/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/dest.h"
#include "shim/explain.h"
#include "shim/io.h"
#include "shim/jump.h"
#include "shim/life.h"
#include "shim/numbers.h"
#include "shim/pos.h"
#include "shim/real.h"
#include "shim/signals.h"
#include "shim/store.h"
#include "shim/thread.h"
#include "shim/thunk.h"

static bool gate_held(void)
{
	return pw_me.unsettled;
}

void pw_thread_settle(void)
{
	if (!pw_me.unsettled || pw_me.vforked)
		return;
	pw_me.unsettled = false;
	pw_gate_lower();
}

/* A child or a successor is about to share our descriptions. */
static void hook_share_all(const long *a)
{
	(void)a;
	if (!pw_alive() || pw_me.vforked)
		return;
	if (!gate_held()) {
		/* The record's end, at the thread's, lowers the gate if no call does. */
		(void)pw_thread_reader();
		pw_gate_raise();
		pw_me.unsettled = true;
	}
	pw_share_all();
}

/* _Fork, or clone in its image. */
static void hook_fork(const long *a)
{
	pw_hooks_forking();
	hook_share_all(a);
}

static void hook_exec(const long *a)
{
	hook_share_all(a);
	/* The successor has counts and a slot of its own. If the exec fails, what comes
	 * after is handed in later. */
	if (pw_alive() && !pw_me.vforked && !pw_me.bus_blocked)
		pw_stat_leave(false);
}

static void hook_fd_1(const long *a)
{
	pw_share_fd((int)a[0]);
}

static void hook_fd_3(const long *a)
{
	pw_share_fd((int)a[2]);
}

/* Written by libc itself, past the stream, to a copy of the number or with writev. */
static void hook_stderr(const long *a)
{
	(void)a;
	pw_share_fd(2);
}

static void hook_fd_1_2(const long *a)
{
	pw_share_fd((int)a[0]);
	pw_share_fd((int)a[1]);
}

static void hook_fd_1_3(const long *a)
{
	pw_share_fd((int)a[0]);
	pw_share_fd((int)a[2]);
}

/* FIONREAD of a regular file is its size less the position, and the old calls to reserve
 * and punch ('X', from XFS) take ranges relative to it. Others do not use it. */
static void hook_ioctl(const long *a)
{
	if ((unsigned long)a[1] == FIONREAD || _IOC_TYPE((unsigned long)a[1]) == 'X')
		pw_share_fd((int)a[0]);
}

static void hook_aside(const long *a)
{
	(void)a;
	pw_step_aside();
}

/* int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) */
static void hook_clone(const long *a)
{
	if (a[2] & (CLONE_VM | CLONE_FILES))
		pw_step_aside();
	else
		hook_fork(a);
}

static void hook_unshare(const long *a)
{
	/* A private descriptor table changes nothing for a lone thread; all else may. */
	if ((a[0] & ~(long)CLONE_FILES) || !pw_single_threaded())
		pw_step_aside();
}

static void hook_prctl(const long *a)
{
	if (a[0] == PR_SET_SECCOMP || a[0] == PR_SET_MM)
		pw_step_aside();
}

static void hook_threads(const long *a)
{
	(void)a;
	/* pthread_cancel may be of oneself, in a process with one thread: from now on every
	 * served read looks for a cancellation. False is always a safe value. */
	__libc_single_threaded = 0;
}

static void hook_no_windows(const long *a)
{
	(void)a;
	if (pw_alive() && !pw_me.vforked)
		pw_windows_forbid();
}

/* A limit on address space: windows end before it begins. */
static void limit_changes(long which)
{
	if (which == RLIMIT_AS)
		hook_no_windows(NULL);
	if (which == RLIMIT_FSIZE && pw_alive() && !pw_me.vforked)
		pw_store_forbid();
}

static void hook_setrlimit(const long *a)
{
	limit_changes(a[0]);
}

static void hook_prlimit(const long *a)
{
	if (a[2])
		limit_changes(a[1]);
}

static void hook_times(const long *a)
{
	(void)a;
	pw_store_times_set();
}

/* daemon(nochdir, noclose) forks inside (seen by pthread_atfork), and puts /dev/null in the
 * place of 0, 1 and 2. */
static void hook_daemon(const long *a)
{
	unsigned closes = pw_me.closes;
	hook_share_all(a);
	if (!a[1])
		for (int fd = 0; fd <= 2; fd++)
			pw_drop(fd);
	pw_closing_end(closes);
}

static void hook_login_tty(const long *a)
{
	unsigned closes = pw_me.closes;
	for (int fd = 0; fd <= 2; fd++)
		pw_drop(fd);
	pw_drop((int)a[0]);
	pw_closing_end(closes);
}

/* What a pointer argument points at, which may be nothing: so the kernel reads it. */
static bool copy_in(void *to, const void *from, size_t n)
{
	struct iovec local = {to, n};
	struct iovec remote = {(void *)(uintptr_t)from, n};

	return pw_syscall6(SYS_process_vm_readv, getpid(), (long)&local, 1, (long)&remote,
			   1, 0) == (long)n;
}

/* A jump may bring back a mask that was saved while SIGBUS was blocked. */
static void hook_context(const long *a)
{
	(void)a;
	if (pw_signals_ever_blocked() && pw_alive() && !pw_me.vforked)
		pw_signals_doubt();
}

/* Handlers run under a mask that libc makes; whoever reads in one asks the kernel first. */
static void hook_wait(const long *a)
{
	(void)a;
	if (pw_alive() && !pw_me.vforked)
		pw_signals_doubt();
}

/* Also, it may leave calls of ours behind that a signal handler had interrupted. */
static void hook_jump(const long *a)
{
	hook_context(a);
	if (pw_alive() && !pw_me.vforked)
		pw_abandon_calls(pw_jump_target((const void *)a[0]));
}

/* Descriptors travel in control data; without any, nothing is shared. */
static void hook_sendmsg(const long *a)
{
	struct msghdr m;

	if (!pw_fd_any())
		return;
	if (!copy_in(&m, (const void *)a[1], sizeof(m)) || m.msg_controllen)
		hook_share_all(a);
}

static void hook_sendmmsg(const long *a)
{
	if (pw_fd_any())
		hook_share_all(a);
}

/* Shells end so: without it there would be no report, and the slot would look alive. */
static void hook_end(const long *a)
{
	(void)a;
	pw_life_end();
}

/*
 * syscall(2): the number first, then the arguments. What a call does to positions and
 * numbers is undone or given back before, for good, and the call itself is the kernel's.
 */
static void hook_syscall(const long *a)
{
	const long *arg = a + 1;

	switch (a[0]) {
	case SYS_read:
	case SYS_write:
	case SYS_readv:
	case SYS_writev:
	case SYS_lseek:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_ioctl:
	case SYS_dup:
	case SYS_getdents:
	case SYS_getdents64:
		pw_share_fd((int)arg[0]);
		break;
	case SYS_fcntl:
		if (arg[1] == F_SETFL)
			pw_give_up((int)arg[0]);
		pw_share_fd((int)arg[0]);
		break;
	case SYS_sendfile:
		hook_fd_1_2(arg);
		break;
	case SYS_splice:
	case SYS_copy_file_range:
		hook_fd_1_3(arg);
		break;
	case SYS_close:
		pw_untrack((int)arg[0]);
		break;
	case SYS_dup2:
	case SYS_dup3:
		pw_share_fd((int)arg[0]);
		pw_untrack((int)arg[1]);
		break;
	case SYS_close_range:
		pw_untrack_range((unsigned)arg[0], (unsigned)arg[1]);
		break;
	case SYS_sendmsg:
		hook_sendmsg(arg);
		break;
	case SYS_sendmmsg:
	case SYS_vfork:
	case SYS_execve:
	case SYS_execveat:
	case SYS_pidfd_getfd:
		hook_share_all(arg);
		break;
	case SYS_fork:
		hook_fork(arg);
		break;
	case SYS_clone:
		if (arg[0] & (CLONE_VM | CLONE_FILES))
			pw_step_aside();
		else
			hook_fork(arg);
		break;
	case SYS_clone3: /* the flags lie behind a pointer */
	case SYS_io_uring_setup:
		pw_step_aside();
		break;
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_mremap:
	case SYS_madvise:
	case SYS_brk:
	case SYS_shmat:
	case SYS_shmdt:
	case SYS_pkey_alloc:
		/* The table cannot be voided after the call as well; so it stays void. */
		pw_dest_close();
		break;
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_rt_sigsuspend:
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_mlockall:
		/* What it does to SIGBUS or to the limits cannot be followed. */
		hook_no_windows(arg);
		break;
	case SYS_utime:
	case SYS_utimes:
	case SYS_futimesat:
	case SYS_utimensat:
		hook_times(arg);
		break;
	case SYS_setrlimit:
		hook_setrlimit(arg);
		break;
	case SYS_prlimit64:
		hook_prlimit(arg);
		break;
	case SYS_prctl:
		hook_prctl(arg);
		break;
	case SYS_unshare:
		hook_unshare(arg);
		break;
	case SYS_exit_group:
		pw_life_end();
		break;
	case SYS_seccomp:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setfsuid:
	case SYS_setfsgid:
	case SYS_setgroups:
	case SYS_capset:
	case SYS_chroot:
	case SYS_pivot_root:
	case SYS_setns:
		pw_step_aside();
		break;
	default:
		break;
	}
}

void pw_hook(unsigned no, const long *a)
{
	switch (no) {
#define PW_THUNK(name, hook) \
	case PW_T_##name:    \
		hook(a);     \
		break;
#define PW_VERSIONED(name, node)    \
	case PW_T_##name##__##node: \
		hook_share_all(a);  \
		break;
#include "shim/symbols.def"
	default: /* PW_UNDER */
		break;
	}
}

void pw_hooks_forking(void)
{
	static uint32_t done;

	if (pw_single_threaded() || pw_load_relaxed(&done) || pw_me.vforked)
		return;
	pw_real_rest();
	pw_thunk_rest();
	pw_store_relaxed(&done, 1);
}

int pw_vfork_prepare(void)
{
	if (!pw_alive() || pw_me.vforked)
		return 0;
	pw_thread_settle();
	pw_gate_raise();
	pw_share_all();
	pw_sys->block_signals(&pw_me.vfork_mask);
	return 1;
}

/* Both sides come here, the child first, in the same memory. */
int pw_vfork_after(int result, int ours)
{
	uint64_t mask = pw_me.vfork_mask;

	if (ours) {
		pw_me.vforked = result == 0;
		pw_thread_update();
		pw_sys->restore_signals(&mask);
		if (result) {
			pw_gate_lower();
		}
	}
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}
