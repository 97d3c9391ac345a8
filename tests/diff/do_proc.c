/* Steps that make processes and threads, and see them off. */
#define _GNU_SOURCE
#include "interp.h"
#include "twins.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

/* The versions that programs built against an old glibc call. */
__asm__(".symver old_posix_spawn, posix_spawn@GLIBC_2.2.5");
__asm__(".symver old_posix_spawnp, posix_spawnp@GLIBC_2.2.5");
extern __typeof__(posix_spawn) old_posix_spawn;
extern __typeof__(posix_spawnp) old_posix_spawnp;

/* The environment with or without the library. */
static char **environment(bool bare)
{
	static char *without[256];
	size_t n = 0;

	if (!bare)
		return environ;
	for (char **e = environ; *e && n < 255; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11))
			without[n++] = *e;
	without[n] = NULL;
	return without;
}

static const char *how_ended(int status)
{
	static __thread char text[40];

	if (WIFEXITED(status))
		snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	return text;
}

/* Forks that go on as actors. */

static pid_t call_fork(int name)
{
	switch (name) {
	case 0:
		return PW_CALL(fork());
	case 1:
		return PW_CALL(__fork());
	case 2:
		return PW_CALL(_Fork());
	case 3:
		return PW_CALL(syscall(SYS_fork));
	default:
		return PW_CALL(syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L));
	}
}

void pw_do_FORK(const struct pw_step *s)
{
	int a = s->arg[0];
	pid_t pid;

	if (!pw_actor_claim(a, true)) {
		pw_skipped(s, "actor is taken");
		return;
	}
	pid = call_fork(s->name);
	if (!pid) {
		pw_self = a;
		pw_keep_turn = true;
		if (pw_err != PW_UNTOUCHED)
			pw_note("  child has errno=%s\n", pw_errname(pw_err));
		pw_sh->actor[a].pid = PW_RAW0(SYS_getpid);
		pw_actor_ready(a);
		return;
	}
	if (pid < 0)
		pw_sh->actor[a].life = PW_ENDED;
	else
		pw_actor_await(a);
	pw_said(s, pid > 0, " ");
}

static struct {
	bool there;
	pthread_t id;
	int pid;
} threads[PW_MAX_ACTORS];

static void *thread_main(void *arg)
{
	pw_self = (int)(intptr_t)arg;
	pw_actor_ready(pw_self);
	pw_run_steps(-1);
	/* After a fork it may be the first thread of another process. */
	if (pw_sh->actor[pw_self].leader)
		pw_end_process(0, 0);
	pw_sh->actor[pw_self].life = PW_ENDED;
	pw_pass_turn();
	return NULL;
}

void pw_do_THREAD(const struct pw_step *s)
{
	int a = s->arg[0], ret;
	pthread_attr_t attr;

	if (!pw_actor_claim(a, false)) {
		pw_skipped(s, "actor is taken");
		return;
	}
	pthread_attr_init(&attr);
	if (s->arg[1] > 0)
		pthread_attr_setstacksize(&attr, (s->arg[1] & 0xff) * 4096 + 32768);
	ret = PW_CALL(
		pthread_create(&threads[a].id, &attr, thread_main, (void *)(intptr_t)a));
	pthread_attr_destroy(&attr);
	threads[a].there = !ret;
	threads[a].pid = PW_RAW0(SYS_getpid);
	if (ret)
		pw_sh->actor[a].life = PW_ENDED;
	else
		pw_actor_await(a);
	pw_said(s, ret, " ");
}

void pw_do_WAIT(const struct pw_step *s)
{
	struct pw_actor *a = &pw_sh->actor[s->arg[0]];
	int status = 0, ret;

	if (a->life != PW_ENDED || (!a->pid && !threads[s->arg[0]].there)) {
		pw_skipped(s, "has not ended");
	} else if (a->leader) {
		ret = PW_CALL(waitpid(a->pid, &status, 0));
		pw_said(s, ret > 0 ? 1 : ret, "%s", how_ended(status));
	} else if (threads[s->arg[0]].there &&
		   threads[s->arg[0]].pid == PW_RAW0(SYS_getpid)) {
		threads[s->arg[0]].there = false;
		ret = PW_CALL(pthread_join(threads[s->arg[0]].id, NULL));
		pw_said(s, ret, "thread");
	} else {
		pw_skipped(s, "another's thread");
	}
}

/* Children that run the helper, which reads from what it inherits. */

