/*
 * Names that glibc exports without a public declaration: twins under which
 * old or fortified objects reach the same calls.
 */
#ifndef PW_DIFF_TWINS_H
#define PW_DIFF_TWINS_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

ssize_t __read(int fd, void *buf, size_t n);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
ssize_t __pread64(int fd, void *buf, size_t n, off_t off);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t size);
ssize_t __pread64_chk(int fd, void *buf, size_t n, off_t off, size_t size);
ssize_t __write(int fd, const void *buf, size_t n);
ssize_t __pwrite64(int fd, const void *buf, size_t n, off_t off);
off_t __lseek(int fd, off_t off, int whence);
int __open(const char *path, int flags, ...);
int __open64(const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
int __close(int fd);
int __dup2(int fd, int to);
int __fcntl(int fd, int cmd, ...);
int __dprintf_chk(int fd, int flag, const char *fmt, ...);
size_t __fread_chk(void *buf, size_t room, size_t size, size_t n, FILE *f);
pid_t __fork(void);
pid_t __vfork(void) __attribute__((returns_twice));

#endif
