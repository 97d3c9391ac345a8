/*
 * test_sigbus.c - the program's own dispositions of SIGBUS, beside ours: what it is told of
 * them, and what a SIGBUS of its own does.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "_self.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define SIZE 300000

sighandler_t bsd_signal(int sig, sighandler_t fn); /* in no header for this standard */

/* libc sets it, and returns it; a case of its own looks at it. */
#define RESTORER 0x04000000u

static sigjmp_buf back;
static char *beyond; /* a page of a mapping that the file does not reach */
static int served;
static char alt[65536];
static volatile int count;

static void say_action(const char *when)
{
	struct sigaction a;
	unsigned long mask;

	memset(&a, 0, sizeof(a));
	say_ret("sigaction", sigaction(SIGBUS, NULL, &a));
	memcpy(&mask, &a.sa_mask, sizeof(mask));
	say("%s: flags %x mask %lx", when, (unsigned)a.sa_flags & ~RESTORER, mask);
	say("handler %s", a.sa_handler == SIG_DFL   ? "default"
			  : a.sa_handler == SIG_IGN ? "ignore"
						    : "some");
}

static void make_beyond(void)
{
	int fd = open_made("short", 9, 100, O_RDWR);

	beyond = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(beyond != MAP_FAILED);
	beyond += 4096;
	close(fd);
}

static bool on_alt(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	return here >= (uintptr_t)alt && here < (uintptr_t)alt + sizeof(alt);
}

/* What a handler can see: siginfo, mask, stack. Reading there must work as well. */
static void look_around(int sig)
{
	unsigned char buf[10];
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	say("signal %d, alternate stack %d, SIGBUS blocked %d, SIGUSR1 blocked %d", sig,
	    on_alt(), sigismember(&now, SIGBUS), sigismember(&now, SIGUSR1));
	CHECK(pread(served, buf, 10, 50) == 10 && is_content(buf, 10, 1, 50), "pread");
	count++;
}

static void handler(int sig)
{
	look_around(sig);
	siglongjmp(back, 1);
}

static void handler_info(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	say("code %d, at %ld, context %d", si->si_code,
	    (long)((char *)si->si_addr - beyond), uc->uc_mcontext.gregs[REG_RIP] != 0);
	look_around(sig);
	siglongjmp(back, 1);
}

/* Gives the faulting page, so that the access is made again and succeeds. */
static void handler_mends(int sig, siginfo_t *si, void *ctx)
{
	(void)ctx;
	say("mending %ld", (long)((char *)si->si_addr - beyond));
	look_around(sig);
	if (truncate("short", 3 * 4096))
		_exit(9);
}

static void handler_returns(int sig)
{
	look_around(sig);
}

static void touch(void)
{
	if (sigsetjmp(back, 1) == 0) {
		*(volatile char *)(beyond + 7) = 1;
		say("stored");
	} else {
		say("jumped out");
	}
}

static void installing(int flags, bool info)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_flags = flags | (info ? SA_SIGINFO : 0);
	sigaddset(&a.sa_mask, SIGUSR1);
	if (info)
		a.sa_sigaction = handler_info;
	else
		a.sa_handler = handler;
	say_ret("install", sigaction(SIGBUS, &a, NULL));
}

/*
 * The same with the handler in place before the first window and put in place after it.
 * `faults` in a row: with SA_RESETHAND the second one kills.
 */
static void with_handler(bool first, int flags, bool info, int faults)
{
	stack_t ss = {.ss_sp = alt, .ss_size = sizeof(alt)};

	NEED(!sigaltstack(&ss, NULL));
	make_beyond();
	served = open_made("a", 1, SIZE, O_RDONLY);
	if (first)
		installing(flags, info);
	warm(served);
	if (!first)
		installing(flags, info);
	say_action("now");
	need_hits(served);
	for (int i = 0; i < faults; i++) {
		touch();
		say_action("after a fault");
		say_read(served, 10);
	}
	need_mapped(served);
	say("count %d", count);
}

#define VARIANT(name, first, flags, info, faults)         \
	static void name(void)                            \
	{                                                 \
		with_handler(first, flags, info, faults); \
	}

