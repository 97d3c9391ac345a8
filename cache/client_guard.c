/* client_guard.c - see client_guard.h. */
#include "cache/client_guard.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "cache/pagewell.h"

static uint32_t theirs; /* 1: the program's handler asks us */
static bool installed;
static struct sigaction
	before;	       /* what was there; written once, before ours is in place */
static uint32_t spent; /* 1: it was SA_RESETHAND, and has been called */

void pw_client_guard_is_theirs(void)
{
	pw_store_release(&theirs, 1);
}

bool pw_client_guard_took(const siginfo_t *info, void *ucontext)
{
	ucontext_t *uc = ucontext;
	uintptr_t to;

	if (info->si_code != BUS_ADRERR && info->si_code != BUS_MCEERR_AR)
		return false;
	to = pw_copy_fixup((uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);
	if (!to)
		return pw_segment_lost((uintptr_t)info->si_addr);
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)to;
	return true;
}

/* The kernel's default, by the kernel: a fault comes again on return and finds no handler,
 * what was sent is sent again. */
static void give_up(int sig, siginfo_t *info)
{
	struct sigaction dfl;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	sigaction(sig, &dfl, NULL);
	if (info->si_code <= 0 || info->si_code == SI_KERNEL)
		pw_syscall4(SYS_rt_tgsigqueueinfo, getpid(), pw_syscall0(SYS_gettid), sig,
			    info);
}

static void on_sigbus(int sig, siginfo_t *info, void *ucontext)
{
	int saved = errno;

	if (pw_client_guard_took(info, ucontext))
		return;
	if (before.sa_handler == SIG_DFL || pw_load_relaxed(&spent))
		give_up(sig, info);
	else {
		if (before.sa_flags & (int)SA_RESETHAND)
			pw_store_relaxed(&spent, 1);
		if (before.sa_flags & SA_SIGINFO)
			before.sa_sigaction(sig, info, ucontext);
		else
			before.sa_handler(sig);
	}
	errno = saved;
}

/* With the flags and the mask of the handler that was there, so that the kernel prepares for
 * it what it expects. */
static void install(void)
{
	struct sigaction ours;

	if (sigaction(SIGBUS, NULL, &before) || before.sa_handler == SIG_IGN)
		return;
	ours = before;
	ours.sa_flags = (ours.sa_flags & ~(int)SA_RESETHAND) | SA_SIGINFO;
	if (before.sa_handler == SIG_DFL)
		ours.sa_flags |= SA_ONSTACK;
	ours.sa_sigaction = on_sigbus;
	installed = !sigaction(SIGBUS, &ours, NULL);
}

bool pw_client_guarded(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigaction now;
	int saved = errno;
	bool ok;

	if (pw_load_acquire(&theirs))
		return true;
	pthread_once(&once, install);
	ok = installed && !sigaction(SIGBUS, NULL, &now) && now.sa_sigaction == on_sigbus;
	errno = saved;
	return ok;
}
