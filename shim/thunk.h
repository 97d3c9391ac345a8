/* thunk.h - where the thunks of thunk_x86_64.S jump to. */
#ifndef PW_SHIM_THUNK_H
#define PW_SHIM_THUNK_H

/* In the order of the assembly, which is symbols.def's. */
enum pw_thunk_no {
#define PW_THUNK(name, hook) PW_T_##name,
#define PW_VERSIONED(name, node) PW_T_##name##__##node,
#define PW_UNDER(name, of) PW_T_##name,
#include "shim/symbols.def"
	PW_T_COUNT
};

/* At start-up: what a handler may call, because dlsym takes a lock that the code it
 * interrupted may hold. */
void pw_thunk_start(void);

/* All of them, before other threads' locks come to be held for ever (hooks.h). */
void pw_thunk_rest(void);

/* For thunk_x86_64.S: runs the hook of `no` on the six argument words; returns where to
 * jump. errno is kept. */
void *pw_thunk_enter(unsigned no, const long *args);

#endif