VARIANT(before_bare, true, 0, false, 3)
VARIANT(after_bare, false, 0, false, 3)
VARIANT(before_info, true, 0, true, 3)
VARIANT(after_info, false, 0, true, 3)
VARIANT(before_stack, true, SA_ONSTACK, true, 3)
VARIANT(after_stack, false, SA_ONSTACK, true, 3)
VARIANT(before_nodefer, true, SA_NODEFER, true, 3)
VARIANT(after_nodefer, false, SA_NODEFER, false, 3)
VARIANT(before_reset, true, (int)SA_RESETHAND, true, 1)
VARIANT(after_reset, false, (int)SA_RESETHAND, false, 1)
VARIANT(before_reset_twice, true, (int)SA_RESETHAND, true, 2)
VARIANT(after_reset_twice, false, (int)SA_RESETHAND, true, 2)
VARIANT(before_all, true, (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK), true, 2)
VARIANT(after_all, false, (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK), true, 2)

static void default_action(void)
{
	make_beyond();
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	say_action("now");
	beyond[0] = 1;
}

/* Blocked, or ignored, a fault kills all the same. */
static void blocked_fault(void)
{
	sigset_t set;

	make_beyond();
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	installing(0, false);
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say_read(served, 10);
	beyond[0] = 1;
}

static void ignored_fault(void)
{
	make_beyond();
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, SIG_IGN);
	say_action("now");
	say_read(served, 10);
	beyond[0] = 1;
}

static void mending(void)
{
	struct sigaction a;

	make_beyond();
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	memset(&a, 0, sizeof(a));
	a.sa_sigaction = handler_mends;
	a.sa_flags = SA_SIGINFO;
	say_ret("install", sigaction(SIGBUS, &a, NULL));
	touch();
	say("byte %d", beyond[7]);
	need_hits(served);
}

/* read(2) into such a page is EFAULT, with and without a window. */
static void read_into(void)
{
	served = open_made("a", 1, SIZE, O_RDONLY);
	make_beyond();
	warm(served);
	installing(0, true);
	say_ret("read", read(served, beyond, 10));
	say_ret("pread", pread(served, beyond - 5, 10, 0));
	say("count %d", count);
}

static void sent(void)
{
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, handler_returns);
	say_action("now");
	say_ret("kill", kill(getpid(), SIGBUS));
	say_ret("raise", raise(SIGBUS));
	say("count %d", count);
	say_read(served, 10);
	need_hits(served);
	signal(SIGBUS, SIG_IGN);
	say_ret("raise", raise(SIGBUS));
	say("count %d", count);
	signal(SIGBUS, handler_returns);
	say_ret("raise", raise(SIGBUS));
	say_read(served, 10);
	signal(SIGBUS, SIG_DFL);
	say_action("now");
	raise(SIGBUS);
}

static void sent_default(void)
{
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	kill(getpid(), SIGBUS);
}

static void sent_with_value(int sig, siginfo_t *si, void *ctx)
{
	(void)ctx;
	say("code %d value %d from self %d", si->si_code, si->si_value.sival_int,
	    si->si_pid == getpid());
	look_around(sig);
}

static void queued(void)
{
	struct sigaction a;

	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	memset(&a, 0, sizeof(a));
	a.sa_sigaction = sent_with_value;
	a.sa_flags = SA_SIGINFO;
	sigaction(SIGBUS, &a, NULL);
	say_ret("sigqueue", sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 42}));
	say_ret("kill", kill(getpid(), SIGBUS));
	say_ret("tgkill", tgkill(getpid(), gettid(), SIGBUS));
	say_action("now");
}

