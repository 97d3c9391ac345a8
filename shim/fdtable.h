/*
 * fdtable.h - number to handle, lock-free. An entry is a handle's address in its upper 48
 * bits and a tag below that every change counts up: equal entries mean that nothing
 * happened to the number in between.
 */
#ifndef PW_SHIM_FDTABLE_H
#define PW_SHIM_FDTABLE_H

#include "shim/handle.h"

/* Numbers that most programs have, in the page that every call looks at; the others' entries
 * are in chunks. */
#define PW_FD_FIRST 64u
#define PW_FD_CHUNK 1024u
#define PW_FD_CHUNKS 1024u /* numbers from 2^20 on are the kernel's alone */

/* Written by fdtable.c, by CAS. The first chunk's entries below PW_FD_FIRST are not used. */
extern uint64_t pw_fd_first[PW_FD_FIRST] __attribute__((visibility("hidden")));
extern uint64_t *pw_fd_chunk[PW_FD_CHUNKS] __attribute__((visibility("hidden")));

static inline uint64_t *pw_fd_slot(int fd)
{
	unsigned n = (unsigned)fd;
	uint64_t *chunk;

	if (pw_likely(n < PW_FD_FIRST))
		return &pw_fd_first[n];
	if (n >= PW_FD_CHUNK * PW_FD_CHUNKS)
		return NULL;
	chunk = pw_load_acquire(&pw_fd_chunk[n / PW_FD_CHUNK]); /* pairs with its CAS */
	return chunk ? &chunk[n % PW_FD_CHUNK] : NULL;
}

/* 0 in the upper 48 bits: not tracked. */
static inline uint64_t pw_fd_entry(int fd)
{
	uint64_t *slot = pw_fd_slot(fd);

	return slot ? pw_load_acquire(slot) : 0; /* pairs with pw_fd_set's CAS */
}

static inline struct pw_handle *pw_fd_handle(uint64_t entry)
{
	return (struct pw_handle *)(uintptr_t)(entry >> 16);
}

/*
 * Makes fd stand for h, whose reference the caller gives away. What stood there before was
 * closed behind our back, and loses its reference. h NULL: nothing stands there.
 */
void pw_fd_set(int fd, struct pw_handle *h);

/* If the entry still is `seen`: clears it and drops the reference. True if it was us. */
bool pw_fd_clear(int fd, uint64_t seen);

/* Calls visit for every tracked number in [from, to]. */
void pw_fd_each(unsigned from, unsigned to, void (*visit)(int fd, uint64_t entry));

/* Was any number ever tracked in this process? */
bool pw_fd_any(void);

#endif
