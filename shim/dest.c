/* dest.c - see dest.h. */
#include "shim/dest.h"

uint64_t pw_dest_table[PW_DEST_PAGES];
uint64_t pw_src_table[PW_SRC_PAGES];
uint64_t pw_dest_gen = 1; /* not 0: an empty entry is page 0 at generation 0 */
PW_HOT_PAGE uint32_t pw_dest_closed;

void pw_dest_move(void)
{
	uint64_t gen = pw_add_acq_rel(&pw_dest_gen, 1) + 1;

	if (pw_unlikely(!(gen & ((1ULL << PW_DEST_GEN_BITS) - 1)))) {
		for (unsigned i = 0; i < PW_DEST_PAGES; i++)
			pw_store_relaxed(&pw_dest_table[i], 0);
		for (unsigned i = 0; i < PW_SRC_PAGES; i++)
			pw_store_relaxed(&pw_src_table[i], 0);
		pw_add_acq_rel(&pw_dest_gen, 1);
	}
}

void pw_dest_close(void)
{
	pw_store_release(&pw_dest_closed, 1);
	pw_dest_move();
}
