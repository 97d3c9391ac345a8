/*
 * signals.h - keeping SIGBUS deliverable while windows exist, unseen by the program.
 *
 * A fault whose signal is blocked kills the process, so SIGBUS is left out of every mask
 * that goes to the kernel from the moment our handler is installed (and of handlers' masks
 * always), and the program is told what it asked for. Threads that have it blocked all the
 * same are not served.
 */
#ifndef PW_SHIM_SIGNALS_H
#define PW_SHIM_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/*
 * Before a child or successor inherits this thread's mask: SIGBUS is blocked for real, if
 * the program believes it is. And after.
 */
void pw_signals_before_child(void);
void pw_signals_after_child(void);

/* This thread waits for SIGBUS: blocked for real if the program believes so. */
void pw_signals_really_block(void);

#endif
