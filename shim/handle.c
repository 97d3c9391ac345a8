/*
 * handle.c - the lock-free slab of handles. The free list is a stack whose head carries a
 * tag in its upper 16 bits, counted up by every push and pop, so that a head that was
 * popped and pushed back in between is not taken for the same.
 */
#include "shim/handle.h"

#include "shim/alloc.h"
#include "shim/earn.h"
#include "shim/thread.h"

#define PTR_MASK ((1ULL << 48) - 1)
#define TAG_ONE (1ULL << 48)
#define REFILL 32
#define FIRST 16u

/* Most programs never need more, and many have no second one at a time. */
static PW_HOT_PAGE struct pw_handle first;
static struct pw_handle others[FIRST - 1];
static PW_HOT_PAGE uint32_t first_used; /* how many of them were handed out; only grows */
static PW_HOT_PAGE uint64_t free_head;

static PW_CODE_PAGE(number) void push(struct pw_handle *h)
{
	uint64_t seen;

	do {
		seen = pw_load_relaxed(&free_head);
		pw_store_relaxed(&h->next_free,
				 (struct pw_handle *)(uintptr_t)(seen & PTR_MASK));
	} while (
		!pw_cas_private(&free_head, seen,
				(uint64_t)(uintptr_t)h | ((seen & ~PTR_MASK) + TAG_ONE)));
}

static PW_CODE_PAGE(number) struct pw_handle *pop(void)
{
	uint64_t seen;
	struct pw_handle *h;

	do {
		seen = pw_load_acquire(&free_head);
		h = (struct pw_handle *)(uintptr_t)(seen & PTR_MASK);
		if (!h)
			return NULL;
		/* h may have been popped and be in use by now: its next_free is then
		 * stale, but readable (W5), and the tag makes the CAS fail. */
	} while (!pw_cas_private(&free_head, seen,
				 (uint64_t)(uintptr_t)pw_load_relaxed(&h->next_free) |
					 ((seen & ~PTR_MASK) + TAG_ONE)));
	return h;
}

PW_CODE_PAGE(number) struct pw_handle *pw_handle_new(uint32_t flags)
{
	struct pw_handle *h = pop();

	/* One by one, so that a program with a file or two touches a page or two. */
	if (!h && pw_load_relaxed(&first_used) < FIRST) {
		uint32_t i = pw_add_relaxed(&first_used, 1);

		h = i == 0 ? &first : i < FIRST ? &others[i - 1] : NULL;
	}
	if (!h) {
		struct pw_handle *more = pw_alloc(REFILL * sizeof(*h));

		if (!more)
			return NULL;
		for (int i = 1; i < REFILL; i++)
			push(&more[i]);
		h = more;
	}
	pw_store_relaxed(&h->size, 0);
	pw_store_relaxed(&h->earned, 0);
	pw_store_relaxed(&h->next_off, 0);
	pw_store_relaxed(&h->high, 0);
	pw_store_relaxed(&h->put_high, 0);
	pw_store_relaxed(&h->end_told, UINT64_MAX);
	pw_store_relaxed(&h->calls, 0);
	pw_store_relaxed(&h->seeks, 0);
	pw_store_relaxed(&h->moved, 0);
	pw_store_relaxed(&h->batch, 0);
	pw_store_relaxed(&h->adopt_at, 0);
	pw_store_relaxed(&h->returns, 0);
	pw_store_relaxed(&h->vain, 0);
	pw_store_relaxed(&h->tries, 0);
	pw_store_relaxed(&h->hits_at, 0);
	pw_store_relaxed(&h->told, 0);
	pw_store_relaxed(&h->denied, 0);
	pw_store_relaxed(&h->hits_seen, 0);
	pw_store_relaxed(&h->win.id, 0);
	pw_store_relaxed(&h->stamp, 0);
	pw_store_relaxed(&h->writes, 0);
	pw_store_relaxed(&h->overwrites, 0);
	pw_store_relaxed(&h->flags, flags);
	pw_store_release(&h->refs, 1);
	return h;
}

/*
 * How many reads this opening brought: those that went to the kernel, and the hits this
 * thread had while the window was open. They may have been another file's as well; it is a
 * hint, and counting hits by handle would be one more store in every hit.
 */
static uint64_t reads_of(const struct pw_handle *h)
{
	uint64_t at = pw_load_relaxed(&h->hits_at);
	uint64_t hits = at && pw_me.reader ? pw_me.reader->hits + 1 - at : 0;

	return pw_load_relaxed(&h->calls) + hits;
}

/* Fewer reads can't have been worth a window, and the table is small. */
#define REMEMBERED 32u

PW_CODE_PAGE(number) void pw_handle_unref(struct pw_handle *h)
{
	uint64_t reads;

	if (pw_sub_acq_rel(&h->refs, 1) != 1)
		return;
	reads = reads_of(h);
	pw_earn_ended(reads);
	if (reads >= REMEMBERED && (pw_load_relaxed(&h->flags) & PW_H_QUALIFIED) &&
	    pw_me.serving)
		pw_file_learn(pw_load_relaxed(&h->win.id), reads);
	pw_window_retire(&h->win, true);
}

static PW_CODE_PAGE(number) void reuse(struct pw_window *w)
{
	struct pw_handle *h = pw_handle_of(w);

	/* The next life's position starts as the kernel's, none in flight. A counted call
	 * of the last life cannot come back: it was inside, and has left. */
	pw_store_relaxed(&h->pos, h->pos & ~((3ULL << 62) | ((1ULL << 48) - 1)));
	push(h);
}

void pw_handle_start(void)
{
	pw_window_dead = reuse;
}
