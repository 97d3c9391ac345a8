/*
 * libtaken.c - a library that was at libc's streams before pagewell: preloaded after it, so that
 * it starts first and its names are found first. TAKEN=names: it has a reading function of
 * libc's name. TAKEN=tables: it has put its own into libc's table.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#define SLOTS 21

typedef ssize_t (*read_fn)(FILE *f, void *buf, ssize_t n);

static read_fn libc_read;
static unsigned long reads;

static ssize_t taken_read(FILE *f, void *buf, ssize_t n)
{
	reads++;
	return libc_read(f, buf, n);
}

/* The names are libc's own. */
ssize_t taken_name(FILE *f, void *buf, ssize_t n) __asm__("_IO_file_read");

ssize_t taken_name(FILE *f, void *buf, ssize_t n)
{
	return libc_read ? taken_read(f, buf, n) : -1;
}

__attribute__((constructor)) static void start(void)
{
	const char *how = getenv("TAKEN");
	void **table = dlsym(RTLD_NEXT, "_IO_file_jumps");
	uintptr_t page = (uintptr_t)table & ~(uintptr_t)4095;

	libc_read = (read_fn)dlsym(RTLD_NEXT, "_IO_file_read");
	if (!table || !how || strcmp(how, "tables") != 0 ||
	    mprotect((void *)page, 8192, PROT_READ | PROT_WRITE))
		return;
	for (int i = 2; i < SLOTS; i++)
		if (table[i] == (void *)libc_read)
			table[i] = (void *)taken_read;
	mprotect((void *)page, 8192, PROT_READ);
}

__attribute__((destructor)) static void finish(void)
{
	const char *to = getenv("TAKEN_READS");
	FILE *f = to ? fopen(to, "w") : NULL;

	if (f) {
		fprintf(f, "%lu\n", reads);
		fclose(f);
	}
}
