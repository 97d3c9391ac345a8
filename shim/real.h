/*
 * real.h - the next definition of each name we export: libc's, normally. Pointers are
 * found with dlsym, the ones a signal handler may need at start-up, the others when first
 * used, or before a process with several threads forks.
 */
#ifndef PW_SHIM_REAL_H
#define PW_SHIM_REAL_H

#include <stdbool.h>

#include "shim/decl.h"

enum pw_name {
#define PW_SERVED(name) PW_N_##name,
#define PW_WATCHED(name) PW_N_##name,
#include "shim/symbols.def"
	PW_N_COUNT
};

/* Written by pw_real_find() alone, any thread, always with the same value. */
extern void *pw_real_at[PW_N_COUNT];

/*
 * The next definition, or NULL if there is none (then the caller uses the raw system call,
 * or answers ENOSYS). Safe before our constructor and under recursion. errno is kept.
 */
void *pw_real_find(enum pw_name n);

/* name, version node or NULL; for the thunks. Same promises. */
void *pw_real_lookup(const char *name, const char *version);

/* Is libc's own definition the next one of `name`? Does not allocate, keeps errno. */
bool pw_real_is_libcs(const char *name);

/* The same by number, once pw_real_is_libc() was asked. */
bool pw_real_in_libc(enum pw_name n);

/* At start-up: the names that may be needed where dlsym must not be called. */
void pw_real_start(void);

/* All the others, before other threads' locks come to be held for ever (hooks.h). */
void pw_real_rest(void);

/*
 * Is libc's own definition the next one for read, open, lseek and close? If another
 * library stands between, it wants to see the calls, and nothing is served.
 */
bool pw_real_is_libc(void);

#define PW_REAL(name)                                                              \
	((__typeof__(name) *)(__builtin_expect(pw_real_at[PW_N_##name] != NULL, 1) \
				      ? pw_real_at[PW_N_##name]                    \
				      : pw_real_find(PW_N_##name)))

#endif
