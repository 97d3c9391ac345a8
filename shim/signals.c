/* signals.c - see signals.h; and what the program is told of its SIGBUS handler. */
#include "shim/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/export.h"
#include "shim/guard.h"
#include "shim/life.h"
#include "shim/real.h"
#include "shim/thread.h"

/* sighold and its like are here because programs call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define BUS_BIT (1ULL << (SIGBUS - 1))
#define ASK_EVERY 64u

static PW_HOT_PAGE uint32_t ever_blocked; /* 0, then 1 */

static void set_blocked(bool blocked)
{
	if (blocked && !pw_load_relaxed(&ever_blocked))
		pw_store_relaxed(&ever_blocked, 1);
	pw_me.bus_blocked = blocked;
	pw_me.mask_doubtful = false;
	pw_thread_update();
}

bool pw_signals_ever_blocked(void)
{
	return pw_load_relaxed(&ever_blocked);
}

void pw_signals_ask(void)
{
	uint64_t mask = 0;

	pw_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	set_blocked(mask & BUS_BIT);
}

void pw_signals_doubt(void)
{
	pw_me.bus_blocked = true;
	pw_me.mask_doubtful = true;
	pw_thread_update();
}

/* Besides doubts, a handler may have been left by a jump while it was "blocked". */
void pw_signals_slow(void)
{
	if (pw_me.mask_doubtful || ++pw_me.slow_calls % ASK_EVERY == 0)
		pw_signals_ask();
}

static bool at_work(void)
{
	return pw_alive() && !pw_me.vforked;
}

static int set_mask(int how, const sigset_t *set, sigset_t *old,
		    int (*real)(int, const sigset_t *, sigset_t *))
{
	/* Read before the call: `old` may be the same memory. */
	bool has = set && sigismember(set, SIGBUS) == 1;
	int ret;

	if (!set || !at_work())
		return real(how, set, old);
	/* Said before it is so; unsaid after it has ended. */
	if (has && how != SIG_UNBLOCK)
		set_blocked(true);
	ret = real(how, set, old);
	if (ret)
		pw_signals_ask();
	else if (how == SIG_UNBLOCK ? has : how == SIG_SETMASK && !has)
		set_blocked(false);
	return ret;
}

PW_EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return set_mask(how, set, old, PW_REAL(sigprocmask));
}

PW_EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return set_mask(how, set, old, PW_REAL(pthread_sigmask));
}

/* The older mask calls: rare, so the kernel is asked after each. */
static int ask_after(int ret)
{
	int saved = errno;

	if (at_work())
		pw_signals_ask();
	errno = saved;
	return ret;
}

PW_EXPORT int sigblock(int mask)
{
	return ask_after(PW_REAL(sigblock)(mask));
}

PW_EXPORT int sigsetmask(int mask)
{
	return ask_after(PW_REAL(sigsetmask)(mask));
}

PW_EXPORT int sighold(int sig)
{
	return ask_after(PW_REAL(sighold)(sig));
}

PW_EXPORT int sigrelse(int sig)
{
	return ask_after(PW_REAL(sigrelse)(sig));
}

/*
 * Handlers whose mask has SIGBUS: by signal, the program's own. Written before ours is
 * installed, so whoever is delivered finds one; a signal that comes in the middle of a
 * change runs the new handler a moment early.
 */
static void *behind[65];

/* A handler of one argument does not mind two more in registers. */
static void said_blocked(int sig, siginfo_t *si, void *ctx)
{
	void (*handler)(int, siginfo_t *, void *) = pw_load_acquire(&behind[sig]);
	bool was = pw_me.bus_blocked;

	set_blocked(true);
	handler(sig, si, ctx);
	set_blocked(was);
}

static void *seen_by_program(int sig, void *handler)
{
	return handler == (void *)said_blocked ? pw_load_acquire(&behind[sig]) : handler;
}

/* What the program asked for besides the handler: SA_SIGINFO is ours if it did not. */
static uint64_t plain_form; /* bit sig - 1: the program's handler takes one argument */

static int action_other(int sig, const struct sigaction *set, struct sigaction *old)
{
	uint64_t bit = 1ULL << (sig - 1);
	bool was_plain = pw_load_acquire(&plain_form) & bit;
	void *was_behind = pw_load_acquire(&behind[sig]);
	struct sigaction ours;
	int ret;

	if (set && set->sa_handler != SIG_DFL && set->sa_handler != SIG_IGN &&
	    sigismember(&set->sa_mask, SIGBUS) == 1) {
		ours = *set;
		pw_store_release(&behind[sig], (void *)ours.sa_sigaction);
		if (ours.sa_flags & SA_SIGINFO)
			pw_and_acq_rel(&plain_form, ~bit);
		else
			pw_or_acq_rel(&plain_form, bit);
		ours.sa_sigaction = said_blocked;
		ours.sa_flags |= SA_SIGINFO;
		set = &ours;
	}

	ret = PW_REAL(sigaction)(sig, set, old);
	if (!ret && old && old->sa_sigaction == said_blocked) {
		old->sa_sigaction = was_behind;
		if (was_plain)
			old->sa_flags &= ~SA_SIGINFO;
	}
	return ret;
}

