/* test_exec.c - other programs that inherit a number: spawned, run by a shell, exec'd. Each
 * finds the position where the kernel alone would have it, and so does this one afterwards. */
#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <wordexp.h>

#include "_self.h"

#define SIZE 300000

extern char **environ;

typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);

static int ready(const char *path, unsigned id, off_t at)
{
	int fd = open_made(path, id, SIZE, O_RDONLY);

	warm(fd);
	say_seek(fd, at, SEEK_SET);
	say_read(fd, 10);
	return fd;
}

/* After the child: our side of the description, and whether life goes on. */
static void afterwards(int fd)
{
	int again;

	say_pos(fd);
	say_kernel_pos(fd);
	say_read(fd, 9);
	say_kernel_pos(fd);
	say_pread(fd, 100, 5000);
	again = open_made("later", 7, SIZE, O_RDONLY);
	warm(again);
	say_read(again, 10);
	need_hits(again);
	close(again);
	need_unmapped_file("later");
}

/* ---- posix_spawn ---- */

static void spawn_and_wait(spawn_fn *spawn, const char *program,
			   const posix_spawn_file_actions_t *fa, char *const args[])
{
	pid_t pid = -1;
	int err = spawn(&pid, program, fa, NULL, args, environ);

	if (!err)
		say_wait(pid); /* first, so that the child's lines come before ours */
	say("spawn = %d", err);
}

static void spawn_with(spawn_fn *spawn, const char *program)
{
	int fd = ready("a", 1, 100);
	int hidden = ready("b", 2, 300);
	posix_spawn_file_actions_t fa;
	char *args[6];

	NEED(spawn);
	fcntl(hidden, F_SETFD, FD_CLOEXEC);
	say("plain spawn");
	reader_args(args, program, fd, 20, "spawned");
	spawn_and_wait(spawn, program, NULL, args);
	say_read(fd, 5);

	say("with file actions");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, hidden, 60);
	posix_spawn_file_actions_addclose(&fa, fd);
	posix_spawn_file_actions_addopen(&fa, fd, "b", O_RDONLY, 0);
	reader_args(args, program, 60, 20, "dup2");
	spawn_and_wait(spawn, program, &fa, args);
	say_pos(hidden);
	say_read(hidden, 5);
	reader_args(args, program, fd, 20, "opened");
	spawn_and_wait(spawn, program, &fa, args);
	posix_spawn_file_actions_destroy(&fa);
	say_read(fd, 5);

	say("failing");
	spawn_and_wait(spawn, "/nowhere/at/all", NULL, args);
	say_read(fd, 5);
	say_read(hidden, 5);
	afterwards(fd);
	afterwards(hidden);
}

static void spawn_now(void)
{
	spawn_with(posix_spawn, self_exe);
}

static void spawn_p(void)
{
	spawn_with(posix_spawnp, self_exe);
}

static void spawn_static(void)
{
	spawn_with(posix_spawn, self_static);
}

static void spawn_old(void)
{
	spawn_with((spawn_fn *)dlvsym(RTLD_DEFAULT, "posix_spawn", "GLIBC_2.2.5"),
		   self_exe);
}

static void spawnp_old(void)
{
	spawn_with((spawn_fn *)dlvsym(RTLD_DEFAULT, "posix_spawnp", "GLIBC_2.2.5"),
		   self_exe);
}

/* The old version runs a file without #! through the shell; the new one says ENOEXEC. */
static void spawn_versions(void)
{
	spawn_fn *const fn[] = {
		posix_spawn,
		(spawn_fn *)dlvsym(RTLD_DEFAULT, "posix_spawn", "GLIBC_2.2.5"),
		(spawn_fn *)dlvsym(RTLD_DEFAULT, "posix_spawn", "GLIBC_2.15"),
		posix_spawnp,
		(spawn_fn *)dlvsym(RTLD_DEFAULT, "posix_spawnp", "GLIBC_2.2.5"),
		(spawn_fn *)dlvsym(RTLD_DEFAULT, "posix_spawnp", "GLIBC_2.15"),
	};
	char *args[] = {"./script", NULL};
	int script = open("script", O_WRONLY | O_CREAT, 0700);

	NEED(script >= 0 && write(script, "exit 5\n", 7) == 7);
	close(script);
	for (size_t i = 0; i < sizeof(fn) / sizeof(fn[0]); i++) {
		pid_t pid;
		int err;

		NEED(fn[i]);
		err = fn[i](&pid, "./script", NULL, NULL, args, environ);
		say("version %zu: %d", i, err);
		if (!err)
			say_wait(pid);
	}
}

