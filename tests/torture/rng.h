/*
 * One small generator for all random choices, so that a seed replays a run.
 */
#ifndef TORTURE_RNG_H
#define TORTURE_RNG_H

#include <stdint.h>

/* splitmix64: any seed is a good one, also neighbours of each other. */
static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 .. n-1, and 0 for n <= 0. */
static inline int64_t rng_below(uint64_t *state, int64_t n)
{
	return n <= 0 ? 0 : (int64_t)(rng_next(state) % (uint64_t)n);
}

/* lo .. hi, both included. */
static inline int64_t rng_between(uint64_t *state, int64_t lo, int64_t hi)
{
	return lo + rng_below(state, hi - lo + 1);
}

/* 1 .. max, small ones as likely as large ones (even in the logarithm). */
static inline int64_t rng_length(uint64_t *state, int64_t max)
{
	int bits = 0;

	if (max < 1)
		return 0;
	while (max >> (bits + 1))
		bits++;
	int64_t base = (int64_t)1 << rng_below(state, bits + 1);
	int64_t n = base + rng_below(state, base);
	return n > max ? max : n;
}

static inline int rng_one_in(uint64_t *state, int64_t n)
{
	return rng_below(state, n) == 0;
}

#endif
