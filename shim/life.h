/*
 * life.h - is the library at work in this process? Attaching, forking, stepping aside.
 */
#ifndef PW_SHIM_LIFE_H
#define PW_SHIM_LIFE_H

#include "cache/pagewell.h"

/*
 * Lives in a page that a child made by a raw fork or clone finds zeroed (MADV_WIPEONFORK):
 * such a child starts unattached, and all its calls pass through.
 */
struct pw_life {
	uint32_t
		live; /* 1: at work. Written at start-up, after a fork, and when stepping aside */
};

extern struct pw_life *pw_life __attribute__((visibility("hidden")));

static inline bool pw_alive(void)
{
	return pw_load_relaxed(&pw_life->live) != 0;
}

/* Every adopted position goes back to the kernel, for good; windows stay. */
void pw_share_all(void);

/* The same, and windows end, the segment is forgotten, and all calls pass through. */
void pw_step_aside(void);

/* The process ends: counts are handed in, once. Serving goes on for whoever still runs. */
void pw_life_end(void);

#endif
