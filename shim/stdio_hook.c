/* stdio_hook.c - see stdio_hook.h. */
#include "shim/stdio_hook.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/explain.h"
#include "shim/io.h"

/* struct _IO_jump_t of glibc since 2.1: two words of padding and nineteen functions. */
#define SLOTS 21u

typedef ssize_t (*read_fn)(FILE *f, void *buf, ssize_t n);
typedef ssize_t (*write_fn)(FILE *f, const void *buf, ssize_t n);
typedef off64_t (*seek_fn)(FILE *f, off64_t off, int whence);
typedef int (*close_fn)(FILE *f);

static PW_HOT_PAGE read_fn libc_read;
static PW_HOT_PAGE write_fn libc_write;
static PW_HOT_PAGE seek_fn libc_seek;
static PW_HOT_PAGE close_fn libc_close;
static PW_HOT_PAGE bool hooked;

static bool tracked(const FILE *f)
{
	return pw_fd_handle(pw_fd_entry(f->_fileno)) != NULL;
}

static ssize_t hook_read(FILE *f, void *buf, ssize_t n)
{
	ssize_t got;

	if (tracked(f))
		return pw_entry_read(f->_fileno, buf, (size_t)n);
	got = libc_read(f, buf, n);
	pw_explain(NULL, f->_fileno, PW_CALL_READ, PW_WHY_OTHER, got);
	return got;
}

/* libc's own: it loops, and keeps the stream's idea of its offset. */
static ssize_t hook_write(FILE *f, const void *buf, ssize_t n)
{
	struct pw_held x;
	ssize_t put;

	if (!tracked(f) && !pw_explaining())
		return libc_write(f, buf, n);
	pw_borrow(&x, f->_fileno);
	put = libc_write(f, buf, n);
	pw_explain(x.h, f->_fileno, PW_CALL_WRITE, PW_WHY_WRITE, 0);
	pw_return(&x);
	return put;
}

static off64_t hook_seek(FILE *f, off64_t off, int whence)
{
	off64_t to;

	if (tracked(f))
		return pw_entry_lseek(f->_fileno, off, whence);
	to = libc_seek(f, off, whence);
	pw_explain(NULL, f->_fileno, PW_CALL_SEEK, PW_WHY_OTHER, 0);
	return to;
}

static int hook_close(FILE *f)
{
	return tracked(f) ? pw_entry_close(f->_fileno) : libc_close(f);
}

struct exchange {
	void *from;
	void *to;
	unsigned found;
};

static void look(void **table, struct exchange *x, unsigned n, bool store)
{
	for (unsigned i = 2; i < SLOTS; i++)
		for (unsigned k = 0; k < n; k++)
			if (table[i] == x[k].from) {
				x[k].found++;
				if (store)
					__atomic_store_n(&table[i], x[k].to,
							 __ATOMIC_RELAXED);
			}
}

void pw_stdio_hook(void)
{
	void **tables[] = {dlsym(RTLD_NEXT, "_IO_file_jumps"),
			   dlsym(RTLD_NEXT, "_IO_wfile_jumps")};
	struct exchange x[] = {
		{dlsym(RTLD_NEXT, "_IO_file_read"), (void *)hook_read, 0},
		{dlsym(RTLD_NEXT, "_IO_file_write"), (void *)hook_write, 0},
		{dlsym(RTLD_NEXT, "_IO_file_seek"), (void *)hook_seek, 0},
		{dlsym(RTLD_NEXT, "_IO_file_close"), (void *)hook_close, 0},
	};
	unsigned n = sizeof(x) / sizeof(x[0]);
	uintptr_t lo = UINTPTR_MAX;
	uintptr_t hi = 0;
	long err = 0;

	for (unsigned t = 0; t < 2; t++) {
		if (!tables[t])
			goto no;
		if ((uintptr_t)tables[t] < lo)
			lo = (uintptr_t)tables[t];
		if ((uintptr_t)(tables[t] + SLOTS) > hi)
			hi = (uintptr_t)(tables[t] + SLOTS);
		look(tables[t], x, n, false);
	}
	/* Once in each of the two tables, and the tables close together, as in every glibc
	 * seen; else another libc, another layout, or somebody was here first. */
	for (unsigned k = 0; k < n; k++)
		if (!x[k].from || x[k].found != 2)
			goto no;
	if (hi - lo > 16 * PW_PAGE)
		goto no;
	libc_read = (read_fn)x[0].from;
	libc_write = (write_fn)x[1].from;
	libc_seek = (seek_fn)x[2].from;
	libc_close = (close_fn)x[3].from;
	lo &= ~(PW_PAGE - 1);
	hi = pw_round_up(hi, PW_PAGE);
	/* libc keeps its tables read-only after relocation, and so do we. */
	err = pw_sys->mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE);
	if (err)
		goto no;
	look(tables[0], x, n, true);
	look(tables[1], x, n, true);
	pw_sys->mprotect((void *)lo, hi - lo, PROT_READ);
	hooked = true;
	return;
no:
	if (pw_note)
		pw_note("streams stay with libc", "_IO_file_jumps", (int)-err);
}

bool pw_stdio_hooked(void)
{
	return hooked;
}
