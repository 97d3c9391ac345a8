/*
 * client.h - windows for C programs: pread(2) answered from mapped pages, in a program that
 * asks for it, without a preload. The engine's only header that is installed, as
 * <pagewell/client.h>; `pkg-config --cflags --libs pagewell-cache` says how to build with it.
 * Versions of it follow semantic versioning; the engine's other headers promise nothing.
 *
 *	struct pw_client *c;
 *	int err = pw_client_open(fd, &c);
 *	...
 *	got = pw_client_pread(c, buf, n, off);		as often and by as many threads as you like
 *	...
 *	pw_client_close(c);				before close(fd)
 *	close(fd);
 *
 * What is read is exact as pread's answers are, whoever writes to the file or cuts it short
 * meanwhile: what cannot be proved right is left to the kernel, read by read. Where nothing
 * can be mapped (another file system, a pipe, a limit on address space) every read is a
 * pread: slower, and as right. cache/README.md has the argument.
 *
 * Functions return a count, 0 or -errno; none touches errno or is a cancellation point. None
 * may be called from a signal handler or in a child of vfork, none may be left by a longjmp
 * out of a signal handler, and SIGBUS must not be blocked meanwhile (a thread that has it
 * blocked at its first read is never served). fork is looked after.
 *
 * Who cuts a file short has the kernel send a SIGBUS to whoever then loads from its mapping:
 * the first window installs a handler that catches those that are windows', and hands all
 * others to the handler that was there before, or to the kernel's default. A program that
 * installs one of its own later sees pw_client_own_handler().
 *
 * Of the library's variables PAGEWELL_DISABLE=1 (every read is a pread) and PAGEWELL_SEGMENT
 * are looked at, the latter not in set-user-id programs. All processes together, those that
 * the library is preloaded into included, map no more than half of the machine's memory.
 */
#ifndef PAGEWELL_CLIENT_H
#define PAGEWELL_CLIENT_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A window on one open file description. */
struct pw_client;

/*
 * Looks at fd, which is open for reading, maps its file if it can be, and sets *out. fd stays
 * the caller's: its position is never used, and it must stay open, and the same file, until
 * pw_client_close(). Costs about as much as ten small reads, of which nothing is won back by
 * a file that is read once.
 *
 * 0; -EBADF: fd is not open, or not for reading; -ENOMEM. A file that cannot be mapped is no
 * error: see pw_client_mapped().
 */
int pw_client_open(int fd, struct pw_client **out);

/*
 * pread(fd, buf, n, off): copies up to n bytes from offset `off` on to buf. Returns how many:
 * fewer than n only at the end of the file, 0 beyond it, or where pread would; or -errno, as
 * pread gives it. buf must be memory that may be written to: where pread says EFAULT, this
 * may crash, as memcpy would. Any number of threads, each at its own offset.
 */
ssize_t pw_client_pread(struct pw_client *c, void *buf, size_t n, off_t off);

/*
 * 1 if there is a window on the file now, 0 if every read is left to the kernel. It may come
 * (a file that was empty has grown) and go (a file has outgrown its window).
 */
int pw_client_mapped(const struct pw_client *c);

/* Ends the window and frees c, which nobody may be reading from. NULL is allowed. */
void pw_client_close(struct pw_client *c);

/* How many reads of this process were answered from windows, all threads and clients. */
uint64_t pw_client_hits(void);

/*
 * The program has, or is going to have, a SIGBUS handler of its own that begins by asking
 * pw_client_sigbus(). Call before the first pw_client_open(); then no handler is installed.
 */
void pw_client_own_handler(void);

/*
 * For a SIGBUS handler installed with SA_SIGINFO, with what it was given: 1 if the signal was
 * a window's, and has been dealt with: return from the handler. 0: it was not.
 */
int pw_client_sigbus(const siginfo_t *info, void *ucontext);

#ifdef __cplusplus
}
#endif

#endif
