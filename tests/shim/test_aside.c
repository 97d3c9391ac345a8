/*
 * test_aside.c - limits and filters: what a program may do that leaves the library no room.
 * It has stepped aside before a system call of its own could hurt.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "_self.h"

#define SIZE 300000

/* ---- seccomp: everything but a few calls kills ---- */

#define ALLOW(nr)                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_read),
	ALLOW(SYS_write),
	ALLOW(SYS_pread64),
	ALLOW(SYS_lseek),
	ALLOW(SYS_exit),
	ALLOW(SYS_exit_group),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

static void by_prctl(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		raw1(SYS_exit, 90);
}

static void by_syscall(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		raw1(SYS_exit, 90);
}

/* read, write, exit and sigreturn. */
static void strict(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		raw1(SYS_exit, 90);
}

/* Two files, one of them still cold; nothing may be said once the filter is there. */
static void in_filter(void (*install)(void))
{
	unsigned char buf[300];
	int cold = open_made("cold", 2, SIZE, O_RDONLY);
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	long at = 1000;

	warm(fd);
	lseek(fd, at, SEEK_SET);
	install();
	for (int i = 0; i < 900; i++) {
		if (read(fd, buf, 300) != 300 || !is_content(buf, 300, 1, (uint64_t)at))
			raw1(SYS_exit, 91);
		at += 300;
		if (read(cold, buf, 7) != 7 || !is_content(buf, 7, 2, (uint64_t)i * 7))
			raw1(SYS_exit, 92);
		if (install == strict)
			continue;
		if (pread(fd, buf, 50, i) != 50 || !is_content(buf, 50, 1, (uint64_t)i) ||
		    lseek(fd, 0, SEEK_CUR) != at)
			raw1(SYS_exit, 93);
	}
	raw1(SYS_exit, 7);
}

static void filtered(void (*install)(void))
{
	pid_t pid = fork();

	if (!pid)
		in_filter(install);
	say_wait(pid);
}

static void seccomp_prctl(void)
{
	filtered(by_prctl);
}

static void seccomp_syscall(void)
{
	filtered(by_syscall);
}

static void seccomp_strict(void)
{
	filtered(strict);
}

/* The filter comes over other threads that are in the middle of reads. */
static int the_fd;
static atomic_long reads_by[2];

static void *preads(void *arg)
{
	unsigned char buf[300];

	for (unsigned i = 0;; i = (i + 1) % 2000) {
		if (pread(the_fd, buf, 300, i) != 300 || !is_content(buf, 300, 1, i))
			raw1(SYS_exit_group, 94);
		reads_by[(intptr_t)arg]++;
	}
	return arg;
}

/* Both threads go on. */
static void more_reads(void)
{
	for (int i = 0; i < 2; i++)
		for (long until = reads_by[i] + 1000; reads_by[i] < until;)
			;
}

static void filter_threads(void)
{
	int status;
	int bad = 0;

	for (int round = 0; round < 60; round++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_t t[2];

			the_fd = open_made("a", 1, SIZE, O_RDONLY);
			warm_window(the_fd);
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			for (intptr_t i = 0; i < 2; i++)
				NEED(!pthread_create(&t[i], NULL, preads, (void *)i));
			more_reads();
			if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_TSYNC, &program))
				raw1(SYS_exit_group, 90);
			more_reads();
			raw1(SYS_exit_group, 0);
		}
		NEED(waitpid(pid, &status, 0) == pid);
		if (status)
			fprintf(stderr, "ended: %x\n", (unsigned)status);
		bad += status != 0;
	}
	say("%d of 60 ended badly", bad);
}

/* ---- limits ---- */

static void reads_well(int fd, unsigned id)
{
	unsigned char buf[200];

	for (int i = 0; i < 1000; i++) {
		off_t at = i * 131L;

		CHECK(lseek(fd, at, SEEK_SET) == at, "errno %d", errno);
		CHECK(read(fd, buf, 200) == 200 && is_content(buf, 200, id, (uint64_t)at),
		      "at %ld", (long)at);
	}
	say_read(fd, 20);
	say_pos(fd);
}

/* This case again, as a program that begins under the limit. */
static void limited_from_start(const char *name, int which, rlim_t to)
{
	struct rlimit r = {to, to};

	if (getenv("LIMITED"))
		return;
	NEED(!setenv("LIMITED", "1", 1) && !setrlimit((__rlimit_resource_t)which, &r));
	execl(self_exe, self_exe, "--case", name, self_preloaded ? "preloaded" : "plain",
	      NULL);
	NEED(false);
}

