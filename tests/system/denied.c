/*
 * denied.c - runs a program that may not make some system calls: `denied ERRNO CALL... --
 * PROGRAM ARG...`. A seccomp filter, which the program's children inherit, answers them with
 * ERRNO, as those of containers and service managers do. mprotect: only nothing can be
 * made readable and writable, as under SELinux; the loader needs it to take writing away.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMED(call)               \
	{                         \
#call, SYS_##call \
	}

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
	NAMED(fallocate),	 NAMED(fchmod),	      NAMED(fstat),
	NAMED(fstatfs),		 NAMED(ftruncate),    NAMED(linkat),
	NAMED(madvise),		 NAMED(memfd_create), NAMED(mincore),
	NAMED(mprotect),	 NAMED(munmap),	      NAMED(prlimit64),
	NAMED(process_vm_readv), NAMED(readahead),    NAMED(rt_sigaction),
	NAMED(rt_sigprocmask),	 NAMED(sysinfo),
};

enum { MOST = 40 };

static struct sock_filter filter[5 * MOST + 2];
static unsigned short length;

static void put(struct sock_filter f)
{
	filter[length++] = f;
}

static int number_of(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return (int)calls[i].nr;
	return -1;
}

static int error_of(const char *name)
{
	return !strcmp(name, "EPERM") ? EPERM : !strcmp(name, "ENOSYS") ? ENOSYS : -1;
}

static void load(unsigned offset)
{
	put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

/* If what was loaded is not this, passes over so many. */
static void skip_unless(unsigned value, unsigned char over)
{
	put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, over));
}

static void answer(int error)
{
	put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					 SECCOMP_RET_ERRNO | (unsigned)error));
}

static void deny(int nr, int error)
{
	if (nr != SYS_mprotect) {
		skip_unless((unsigned)nr, 1);
		answer(error);
		return;
	}
	skip_unless((unsigned)nr, 4);
	load(offsetof(struct seccomp_data, args[2])); /* its lower half */
	skip_unless(PROT_READ | PROT_WRITE, 1);
	answer(error);
	load(offsetof(struct seccomp_data, nr));
}

int main(int argc, char **argv)
{
	struct sock_fprog program = {.filter = filter};
	int error = argc > 1 ? error_of(argv[1]) : -1;
	int i;

	load(offsetof(struct seccomp_data, nr));
	for (i = 2; i < argc && i < MOST && strcmp(argv[i], "--") != 0; i++) {
		int nr = number_of(argv[i]);

		if (nr < 0) {
			fprintf(stderr, "denied: no such call here: %s\n", argv[i]);
			return 125;
		}
		deny(nr, error);
	}
	put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	if (error < 0 || i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		fprintf(stderr, "usage: denied EPERM|ENOSYS CALL... -- PROGRAM ARG...\n");
		return 125;
	}
	program.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("denied: no filter");
		return 125;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 125;
}
