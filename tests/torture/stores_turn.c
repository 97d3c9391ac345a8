/* stores_turn.c - the hand-over, past any library, as in turn.c. */
#include "raw.h"
#include "stores.h"

#define GIVE_UP_NS ((uint64_t)120 * 1000000000u)

static void give(struct shared *s, enum whose to)
{
	atomic_store(&s->whose, to);
	if (atomic_load(&s->asleep))
		raw(SYS_futex, &s->whose, FUTEX_WAKE, INT32_MAX);
}

static void doze(struct shared *s, uint32_t seen)
{
	struct timespec some = {0, 200000000};

	for (int i = 0; i < 200; i++) {
		if (atomic_load(&s->whose) != seen)
			return;
		if (i < 150)
			__builtin_ia32_pause();
		else
			raw(SYS_sched_yield);
	}
	atomic_fetch_add(&s->asleep, 1);
	if (atomic_load(&s->whose) == seen)
		raw(SYS_futex, &s->whose, FUTEX_WAIT, seen, &some);
	atomic_fetch_sub(&s->asleep, 1);
}

bool stores_wait(struct shared *s, enum whose me)
{
	uint64_t began = raw_now_ns();

	for (;;) {
		uint32_t now = atomic_load(&s->whose);

		if (now == me)
			return true;
		if (now == OVER)
			return false;
		if (me == PARENT &&
		    (stores_writer_is_gone() || raw_now_ns() - began > GIVE_UP_NS))
			return false;
		doze(s, now);
	}
}

bool stores_pass(struct shared *s, enum whose to)
{
	give(s, to);
	return stores_wait(s, to == WRITER ? PARENT : WRITER);
}

void stores_over(struct shared *s)
{
	give(s, OVER);
}
