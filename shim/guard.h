/*
 * guard.h - the SIGBUS handler, and what the program is told about SIGBUS while it is ours.
 *
 * A SIGBUS is ours only if the program counter lies in the engine's copy routines and the
 * kernel says a mapped page could not be had. Everything else is handed on, exactly as the
 * program's own disposition says.
 */
#ifndef PW_SHIM_GUARD_H
#define PW_SHIM_GUARD_H

#include <signal.h>

#include "cache/pagewell.h"

/*
 * Installs the handler if it is not there (looks again at each call: something may have
 * put another in its place by raw system call). False: SIGBUS is ignored, or the system
 * call failed: no windows. Call with signals blocked.
 */
bool pw_guard_install(void);

bool pw_guard_installed(void);

/*
 * The program's sigaction(SIGBUS, set, old), in the kernel's place, while the handler is
 * installed: 0 or -errno. set or old may be NULL. SIG_IGN ends all windows: an ignored
 * SIGBUS is inherited over exec, so it must be the kernel's, and then ours is gone.
 */
int pw_guard_sigaction(const struct sigaction *set, struct sigaction *old);

#endif
