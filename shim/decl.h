/* decl.h - prototypes of exported libc names that its headers do not give, or give only
 * under another name. Everything else is taken from the headers by __typeof__. */
#ifndef PW_SHIM_DECL_H
#define PW_SHIM_DECL_H

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/shm.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t buflen);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t buflen);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *t,
		const sigset_t *mask, size_t fdslen);
void __chk_fail(void) __attribute__((noreturn));
sighandler_t sysv_signal(int sig, sighandler_t handler);

#endif
