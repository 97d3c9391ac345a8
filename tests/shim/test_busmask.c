/*
 * test_busmask.c - SIGBUS blocked: by mask, in a handler, by a jump back, in a new thread,
 * while waiting; what is pending then; and files that get shorter while they are served.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <ucontext.h>

#include "_self.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define SIZE 300000

static int served;
static char *beyond;
static volatile int count;
static volatile pid_t by;
static sigset_t bus;
static sigjmp_buf back;

static void counting(int sig)
{
	(void)sig;
	by = gettid();
	count++;
}

static void ready(void)
{
	int fd = open_made("short", 9, 100, O_RDWR);

	beyond = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(beyond != MAP_FAILED);
	beyond += 4096;
	close(fd);
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	served = open_made("a", 1, SIZE, O_RDONLY);
	warm(served);
	signal(SIGBUS, counting);
}

static void say_mask(const char *when)
{
	sigset_t now;
	sigset_t waiting;
	unsigned long bits[2];

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	sigpending(&waiting);
	memcpy(&bits[0], &now, sizeof(bits[0]));
	memcpy(&bits[1], &waiting, sizeof(bits[1]));
	say("%s: mask %lx pending %lx count %d", when, bits[0], bits[1], count);
}

/*
 * The kernel's idea and the library's must agree in this: where a hit may happen SIGBUS is
 * not blocked, or a file that gets shorter would kill.
 */
static void need_survival(void)
{
	int fd = open_made("shorter", 3, SIZE, O_RDWR);
	unsigned char buf[100];

	warm_try(fd);
	for (int i = 0; i < 400; i++)
		pread(fd, buf, 100, 200000);
	NEED(!ftruncate(fd, 1000));
	say_pread(fd, 100, 200000);
	say_pread(fd, 100, 950);
	close(fd);
}

static void by_mask(void)
{
	sigset_t all;
	sigset_t old;

	ready();
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

	ready();
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
	ready();
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

	ready();
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

	ready();
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

	ready();
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

	ready();
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

	ready();
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

	ready();
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

/* ---- waiting ---- */

static void by_sigwait(void)
{
	struct timespec none = {0, 0};
	siginfo_t si;
	int sig = 0;

	ready();
	sigprocmask(SIG_BLOCK, &bus, NULL);
	kill(getpid(), SIGBUS);
	say("sigwait %d: %d", sigwait(&bus, &sig), sig);
	say_mask("waited");
	sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 5});
	memset(&si, 0, sizeof(si));
	say_ret("sigwaitinfo", sigwaitinfo(&bus, &si));
	say("code %d value %d", si.si_code, si.si_value.sival_int);
	say_ret("sigtimedwait", sigtimedwait(&bus, &si, &none));
	kill(getpid(), SIGBUS);
	say_ret("sigtimedwait", sigtimedwait(&bus, &si, &none));
	say("code %d", si.si_code);
	say_read(served, 10);
	say_mask("at last");
	need_survival();
}

static void by_signalfd(void)
{
	struct signalfd_siginfo si;
	int sfd;

	ready();
	sigprocmask(SIG_BLOCK, &bus, NULL);
	sfd = signalfd(-1, &bus, SFD_NONBLOCK | SFD_CLOEXEC);
	NEED(sfd >= 0);
	kill(getpid(), SIGBUS);
	say_ret("read", read(sfd, &si, sizeof(si)));
	say("signal %u code %d", si.ssi_signo, si.ssi_code);
	say_ret("read", read(sfd, &si, sizeof(si)));
	say_mask("read");
	need_survival();
}

