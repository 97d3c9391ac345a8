/*
 * test_busmask.c - SIGBUS blocked: by mask, in a handler, by a jump back, in a new thread;
 * and what is pending then.
 */
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include "bus.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static sigjmp_buf back;

static void by_mask(void)
{
	sigset_t all;
	sigset_t old;

	bus_ready();
	say_ret("block", sigprocmask(SIG_BLOCK, &bus, &old));
	say_mask("blocked");
	kill(getpid(), SIGBUS);
	say_mask("sent");
	say_read(served, 10);
	kill(getpid(), SIGBUS);
	say_ret("block", sigprocmask(SIG_BLOCK, &bus, NULL));
	say_mask("sent twice");
	say_ret("unblock", sigprocmask(SIG_UNBLOCK, &bus, &old));
	say("old had it: %d", sigismember(&old, SIGBUS));
	say_mask("unblocked");
	need_survival();
	sigfillset(&all);
	say_ret("all", pthread_sigmask(SIG_SETMASK, &all, &old));
	say_mask("all");
	raise(SIGBUS);
	say_mask("raised");
	need_survival();
	say_ret("none", pthread_sigmask(SIG_SETMASK, &old, NULL));
	say_mask("none");
	need_survival();
	say_ret("bad how", sigprocmask(77, &bus, NULL));
	say_ret("nothing", sigprocmask(77, NULL, NULL));
	say("sigblock %x", sigblock(1 << (SIGBUS - 1)));
	say("sigsetmask %x", sigsetmask(1 << (SIGUSR1 - 1)));
	say_mask("BSD");
	say_ret("sighold", sighold(SIGBUS));
	kill(getpid(), SIGBUS);
	say_mask("held");
	say_ret("sigrelse", sigrelse(SIGBUS));
	say_mask("released");
	need_survival();
}

/* Blocked before the first window. */
static void blocked_early(void)
{
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	signal(SIGBUS, counting);
	sigprocmask(SIG_BLOCK, &bus, NULL);
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm_try(served);
	kill(getpid(), SIGBUS);
	say_mask("sent");
	need_survival();
	sigprocmask(SIG_UNBLOCK, &bus, NULL);
	say_mask("unblocked");
	need_survival();
	if (self_preloaded) {
		warm(served);
		need_hits(served);
	}
}

/* ---- in handlers ---- */

static void in_handler(int sig)
{
	say_mask("in the handler");
	say("signal %d", sig);
	kill(getpid(), SIGBUS);
	say_mask("sent in the handler");
	say_pread(served, 10, 70);
	need_survival();
	say_mask("still");
}

static void by_sa_mask(void)
{
	struct sigaction a;
	struct sigaction was;

	bus_ready();
	memset(&a, 0, sizeof(a));
	a.sa_handler = in_handler;
	sigaddset(&a.sa_mask, SIGBUS);
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR1, NULL, &a);
	say("sa_mask has it: %d", sigismember(&a.sa_mask, SIGBUS));
	raise(SIGUSR1);
	say_mask("afterwards");
	/* and without: at once */
	sigemptyset(&a.sa_mask);
	sigaction(SIGUSR1, &a, &was);
	say("sa_mask had it: %d", sigismember(&was.sa_mask, SIGBUS));
	raise(SIGUSR1);
	say_mask("afterwards");
}

/* Installed before the first window: the mask is the kernel's. */
static void by_sa_mask_early(void)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = in_handler;
	sigfillset(&a.sa_mask);
	sigaction(SIGUSR1, &a, NULL);
	bus_ready();
	raise(SIGUSR1);
	say_mask("afterwards");
	need_survival();
}

static void faulting_handler(int sig)
{
	say("signal %d faults", sig);
	beyond[0] = 1;
}

static void ending(int sig)
{
	say("signal %d came to its handler", sig);
	_exit(3);
}

/* A fault while SIGBUS is blocked kills, whatever handler there is. */
static void fault_in_handler(void)
{
	struct sigaction a;

	bus_ready();
	signal(SIGBUS, ending);
	memset(&a, 0, sizeof(a));
	a.sa_handler = faulting_handler;
	sigaddset(&a.sa_mask, SIGBUS);
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
	say("survived");
}

/* ---- jumps ---- */

static void jumping(int sig)
{
	(void)sig;
	count++;
	siglongjmp(back, 1);
}

