/*
 * signals.h - a fault whose signal is blocked kills the process, so a thread that has
 * SIGBUS blocked is not served. Masks and handlers stay exactly what the program made them;
 * we only keep track, in pw_me.bus_blocked, of whether SIGBUS is in the mask now:
 *
 *  - calls that set the mask are seen;
 *  - a handler whose own mask has SIGBUS runs behind a function of ours that says so;
 *  - a thread's first mask, and whatever a jump may have restored, the kernel is asked for.
 *
 * It is a cache, and errs on the side of "blocked": that costs speed until the kernel is
 * asked again, and nothing else.
 *
 * (The other way, leaving SIGBUS out of all masks behind the program's back and pretending,
 * was tried first: it could be noticed by new threads, jumps, pending signals and handlers
 * in a dozen ways, and served only programs that block all signals while they read.)
 */
#ifndef PW_SHIM_SIGNALS_H
#define PW_SHIM_SIGNALS_H

#include <stdbool.h>

/* Asks the kernel for the calling thread's mask, now. */
void pw_signals_ask(void);

/* The mask may have changed in a way that cannot be followed: not served until asked. */
void pw_signals_doubt(void);

/* A call that goes the slow way while not served for this reason: ask now and then. */
void pw_signals_slow(void);

/* Did any thread ever have SIGBUS blocked? Only then can a jump bring that back. */
bool pw_signals_ever_blocked(void);

#endif
