/* guard.c - see guard.h. Everything here may run in a signal handler; errno is not touched. */
#include "shim/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "shim/life.h"
#include "shim/real.h"
#include "shim/thread.h"

/*
 * The program's own disposition. Written under `writing` (CAS, all signals blocked, so no
 * handler of the holder spins on it), with `seq` odd meanwhile; read by retry.
 */
static PW_HOT_PAGE struct sigaction app;
static PW_HOT_PAGE uint32_t seq;
static PW_HOT_PAGE uint32_t writing;
static PW_HOT_PAGE uint32_t installed;

static void app_get(struct sigaction *out)
{
	uint32_t before;

	do {
		before = pw_load_acquire(&seq); /* pairs with the writer's two stores */
		*out = app;
		pw_fence_seq();
	} while ((before & 1) || before != pw_load_acquire(&seq));
}

static void app_set(const struct sigaction *in)
{
	uint32_t no = 0;

	while (!pw_cas(&writing, &no, 1))
		no = 0;
	pw_store_relaxed(&seq, seq + 1);
	pw_fence_seq();
	app = *in;
	pw_store_release(&seq, seq + 1);
	pw_store_release(&writing, 0);
}

/* The signal comes again, with the same siginfo, as soon as it may. */
static void requeue(int sig, siginfo_t *si)
{
	pw_syscall4(SYS_rt_tgsigqueueinfo, getpid(), pw_syscall0(SYS_gettid), sig, si);
}

/* Real system call: libc's sigaction would be our own next definition's, and sets errno. */
static void really_default(int sig)
{
	struct sigaction dfl;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	PW_REAL(sigaction)(sig, &dfl, NULL);
}

static void hand_on(int sig, siginfo_t *si, void *uc)
{
	bool fault = si->si_code > 0 && si->si_code != SI_KERNEL;
	struct sigaction act;
	bool was;

	app_get(&act);
	if (act.sa_handler == SIG_IGN && !fault)
		return;
	if (act.sa_handler == SIG_IGN || act.sa_handler == SIG_DFL) {
		/* The kernel's default, by the kernel: a fault comes again on return, and
		 * finds no handler; anything else is sent again. */
		really_default(sig);
		if (!fault)
			requeue(sig, si);
		return;
	}
	if (act.sa_flags & SA_RESETHAND) {
		struct sigaction dfl = act;

		dfl.sa_handler = SIG_DFL;
		app_set(&dfl);
	}
	/* Mask, stack and restarting are the kernel's work: our handler is installed with
	 * the program's own flags and mask. While its handler runs SIGBUS is blocked, so
	 * no hits: a fault would kill. */
	was = pw_me.bus_blocked;
	if (!(act.sa_flags & SA_NODEFER) || sigismember(&act.sa_mask, SIGBUS) == 1)
		pw_me.bus_blocked = true;
	pw_thread_update();
	if (act.sa_flags & SA_SIGINFO)
		act.sa_sigaction(sig, si, uc);
	else
		act.sa_handler(sig);
	pw_me.bus_blocked = was;
	pw_thread_update();
}

static void on_sigbus(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	int saved = errno;

	if (si->si_code == BUS_ADRERR || si->si_code == BUS_MCEERR_AR) {
		uintptr_t to = pw_copy_fixup((uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);

		if (to) {
			uc->uc_mcontext.gregs[REG_RIP] = (greg_t)to;
			return;
		}
		if (pw_segment_lost((uintptr_t)si->si_addr))
			return;
	}
	hand_on(sig, si, uc);
	errno = saved;
}

/*
 * Ours in the program's clothes: its flags and mask, so that the kernel does the rest. What
 * the kernel made of them (it drops flags and signals it does not know, and libc adds its
 * restorer) is what the program will be told, but for the handler and what is ours.
 */
static int put(const struct sigaction *act, struct sigaction *as_kept)
{
	int own = act->sa_handler == SIG_DFL ? SA_ONSTACK | SA_SIGINFO : SA_SIGINFO;
	int theirs = own | (int)SA_RESETHAND;
	struct sigaction ours = *act;

	ours.sa_flags = (ours.sa_flags & ~(int)SA_RESETHAND) | own;
	ours.sa_sigaction = on_sigbus;
	if (PW_REAL(sigaction)(SIGBUS, &ours, NULL) ||
	    PW_REAL(sigaction)(SIGBUS, NULL, as_kept))
		return -1;
	as_kept->sa_sigaction = act->sa_sigaction;
	as_kept->sa_flags = (as_kept->sa_flags & ~theirs) | (act->sa_flags & theirs);
	return 0;
}

bool pw_guard_installed(void)
{
	return pw_load_acquire(&installed);
}

bool pw_guard_install(void)
{
	int saved = errno;
	struct sigaction now;
	bool ok = !PW_REAL(sigaction)(SIGBUS, NULL, &now);

	if (ok && now.sa_sigaction != on_sigbus) {
		ok = now.sa_handler != SIG_IGN;
		if (ok) {
			struct sigaction kept;

			app_set(&now); /* before the handler that reads it */
			ok = !put(&now, &kept);
			pw_store_release(&installed, ok);
		}
	}
	errno = saved;
	return ok;
}

int pw_guard_sigaction(const struct sigaction *set, struct sigaction *old)
{
	struct sigaction was;
	int saved = errno;
	int err = 0;
	uint64_t mask;

	app_get(&was);
	if (set) {
		pw_sys->block_signals(&mask);
		if (set->sa_handler == SIG_IGN) {
			if (pw_alive()) /* a raw fork's child has no windows to end */
				pw_windows_forbid();
			pw_store_release(&installed, 0);
			err = PW_REAL(sigaction)(SIGBUS, set, NULL);
		} else {
			struct sigaction kept;

			app_set(set);
			err = put(set, &kept);
			if (!err)
				app_set(&kept);
		}
		pw_sys->restore_signals(&mask);
	}
	if (!err && old)
		*old = was;
	err = err ? -errno : 0;
	errno = saved;
	return err;
}
