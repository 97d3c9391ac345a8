/*
 * Steps with signals: a handler that carries out the steps that follow, and
 * the application's own dealings with SIGBUS, which the library also needs.
 */
#define _GNU_SOURCE
#include "interp.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

sighandler_t sysv_signal(int sig, sighandler_t handler);
/* Its declaration comes with a warning that it is old. */
sighandler_t old_sigset(int sig, sighandler_t handler) __asm__("sigset");

#define ALT_STACK (128u << 10)

static __thread int handler_steps, handler_runs;
static __thread bool handler_jumps;
static __thread sigjmp_buf *handler_back;
static __thread void *alt_stack;
__thread bool pw_in_handler;

static void on_signal(int sig)
{
	sigjmp_buf *back = handler_back;
	bool jumps = handler_jumps;
	bool begun = pw_trap_begun, nested = pw_in_handler;
	int err = errno, last_err = pw_err;

	pw_trap_begun = false; /* the handler's own calls are not the interrupted one */
	pw_in_handler = true;
	handler_runs++;
	pw_note("  handler of %d begins\n", sig);
	/* The next steps are this handler's: hand on the turn as between steps. */
	pw_pass_turn();
	pw_run_steps(handler_steps);
	pw_note("  handler of %d ends\n", sig);
	pw_in_handler = nested;
	pw_trap_begun = begun;
	if (jumps && back && back == handler_back)
		siglongjmp(*back, 1);
	pw_err = last_err;
	errno = err;
}

static void on_signal_info(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	on_signal(sig);
}

static int sa_flags(int64_t how)
{
	int flags = 0;

	if (how & PW_RA_ONSTACK)
		flags |= SA_ONSTACK;
	if (how & PW_RA_RESETHAND)
		flags |= SA_RESETHAND;
	if (how & PW_RA_NODEFER)
		flags |= SA_NODEFER;
	if (how & PW_RA_RESTART)
		flags |= SA_RESTART;
	if (!(how & PW_RA_PLAIN))
		flags |= SA_SIGINFO;
	return flags;
}

static void need_alt_stack(int64_t how)
{
	stack_t st = {.ss_size = ALT_STACK};

	if (!(how & PW_RA_ONSTACK) || alt_stack)
		return;
	alt_stack = malloc(ALT_STACK);
	st.ss_sp = alt_stack;
	sigaltstack(&st, NULL);
}

void pw_handler_install(int sig, int64_t how)
{
	struct sigaction sa = {.sa_flags = sa_flags(how)};

	if (how & PW_RA_PLAIN)
		sa.sa_handler = on_signal;
	else
		sa.sa_sigaction = on_signal_info;
	need_alt_stack(how);
	sigaction(sig, &sa, NULL);
}

void pw_handler_set(int steps, bool jumps, sigjmp_buf *back)
{
	handler_steps = steps;
	handler_jumps = jumps;
	handler_back = back;
}

sigjmp_buf *pw_handler_back(void)
{
	return handler_back;
}

int pw_handler_runs(void)
{
	return handler_runs;
}

void pw_do_RAISE(const struct pw_step *s)
{
	sigjmp_buf here, *outer = handler_back;
	int ret;

	pw_handler_install(SIGUSR1, s->arg[1]);
	pw_handler_set(s->arg[0] & 0xff, s->arg[1] & PW_RA_JUMP, &here);
	if (sigsetjmp(here, 1)) {
		pw_err = PW_UNTOUCHED;
		handler_back = outer;
		pw_said(s, 0, "jumped out");
		return;
	}
	if (s->name == 0)
		ret = PW_CALL(raise(SIGUSR1));
	else if (s->name == 1)
		ret = PW_CALL(pthread_kill(pthread_self(), SIGUSR1));
	else
		ret = PW_CALL(pthread_sigqueue(pthread_self(), SIGUSR1,
					       (union sigval){.sival_int = 1}));
	handler_back = outer;
	pw_said(s, ret, " ");
}

/* SIGBUS. */

static __thread sigjmp_buf *bus_back;
static bool bus_caught; /* our handler is installed and will stay so */
static bool bus_masked; /* some step has changed the mask */

static void on_bus(int sig)
{
	pw_note("  SIGBUS handler %d\n", sig);
	if (bus_back)
		siglongjmp(*bus_back, 1);
	_exit(41);
}

static void on_bus_info(int sig, siginfo_t *info, void *context)
{
	char here;

	(void)context;
	pw_note("  SIGBUS handler %d code=%d at=%03lx onstack=%d\n", sig, info->si_code,
		(long)info->si_addr & 0xfff,
		alt_stack && &here >= (char *)alt_stack &&
			&here < (char *)alt_stack + ALT_STACK);
	if (bus_back)
		siglongjmp(*bus_back, 1);
	_exit(42);
}

static const char *handler_name(const struct sigaction *sa)
{
	if (sa->sa_flags & SA_SIGINFO)
		return sa->sa_sigaction == on_bus_info ? "on_bus_info" : "another's";
	if (sa->sa_handler == on_bus)
		return "on_bus";
	if (sa->sa_handler == SIG_DFL)
		return "SIG_DFL";
	if (sa->sa_handler == SIG_IGN)
		return "SIG_IGN";
	return "another's";
}

