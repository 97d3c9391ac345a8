/*
 * test_copy.c - the guarded copy against memcpy at every size class, border and alignment;
 * what it says when there is no witness, when the witness goes, and when something faults.
 */
#include "unit.h"

UNIT_SUITE(copy);

#define BIG 65536
#define EDGE 64
#define CANARY 0xa5

static unsigned char src_area[BIG + 256];
static unsigned char dst_area[EDGE + BIG + 16 + EDGE];

static bool all(const unsigned char *p, size_t n, unsigned char v)
{
	while (n)
		if (p[--n] != v)
			return false;
	return true;
}

/* One copy of each pair of alignments, the witness at the last byte or up to 255 after it. */
static void copies_of(size_t n)
{
	for (size_t from = 0; from < 16; from++) {
		for (size_t to = 0; to < 16; to++) {
			const unsigned char *src = src_area + from;
			unsigned char *dst = dst_area + EDGE + to;
			const unsigned char *q = src + n - 1 + (from * 16 + to) % 240;
			bool same;

			memset(dst - EDGE, CANARY, EDGE);
			memset(dst + n, CANARY, EDGE);
			memset(dst, 0, n);
			same = pw_copy_witnessed(dst, src, n, q) == PW_COPY_DONE &&
			       !memcmp(dst, src, n) && all(dst - EDGE, EDGE, CANARY) &&
			       all(dst + n, EDGE, CANARY);
			if (!same)
				cr_assert_fail("%zu bytes, %zu to %zu", n, from, to);
		}
	}
}

UNIT_TEST(copy, same_as_memcpy)
{
	for (size_t i = 0; i < sizeof(src_area); i++)
		src_area[i] = unit_byte(i);
	for (size_t n = 1; n <= 300; n++)
		copies_of(n);
	for (size_t n = 2030; n <= 2066; n++)
		copies_of(n);
	copies_of(1024);
	copies_of(4095);
	copies_of(4096);
	copies_of(4097);
	copies_of(BIG);
}

static const size_t sizes[] = {1,   2,	  3,	4,    7,    8,	  15,	16,   17,
			       31,  32,	  33,	63,   64,   65,	  100,	127,  128,
			       129, 1000, 2047, 2048, 2049, 2050, 4096, 5000, BIG};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

UNIT_TEST(copy, no_witness_copies_nothing)
{
	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		memset(src_area, 1, sizeof(src_area));
		memset(dst_area, CANARY, sizeof(dst_area));
		src_area[n - 1] = 0;
		cr_assert_eq(pw_copy_witnessed(dst_area, src_area, n, src_area + n - 1),
			     PW_COPY_NO_WITNESS);
		cr_assert(all(dst_area, sizeof(dst_area), CANARY), "%zu bytes", n);
		/* A zero as the last byte is no matter if another one is the witness. */
		cr_assert_eq(pw_copy_witnessed(dst_area, src_area, n, src_area + n),
			     PW_COPY_DONE);
		cr_assert(!memcmp(dst_area, src_area, n));
	}
}

/* The witness lies where the copy stores: it is there before, and gone after. */
UNIT_TEST(copy, lost_witness)
{
	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		for (int last = 0; last < 2; last++) {
			unsigned char *q = dst_area + (last ? n - 1 : 0);

			memset(src_area, 0, n);
			memset(dst_area, 1, n);
			cr_assert_eq(pw_copy_witnessed(dst_area, src_area, n, q),
				     PW_COPY_LOST_WITNESS, "%zu bytes", n);
		}
	}
}

/* Three pages, of which only the one in the middle may be used: a load or store beside the
 * range ends the test. */
