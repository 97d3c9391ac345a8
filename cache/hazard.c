/* hazard.c - the thread records and the scan over them. */
#include "cache/hazard.h"

#include <sys/mman.h>

#include "cache/sys.h"

/* The first thread, mostly the only one, needs no memory of its own. */
static PW_HOT_PAGE struct pw_reader first;
static PW_HOT_PAGE struct pw_reader *head; /* push only, by CAS */
static PW_HOT_PAGE uint32_t first_used;	   /* 0, then 1 or more */

struct pw_hazard *pw_hazard_nested(struct pw_reader *r)
{
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		if (!pw_load_relaxed(&r->slot[i].obj))
			return &r->slot[i];
	return NULL;
}

PW_CODE_PAGE(number) struct pw_reader *pw_readers(void)
{
	return pw_load_acquire(&head); /* pairs with the push */
}

static struct pw_reader *push(struct pw_reader *r)
{
	struct pw_reader *seen = pw_load_acquire(&head);

	pw_store_relaxed(&r->taken, 1);
	do
		r->next = seen;
	while (!pw_cas(&head, &seen, r)); /* release: the record before its place */
	return r;
}

struct pw_reader *pw_reader_claim(void)
{
	for (struct pw_reader *r = pw_readers(); r; r = r->next) {
		uint32_t no = 0;

		if (!pw_load_relaxed(&r->taken) && pw_cas(&r->taken, &no, 1))
			return r;
	}

	if (!pw_load_relaxed(&first_used) && !pw_add_relaxed(&first_used, 1))
		return push(&first);

	long at = pw_sys->mmap(NULL, PW_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pw_is_err(at))
		return NULL;

	struct pw_reader *page = (struct pw_reader *)at;

	for (size_t k = 1; k < PW_PAGE / sizeof(*page); k++)
		pw_store_release(&push(&page[k])->taken, 0);
	return push(&page[0]);
}

void pw_reader_release(struct pw_reader *r)
{
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		pw_store_release(&r->slot[i].obj,
				 NULL); /* the last use before the end of it */
	pw_store_release(&r->taken, 0); /* pairs with the claim's CAS */
}

void pw_readers_reset(struct pw_reader *mine)
{
	for (struct pw_reader *r = pw_readers(); r; r = r->next)
		if (r != mine)
			pw_reader_release(r);
}

PW_CODE_PAGE(number) bool pw_hazard_held(const void *obj)
{
	bool held = false;

	/* No early way out: mostly there are four slots to look at, and none is. */
	for (struct pw_reader *r = pw_readers(); r && !held; r = r->next)
#pragma GCC unroll 4
		for (int i = 0; i < PW_HAZARD_DEPTH; i++)
			held |= pw_load_acquire(&r->slot[i].obj) == obj;
	return held;
}