int pw_helper(const char *shared, int fd, int size)
{
	static char buf[4096];
	off_t before, after;
	ssize_t n;

	(void)shared;
	if (size > (int)sizeof(buf))
		size = sizeof(buf);
	before = PW_CALL(lseek(fd, 0, SEEK_CUR));
	n = PW_CALL(read(fd, buf, size));
	pw_note("  helper: fd %d at %lld, read %zd errno=%s h=%08x", fd,
		(long long)before, n, pw_errname(pw_err),
		n > 0 ? (unsigned int)pw_hash(buf, n) : 0);
	after = PW_CALL(lseek(fd, 0, SEEK_CUR));
	pw_note(", then at %lld errno=%s\n", (long long)after, pw_errname(pw_err));
	return 0;
}

struct helper_args {
	char fd[16], size[16];
	char *argv[8];
	const char *path;
	char **env;
};

static void helper_args(struct helper_args *h, int fd, int64_t size, int64_t how)
{
	snprintf(h->fd, sizeof(h->fd), "%d", fd);
	snprintf(h->size, sizeof(h->size), "%lld", (long long)size);
	h->argv[0] = (char *)pw_program_path;
	h->argv[1] = "--helper";
	h->argv[2] = (char *)pw_shared_path;
	h->argv[3] = h->fd;
	h->argv[4] = h->size;
	h->argv[5] = NULL;
	h->path = how & PW_CH_FAIL ? "missing/x" : pw_program_path;
	h->env = environment(how & PW_CH_BARE);
}

/* A child that shares our memory uses pw_err too, hence the err apart. */
static void await_child(const struct pw_step *s, pid_t pid, int err)
{
	int status = 0;

	if (pid > 0)
		waitpid(pid, &status, __WALL);
	pw_err = err;
	pw_said(s, pid > 0 ? 1 : pid, "%s", pid > 0 ? how_ended(status) : "");
}

static void in_vfork_child(const struct helper_args *h, int fd, int64_t how, int64_t size)
{
	int ret;

	if (how & PW_CH_DUP0) {
		ret = PW_CALL(dup2(fd, 0));
		pw_note("  child: dup2 %d errno=%s\n", ret, pw_errname(pw_err));
	}
	if (how & PW_CH_READ) {
		static char buf[512];

		ret = PW_CALL(read(fd, buf, size > 512 ? 512 : size));
		pw_note("  child: read %d errno=%s h=%08x\n", ret, pw_errname(pw_err),
			ret > 0 ? (unsigned int)pw_hash(buf, ret) : 0);
	}
	if (how & PW_CH_CLOSE) {
		ret = PW_CALL(close(fd));
		pw_note("  child: close %d errno=%s\n", ret, pw_errname(pw_err));
	}
	if (how & PW_CH_EXIT)
		_exit(7);
	ret = PW_CALL(execve(h->path, h->argv, h->env));
	pw_note("  child: exec %d errno=%s\n", ret, pw_errname(pw_err));
	_exit(9);
}

void pw_do_VFORK(const struct pw_step *s)
{
	int64_t how = s->arg[1];
	int fd = pw_fd(s->arg[0]);
	struct helper_args h;
	pid_t pid;

	helper_args(&h, how & PW_CH_DUP0 ? 0 : fd, s->arg[2], how);
	errno = PW_UNTOUCHED;
	if (s->name)
		pid = __vfork();
	else
		pid = vfork();
	if (!pid)
		in_vfork_child(&h, fd, how, s->arg[2]);
	/* The child has used the same errno: only a failure says something. */
	await_child(s, pid, pid < 0 ? errno : PW_UNTOUCHED);
}

void pw_do_SPAWN(const struct pw_step *s)
{
	static __typeof__(posix_spawn) *const spawn[] = {
		posix_spawn,
		posix_spawnp,
		old_posix_spawn,
		old_posix_spawnp,
	};
	int64_t how = s->arg[1];
	int fd = pw_fd(s->arg[0]), ret;
	posix_spawn_file_actions_t fa;
	struct helper_args h;
	pid_t pid = 0;

	helper_args(&h, how & PW_CH_DUP0 ? 0 : how & PW_CH_OPEN ? 9 : fd, s->arg[2], how);
	posix_spawn_file_actions_init(&fa);
	if (how & PW_CH_OPEN)
		posix_spawn_file_actions_addopen(&fa, 9, "f0", O_RDONLY, 0);
	if (how & PW_CH_DUP0)
		posix_spawn_file_actions_adddup2(&fa, fd, 0);
	if (how & PW_CH_CLOSE)
		posix_spawn_file_actions_addclose(&fa, fd);
	ret = PW_CALL(spawn[s->name](&pid, h.path, &fa, NULL, h.argv, h.env));
	posix_spawn_file_actions_destroy(&fa);
	if (ret)
		pw_said(s, ret, " ");
	else
		await_child(s, pid, pw_err);
}

