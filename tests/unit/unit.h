/*
 * unit.h - what the tests of the engine's modules share: paths of their own, a table of
 * system calls that counts and fails on request, children and threads that can say what
 * went wrong, and reads made the way the shim makes them.
 *
 * Criterion's asserts are for the test's own thread, and each sends a message, the passed
 * ones too. Children, other threads and long loops use CHECK and MUST, which leave a note in
 * shared memory; the test fails at its end if there is one.
 */
#ifndef PW_TESTS_UNIT_H
#define PW_TESTS_UNIT_H

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/pagewell.h"

/*
 * A suite and its tests. The notes are looked at in the test itself: what fails in a .fini
 * Criterion does not count.
 */
#define UNIT_SUITE(name) \
	TestSuite(name, .init = unit_start, .fini = unit_end, .timeout = 120)
#define UNIT_TEST(suite, name)                   \
	static void suite##_##name##_body(void); \
	Test(suite, name)                        \
	{                                        \
		suite##_##name##_body();         \
		unit_verdict();                  \
	}                                        \
	static void suite##_##name##_body(void)
void unit_start(void);
void unit_verdict(void);
void unit_end(void);

/* Paths of this test alone, on tmpfs and under $TMPDIR; removed at the end. */
const char *unit_shm(const char *name);
const char *unit_tmp(const char *name);

/* A new file with unit_byte(at) at each place, which is never 0; open for reading and writing. */
int unit_file(const char *path, size_t size);
unsigned char unit_byte(uint64_t at);

/* Lines of /proc/self/maps, or numbers in /proc/self/fd, that name this path. */
unsigned unit_maps(const char *path);
unsigned unit_fds(const char *path);

/* ---- system calls -------------------------------------------------------------------- */

enum unit_call {
	U_OPEN,
	U_CLOSE,
	U_PREAD,
	U_LSEEK,
	U_FSTAT,
	U_STAT,
	U_FSTATFS,
	U_FALLOCATE,
	U_FCHMOD,
	U_LINK_FD,
	U_MMAP,
	U_MUNMAP,
	U_MPROTECT,
	U_MADVISE,
	U_MINCORE,
	U_READAHEAD,
	U_FUTEX_WAIT,
	U_FUTEX_WAKE,
	U_GETRLIMIT,
	U_SYSINFO,
	U_KILL,
	U_CALLS,
	/* Of those that acquire or ask: giving back does not fail. */
	U_ANY = U_CALLS,
};

/* What pw_sys points at in a test. Entries may be replaced; those that are not count. */
extern struct pw_sys unit_sys;

/* Successful calls in this process since the last unit_fail(). */
unsigned unit_count(enum unit_call call);

/* The nth such call from now on returns err (negative), once. 0: none does. */
void unit_fail(enum unit_call call, unsigned nth, long err);

/* true if the failure asked for has happened. */
bool unit_failed(void);

/* ---- children and threads ------------------------------------------------------------- */

/* Shared by a test and its children; zeroed when it starts. For the test's own use. */
extern uint32_t *unit_word; /* 64 of them */

/* Leaves a note, if it is the first; false. */
bool unit_note(const char *file, int line, const char *what);
static inline bool unit_check(bool ok, const char *file, int line, const char *what)
{
	return ok || unit_note(file, line, what);
}
#define CHECK(c) unit_check((c), __FILE__, __LINE__, #c)
#define MUST(c)                                            \
	do {                                               \
		if (!(c)) {                                \
			unit_note(__FILE__, __LINE__, #c); \
			_exit(1);                          \
		}                                          \
	} while (0)

/* handler for sig, and nothing else. */
void unit_on_signal(int sig, void (*handler)(int));

/* Runs f(arg) in a child that ends with 0 when f returns, and when its parent ends. */
pid_t unit_fork(void (*f)(void *), void *arg);

/* Waits; the test fails if the child did not end with 0. */
void unit_join(pid_t child);

/* The two together. */
void unit_child(void (*f)(void *), void *arg);

/* Waits for *word >= n, as long as it takes; the test's own timeout is the limit. */
void unit_until(const uint32_t *word, uint32_t n);

/* ---- windows ---------------------------------------------------------------------------- */

/* A SIGBUS handler as the guard's: only what pw_copy_fixup() says is ours is passed over. */
void unit_guard(void);

/* Opens a window of fd under W1, as the shim does. */
int unit_open(struct pw_reader *r, struct pw_window *w, int fd);

/*
 * A read under W1: the window is touched as often as it asks, and read again. What comes
 * out is a hit or the miss that touching did not cure.
 */
enum pw_hit unit_read(struct pw_reader *r, struct pw_window *w, int fd, void *buf,
		      size_t n, uint64_t off);

/* true if buf has the n bytes that unit_file() put at off. */
bool unit_exact(const unsigned char *buf, size_t n, uint64_t off);

#endif