/* The mask of then comes back by a jump: the handler must be called, not the default. */
static void by_jump(void)
{
	sigset_t all;

	bus_ready();
	signal(SIGBUS, jumping);
	sigfillset(&all);
	if (sigsetjmp(back, 1) == 0) {
		sigprocmask(SIG_BLOCK, &all, NULL);
		say_mask("blocked");
		siglongjmp(back, 1);
	}
	say_mask("back");
	need_survival();
	if (sigsetjmp(back, 1) == 0) {
		beyond[0] = 1;
		say("not reached");
	}
	say_mask("after a fault");
	need_survival();
}

/* And the other way: a jump back to where it was blocked. */
static void by_jump_to_blocked(void)
{
	volatile int round = 0;

	bus_ready();
	sigprocmask(SIG_BLOCK, &bus, NULL);
	if (sigsetjmp(back, 1) == 0) {
		sigprocmask(SIG_UNBLOCK, &bus, NULL);
		say_mask("unblocked");
		siglongjmp(back, 1);
	}
	say_mask("back");
	kill(getpid(), SIGBUS);
	say_mask("sent");
	need_survival();
	say("round %d", round);
	sigprocmask(SIG_UNBLOCK, &bus, NULL);
	say_mask("unblocked");
}

static ucontext_t outside;
static ucontext_t inside;

static void coroutine(void)
{
	say_mask("inside");
	kill(getpid(), SIGBUS);
	say_mask("sent inside");
	need_survival();
	/* cppcheck-suppress swapcontextCalled */
	swapcontext(&inside, &outside);
}

static void by_context(void)
{
	static char stack[1 << 18];

	bus_ready();
	/* cppcheck-suppress getcontextCalled */
	getcontext(&inside);
	sigaddset(&inside.uc_sigmask, SIGBUS);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	inside.uc_link = &outside;
	/* cppcheck-suppress makecontextCalled */
	makecontext(&inside, coroutine, 0);
	/* cppcheck-suppress swapcontextCalled */
	swapcontext(&outside, &inside);
	say_mask("outside");
	need_survival();
}

/* ---- threads ---- */

static void *inheriting(void *arg)
{
	(void)arg;
	say_mask("in the thread");
	pthread_kill(pthread_self(), SIGBUS);
	say_mask("sent");
	need_survival();
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	say_mask("unblocked");
	return NULL;
}

static void in_thread(void)
{
	pthread_t t;
	sigset_t all;

	bus_ready();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	NEED(!pthread_create(&t, NULL, inheriting, NULL));
	pthread_join(t, NULL);
	say_mask("in the other");
}

static int tell[2];
static int told[2];

static void *open_minded(void *arg)
{
	char c;

	(void)arg;
	NEED(write(tell[1], "", 1) == 1);
	/* a signal that comes to this thread does not end the wait */
	while (read(told[0], &c, 1) != 1)
		;
	return NULL;
}

/* A signal to the process goes to a thread that does not block it. */
static void to_the_other(void)
{
	pthread_t t;
	char c;

	bus_ready();
	NEED(!pipe(tell) && !pipe(told));
	NEED(!pthread_create(&t, NULL, open_minded, NULL));
	NEED(read(tell[0], &c, 1) == 1);
	sigprocmask(SIG_BLOCK, &bus, NULL);
	kill(getpid(), SIGBUS);
	for (int i = 0; i < 2000 && !count; i++)
		usleep(1000);
	say_mask("sent");
	say("by another thread: %d", by && by != gettid());
	NEED(write(told[1], "", 1) == 1);
	pthread_join(t, NULL);
	sigprocmask(SIG_UNBLOCK, &bus, NULL);
	say_mask("unblocked");
	need_survival();
}

static const struct self_case cases[] = {
	{"mask", by_mask, SELF_BOTH},
	{"mask-early", blocked_early, SELF_BOTH},
	{"sa_mask", by_sa_mask, SELF_BOTH},
	{"sa_mask-early", by_sa_mask_early, SELF_BOTH},
	{"sa_mask-fault", fault_in_handler, SELF_BOTH},
	{"jump-to-unblocked", by_jump, SELF_BOTH},
	{"jump-to-blocked", by_jump_to_blocked, SELF_BOTH},
	{"context", by_context, SELF_BOTH},
	{"new-thread", in_thread, SELF_BOTH},
	{"other-thread", to_the_other, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