static void said_action(const struct pw_step *s, int ret, const struct sigaction *sa)
{
	pw_said(s, ret, "%s flags=%x mask=%d%d", handler_name(sa),
		sa->sa_flags & ~0x04000000, sigismember(&sa->sa_mask, SIGBUS),
		sigismember(&sa->sa_mask, SIGUSR2));
}

void pw_do_BUSACT(const struct pw_step *s)
{
	int what = s->arg[0] % 3, ret = 0;
	sighandler_t h = what == 1 ? SIG_DFL : what == 2 ? SIG_IGN : on_bus;
	struct sigaction sa = {.sa_handler = h}, old = {0};

	need_alt_stack(s->arg[1]);
	sa.sa_flags = sa_flags(s->arg[1] | PW_RA_PLAIN);
	if (what == 0 && !(s->arg[1] & PW_RA_PLAIN)) {
		sa.sa_sigaction = on_bus_info;
		sa.sa_flags |= SA_SIGINFO;
	}
	if (s->arg[0] & 4) {
		sigaddset(&sa.sa_mask, SIGBUS);
		sigaddset(&sa.sa_mask, SIGUSR2);
	}
	bus_caught = what == 0;
	if (s->name == 0) {
		ret = PW_CALL(sigaction(SIGBUS, &sa, &old));
		bus_caught = bus_caught && !(s->arg[1] & PW_RA_RESETHAND);
	} else {
		if (s->name == 1)
			old.sa_handler = PW_CALL(signal(SIGBUS, h));
		else if (s->name == 2)
			old.sa_handler = PW_CALL(sysv_signal(SIGBUS, h));
		else
			old.sa_handler = PW_CALL(old_sigset(SIGBUS, h));
		bus_caught = bus_caught && s->name == 1;
		/* These report a three-argument handler by its address only. */
		if (old.sa_handler == (sighandler_t)(void (*)(void))on_bus_info)
			old.sa_flags = SA_SIGINFO;
	}
	said_action(s, ret, &old);
}

void pw_do_BUSASK(const struct pw_step *s)
{
	struct sigaction old = {0};
	int ret = PW_CALL(sigaction(SIGBUS, NULL, &old));

	said_action(s, ret, &old);
}

void pw_do_BUSMASK(const struct pw_step *s)
{
	int how = s->arg[0] & 3, ret;
	sigset_t set, old;

	sigemptyset(&set);
	sigemptyset(&old);
	if (s->arg[1] & 1)
		sigaddset(&set, SIGBUS);
	if (s->arg[1] & 2)
		sigaddset(&set, SIGUSR2);
	bus_masked = true;
	if (s->name == 0)
		ret = PW_CALL(sigprocmask(how, &set, &old));
	else if (s->name == 1)
		ret = PW_CALL(pthread_sigmask(how, &set, &old));
	else
		ret = PW_CALL(syscall(SYS_rt_sigprocmask, how, &set, &old, 8L));
	pw_said(s, ret, "old=%d%d", sigismember(&old, SIGBUS),
		sigismember(&old, SIGUSR2));
}

/* A load behind the end of a mapped file. */
static void bus_load(int64_t at)
{
	long fd = PW_RAW2(SYS_memfd_create, "bus", 0);
	volatile char *p =
		(char *)PW_RAW6(SYS_mmap, 0, 4096, PROT_READ, MAP_SHARED, fd, 0);

	PW_RAW1(SYS_close, fd);
	(void)p[at & 0xfff];
}

void pw_do_BUSHIT(const struct pw_step *s)
{
	sigjmp_buf here, *outer = bus_back;
	int status = 0;
	pid_t pid;

	if (bus_caught && !bus_masked) {
		bus_back = &here;
		if (!sigsetjmp(here, 1))
			bus_load(s->arg[0]);
		bus_back = outer;
		pw_err = PW_UNTOUCHED;
		pw_said(s, 0, "caught");
		return;
	}
	/* It may be the end of the process. */
	bus_back = NULL;
	pid = PW_CALL(fork());
	if (!pid) {
		struct rlimit none = {0, 0};

		PW_RAW4(SYS_prlimit64, 0, RLIMIT_CORE, &none, 0);
		bus_load(s->arg[0]);
		_exit(0);
	}
	bus_back = outer;
	if (pid > 0)
		PW_RAW4(SYS_wait4, pid, &status, 0, 0);
	pw_said(s, pid > 0, "status=%x", status);
}

void pw_do_RLIMAS(const struct pw_step *s)
{
	struct rlimit r, old;
	int ret;

	PW_RAW4(SYS_prlimit64, 0, RLIMIT_AS, 0, &r);
	r.rlim_cur = s->arg[0] & 1 ? r.rlim_max : (rlim_t)1 << 46;
	if (s->name == 0)
		ret = PW_CALL(setrlimit(RLIMIT_AS, &r));
	else
		ret = PW_CALL(prlimit(0, RLIMIT_AS, &r, &old));
	pw_said(s, ret, " ");
}

void pw_do_MLOCKALL(const struct pw_step *s)
{
	int ret = s->arg[0] & 1 ? PW_CALL(munlockall()) : PW_CALL(mlockall(MCL_CURRENT));

	pw_said(s, ret, " ");
}
