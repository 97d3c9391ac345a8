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
	/* One of the below. Written at start-up, after a fork, and when stepping aside. */
	uint32_t live;
};

#define PW_LIVE_NOT 0u
#define PW_LIVE 1u
#define PW_LIVE_TOLD \
	2u /* at work, and explained: nothing takes the short way (explain.h) */

extern struct pw_life *pw_life __attribute__((visibility("hidden")));

static inline bool pw_alive(void)
{
	return pw_load_relaxed(&pw_life->live) != PW_LIVE_NOT;
}

/* The short ways' own question: at work, and nobody wants to know more. */
static inline bool pw_alive_untold(void)
{
	return pw_load_relaxed(&pw_life->live) == PW_LIVE;
}

/* Every adopted position goes back to the kernel, for good; windows stay. */
void pw_share_all(void);

/* The same, and windows end, the segment is forgotten, and all calls pass through. */
void pw_step_aside(void);

/* The process ends: counts are handed in, once. Serving goes on for whoever still runs. */
void pw_life_end(void);

#endif