/* Waiting with a mask of its own: blocked outside, let in while waiting, and the reverse. */
static void while_waiting(void)
{
	struct timespec soon = {0, 1000000};
	struct pollfd p = {.fd = -1};
	struct epoll_event ev;
	sigset_t none;
	sigset_t all;
	int ep = epoll_create1(EPOLL_CLOEXEC);

	ready();
	sigemptyset(&none);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &bus, NULL);
	kill(getpid(), SIGBUS);
	say_ret("sigsuspend", sigsuspend(&none));
	say_mask("sigsuspend");
	kill(getpid(), SIGBUS);
	say_ret("ppoll", ppoll(&p, 1, &soon, &none));
	say_mask("ppoll");
	kill(getpid(), SIGBUS);
	say_ret("ppoll all", ppoll(&p, 1, &soon, &all));
	say_mask("ppoll all");
	say_ret("pselect", pselect(0, NULL, NULL, NULL, &soon, &none));
	say_mask("pselect");
	kill(getpid(), SIGBUS);
	say_ret("epoll_pwait", epoll_pwait(ep, &ev, 1, 1, &none));
	say_mask("epoll_pwait");
	kill(getpid(), SIGBUS);
	say_ret("epoll_pwait2", epoll_pwait2(ep, &ev, 1, &soon, &none));
	say_mask("epoll_pwait2");
	need_survival();
	sigprocmask(SIG_UNBLOCK, &bus, NULL);
	say_mask("unblocked");
	need_survival();
}

/* ---- files that get shorter ---- */

static void truncated(void)
{
	int fd = open_made("t", 5, SIZE, O_RDWR);
	int other = open("t", O_RDWR);
	unsigned char buf[100];

	warm(fd);
	for (off_t at = 0; at < SIZE; at += 100)
		NEED(pread(fd, buf, 100, at) == 100);
	for (int round = 0; round < 60; round++) {
		off_t size = (off_t)(round * 7919L % SIZE);

		say_seek(fd, size > 50 ? size - 50 : 0, SEEK_SET);
		say_ret("ftruncate", ftruncate(other, size));
		say_read(fd, 100);
		say_read(fd, 100);
		say_pos(fd);
		say_pread(fd, 100, size + 4096);
		say_pread(fd, 100, size);
		say_pread(fd, 4000, size / 2);
		say_pread(fd, 100, 299900);
		/* and it grows again */
		make_file("t", 5 + (unsigned)round % 3, SIZE);
		say_read(fd, 100);
		for (int i = 0; i < 100; i++) {
			NEED(pread(fd, buf, 100, size) >= 0);
			NEED(pread(fd, buf, 100, 299800) == 100);
		}
	}
	say("count %d", count);
}

static void truncated_with_default(void)
{
	served = open_made("a", 1, SIZE, O_RDONLY);
	truncated();
}

static void truncated_with_handler(void)
{
	ready();
	truncated();
	say_mask("at last");
}

/* Another process does it while this one reads without end. */
static void truncated_meanwhile(void)
{
	int fd = open_made("t", 5, SIZE, O_RDONLY);
	static unsigned char buf[9000];
	long got = 0;
	int status;
	pid_t pid;

	ready();
	warm(fd);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 300; i++) {
			NEED(!truncate("t", i * 977L % SIZE));
			make_file("t", 5, SIZE);
		}
		_exit(0);
	}
	do {
		for (off_t at = 0; at < SIZE - 9000; at += 4321) {
			ssize_t n = pread(fd, buf, 9000, at);

			CHECK(n >= 0, "errno %d", errno);
			got += n > 0;
		}
	} while (waitpid(pid, &status, WNOHANG) == 0);
	CHECK(!status, "status %x", status);
	CHECK(!count, "the handler was called");
	CHECK(got > 0, "nothing was read");
	for (off_t at = 0; at < SIZE - 9000; at += 4321)
		CHECK(pread(fd, buf, 9000, at) == 9000 &&
			      is_content(buf, 9000, 5, (uint64_t)at),
		      "at %ld", (long)at);
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
	{"sigwait", by_sigwait, SELF_BOTH},
	{"signalfd", by_signalfd, SELF_BOTH},
	{"waiting", while_waiting, SELF_BOTH},
	{"truncated", truncated_with_default, SELF_BOTH},
	{"truncated-with-handler", truncated_with_handler, SELF_BOTH},
	{"truncated-meanwhile", truncated_meanwhile, SELF_OURS},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