static unsigned char *lonely_page(size_t pages)
{
	unsigned char *m = mmap(NULL, (pages + 2) * PW_PAGE, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq((void *)m, MAP_FAILED);
	cr_assert_eq(mprotect(m + PW_PAGE, pages * PW_PAGE, PROT_READ | PROT_WRITE), 0);
	return m + PW_PAGE;
}

UNIT_TEST(copy, nothing_beside_the_range)
{
	unsigned char *src = lonely_page(2);
	unsigned char *dst = lonely_page(2);

	memset(src, 7, 2 * PW_PAGE);
	for (size_t n = 1; n <= 2 * PW_PAGE;
	     n += n < 300 || (n > 2040 && n < 2060) ? 1 : 97) {
		size_t end = 2 * PW_PAGE - n;

		memset(dst, 0, 2 * PW_PAGE);
		if (pw_copy_witnessed(dst, src + end, n, src + 2 * PW_PAGE - 1) ||
		    pw_copy_witnessed(dst + end, src, n, src + n - 1) ||
		    !all(dst, n, 7) || !all(dst + end, n, 7))
			cr_assert_fail("%zu bytes", n);
	}
}

/* A mapping of two pages of a file that has only the first. */
static unsigned char *half_mapped(int prot)
{
	int fd = unit_file(unit_tmp("file"), 2 * PW_PAGE);
	unsigned char *m = mmap(NULL, 2 * PW_PAGE, prot, MAP_SHARED, fd, 0);

	cr_assert_neq((void *)m, MAP_FAILED);
	cr_assert_eq(ftruncate(fd, PW_PAGE), 0);
	close(fd);
	return m;
}

UNIT_TEST(copy, source_faults)
{
	unsigned char *m = half_mapped(PROT_READ);

	unit_guard();
	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		/* Wholly beyond; its last byte beyond; and from the first byte on. */
		cr_assert_eq(pw_copy_witnessed(dst_area, m + PW_PAGE, n, m),
			     PW_COPY_FAULT);
		if (n > 1 && n <= PW_PAGE) {
			cr_assert_eq(
				pw_copy_witnessed(dst_area, m + PW_PAGE - (n - 1), n, m),
				PW_COPY_FAULT, "%zu bytes", n);
			cr_assert_eq(pw_copy_witnessed(dst_area, m + PW_PAGE - 1, n, m),
				     PW_COPY_FAULT, "%zu bytes", n);
		}
	}
	/* And it works on, with the same stack and registers. */
	cr_assert_eq(pw_copy_witnessed(dst_area, m, PW_PAGE, m + PW_PAGE - 1),
		     PW_COPY_DONE);
	cr_assert(unit_exact(dst_area, PW_PAGE, 0));
}

UNIT_TEST(copy, destination_faults)
{
	unsigned char *m = half_mapped(PROT_READ | PROT_WRITE);

	unit_guard();
	memset(src_area, 3, sizeof(src_area));
	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		cr_assert_eq(pw_copy_witnessed(m + PW_PAGE, src_area, n, src_area),
			     PW_COPY_FAULT);
		if (n > 1 && n <= PW_PAGE)
			cr_assert_eq(pw_copy_witnessed(m + PW_PAGE - (n - 1), src_area, n,
						       src_area),
				     PW_COPY_FAULT, "%zu bytes", n);
	}
}

UNIT_TEST(copy, witness_faults)
{
	unsigned char *m = half_mapped(PROT_READ);

	unit_guard();
	for (size_t i = 0; i < SIZES; i++) {
		memset(dst_area, CANARY, sizeof(dst_area));
		cr_assert_eq(pw_copy_witnessed(dst_area, m, 1, m + PW_PAGE),
			     PW_COPY_FAULT);
		cr_assert(all(dst_area, sizeof(dst_area), CANARY),
			  "looked at q before the copy");
	}
}

UNIT_TEST(copy, fixup_knows_its_own)
{
	uintptr_t copy = pw_copy_fixup((uintptr_t)pw_copy_witnessed);
	uintptr_t look = pw_copy_fixup((uintptr_t)pw_copy_look_ahead);

	cr_assert_neq(copy, 0u);
	cr_assert_neq(look, 0u);
	cr_assert_neq(copy, look);
	cr_assert_eq(pw_copy_fixup((uintptr_t)pw_copy_witnessed + 1), copy);
	cr_assert_eq(pw_copy_fixup((uintptr_t)pw_copy_look_ahead + 1), look);
	/* A fault in the fix-up itself, or anywhere else, is not ours. */
	cr_assert_eq(pw_copy_fixup(copy), 0u);
	cr_assert_eq(pw_copy_fixup(look), 0u);
	cr_assert_eq(pw_copy_fixup((uintptr_t)pw_copy_fixup), 0u);
	cr_assert_eq(pw_copy_fixup((uintptr_t)memcpy), 0u);
	cr_assert_eq(pw_copy_fixup(0), 0u);
	cr_assert_eq(pw_copy_fixup(UINTPTR_MAX), 0u);
}

UNIT_TEST(copy, look_ahead_finds_the_first)
{
	static unsigned char area[16 + 320];

	for (size_t from = 0; from < 16; from++) {
		const unsigned char *p = area + from;

		for (size_t n = 0; n <= 300; n++) {
			memset(area, 0, sizeof(area));
			area[from + n] = 1; /* one too far */
			if (from)
				area[from - 1] = 1; /* one too early */
			if (pw_copy_look_ahead(p, n))
				cr_assert_fail("found in %zu zeros", n);
			for (size_t at = n; at-- > 0;) {
				area[from + at] = (unsigned char)(at % 2 ? 0x80 : 1);
				if (pw_copy_look_ahead(p, n) != p + at)
					cr_assert_fail("%zu of %zu not found", at, n);
			}
		}
	}
}