PW_EXPORT int sigaction(int sig, const struct sigaction *set, struct sigaction *old)
{
	int err;

	/* Also when we have stepped aside, or in the child of a raw fork: what is installed
	 * is ours all the same. */
	if (sig < 1 || sig > 64 || pw_me.vforked)
		return PW_REAL(sigaction)(sig, set, old);
	if (sig != SIGBUS)
		return action_other(sig, set, old);
	if (!pw_guard_installed())
		return PW_REAL(sigaction)(sig, set, old);
	err = pw_guard_sigaction(set, old);
	if (err) {
		errno = -err;
		return -1;
	}
	return 0;
}

static sighandler_t signal_with(int sig, sighandler_t handler, int flags, bool masked)
{
	struct sigaction set;
	struct sigaction old;

	memset(&set, 0, sizeof(set));
	set.sa_handler = handler;
	set.sa_flags = flags;
	if (masked)
		sigaddset(&set.sa_mask, sig);
	return sigaction(sig, &set, &old) ? SIG_ERR : old.sa_handler;
}

static bool ours(int sig)
{
	return sig == SIGBUS && pw_guard_installed() && !pw_me.vforked;
}

static sighandler_t told(int sig, sighandler_t was)
{
	return sig >= 1 && sig <= 64 ? (sighandler_t)seen_by_program(sig, (void *)was)
				     : was;
}

PW_EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	return ours(sig) ? signal_with(sig, handler, SA_RESTART, true)
			 : told(sig, PW_REAL(signal)(sig, handler));
}

PW_EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return ours(sig) ? signal_with(sig, handler, (int)(SA_RESETHAND | SA_NODEFER),
				       false)
			 : told(sig, PW_REAL(sysv_signal)(sig, handler));
}

PW_EXPORT sighandler_t sigset(int sig, sighandler_t handler)
{
	struct sigaction old;
	sigset_t one;
	sigset_t before;

	if (!ours(sig)) {
		sighandler_t was = told(sig, PW_REAL(sigset)(sig, handler));

		ask_after(0);
		return was;
	}
	sigemptyset(&one);
	sigaddset(&one, sig);
	if (sigaction(sig, NULL, &old))
		return SIG_ERR;
	if (handler != SIG_HOLD && signal_with(sig, handler, 0, false) == SIG_ERR)
		return SIG_ERR;
	if (sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &one, &before))
		return SIG_ERR;
	return sigismember(&before, sig) == 1 ? SIG_HOLD : old.sa_handler;
}

PW_EXPORT int sigignore(int sig)
{
	return ours(sig) ? (signal_with(sig, SIG_IGN, 0, false) == SIG_ERR ? -1 : 0)
			 : PW_REAL(sigignore)(sig);
}

PW_EXPORT int siginterrupt(int sig, int interrupt)
{
	struct sigaction act;

	if (!ours(sig))
		return PW_REAL(siginterrupt)(sig, interrupt);
	if (sigaction(sig, NULL, &act))
		return -1;
	act.sa_flags = interrupt ? act.sa_flags & ~SA_RESTART : act.sa_flags | SA_RESTART;
	return sigaction(sig, &act, NULL);
}

/*
 * Waiting with a mask of its own: handlers that run meanwhile run under it. The mask may be
 * a bad pointer, so the kernel reads it for us; only where there are windows at all.
 */
static bool waits_blocked(const sigset_t *mask)
{
	uint64_t bits;
	struct iovec to = {&bits, sizeof(bits)};
	struct iovec from = {(void *)(uintptr_t)mask, sizeof(bits)};

	if (!mask || pw_me.bus_blocked || !pw_guard_installed() || !at_work())
		return false;
	return pw_syscall6(SYS_process_vm_readv, getpid(), (long)&to, 1, (long)&from, 1,
			   0) != (long)sizeof(bits) ||
	       (bits & BUS_BIT);
}

#define WAIT(call, mask)                          \
	({                                        \
		bool said_ = waits_blocked(mask); \
		if (said_)                        \
			set_blocked(true);        \
		int ret_ = call;                  \
		if (said_)                        \
			set_blocked(false);       \
		ret_;                             \
	})

PW_EXPORT int sigsuspend(const sigset_t *mask)
{
	return WAIT(PW_REAL(sigsuspend)(mask), mask);
}

PW_EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t,
		    const sigset_t *mask)
{
	return WAIT(PW_REAL(ppoll)(fds, n, t, mask), mask);
}

PW_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *t,
			  const sigset_t *mask, size_t fdslen)
{
	if (fdslen / sizeof(*fds) < n)
		__chk_fail();
	return ppoll(fds, n, t, mask);
}

PW_EXPORT int pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t,
		      const sigset_t *mask)
{
	return WAIT(PW_REAL(pselect)(n, r, w, e, t, mask), mask);
}

PW_EXPORT int epoll_pwait(int ep, struct epoll_event *ev, int n, int ms,
			  const sigset_t *mask)
{
	return WAIT(PW_REAL(epoll_pwait)(ep, ev, n, ms, mask), mask);
}

PW_EXPORT int epoll_pwait2(int ep, struct epoll_event *ev, int n,
			   const struct timespec *t, const sigset_t *mask)
{
	return WAIT(PW_REAL(epoll_pwait2)(ep, ev, n, t, mask), mask);
}

PW_INTERNAL(pw_our_sigaction, sigaction)
PW_TWIN(bsd_signal, signal)
PW_TWIN(ssignal, signal)
PW_INTERNAL(pw_our_sysv_signal, sysv_signal)
PW_INTERNAL(pw_our_sigsuspend, sigsuspend)
