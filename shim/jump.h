/*
 * jump.h - a signal handler that interrupted a call of ours may leave it for good by
 * longjmp. The call's slot would keep its window from ever being unmapped.
 */
#ifndef PW_SHIM_JUMP_H
#define PW_SHIM_JUMP_H

#include <stdint.h>

/* The stack pointer that longjmp(env) will restore. */
uintptr_t pw_jump_target(const void *env);

/* The calling thread is about to give up every frame between its own and `target`: slots
 * that they filled are emptied, and what those kept is finished. */
void pw_abandon_calls(uintptr_t target);

#endif
