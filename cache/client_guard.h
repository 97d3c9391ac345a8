/*
 * client_guard.h - the SIGBUS handler of a program that uses windows without the shim, whose
 * own is shim/guard.h. It is put in front of what was there, once; nobody tells us when the
 * program puts another in its place, so it is looked at again before each window.
 */
#ifndef PW_CACHE_CLIENT_GUARD_H
#define PW_CACHE_CLIENT_GUARD_H

#include <signal.h>
#include <stdbool.h>

/*
 * Is a SIGBUS in a window looked after? Installs the handler at the first call. False: SIGBUS
 * is ignored, or another handler has taken our place: no windows. errno is left alone.
 */
bool pw_client_guarded(void);

/* From now on a handler of the program's asks pw_client_guard_took(): none is installed. */
void pw_client_guard_is_theirs(void);

/* For a SIGBUS handler: was it a window's, or the segment's? Then it has been dealt with. */
bool pw_client_guard_took(const siginfo_t *info, void *ucontext);

#endif
