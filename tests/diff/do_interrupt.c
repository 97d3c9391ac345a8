/*
 * A signal that comes in the middle of a call. `interrupt K N how` stands before a step
 * whose call is a single system call without the library: the signal arrives at the Kth
 * instruction of the library's code, and its handler carries out the N steps that follow.
 *
 * The kernel alone knows no middle: its call has happened before the handler or after it.
 * So the program is run plainly in both orders, and under the library the outcome must be
 * one of the two. The call's own line comes last in all of them.
 */
#define _GNU_SOURCE
#include "interp.h"

#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#define SIGNAL SIGUSR2

__thread bool pw_trap_armed, pw_trap_begun;
__thread const int *pw_slots_before;
static __thread int at, runs_before;

void pw_trap_begin(void)
{
	struct pw_trap *t = &pw_sh->trap;

	pw_trap_armed = false;
	PW_RAW2(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	t->pid = PW_RAW0(SYS_getpid);
	t->tid = PW_RAW0(SYS_gettid);
	t->at = at;
	t->go = t->on = t->done = 0;
	__atomic_store_n(&t->asked, 1, __ATOMIC_RELEASE);
	PW_RAW3(SYS_futex, &t->asked, FUTEX_WAKE, 1);
	while (!__atomic_load_n(&t->go, __ATOMIC_ACQUIRE))
		PW_RAW4(SYS_futex, &t->go, FUTEX_WAIT, 0, 0);
	pw_trap_begun = true;
	__atomic_store_n(&t->on, 1, __ATOMIC_RELEASE);
}

void pw_trap_end(void)
{
	pw_trap_begun = false;
	pw_buf_lenient = pw_handler_runs() != runs_before;
	__atomic_store_n(&pw_sh->trap.done, 1, __ATOMIC_RELEASE);
}

/* One call that the kernel does as a whole. */
static bool may_be_interrupted(const struct pw_step *s)
{
	switch (s->op) {
	case PW_OP_READ:
	case PW_OP_PREAD:
	case PW_OP_READV:
	case PW_OP_LSEEK:
	case PW_OP_WRITE:
	case PW_OP_PWRITE:
	case PW_OP_OPEN:
	case PW_OP_CLOSE:
	case PW_OP_DUP:
	case PW_OP_DUP2:
	case PW_OP_DUP3:
	case PW_OP_FDUPFD:
	case PW_OP_SETFL:
	case PW_OP_FTRUNC:
	case PW_OP_FIONREAD:
	case PW_OP_SENDFILE:
		return true;
	}
	return false;
}

static void signal_now(void)
{
	PW_RAW3(SYS_tgkill, PW_RAW0(SYS_getpid), PW_RAW0(SYS_gettid), SIGNAL);
}

/* The handler, then the step, which has its arguments from before. */
static void handler_then_step(const struct pw_step *s)
{
	int before[PW_SLOTS];

	memcpy(before, pw_slot, sizeof(before));
	signal_now();
	pw_slots_before = before;
	pw_do_step(s);
	pw_slots_before = NULL;
}

/*
 * The step, then the handler. The step's line comes after the handler's, and so does what
 * it puts into a slot.
 */
static void step_then_handler(const struct pw_step *s, bool trap)
{
	int before[PW_SLOTS], after[PW_SLOTS];
	char line[1024];
	size_t from = pw_sh->len, size;

	memcpy(before, pw_slot, sizeof(before));
	runs_before = pw_handler_runs();
	pw_trap_armed = trap;
	pw_do_step(s);
	pw_trap_armed = false;
	pw_buf_lenient = false;
	if (pw_handler_runs() != runs_before) {
		pw_sh->interrupted++;
		return;
	}
	size = pw_sh->len - from;
	if (size >= sizeof(line))
		size = sizeof(line) - 1;
	memcpy(line, pw_sh->trace + from, size);
	line[size] = 0;
	pw_sh->len = from;
	memcpy(after, pw_slot, sizeof(after));
	memcpy(pw_slot, before, sizeof(before));
	signal_now();
	for (int i = 0; i < PW_SLOTS; i++)
		if (after[i] != before[i])
			pw_slot[i] = after[i];
	pw_note("%s", line);
}

void pw_do_INTERRUPT(const struct pw_step *s)
{
	sigjmp_buf here, *outer = pw_handler_back();
	const struct pw_step *next = &pw_sh->prog.step[pw_sh->pc];

	if (pw_at_end() || next->actor != pw_self || !may_be_interrupted(next)) {
		pw_skipped(s, "not before such a step");
		return;
	}
	pw_sh->pc++;
	at = s->arg[0];
	pw_handler_install(SIGNAL, s->arg[2]);
	pw_handler_set(s->arg[1] & 0xff, s->arg[2] & PW_RA_JUMP, &here);
	if (sigsetjmp(here, 1)) {
		pw_sh->interrupted += pw_trap_begun;
		pw_trap_armed = pw_trap_begun = false;
		pw_sh->trap.done = 1;
		pw_note("  jumped out\n");
	} else if (pw_sh->order == PW_BEFORE) {
		handler_then_step(next);
	} else {
		step_then_handler(next, pw_sh->order == PW_AT);
	}
	pw_handler_set(0, false, outer);
	/* Without the place, for the trace is to be the same wherever it is. */
	pw_note("%d interrupt is over\n", (int)(s - pw_sh->prog.step));
}
