/* test_base.c - the small arithmetic everything else rests on, and the check on ranges. */
#include "unit.h"

#include "cache/base.h"
#include "cache/check.h"

UNIT_SUITE(base);

UNIT_TEST(base, min_and_round_up)
{
	cr_assert_eq(pw_min_u64(1, 2), 1u);
	cr_assert_eq(pw_min_u64(2, 1), 1u);
	cr_assert_eq(pw_min_u64(UINT64_MAX, 0), 0u);
	cr_assert_eq(pw_round_up(0, 4096), 0u);
	cr_assert_eq(pw_round_up(1, 4096), 4096u);
	cr_assert_eq(pw_round_up(4096, 4096), 4096u);
	cr_assert_eq(pw_round_up(4097, 4096), 8192u);
	cr_assert_eq(pw_round_up(((uint64_t)1 << 47) + 1, PW_CP),
		     ((uint64_t)1 << 47) + PW_CP);
}

/* The tables take a word's low bits as the place and its high bits as the tag: both must
 * depend on all of the input. */
UNIT_TEST(base, mix_moves_every_bit)
{
	for (int in = 0; in < 64; in++) {
		unsigned flipped[64] = {0};

		for (uint64_t i = 0; i < 256; i++) {
			uint64_t v = i * 0x9e3779b97f4a7c15ULL + i;
			uint64_t d = pw_mix(v) ^ pw_mix(v ^ (uint64_t)1 << in);

			for (int out = 0; out < 64; out++)
				flipped[out] += d >> out & 1;
		}
		for (int out = 0; out < 64; out++)
			if (flipped[out] < 64 || flipped[out] > 192)
				cr_assert_fail("bit %d moves bit %d in %u of 256", in,
					       out, flipped[out]);
	}
}

UNIT_TEST(base, check_range)
{
	cr_assert(pw_check_range(0, 0, 0, 0));
	cr_assert(pw_check_range(0, 4, 25, 100));
	cr_assert(pw_check_range(96, 1, 4, 100));
	cr_assert(pw_check_range(100, 0, 4, 100), "an empty range may lie at the end");
	cr_assert_not(pw_check_range(97, 1, 4, 100));
	cr_assert_not(pw_check_range(101, 0, 4, 100));
	cr_assert_not(pw_check_range(0, 26, 4, 100));
	/* Products and sums that wrap to something small. */
	cr_assert_not(pw_check_range(0, (uint64_t)1 << 62, 4, 100));
	cr_assert_not(pw_check_range(0, UINT64_MAX, UINT64_MAX, UINT64_MAX));
	cr_assert_not(pw_check_range(UINT64_MAX, 1, 1, 100));
	cr_assert_not(pw_check_range(UINT64_MAX - 3, 1, 4, 100));
	cr_assert(pw_check_range(0, 1, UINT64_MAX, UINT64_MAX));
}
