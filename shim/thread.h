/*
 * thread.h - what the shim knows of the calling thread. In static TLS: no call, no
 * allocation, safe in a signal handler.
 */
#ifndef PW_SHIM_THREAD_H
#define PW_SHIM_THREAD_H

#include "cache/pagewell.h"

struct pw_handle;

struct pw_thread {
	/* The record, while this thread may be served; else NULL. The hit path's test. */
	struct pw_reader *serving;
	/* The record, once claimed. */
	struct pw_reader *reader;
	/* In a vfork child, which runs in its parent's memory but has a descriptor table of
	 * its own: touch nothing, serve nothing. pw_vfork_after() sets and clears it. */
	uint32_t vforked;
	/* SIGBUS is in the mask, as far as we know (signals.h): then no hit may happen. */
	bool bus_blocked;
	/* ... or may be in it: the kernel is asked at the next slow call. */
	bool mask_doubtful;
	uint32_t slow_calls; /* while not served for that reason */
	/* The handle whose count of numbers this thread is about to change (numbers.c). */
	struct pw_handle *changing;
	uintptr_t changing_frame;
	/* The number that close() is about to close, plus 1; 0: none. */
	int closing;
	/* Between pw_closing_begin() and pw_closing_end(): 1; 2: and others know of it. */
	uint8_t closes;
	/* In a fork child made by a handler inside a store: the parent finishes that. */
	bool stored_by_parent;
	/* Between our fork handlers: the child's own is to bring the library back. */
	bool forking;
	/* A hook left something that ends when its call has returned: hooks.c. */
	bool unsettled;
	/* The mask to go back to; vfork_x86_64.S. */
	uint64_t vfork_mask;
};

extern __thread struct pw_thread pw_me __attribute__((visibility("hidden")));

/* Where pw_me is from the thread pointer, in every thread; written at start-up. The compiler
 * would look for it in the GOT, which is a page more in every call (base.h, PW_HOT_PAGE). */
extern intptr_t pw_me_at __attribute__((visibility("hidden")));

/* pw_me.serving, as the entries ask for it. Not before start-up: only when a number is tracked. */
static inline struct pw_reader *pw_serving(void)
{
	return ((const struct pw_thread __seg_fs *)pw_me_at)->serving;
}

/* This thread's record, claimed if need be; NULL in a vfork child, or without memory. */
struct pw_reader *pw_thread_reader(void);

/* Sets `serving` from the other fields, after one of them changed. */
void pw_thread_update(void);

/* A call that forks or execs behind a thunk raises the gate and cannot lower it. The
 * thread's next call does, here. */
void pw_thread_settle(void);

/* Once, at start-up. */
void pw_thread_start(void);

#endif
