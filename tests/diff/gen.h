/* Makes a random program from a seed. */
#ifndef PW_DIFF_GEN_H
#define PW_DIFF_GEN_H

#include "prog.h"

/* About so many steps; 0: as many as the seed says. streams: it dwells on streams. */
void pw_generate(struct pw_prog *p, uint64_t seed, int steps, bool streams);

#endif
