/*
 * test_bare.c - the calls that the library makes itself where libc's function would only make
 * them: whoever stands between must see them all the same. An interposer behind the library
 * (libbelow.so, which this program is linked with), and one that rewrites libc's system calls.
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "_self.h"

long below_writes(void);
long below_preads(void);

#define TIMES 40

static void writes_below(void)
{
	int fd = open_made("a", 1, 100000, O_RDWR);
	long before = below_writes();

	for (int i = 0; i < TIMES; i++)
		NEED(write(fd, "12345", 5) == 5);
	CHECK(below_writes() == before + TIMES, "%ld of %d were seen",
	      below_writes() - before, TIMES);
	say_file("a");
}

/* So few that nothing is earned by them. */
static void preads_below(void)
{
	int fd = open_made("a", 1, 100000, O_RDONLY);
	long before = below_preads();

	for (int i = 0; i < 10; i++)
		say_pread(fd, 100, i * 5000);
	CHECK(below_preads() == before + 10, "%ld of 10 were seen",
	      below_preads() - before);
}

/* ---- a rewriter ---- */

static long seen;

/* In the place of `syscall` is an instruction that does not exist. */
static void on_ill(int sig, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	seen++;
	g[REG_RAX] = raw6(g[REG_RAX], g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10],
			  g[REG_R8], g[REG_R9]);
	g[REG_RIP] += 2;
}

/* True: there was one near the beginning of libc's function. */
static bool rewrite(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	unsigned char *at = libc ? dlsym(libc, name) : NULL;
	uintptr_t page = (uintptr_t)at & ~4095UL;

	NEED(at != NULL);
	for (int i = 0; i < 32; i++, at++) {
		if (at[0] != 0x0f || at[1] != 0x05)
			continue;
		if (raw3(SYS_mprotect, page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
			self_skip("text can't be made writable");
		at[1] = 0x0b;
		raw3(SYS_mprotect, page, 8192, PROT_READ | PROT_EXEC);
		return true;
	}
	return false;
}

static void rewritten(void)
{
	struct sigaction sa = {.sa_sigaction = on_ill, .sa_flags = SA_SIGINFO};
	int before = open_made("a", 1, 100000, O_RDONLY);
	long expected = 0;
	bool reads;
	bool writes;
	int fd;

	for (int i = 0; i < TIMES; i++)
		NEED(lseek(before, i, SEEK_DATA) == i);
	NEED(!sigaction(SIGILL, &sa, NULL));
	NEED(rewrite("lseek"));
	reads = rewrite("read");
	writes = rewrite("write");
	seen = 0;
	fd = open("a", O_RDWR | O_CLOEXEC);
	NEED(fd >= 0);
	for (int i = 0; i < 10; i++) {
		char buf[8];

		NEED(read(fd, buf, 8) == 8);
		CHECK(is_content(buf, 8, 1, 16 * (uint64_t)i), "read %d", i);
		NEED(write(fd, "12345678", 8) == 8);
		expected += reads + writes;
	}
	for (int i = 0; i < 10; i++, expected++)
		NEED(lseek(fd, 8L * i, SEEK_SET) == 8L * i);
	CHECK(seen == expected, "%ld of %ld were seen", seen, expected);
}

int main(int argc, char **argv)
{
	static const struct self_case cases[] = {
		{"writes below", writes_below, SELF_BOTH},
		{"preads below", preads_below, SELF_BOTH},
		{"rewritten", rewritten, SELF_OURS},
	};

	return SELF_RUN(argc, argv, cases);
}