/* ---- the shell ---- */

static void command(char *to, size_t size, int fd, const char *tag)
{
	snprintf(to, size, "'%s' --read %d 20 %s", self_exe, fd, tag);
}

static void by_system(void)
{
	int fd = ready("a", 1, 100);
	char line[4300];

	command(line, sizeof(line), fd, "system");
	say_ret("system", system(line));
	say_read(fd, 5);
	say_ret("system", system("exit 3"));
	say_ret("system", system("dd bs=1 count=7 status=none >/dev/null <&3"));
	say_read(fd, 5);
	afterwards(fd);
}

static void by_popen(void)
{
	int fd = ready("a", 1, 100);
	char line[4300];
	char out[8] = "";
	FILE *p;

	command(line, sizeof(line), fd, "popen");
	p = popen(line, "r");
	NEED(p);
	say_ret("pclose", pclose(p));
	say_read(fd, 5);
	p = popen("dd bs=1 count=7 status=none <&3 | wc -c", "r");
	NEED(p && fgets(out, sizeof(out), p));
	say("said %s", out);
	say_ret("pclose", pclose(p));
	p = popen("cat >/dev/null", "w");
	NEED(p && fputs("hello", p) >= 0);
	say_ret("pclose", pclose(p));
	afterwards(fd);
}

static void by_wordexp(void)
{
	int fd = ready("a", 1, 100);
	wordexp_t w;

	say_ret("wordexp",
		wordexp("$(dd bs=1 count=7 status=none <&3 | wc -c) x", &w, 0));
	say("%zu words, %s", w.we_wordc, w.we_wordv[0]);
	wordfree(&w);
	afterwards(fd);
}

/* ---- exec ---- */

static void exec_ready(int *fd, char *args[6], const char *program)
{
	*fd = ready("a", 1, 100);
	say_read(*fd, 1);
	reader_args(args, program, *fd, 20, "after exec");
}

static void exec_preloaded(void)
{
	char *args[6];
	int fd;

	exec_ready(&fd, args, self_exe);
	execv(self_exe, args);
}

static void exec_unpreloaded(void)
{
	char *args[6];
	int fd;

	exec_ready(&fd, args, self_exe);
	unsetenv("LD_PRELOAD");
	execve(self_exe, args, environ);
}

static void exec_static(void)
{
	char *args[6];
	int fd;

	if (access(self_static, X_OK))
		self_skip("static_reader was not built");
	exec_ready(&fd, args, self_static);
	execvp(self_static, args);
}

static void exec_l(void)
{
	char number[12];
	char *args[6];
	int fd;

	exec_ready(&fd, args, self_exe);
	snprintf(number, sizeof(number), "%d", fd);
	execl(self_exe, self_exe, "--read", number, "9", "execl", NULL);
}

static void exec_le(void)
{
	char number[12];
	char *args[6];
	int fd;

	exec_ready(&fd, args, self_exe);
	snprintf(number, sizeof(number), "%d", fd);
	execle(self_exe, self_exe, "--read", number, "9", "execle", NULL, environ);
}

static void exec_f(void)
{
	char *args[6];
	int fd;

	exec_ready(&fd, args, self_exe);
	fexecve(open(self_exe, O_RDONLY), args, environ);
}

static void exec_at(void)
{
	char *args[6];
	int fd;

	exec_ready(&fd, args, self_exe);
	execveat(AT_FDCWD, self_exe, args, environ, 0);
}