/* What each way of asking and setting reports. */
static void told(void)
{
	struct sigaction a;

	say_action("at first");
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	say_action("windowed");
	say("signal: %d", signal(SIGBUS, handler) == SIG_DFL);
	say_action("after signal");
	say("signal: %d", signal(SIGBUS, SIG_DFL) == handler);
	say_action("after signal, default");
	say("sysv_signal: %d", sysv_signal(SIGBUS, handler) == SIG_DFL);
	say_action("after sysv_signal");
	say("bsd_signal: %d", bsd_signal(SIGBUS, handler_returns) == handler);
	say_action("after bsd_signal");
	say("ssignal: %d", ssignal(SIGBUS, handler) == handler_returns);
	say("sigset: %d", sigset(SIGBUS, handler_returns) == handler);
	say_action("after sigset");
	say("sigset hold: %d", sigset(SIGBUS, SIG_HOLD) == handler_returns);
	say("raise: %d, count %d", raise(SIGBUS), count);
	say("sigset: %d", sigset(SIGBUS, handler_returns) == SIG_HOLD);
	say("count %d", count);
	say_ret("siginterrupt", siginterrupt(SIGBUS, 1));
	say_action("after siginterrupt");
	say_ret("siginterrupt", siginterrupt(SIGBUS, 0));
	say_action("after siginterrupt");
	memset(&a, 0, sizeof(a));
	sigfillset(&a.sa_mask);
	a.sa_handler = handler_returns;
	a.sa_flags = SA_RESTART | SA_NOCLDSTOP | 0x00100000;
	say_ret("sigaction", sigaction(SIGBUS, &a, NULL));
	say_action("after a full one");
	say_ret("bad pointer", sigaction(SIGBUS, NULL, NULL));
	a.sa_handler = SIG_DFL;
	say_ret("sigaction", sigaction(SIGBUS, &a, NULL));
	say_action("default with flags");
	say_ret("sigignore", sigignore(SIGBUS));
	say_action("after sigignore");
	say("raise %d", raise(SIGBUS));
	say("sigset: %d", sigset(SIGBUS, SIG_DFL) == SIG_IGN);
	say_action("at last");
	say_read(served, 10);
}

static void restorer_flag(void)
{
	struct sigaction a;

	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, handler_returns);
	say_ret("sigaction", sigaction(SIGBUS, NULL, &a));
	say("flags %x, restorer %d", (unsigned)a.sa_flags, a.sa_restorer != NULL);
}

/* Ignored from before exec: it stays so, and there are no windows. */
static void inherited_ignore(void)
{
	if (getenv("SELF_AGAIN")) {
		say_action("inherited");
		served = open_made("a", 1, SIZE, O_RDONLY);
		warm_try(served);
		say_action("after reading");
		say_read(served, 10);
		say("raise %d", raise(SIGBUS));
		signal(SIGBUS, handler_returns);
		warm_try(served);
		say("raise %d, count %d", raise(SIGBUS), count);
		return;
	}
	setenv("SELF_AGAIN", "1", 1);
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, SIG_IGN);
	execl(self_exe, self_exe, "--case", "inherited-ignore",
	      self_preloaded ? "preloaded" : "plain", NULL);
}

/* Handlers end at exec, ours too: a program that we are not in gets the default. */
static void exec_default(void)
{
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, handler_returns);
	say("shell %d",
	    system("grep -E 'Sig(Ign|Cgt|Blk)' /proc/self/status >>\"$SELF_TRACE\""));
	say("shell %d", system("kill -BUS $$"));
	signal(SIGBUS, SIG_DFL);
	execl("/bin/sh", "sh", "-c", "kill -BUS $$", NULL);
}

static const struct self_case cases[] = {
	{"before", before_bare, SELF_BOTH},
	{"after", after_bare, SELF_BOTH},
	{"before-siginfo", before_info, SELF_BOTH},
	{"after-siginfo", after_info, SELF_BOTH},
	{"before-onstack", before_stack, SELF_BOTH},
	{"after-onstack", after_stack, SELF_BOTH},
	{"before-nodefer", before_nodefer, SELF_BOTH},
	{"after-nodefer", after_nodefer, SELF_BOTH},
	{"before-resethand", before_reset, SELF_BOTH},
	{"after-resethand", after_reset, SELF_BOTH},
	{"before-resethand-twice", before_reset_twice, SELF_BOTH},
	{"after-resethand-twice", after_reset_twice, SELF_BOTH},
	{"before-all-flags", before_all, SELF_BOTH},
	{"after-all-flags", after_all, SELF_BOTH},
	{"default-action", default_action, SELF_BOTH},
	{"blocked-fault", blocked_fault, SELF_BOTH},
	{"ignored-fault", ignored_fault, SELF_BOTH},
	{"mending-handler", mending, SELF_BOTH},
	{"read-into-a-bad-page", read_into, SELF_BOTH},
	{"sent", sent, SELF_BOTH},
	{"sent-default", sent_default, SELF_BOTH},
	{"queued", queued, SELF_BOTH},
	{"told", told, SELF_BOTH},
	{"restorer-flag", restorer_flag, SELF_BOTH},
	{"inherited-ignore", inherited_ignore, SELF_BOTH},
	{"exec-default", exec_default, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