/* Shells. */

static bool shell_command(char *out, size_t size, const struct pw_step *s, bool to_log)
{
	const char *log = to_log ? " >>log" : "";
	int fd = pw_fd(s->arg[0]), n = s->arg[2] & 0xfff;

	if (fd < 0 || fd > 9) {
		pw_skipped(s, "no number for a shell");
		return false;
	}
	switch (s->arg[1]) {
	case PW_SH_READLINE:
		snprintf(out, size, "read -r x <&%d; echo \"$x\"%s", fd, log);
		break;
	case PW_SH_HEAD:
		snprintf(out, size, "head -c %d <&%d%s", n, fd, log);
		break;
	case PW_SH_HELPER:
		snprintf(out, size, "exec '%s' --helper '%s' %d %d", pw_program_path,
			 pw_shared_path, fd, n);
		break;
	case PW_SH_CAT:
		snprintf(out, size, "head -c %d <&%d | cat%s", n, fd, log);
		break;
	case PW_SH_TWO:
		snprintf(out, size, "{ head -c %d; read -r x; echo \"$x\"; } <&%d%s", n,
			 fd, log);
		break;
	default:
		snprintf(out, size, "echo %d >&%d", n, fd);
		break;
	}
	return true;
}

void pw_do_SYSTEM(const struct pw_step *s)
{
	char cmd[400];
	int ret;

	if (!shell_command(cmd, sizeof(cmd), s, true))
		return;
	ret = PW_CALL(system(cmd));
	pw_said(s, ret, " ");
}

void pw_do_POPEN(const struct pw_step *s)
{
	static char buf[8192];
	char cmd[400];
	size_t n;
	FILE *f;
	int fd = pw_fd(s->arg[0]), ret, opened, reading;

	if (s->arg[1] == PW_SH_WRITE) {
		if (fd < 0 || fd > 9) {
			pw_skipped(s, "no number for a shell");
			return;
		}
		snprintf(cmd, sizeof(cmd), "cat >&%d", fd);
		f = PW_CALL(popen(cmd, "w"));
		pw_said(s, f ? 0 : -1, "popen");
		if (!f)
			return;
		fwrite(pw_bytes(s->arg[2] & 0xfff, 7), 1, s->arg[2] & 0xfff, f);
	} else {
		if (!shell_command(cmd, sizeof(cmd), s, false))
			return;
		f = PW_CALL(popen(cmd, "r"));
		opened = pw_err;
		n = f ? PW_CALL(fread(buf, 1, sizeof(buf), f)) : 0;
		/* Not before: the child has its own to say, and is done only now. */
		reading = pw_err;
		pw_err = opened;
		pw_said(s, f ? 0 : -1, "popen");
		pw_err = reading;
		if (!f)
			return;
		pw_said(s, n, "h=%08x", (unsigned int)pw_hash(buf, n));
	}
	/* Whether a pipe that nobody reads has been closed yet is a matter of luck. */
	ret = PW_CALL(pclose(f));
	pw_err = ret < 0 ? pw_err : PW_UNTOUCHED;
	pw_said(s, ret, "pclose");
}

void pw_do_WORDEXP(const struct pw_step *s)
{
	int fd = pw_fd(s->arg[0]), n = s->arg[1] & 0x3f, ret;
	uint64_t h = 0;
	char words[80];
	wordexp_t we = {0};

	if (fd < 0 || fd > 9) {
		pw_skipped(s, "no number for a shell");
		return;
	}
	snprintf(words, sizeof(words), "$(head -c %d <&%d | od)", n, fd);
	ret = PW_CALL(wordexp(words, &we, 0));
	for (size_t i = 0; !ret && i < we.we_wordc; i++)
		h = h * 31 + pw_hash(we.we_wordv[i], strlen(we.we_wordv[i]));
	pw_said(s, ret, "words=%zu h=%08x", we.we_wordc, (unsigned int)h);
	if (!ret)
		wordfree(&we);
}

/* Exec of the interpreter itself, which goes on where it was. */

