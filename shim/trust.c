/*
 * trust.c - see trust.h. A file is in a tree if the kernel's own name for its descriptor is:
 * what the program called it may be relative, or lead through symbolic links. The trees' own
 * names are asked for in the same way, once.
 */
#include "shim/trust.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/syscall.h>

#include "shim/knobs.h"

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

enum { UNRESOLVED, RESOLVING, RESOLVED };

static char
	trees[2048]; /* absolute names, each ended by a colon; written while RESOLVING */
static uint32_t state;

size_t pw_fd_name(int fd, char *to, size_t size)
{
	char link[32] = "/proc/self/fd/";
	char digits[12];
	size_t at = strlen(link);
	size_t n = 0;
	unsigned v = (unsigned)fd;
	long got;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		link[at++] = digits[--n];
	got = pw_syscall3(SYS_readlink, link, to, size - 1);
	if (got <= 0 || to[0] != '/' || (size_t)got >= size - 1)
		return 0; /* nothing, or cut off */
	to[got] = 0;
	return (size_t)got;
}

static void resolve_one(const char *tree, size_t n, size_t *at)
{
	char path[1024];
	long fd;

	if (!n || n >= sizeof(path))
		return;
	memcpy(path, tree, n);
	path[n] = 0;
	fd = pw_sys->open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0) {
		if (pw_note)
			pw_note("not a tree to trust", path, -fd);
		return;
	}
	n = pw_fd_name((int)fd, path, sizeof(path));
	pw_sys->close((int)fd);
	if (!n || memchr(path, ':', n) || *at + n + 2 > sizeof(trees))
		return;
	memcpy(trees + *at, path, n);
	*at += n;
	trees[(*at)++] = ':';
}

/* False: not yet, another thread is at it. */
static bool resolve(void)
{
	const char *v = pw_knobs.trust;
	uint32_t seen = UNRESOLVED;
	size_t at = 0;

	if (pw_load_acquire(&state) == RESOLVED) /* pairs with the release below */
		return true;
	if (!pw_cas(&state, &seen, RESOLVING))
		return false;
	while (*v) {
		size_t n = strcspn(v, ":");

		resolve_one(v, n, &at);
		v += n;
		v += *v == ':';
	}
	pw_store_release(&state, RESOLVED);
	return true;
}

static bool in_a_tree(const char *name)
{
	const char *t = trees;

	while (*t) {
		size_t n = strcspn(t, ":");

		if (!strncmp(t, name, n) && (n == 1 || name[n] == '/'))
			return true;
		t += n + 1;
	}
	return false;
}

/* Where bytes are made up when read, or pages are not the page cache's, no trust helps. */
static bool hopeless(int fd)
{
	struct statfs fs;

	return pw_sys->fstatfs(fd, &fs) || (uint32_t)fs.f_type == PROC_SUPER_MAGIC ||
	       (uint32_t)fs.f_type == SYSFS_MAGIC ||
	       (uint32_t)fs.f_type == HUGETLBFS_MAGIC;
}

static bool trusted(int fd, const struct stat *st)
{
	char name[1024];

	if (!S_ISREG(st->st_mode) || st->st_size <= 0 || st->st_size >= (int64_t)1 << 47)
		return false;
	return resolve() && pw_fd_name(fd, name, sizeof(name)) && in_a_tree(name) &&
	       !pw_place_listed(fd) && !hopeless(fd);
}

bool pw_file_served(int fd, const struct stat *st)
{
	return pw_place_served(fd, st) || (pw_knobs.trust && trusted(fd, st));
}

bool pw_file_may_be_served(int fd, const struct stat *st)
{
	int guess = pw_place_guess(st);

	return guess > 0 || ((guess < 0 || pw_knobs.trust) && pw_file_served(fd, st));
}
