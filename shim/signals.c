/* signals.c - see signals.h. The rarely used calls are made of the two that matter. */
#include "shim/signals.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/export.h"
#include "shim/guard.h"
#include "shim/life.h"
#include "shim/real.h"
#include "shim/thread.h"

/* sighold and its like are here because programs call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define BUS_BIT (1ULL << (SIGBUS - 1))

/* Which handlers' masks the program believes to contain SIGBUS: bit sig - 1. */
static uint64_t told_in_mask;

/* At work for masks at all? Before the first window every mask is the program's own. */
static bool veiling(void)
{
	return pw_guard_installed() && pw_alive() && !pw_me.vforked;
}

static void real_mask(int how, uint64_t mask)
{
	pw_syscall4(SYS_rt_sigprocmask, how, &mask, NULL, sizeof(mask));
}

void pw_signals_really_block(void)
{
	if (!pw_me.bus_told_blocked || pw_me.bus_blocked)
		return;
	real_mask(SIG_BLOCK, BUS_BIT);
	pw_me.bus_blocked = true;
	pw_thread_update();
}

void pw_signals_before_child(void)
{
	if (pw_me.bus_told_blocked && !pw_me.bus_blocked)
		real_mask(SIG_BLOCK, BUS_BIT);
}

void pw_signals_after_child(void)
{
	if (pw_me.bus_told_blocked && !pw_me.bus_blocked)
		real_mask(SIG_UNBLOCK, BUS_BIT);
}

/* The thread's mask changed to what the program asked: note what that did to SIGBUS. */
static void note_mask(int how, bool has, bool veiled)
{
	bool told = pw_me.bus_told_blocked;

	if (how == SIG_SETMASK) {
		told = has;
		pw_me.bus_blocked = has && !veiled;
	} else if (has) {
		told = how == SIG_BLOCK;
		if (!told)
			pw_me.bus_blocked = false;
		else if (!veiled)
			pw_me.bus_blocked = true;
	}
	pw_me.bus_told_blocked = told;
	pw_thread_update();
}

static int set_mask(int how, const sigset_t *set, sigset_t *old,
		    int (*real)(int, const sigset_t *, sigset_t *))
{
	bool veil = veiling();
	bool was_told = pw_me.bus_told_blocked;
	bool has = set && sigismember(set, SIGBUS) == 1;
	sigset_t less;
	int ret;

	if (pw_me.vforked)
		return real(how, set, old);
	if (veil && has && how != SIG_UNBLOCK) {
		less = *set;
		sigdelset(&less, SIGBUS);
		ret = real(how, &less, old);
	} else {
		ret = real(how, set, old);
	}
	if (ret)
		return ret;
	if (old && was_told)
		sigaddset(old, SIGBUS);
	if (set)
		note_mask(how, has, veil);
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

/* The BSD masks are the low 32 bits. */
static void widen(int mask, sigset_t *set)
{
	sigemptyset(set);
	for (int sig = 1; sig <= 32; sig++)
		if (mask >> (sig - 1) & 1)
			sigaddset(set, sig);
}

static int mask_32(int how, int mask)
{
	sigset_t set;
	sigset_t old;
	int was = 0;

	widen(mask, &set);
	if (sigprocmask(how, &set, &old))
		return -1;
	for (int sig = 1; sig <= 32; sig++)
		if (sigismember(&old, sig) == 1)
			was |= (int)(1u << (sig - 1));
	return was;
}

PW_EXPORT int sigblock(int mask)
{
	return mask_32(SIG_BLOCK, mask);
}

PW_EXPORT int sigsetmask(int mask)
{
	return mask_32(SIG_SETMASK, mask);
}

static int mask_one(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, sig) ? -1 : sigprocmask(how, &set, NULL);
}

PW_EXPORT int sighold(int sig)
{
	return mask_one(SIG_BLOCK, sig);
}

PW_EXPORT int sigrelse(int sig)
{
	return mask_one(SIG_UNBLOCK, sig);
}

/* What the program is told of the handler's mask, and what the kernel gets. */
static int action_other(int sig, const struct sigaction *set, struct sigaction *old)
{
	uint64_t bit = 1ULL << (sig - 1);
	bool told = pw_load_relaxed(&told_in_mask) & bit;
	struct sigaction less;
	bool has = false;
	int ret;

	if (set) {
		less = *set;
		has = sigismember(&less.sa_mask, SIGBUS) == 1;
		if (has)
			sigdelset(&less.sa_mask, SIGBUS);
	}
	ret = PW_REAL(sigaction)(sig, set ? &less : NULL, old);
	if (ret)
		return ret;
	if (old && told)
		sigaddset(&old->sa_mask, SIGBUS);
	if (set && has)
		pw_or_acq_rel(&told_in_mask, bit);
	else if (set)
		__atomic_fetch_and(&told_in_mask, ~bit, __ATOMIC_ACQ_REL);
	return ret;
}