static void exec_failing(void)
{
	char *args[] = {"x", NULL};
	int a = ready("a", 1, 100);
	int b = ready("b", 2, 5000);
	int own;

	say_ret("execv", execv("/nowhere", args));
	say_read(a, 10);
	say_ret("execl", execl("/nowhere", "x", NULL));
	say_ret("execvp", execvp("no-such-program-anywhere", args));
	say_ret("execve of a folder", execve("/", args, environ));
	say_ret("fexecve", fexecve(a, args, environ));
	own = open_made("own", 4, SIZE, O_RDONLY);
	warm(own);
	say_read(own, 10);
	say_read(a, 10);
	say_read(b, 10);
	say_ret("execv", execv("/nowhere", args));
	say_read(own, 10);
	afterwards(a);
	afterwards(own);
}

/* The mask that a program is started with is the one its predecessor believed to have. */
/* To see the mask that a new program finds. Not by a shell: dash clears it. */
static void become_grep(void)
{
	const char *trace = getenv("SELF_TRACE");
	int out = trace ? open(trace, O_WRONLY | O_APPEND) : -1;

	if (dup2(out, 1) == 1)
		execl("/bin/grep", "grep", "SigBlk", "/proc/self/status", NULL);
	_exit(1);
}

static void exec_grep(void)
{
	pid_t pid = fork();

	if (!pid)
		become_grep();
	say_wait(pid);
}

static void exec_mask(void)
{
	sigset_t set;
	char *args[6];
	int fd;

	exec_ready(&fd, args, "/bin/sh");
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	become_grep();
}

static void spawn_mask(void)
{
	sigset_t set;
	int fd = ready("a", 1, 100);

	sigfillset(&set);
	sigdelset(&set, SIGBUS);
	sigprocmask(SIG_SETMASK, &set, NULL);
	exec_grep();
	say_ret("system", system("true"));
	afterwards(fd);
	exec_grep();
	/* Not served any more, but right. */
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	exec_grep();
	say_ret("system", system("true"));
	say_pos(fd);
	say_read(fd, 9);
	exec_grep();
}

/* A window must not keep a program's file busy once it is closed, nor let it run before. */
static void text_busy(void)
{
	char *args[6];
	int fd;
	pid_t pid;

	say_ret("cp", system("cp /bin/true program"));
	fd = open("program", O_RDWR);
	warm(fd);
	reader_args(args, "./program", 0, 0, "");
	say("spawn: %s",
	    strerror(posix_spawn(&pid, "./program", NULL, NULL, args, environ)));
	close(fd);
	need_unmapped_file("program");
	say("spawn: %s",
	    strerror(posix_spawn(&pid, "./program", NULL, NULL, args, environ)));
	say_wait(pid);
}

static const struct self_case cases[] = {
	{"posix_spawn", spawn_now, SELF_BOTH},
	{"posix_spawnp", spawn_p, SELF_BOTH},
	{"posix_spawn-static", spawn_static, SELF_BOTH},
	{"posix_spawn@GLIBC_2.2.5", spawn_old, SELF_BOTH},
	{"posix_spawnp@GLIBC_2.2.5", spawnp_old, SELF_BOTH},
	{"posix_spawn-versions", spawn_versions, SELF_BOTH},
	{"system", by_system, SELF_BOTH},
	{"popen", by_popen, SELF_BOTH},
	{"wordexp", by_wordexp, SELF_BOTH},
	{"exec-preloaded", exec_preloaded, SELF_BOTH},
	{"exec-unpreloaded", exec_unpreloaded, SELF_BOTH},
	{"exec-static", exec_static, SELF_BOTH},
	{"execl", exec_l, SELF_BOTH},
	{"execle", exec_le, SELF_BOTH},
	{"fexecve", exec_f, SELF_BOTH},
	{"execveat", exec_at, SELF_BOTH},
	{"exec-failing", exec_failing, SELF_BOTH},
	{"exec-mask", exec_mask, SELF_BOTH},
	{"spawn-mask", spawn_mask, SELF_BOTH},
	{"text-busy", text_busy, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