static int call_exec(int name, const char *path, char **argv, char **env)
{
	int fd;

	switch (name) {
	case 0:
		return PW_CALL(execve(path, argv, env));
	case 1:
		return PW_CALL(execv(path, argv));
	case 2:
		return PW_CALL(execvp(path, argv));
	case 3:
		return PW_CALL(execvpe(path, argv, env));
	case 4:
		return PW_CALL(execl(path, argv[0], argv[1], argv[2], argv[3], NULL));
	case 5:
		return PW_CALL(execlp(path, argv[0], argv[1], argv[2], argv[3], NULL));
	case 6:
		return PW_CALL(
			execle(path, argv[0], argv[1], argv[2], argv[3], NULL, env));
	case 7:
		fd = open(path, O_RDONLY | O_CLOEXEC);
		return PW_CALL(fexecve(fd, argv, env));
	case 8:
		return PW_CALL(execveat(AT_FDCWD, path, argv, env, 0));
	default:
		return PW_CALL(syscall(SYS_execve, path, argv, env));
	}
}

void pw_do_EXEC(const struct pw_step *s)
{
	struct pw_actor before[PW_MAX_ACTORS];
	struct pw_actor *a = &pw_sh->actor[pw_self];
	char self[16];
	char *argv[] = {(char *)pw_program_path, "--resume", (char *)pw_shared_path, self,
			NULL};
	int ret;

	snprintf(self, sizeof(self), "%d", pw_self);
	memcpy(before, pw_sh->actor, sizeof(before));
	memcpy(pw_sh->slot, pw_slot, sizeof(pw_slot));
	pw_actors_end_process(a->proc);
	a->life = PW_ALIVE;
	a->leader = 1;
	pw_err = PW_UNTOUCHED;
	pw_said(s, 0, "goes on");
	ret = call_exec(s->name, pw_program_path, argv,
			environment(s->arg[0] & PW_EX_BARE));
	memcpy(pw_sh->actor, before, sizeof(before));
	pw_said(s, ret, "exec failed");
}

void pw_do_EXECFAIL(const struct pw_step *s)
{
	static const char *const paths[] = {"missing/x", "./d0", "./f0", "./nothing"};
	const char *path = paths[s->arg[0] & 3];
	char *argv[] = {"x", NULL};
	int ret;

	switch (s->name) {
	case 0:
		ret = PW_CALL(execve(path, argv, environ));
		break;
	case 1:
		ret = PW_CALL(execv(path, argv));
		break;
	case 2:
		ret = PW_CALL(execvp(path, argv));
		break;
	case 3:
		ret = PW_CALL(execl(path, "x", NULL));
		break;
	default:
		ret = PW_CALL(syscall(SYS_execve, path, argv, environ));
		break;
	}
	pw_said(s, ret, " ");
}

/* clone: a child that reads and ends. */

struct cloned {
	int fd;
	size_t size;
	bool closes;
};

static int clone_main(void *arg)
{
	static char buf[4096];
	struct cloned *c = arg;
	ssize_t n = PW_CALL(read(c->fd, buf, c->size));

	pw_note("  clone: read %zd errno=%s h=%08x\n", n, pw_errname(pw_err),
		n > 0 ? (unsigned int)pw_hash(buf, n) : 0);
	if (c->closes) {
		int ret = PW_CALL(close(c->fd));

		pw_note("  clone: close %d errno=%s\n", ret, pw_errname(pw_err));
	}
	_exit(5);
}

void pw_do_CLONE(const struct pw_step *s)
{
	static const int flags[] = {0, CLONE_FILES, CLONE_VM};
	static char stack[65536] __attribute__((aligned(16)));
	struct cloned c = {pw_fd(s->arg[0]), s->arg[1] & 0xfff, s->name == 1};
	pid_t pid;

	errno = PW_UNTOUCHED;
	pid = clone(clone_main, stack + sizeof(stack), flags[s->name] | SIGCHLD, &c);
	await_child(s, pid, pid < 0 ? errno : PW_UNTOUCHED);
}

/* What the kernel itself thinks of every position: told by a child. */
void pw_do_KPOS(const struct pw_step *s)
{
	int status = 0;
	pid_t pid = PW_CALL(fork());

	if (!pid) {
		for (int fd = 0; fd < 100; fd++) {
			long pos = PW_RAW3(SYS_lseek, fd, 0, SEEK_CUR);

			if (pos != -EBADF)
				pw_note("  kernel: @%d fd %d at %ld\n", pw_self, fd, pos);
		}
		PW_RAW1(SYS_exit_group, 0);
	}
	if (pid > 0)
		PW_RAW4(SYS_wait4, pid, &status, 0, 0);
	if (s)
		pw_said(s, pid > 0 ? 1 : pid, " ");
}
