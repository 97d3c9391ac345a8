#define _GNU_SOURCE
#include "tracer.h"
#include "raw.h"

#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* A call that takes more instructions is let go. */
#define TOO_MANY 200000

static void let_go_on(struct pw_trap *t)
{
	__atomic_store_n(&t->go, 1, __ATOMIC_RELEASE);
	PW_RAW3(SYS_futex, &t->go, FUTEX_WAKE, 1);
}

static bool stopped(int tid)
{
	int status;

	return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

static void serve(struct pw_trap *t)
{
	int tid = t->tid, pid = t->pid, at = t->at, count = 0;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		t->failed = 1;
		let_go_on(t);
		return;
	}
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || !stopped(tid)) {
		let_go_on(t);
		return;
	}
	let_go_on(t);
	for (int i = 0; i < TOO_MANY && !__atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
	     i++) {
		if (__atomic_load_n(&t->on, __ATOMIC_ACQUIRE) && count++ == at) {
			/* It waits if the thread has it blocked just now. */
			PW_RAW3(SYS_tgkill, pid, tid, SIGUSR2);
			break;
		}
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) || !stopped(tid))
			return;
	}
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

void pw_tracer(struct pw_shared *sh)
{
	struct pw_trap *t = &sh->trap;

	for (;;) {
		while (!__atomic_load_n(&t->asked, __ATOMIC_ACQUIRE))
			PW_RAW4(SYS_futex, &t->asked, FUTEX_WAIT, 0, 0);
		__atomic_store_n(&t->asked, 0, __ATOMIC_RELAXED);
		serve(t);
	}
}
