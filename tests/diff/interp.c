/*
 * Runs a program step by step. Actors (threads and processes) take turns: only
 * the one named in the shared turn word runs, so that the order of all steps is
 * the program's own and two runs can be compared line by line.
 */
#define _GNU_SOURCE
#include "interp.h"
#include "run.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct pw_shared *pw_sh;
const char *pw_shared_path;
const char *pw_program_path;
__thread int pw_self;
__thread int pw_err;
__thread bool pw_keep_turn;
int pw_slot[PW_SLOTS];
FILE *pw_stream[PW_STREAMS];

/* The trace. */

static void vnote(const char *fmt, va_list ap)
{
	size_t left = sizeof(pw_sh->trace) - pw_sh->len;
	int n = vsnprintf(pw_sh->trace + pw_sh->len, left, fmt, ap);

	if (n > 0)
		pw_sh->len += (size_t)n < left ? (size_t)n : left - 1;
}

void pw_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
}

const char *pw_errname(int err)
{
	static __thread char other[16];
	const char *name;

	if (err == PW_UNTOUCHED)
		return "-";
	name = err ? strerrorname_np(err) : "0";
	if (name)
		return name;
	snprintf(other, sizeof(other), "%d", err);
	return other;
}

static void note_step(const struct pw_step *s)
{
	size_t left;

	pw_note("%d ", (int)(s - pw_sh->prog.step));
	left = sizeof(pw_sh->trace) - pw_sh->len;
	pw_sh->len += pw_step_format(pw_sh->trace + pw_sh->len, left, s);
}

void pw_said(const struct pw_step *s, long long ret, const char *fmt, ...)
{
	va_list ap;

	note_step(s);
	pw_note(" -> %lld errno=%s ", ret, pw_errname(pw_err));
	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
	pw_note("\n");
}

void pw_skipped(const struct pw_step *s, const char *why)
{
	note_step(s);
	pw_note(" skipped: %s\n", why);
}

/* Turns. */

static void wait_turn(void)
{
	for (;;) {
		uint32_t turn = __atomic_load_n(&pw_sh->turn, __ATOMIC_ACQUIRE);

		if (turn == (uint32_t)pw_self)
			return;
		PW_RAW4(SYS_futex, &pw_sh->turn, FUTEX_WAIT, turn, 0);
	}
}

static void give_turn(int actor)
{
	__atomic_store_n(&pw_sh->turn, actor, __ATOMIC_RELEASE);
	PW_RAW3(SYS_futex, &pw_sh->turn, FUTEX_WAKE, 1000);
}

/*
 * A process that ends gives its turn away first and then still closes
 * descriptors and flushes streams; whoever comes next waits until it is gone.
 */
static void await_exiting(void)
{
	int pid = pw_sh->exiting;
	struct pollfd gone = {.events = POLLIN};

	if (!pid || pid == PW_RAW0(SYS_getpid))
		return;
	gone.fd = PW_RAW2(SYS_pidfd_open, pid, 0);
	if (gone.fd >= 0) {
		while (PW_RAW3(SYS_poll, &gone, 1, -1) != 1)
			;
		PW_RAW1(SYS_close, gone.fd);
	}
	pw_sh->exiting = 0;
}

bool pw_at_end(void)
{
	return pw_sh->pc >= pw_sh->prog.steps;
}

/* At the end threads go first, then processes, the first process last. */
static int next_to_end(void)
{
	for (int i = 0; i < PW_MAX_ACTORS; i++)
		if (pw_sh->actor[i].life == PW_ALIVE && !pw_sh->actor[i].leader)
			return i;
	for (int i = 0; i < PW_MAX_ACTORS; i++)
		if (pw_sh->actor[i].life == PW_ALIVE && pw_sh->actor[i].proc)
			return i;
	for (int i = 0; i < PW_MAX_ACTORS; i++)
		if (pw_sh->actor[i].life == PW_ALIVE)
			return i;
	return -1;
}

void pw_pass_turn(void)
{
	int next;

	for (; !pw_at_end(); pw_sh->pc++) {
		const struct pw_step *s = &pw_sh->prog.step[pw_sh->pc];

		if (pw_sh->actor[s->actor].life == PW_ALIVE) {
			give_turn(s->actor);
			return;
		}
		pw_skipped(s, "no such actor");
	}
	next = next_to_end();
	if (next >= 0)
		give_turn(next);
}

void pw_actor_ready(int actor)
{
	__atomic_store_n(&pw_sh->actor[actor].ready, 1, __ATOMIC_RELEASE);
}

void pw_actor_await(int actor)
{
	while (!__atomic_load_n(&pw_sh->actor[actor].ready, __ATOMIC_ACQUIRE))
		PW_RAW0(SYS_sched_yield);
}

