/* check.h - no word that was read from shared memory is used before it has passed here. */
#ifndef PW_CACHE_CHECK_H
#define PW_CACHE_CHECK_H

#include "cache/base.h"

/* true if [off, off + n * each) lies within [0, total), with no sum or product wrapping. */
static inline bool pw_check_range(uint64_t off, uint64_t n, uint64_t each, uint64_t total)
{
	uint64_t bytes;
	uint64_t end;

	if (__builtin_mul_overflow(n, each, &bytes) ||
	    __builtin_add_overflow(off, bytes, &end))
		return false;
	return end <= total;
}

#endif