UNIT_TEST(copy, look_ahead_stays_inside_and_faults)
{
	unsigned char *page = lonely_page(1);
	unsigned char *m = half_mapped(PROT_READ | PROT_WRITE);

	unit_guard();
	for (size_t n = 0; n <= 300; n++)
		if (pw_copy_look_ahead(page + PW_PAGE - n, n) ||
		    pw_copy_look_ahead(page, n))
			cr_assert_fail("found in %zu zeros", n);
	memset(m, 0, PW_PAGE);
	for (size_t before = 0; before <= 300; before++)
		if (pw_copy_look_ahead(m + PW_PAGE - before, 301))
			cr_assert_fail("found beyond the end of the file");
	/* What comes in an earlier load than the one that faults is found. */
	m[PW_PAGE - 32] = 1;
	cr_assert_eq(pw_copy_look_ahead(m + PW_PAGE - 32, 64), m + PW_PAGE - 32);
}

/* ---- stored: the same, and the witness lies behind what is written to ------------------------- */

static void stores_of(size_t n)
{
	for (size_t from = 0; from < 16; from++) {
		for (size_t to = 0; to < 16; to++) {
			const unsigned char *src = src_area + from;
			unsigned char *dst = dst_area + EDGE + to;
			bool same;

			memset(dst - EDGE, CANARY, EDGE);
			memset(dst + n, CANARY, EDGE);
			memset(dst, 0, n);
			same = pw_copy_stored(dst, src, n, dst + n + from) ==
				       PW_COPY_DONE &&
			       !memcmp(dst, src, n) && all(dst - EDGE, EDGE, CANARY) &&
			       all(dst + n, EDGE, CANARY);
			if (!same)
				cr_assert_fail("%zu bytes, %zu to %zu", n, from, to);
		}
	}
}

UNIT_TEST(copy, stored_same_as_memcpy)
{
	for (size_t i = 0; i < sizeof(src_area); i++)
		src_area[i] = unit_byte(i);
	for (size_t n = 1; n <= 300; n++)
		stores_of(n);
	for (size_t n = 2040; n <= 2056; n++)
		stores_of(n);
	stores_of(4096);
	stores_of(BIG);
}

UNIT_TEST(copy, stored_without_witness)
{
	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		memset(src_area, 1, sizeof(src_area));
		memset(dst_area, CANARY, sizeof(dst_area));
		dst_area[n] = 0;
		cr_assert_eq(pw_copy_stored(dst_area, src_area, n, dst_area + n),
			     PW_COPY_NO_WITNESS);
		dst_area[n] = CANARY;
		cr_assert(all(dst_area, sizeof(dst_area), CANARY), "%zu bytes", n);
		/* Gone with the copy: it is looked at after all of it as well. */
		memset(src_area, 0, n);
		cr_assert_eq(pw_copy_stored(dst_area, src_area, n, dst_area + n - 1),
			     PW_COPY_LOST_WITNESS, "%zu bytes", n);
		cr_assert(all(dst_area, n, 0));
	}
}

/* Either side, or the witness, is a page of a file that is not there. */
UNIT_TEST(copy, stored_faults)
{
	unsigned char *gone;
	int file = unit_file(unit_shm("cut"), 4 * PW_PAGE);

	unit_guard();
	gone = mmap(NULL, 4 * PW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	cr_assert_neq((void *)gone, MAP_FAILED);
	cr_assert_eq(ftruncate(file, PW_PAGE), 0);
	memset(src_area, 1, sizeof(src_area));
	memset(dst_area, 1, sizeof(dst_area));
	for (size_t i = 0; i < SIZES; i++) {
		size_t n = sizes[i];

		cr_assert_eq(pw_copy_stored(dst_area, gone + PW_PAGE, n, dst_area + n),
			     PW_COPY_FAULT, "source, %zu bytes", n);
		cr_assert_eq(pw_copy_stored(gone + PW_PAGE, src_area, n, dst_area + n),
			     PW_COPY_FAULT, "window, %zu bytes", n);
		cr_assert_eq(pw_copy_stored(dst_area, src_area, n, gone + PW_PAGE),
			     PW_COPY_FAULT, "witness, %zu bytes", n);
	}
}
