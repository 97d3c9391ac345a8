/*
 * loading.h - what the program and the libraries of test_loading.sh do with a file: read and
 * seek in it until it is served, and look at every byte. Small in stack and without TLS.
 */
#ifndef TESTS_SHIM_LOADING_H
#define TESTS_SHIM_LOADING_H

#include "_self.h"

#define LOADING_SIZE 300000

/* As is_content(), which comes with the harness and its thread-local buffers. */
static inline bool loading_is(const unsigned char *buf, size_t n, unsigned id,
			      uint64_t off)
{
	for (size_t i = 0; i < n; i++)
		if (buf[i] != content(id, off + i))
			return false;
	return true;
}

/* 0, or the line where something was wrong. fd's position is 5000 afterwards. */
static inline int exercise(int fd, unsigned id)
{
	unsigned char buf[100];

	if (fd < 0)
		return __LINE__;
	for (int i = 0; i < 3000; i++) {
		off_t at = i * 17L;

		if (pread(fd, buf, 100, 7) != 100 || !loading_is(buf, 100, id, 7))
			return __LINE__;
		if (lseek(fd, at, SEEK_SET) != at)
			return __LINE__;
		if (read(fd, buf, 30) != 30 || !loading_is(buf, 30, id, (uint64_t)at))
			return __LINE__;
		if (lseek(fd, 0, SEEK_CUR) != at + 30)
			return __LINE__;
	}
	return lseek(fd, 5000, SEEK_SET) == 5000 ? 0 : __LINE__;
}

/* 0 if all is well with the position, by the library and, shared, by a child. */
static inline int with_child(int fd, unsigned id)
{
	unsigned char buf[20];
	int status;
	pid_t pid = fork();

	if (!pid) {
		bool right = raw3(SYS_lseek, fd, 0, SEEK_CUR) == 5000 &&
			     read(fd, buf, 20) == 20 && loading_is(buf, 20, id, 5000);

		_exit(right ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return __LINE__;
	if (read(fd, buf, 20) != 20 || !loading_is(buf, 20, id, 5020))
		return __LINE__;
	return lseek(fd, 0, SEEK_CUR) == 5040 ? 0 : __LINE__;
}

/* One line on stderr. */
static inline void tell(const char *who, int line)
{
	char text[100];
	int n = snprintf(text, sizeof(text), "%s %d\n", who, line);

	raw3(SYS_write, 2, text, n);
}

#endif
