/*
 * Sends a signal to a thread at a chosen instruction of a call: a process that watches
 * the shared file for threads that ask for it, and single-steps them.
 */
#ifndef PW_DIFF_TRACER_H
#define PW_DIFF_TRACER_H

#include "shared.h"

/* Serves requests until it is killed. */
_Noreturn void pw_tracer(struct pw_shared *sh);

#endif
