/* hooks.h - what the thunks do before they jump. */
#ifndef PW_SHIM_HOOKS_H
#define PW_SHIM_HOOKS_H

/* Runs what symbols.def names for thunk `no` (thunk.h) on the six argument words. */
void pw_hook(unsigned no, const long *args);

/*
 * Before a fork of any kind. In the child of a process with several threads a lock that one
 * of the others held is held for ever; dlsym takes one, so it is not needed there any more.
 */
void pw_hooks_forking(void);

/* For vfork_x86_64.S: 1 if this thread's flag is to be set (not yet in a vfork child). */
int pw_vfork_prepare(void);
int pw_vfork_after(int result, int ours);

#endif
