/* program.c - see program.h. */
#include "cache/command/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool may_run(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

bool pw_program_find(const char *name, char out[PATH_MAX])
{
	const char *folders = getenv("PATH");
	char standard[256];

	if (strchr(name, '/'))
		return (size_t)snprintf(out, PATH_MAX, "%s", name) < PATH_MAX &&
		       may_run(out);
	if (!*name)
		return false;
	if (!folders) {
		if (!confstr(_CS_PATH, standard, sizeof(standard)))
			return false;
		folders = standard;
	}
	for (;;) {
		size_t n = strcspn(folders, ":");
		/* An empty entry is the working folder. */
		int len = snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, folders,
				   n ? "/" : "", name);

		if (len < PATH_MAX && may_run(out))
			return true;
		if (!folders[n])
			return false;
		folders += n + 1;
	}
}

/* The first bytes of a file; less than `size` are followed by zeros. */
static bool read_start(const char *path, void *start, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n;

	memset(start, 0, size);
	if (fd < 0)
		return false;
	n = pread(fd, start, size, 0);
	close(fd);
	return n > 0;
}

const char *pw_program_privileged(const char *path)
{
	char start[2];
	struct stat st;

	/* A script runs as its interpreter does; its own bits mean nothing. */
	if (read_start(path, start, sizeof(start)) && start[0] == '#' && start[1] == '!')
		return NULL;
	if (stat(path, &st))
		return NULL;
	if (st.st_mode & S_ISUID)
		return "set-user-id";
	/* Without the right to execute, the bit once stood for mandatory locking. */
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		return "set-group-id";
	if (getxattr(path, "security.capability", NULL, 0) > 0)
		return "given file capabilities";
	return NULL;
}

const char *pw_program_unserved(const char *path)
{
	union {
		Elf64_Ehdr head;
		char bytes[4096];
	} start;
	const Elf64_Ehdr *h = &start.head;

	if (!read_start(path, &start, sizeof(start)) ||
	    memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64)
		return "made for another kind of machine than the library";
	/* Linkers put the table right behind the head; elsewhere we don't look. */
	for (size_t i = 0; i < h->e_phnum; i++) {
		size_t at = h->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (h->e_phentsize != sizeof(p) || at < h->e_phoff ||
		    at > sizeof(start) - sizeof(p))
			return NULL;
		memcpy(&p, start.bytes + at, sizeof(p));
		if (p.p_type == PT_INTERP)
			return NULL;
	}
	return "statically linked";
}