bool pw_actor_claim(int actor, bool leader)
{
	struct pw_actor *a = &pw_sh->actor[actor];

	if (a->life != PW_UNUSED)
		return false;
	a->life = PW_ALIVE;
	a->leader = leader;
	a->proc = leader ? actor : pw_sh->actor[pw_self].proc;
	a->ready = 0;
	return true;
}

void pw_actors_end_process(int proc)
{
	for (int i = 0; i < PW_MAX_ACTORS; i++)
		if (pw_sh->actor[i].life == PW_ALIVE && pw_sh->actor[i].proc == proc)
			pw_sh->actor[i].life = PW_ENDED;
}

static void (*const doers[PW_OPS])(const struct pw_step *) = {
#define OP(id, group, spec, names) [PW_OP_##id] = pw_do_##id,
#include "ops.def"
#undef OP
};

void pw_do_step(const struct pw_step *s)
{
	doers[s->op](s);
}

void pw_run_steps(int limit)
{
	const struct pw_step *s;

	for (;;) {
		wait_turn();
		await_exiting();
		if (limit == 0 || pw_at_end())
			return;
		if (limit > 0)
			limit--;
		s = &pw_sh->prog.step[pw_sh->pc++];
		pw_do_step(s);
		if (pw_keep_turn)
			pw_keep_turn = false;
		else
			pw_pass_turn();
	}
}

/* The end of a process: where does every descriptor stand? */

#define LAST_FD 100

static void final_positions(void)
{
	for (int fd = 0; fd < LAST_FD; fd++) {
		long long pos = PW_CALL(lseek(fd, 0, SEEK_CUR));

		if (pw_err != EBADF)
			pw_note("end @%d fd %d at %lld errno=%s\n", pw_self, fd, pos,
				pw_errname(pw_err));
	}
}

void pw_end_process(int how, int status)
{
	struct pw_actor *a = &pw_sh->actor[pw_self];
	/* Under a limit the library writes no report. */
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	PW_RAW4(SYS_prlimit64, 0, RLIMIT_FSIZE, &none, 0);
	if (pw_at_end()) {
		/* What the program sees, then what the kernel is left with. */
		final_positions();
		pw_do_KPOS(NULL);
	}
	pw_actors_end_process(a->proc);
	pw_sh->exiting = PW_RAW0(SYS_getpid);
	pw_pass_turn();
	if (how)
		_exit(status);
	exit(status);
}

void pw_do_EXIT(const struct pw_step *s)
{
	if (pw_sh->actor[pw_self].leader && !pw_sh->actor[pw_self].proc) {
		pw_skipped(s, "the first process stays");
		return;
	}
	if (!pw_sh->actor[pw_self].leader) {
		pw_sh->actor[pw_self].life = PW_ENDED;
		pw_err = PW_UNTOUCHED;
		pw_said(s, 0, "thread ends");
		pw_pass_turn();
		pthread_exit(NULL);
	}
	pw_err = PW_UNTOUCHED;
	pw_said(s, 0, "ends");
	pw_end_process(s->arg[0], s->arg[1] & 0xff);
}

/* Starting. */

static void crashed(int sig)
{
	pw_note("CRASHED: %s\n", strsignal(sig));
	pw_sh->crashed = sig;
	PW_RAW2(SYS_kill, 0, SIGKILL);
}

static bool map_shared(const char *path)
{
	long fd = PW_RAW3(SYS_open, path, O_RDWR, 0);
	long p;

	if (fd < 0)
		return false;
	p = PW_RAW6(SYS_mmap, 0, sizeof(*pw_sh), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	PW_RAW1(SYS_close, fd);
	pw_sh = (struct pw_shared *)p;
	pw_shared_path = path;
	return p > 0 || p < -4095;
}

static void *unwinder;

int pw_interpret(const char *program, const char *shared, int actor)
{
	struct sigaction sa = {.sa_handler = crashed};

	if (!map_shared(shared))
		return 125;
	/*
	 * The first pthread_exit loads it, with a descriptor that another actor's next
	 * step might find taken, for the turn is handed on before.
	 */
	/* cppcheck-suppress leakReturnValNotUsed ; it stays */
	unwinder = dlopen("libgcc_s.so.1", RTLD_NOW);
	if (!unwinder)
		pw_note("no libgcc_s: pthread_exit may take a descriptor\n");
	pw_program_path = program;
	pw_self = actor;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGABRT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	PW_RAW6(SYS_mmap, PW_M_BASE, (long)PW_M_PAGES * 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(pw_slot, pw_sh->slot, sizeof(pw_slot));
	pw_sh->actor[actor].pid = PW_RAW0(SYS_getpid);
	/* After an exec the turn is still ours, and the step is not yet over. */
	if (pw_sh->actor[actor].ready)
		pw_pass_turn();
	pw_actor_ready(actor);
	pw_run_steps(-1);
	pw_end_process(0, 0);
	return 0;
}

int pw_help(const char *shared, const char *fd, const char *size)
{
	if (!map_shared(shared))
		return 125;
	return pw_helper(shared, atoi(fd), atoi(size));
}