static void space_from_start(void)
{
	int fd;

	limited_from_start("address-space-from-start", RLIMIT_AS, 1UL << 30);
	fd = open_made("a", 1, SIZE, O_RDONLY);
	warm_try(fd);
	reads_well(fd, 1);
	need_unmapped_file("a");
}

static void space_later(void)
{
	struct rlimit r = {1UL << 30, RLIM_INFINITY};
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	int other;

	warm(fd);
	say_ret("setrlimit", setrlimit(RLIMIT_AS, &r));
	need_unmapped_file("a");
	reads_well(fd, 1);
	other = open_made("b", 2, SIZE, O_RDONLY);
	warm_try(other);
	reads_well(other, 2);
	need_unmapped_file("b");
}

static void space_by_prlimit(void)
{
	struct rlimit r = {1UL << 30, RLIM_INFINITY};
	int fd = open_made("a", 1, SIZE, O_RDONLY);

	warm(fd);
	say_ret("prlimit", prlimit(0, RLIMIT_AS, &r, NULL));
	need_unmapped_file("a");
	reads_well(fd, 1);
}

static void all_locked(void)
{
	int fd = open_made("a", 1, SIZE, O_RDONLY);
	long ret;

	warm(fd);
	ret = say_ret("mlockall", mlockall(MCL_FUTURE));
	if (ret)
		self_skip("mlockall is not allowed here");
	need_unmapped_file("a");
	reads_well(fd, 1);
	need_unmapped_file("a");
}

/* Not one number is free when the first window is earned: it waits until one is. */
static void no_number_free(void)
{
	int last = -1;
	long wrong = 0;
	int dups[2];
	int fd;
	int n;

	limited_from_start("no-number-free", RLIMIT_NOFILE, 10);
	make_file("b", 2, SIZE);
	fd = open_made("a", 1, SIZE, O_RDONLY);
	while ((n = open("b", O_RDONLY)) >= 0)
		last = n;
	/* Nothing can be said meanwhile: the trace takes a number. */
	for (int i = 0; i < 5000; i++) {
		unsigned char c[2];

		wrong += pread(fd, &c[0], 1, i) != 1 || pread(last, &c[1], 1, i) != 1 ||
			 c[0] != content(1, (uint64_t)i) ||
			 c[1] != content(2, (uint64_t)i);
	}
	dups[0] = dup(fd) < 0 ? errno : 0;
	dups[1] = fcntl(fd, F_DUPFD, 0) < 0 ? errno : 0;
	close(last);
	say("last %d, %ld wrong, dup %d, F_DUPFD %d", last, wrong, dups[0], dups[1]);
	warm_window(fd);
	need_hits(fd);
	reads_well(fd, 1);
	n = open("b", O_RDONLY);
	close(n);
	say("open %d", n);
}

/* Growing a file would kill: no segment can be made. */
static void file_size(void)
{
	int fd;

	if (!getenv("LIMITED")) {
		make_file("a", 1, SIZE);
		NEED(!getenv("PAGEWELL_SEGMENT") ||
		     !setenv("PAGEWELL_SEGMENT", "/dev/shm/pagewell-test-none", 1));
	}
	limited_from_start("file-size", RLIMIT_FSIZE, 400000);
	fd = open("a", O_RDONLY);
	warm(fd);
	need_hits(fd);
	reads_well(fd, 1);
	CHECK(access("/dev/shm/pagewell-test-none", F_OK), "it was made");
}

static const struct self_case cases[] = {
	{"seccomp-prctl", seccomp_prctl, SELF_BOTH},
	{"seccomp-syscall", seccomp_syscall, SELF_BOTH},
	{"seccomp-strict", seccomp_strict, SELF_BOTH},
	{"seccomp-threads", filter_threads, SELF_BOTH},
	{"address-space-from-start", space_from_start, SELF_BOTH},
	{"address-space-later", space_later, SELF_BOTH},
	{"address-space-prlimit", space_by_prlimit, SELF_BOTH},
	{"mlockall", all_locked, SELF_BOTH},
	{"no-number-free", no_number_free, SELF_BOTH},
	{"file-size", file_size, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