PW_EXPORT int sigaction(int sig, const struct sigaction *set, struct sigaction *old)
{
	int err;

	if (sig < 1 || sig > 64 || !pw_alive() || pw_me.vforked)
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

static sighandler_t signal_with(int sig, sighandler_t handler, int flags)
{
	struct sigaction set;
	struct sigaction old;

	memset(&set, 0, sizeof(set));
	set.sa_handler = handler;
	set.sa_flags = flags;
	if (!(flags & SA_NODEFER))
		sigaddset(&set.sa_mask, sig);
	return sigaction(sig, &set, &old) ? SIG_ERR : old.sa_handler;
}

static bool ours(int sig)
{
	return sig == SIGBUS && veiling();
}

PW_EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	return ours(sig) ? signal_with(sig, handler, SA_RESTART)
			 : PW_REAL(signal)(sig, handler);
}

PW_EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	return ours(sig) ? signal_with(sig, handler, (int)(SA_RESETHAND | SA_NODEFER))
			 : PW_REAL(sysv_signal)(sig, handler);
}

PW_EXPORT sighandler_t sigset(int sig, sighandler_t handler)
{
	bool held = pw_me.bus_told_blocked;
	sighandler_t was;

	if (!ours(sig))
		return PW_REAL(sigset)(sig, handler);
	if (handler == SIG_HOLD) {
		struct sigaction old;

		if (sighold(sig) || sigaction(sig, NULL, &old))
			return SIG_ERR;
		return held ? SIG_HOLD : old.sa_handler;
	}
	was = signal_with(sig, handler, 0);
	if (was == SIG_ERR || sigrelse(sig))
		return SIG_ERR;
	return held ? SIG_HOLD : was;
}

PW_EXPORT int sigignore(int sig)
{
	return ours(sig) ? (signal_with(sig, SIG_IGN, 0) == SIG_ERR ? -1 : 0)
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
 * Waiting with a mask of its own: the kernel's goes without SIGBUS. (The mask is read here;
 * where the kernel would have said EFAULT to a bad pointer, the program faults.)
 */
static const sigset_t *veiled(const sigset_t *mask, sigset_t *room)
{
	if (!mask || !veiling() || sigismember(mask, SIGBUS) != 1)
		return mask;
	*room = *mask;
	sigdelset(room, SIGBUS);
	return room;
}

PW_EXPORT int sigsuspend(const sigset_t *mask)
{
	sigset_t room;

	return PW_REAL(sigsuspend)(veiled(mask, &room));
}

/* Waits with one signal let through (X/Open), or with a mask of 32 (BSD). */
PW_EXPORT int __sigpause(int sig_or_mask, int is_sig)
{
	sigset_t set;

	if (!is_sig)
		widen(sig_or_mask, &set);
	else if (pthread_sigmask(SIG_BLOCK, NULL, &set) || sigdelset(&set, sig_or_mask))
		return -1;
	return sigsuspend(&set);
}

/* <signal.h> gives the name sigpause to __xpg_sigpause; the symbol of that name is BSD's. */
__attribute__((used)) int pw_bsd_sigpause(int mask)
{
	return __sigpause(mask, 0);
}

PW_EXPORT int __xpg_sigpause(int sig)
{
	return __sigpause(sig, 1);
}

PW_EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t,
		    const sigset_t *mask)
{
	sigset_t room;

	return PW_REAL(ppoll)(fds, n, t, veiled(mask, &room));
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
	sigset_t room;

	return PW_REAL(pselect)(n, r, w, e, t, veiled(mask, &room));
}

PW_EXPORT int epoll_pwait(int ep, struct epoll_event *ev, int n, int ms,
			  const sigset_t *mask)
{
	sigset_t room;

	return PW_REAL(epoll_pwait)(ep, ev, n, ms, veiled(mask, &room));
}

PW_EXPORT int epoll_pwait2(int ep, struct epoll_event *ev, int n,
			   const struct timespec *t, const sigset_t *mask)
{
	sigset_t room;

	return PW_REAL(epoll_pwait2)(ep, ev, n, t, veiled(mask, &room));
}

PW_TWIN(sigpause, pw_bsd_sigpause)
PW_TWIN(__sigaction, sigaction)
PW_TWIN(bsd_signal, signal)
PW_TWIN(ssignal, signal)
PW_TWIN(__sysv_signal, sysv_signal)
PW_TWIN(__sigsuspend, sigsuspend)
