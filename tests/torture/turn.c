/*
 * The hand-over between writer and reader: a word in shared memory, spun on
 * for a moment and then slept on. No call here goes through libc, so that
 * neither side's library can learn from it that something has happened.
 */
#include "exact.h"
#include "raw.h"

#define GIVE_UP_NS ((uint64_t)120 * 1000000000u)

void turn_give(struct exact *x, enum turn to)
{
	atomic_store(&x->whose, to);
	if (atomic_load(&x->asleep))
		raw(SYS_futex, &x->whose, FUTEX_WAKE, INT32_MAX);
}

/* Spin, yield, then sleep for at most a second. True when the word changed. */
static bool wait_while(struct exact *x, uint32_t seen)
{
	struct timespec second = {1, 0};

	for (int i = 0; i < 200; i++) {
		if (atomic_load(&x->whose) != seen)
			return true;
		__builtin_ia32_pause();
	}
	for (int i = 0; i < 100; i++) {
		if (atomic_load(&x->whose) != seen)
			return true;
		raw(SYS_sched_yield);
	}
	atomic_fetch_add(&x->asleep, 1);
	if (atomic_load(&x->whose) == seen)
		raw(SYS_futex, &x->whose, FUTEX_WAIT, seen, &second);
	atomic_fetch_sub(&x->asleep, 1);
	return atomic_load(&x->whose) != seen;
}

bool turn_await_writer_side(struct exact *x)
{
	uint64_t start = raw_now_ns();

	while (!wait_while(x, TURN_READER)) {
		if (reader_is_gone() || raw_now_ns() - start > GIVE_UP_NS)
			return false;
	}
	return true;
}

/* The writer's death kills the reader (PR_SET_PDEATHSIG), so no other end. */
enum turn turn_await_reader_side(struct exact *x)
{
	while (!wait_while(x, TURN_WRITER))
		;
	return atomic_load(&x->whose);
}
