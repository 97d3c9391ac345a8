/*
 * _self.h - what the directed tests of the shim share. A test is a table of cases; each case
 * is run by a fresh process of the same program, in a directory of its own:
 *
 *	SELF_BOTH  once plainly and once with the library preloaded. Both write a trace with
 *		   say() and kin; the traces and the ways the two ended must be the same.
 *	SELF_OURS  only with the library. What it finds wrong it says with CHECK().
 *
 * A trace line that begins with '!' is a failed check, one with '?' a reason to skip. A case
 * that means to test an adopted position or a window calls warm(), which fails the case when
 * that state was not reached: a test that proves nothing must not pass.
 *
 * Everything here that looks behind the library's back uses raw system calls.
 */
#ifndef TESTS_SHIM_SELF_H
#define TESTS_SHIM_SELF_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum self_how { SELF_BOTH, SELF_OURS };

struct self_case {
	const char *name;
	void (*body)(void);
	enum self_how how;
};

/* Runs the cases and prints the verdicts; or, called again by itself, runs one of them. */
int self_main(int argc, char **argv, const struct self_case *cases, size_t n);

#define SELF_RUN(argc, argv, cases) \
	self_main((argc), (argv), (cases), sizeof(cases) / sizeof((cases)[0]))

/* Is the library preloaded in this process? */
extern bool self_preloaded;
/* This program, the folder it is in, and the one with the case's files. */
extern char self_exe[4096];
extern char self_bin[4096];

/* A line of the trace. errno is kept; works with no free number but one, and in handlers. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(cond, ...)                                                   \
	do {                                                               \
		if (!(cond))                                               \
			self_fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
	} while (0)
/* As CHECK, and the process ends. */
#define NEED(cond)                                                               \
	do {                                                                     \
		if (!(cond)) {                                                   \
			self_fail(__FILE__, __LINE__, #cond, "errno %d", errno); \
			_exit(99);                                               \
		}                                                                \
	} while (0)
void self_fail(const char *file, int line, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The case cannot be run here. */
void self_skip(const char *why) __attribute__((noreturn));

/* ---- files ---- */

/*
 * Bytes of the file with this id: never zero, so that every read has its witness; no two
 * places nearer than 255 look alike for long, and no two files (ids 0 to 50) at one place.
 */
static inline unsigned char content(unsigned id, uint64_t off)
{
	return (unsigned char)(1 + (off + (off >> 8) * 7 + (uint64_t)id * 5) % 255);
}

/* Makes the file with `size` such bytes. */
void make_file(const char *path, unsigned id, size_t size);
/* The same, and opens it. */
int open_made(const char *path, unsigned id, size_t size, int flags);
/* Is this what lies at off in file id? */
bool is_content(const void *buf, size_t n, unsigned id, uint64_t off);

/* ---- calls whose results go to the trace ---- */

/* read n bytes: result, errno, and a sum of the bytes. */
ssize_t say_read(int fd, size_t n);
ssize_t say_pread(int fd, size_t n, off_t off);
/* lseek(fd, 0, SEEK_CUR) */
off_t say_pos(int fd);
off_t say_seek(int fd, off_t off, int whence);
/* The kernel's own position, by raw system call: in the trace this says that it must have
 * been given back. */
void say_kernel_pos(int fd);
/* The name of a call, its result, and errno if the result is negative. */
long say_ret(const char *call, long ret);
/* The whole file, by raw system calls: size and sum. */
void say_file(const char *path);
/* How a child ended. */
void say_wait(pid_t pid);

/* ---- states ---- */

/*
 * Reads from fd, a regular file of at least 4096 bytes, until it must be windowed and its
 * position ours, and puts the position back to where it was. Plainly it does the same calls.
 */
void warm(int fd);
/* The same without insisting on a position of ours (it may be shared), or on anything. */
void warm_window(int fd);
void warm_try(int fd);

/* By looking; always true of nothing when not preloaded. */
bool is_ours(int fd);
bool is_mapped(int fd);
bool is_mapped_file(const char *path);
/* Fails the case if preloaded and not so. */
void need_ours(int fd);
void need_mapped(int fd);
/* Fails if any part of the file is still mapped. */
void need_unmapped_file(const char *path);

/* How many read system calls this thread has made (/proc/thread-self/io), or -1; and the
 * whole process. */
long read_calls(void);
long read_calls_all(void);
/* Preloaded: reads at 0 are hits. */
void need_hits(int fd);

/* ---- raw ---- */

static inline long raw6(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define raw0(nr) raw6(nr, 0, 0, 0, 0, 0, 0)
#define raw1(nr, a) raw6(nr, (long)(a), 0, 0, 0, 0, 0)
#define raw2(nr, a, b) raw6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define raw3(nr, a, b, c) raw6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define raw4(nr, a, b, c, d) raw6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* ---- other programs ---- */

/*
 * The programs that cases start: this one and static_reader, called as
 *	PROGRAM --read FD N TAG
 * say what read(FD, N) gives and where the position is then.
 */
int self_reader(int argc, char **argv);
/* Fills a vector for them. */
void reader_args(char *argv[6], const char *program, int fd, size_t n, const char *tag);
extern char self_static[4096];

/* Two processes taking turns. */
struct turns {
	int pipe[2][2];
};
void turns_make(struct turns *t);
void turns_wait(struct turns *t, int side);
void turns_pass(struct turns *t, int side);

#endif
