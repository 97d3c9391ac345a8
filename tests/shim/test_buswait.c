/* test_buswait.c - SIGBUS waited for, or let in while waiting. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

#include "bus.h"

static void by_sigwait(void)
{
	struct timespec none = {0, 0};
	siginfo_t si;
	int sig = 0;

	bus_ready();
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

	bus_ready();
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

	bus_ready();
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

static const struct self_case cases[] = {
	{"sigwait", by_sigwait, SELF_BOTH},
	{"signalfd", by_signalfd, SELF_BOTH},
	{"waiting", while_waiting, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
