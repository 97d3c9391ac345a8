/*
 * stat_take.c - a picture of the segment: reads it and writes nothing to it, so that looking
 * never changes what is seen. Each word that comes from there is only ever counted, added
 * up or shown.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/stat.h"

const char *const pw_state_name[] = {
	[PW_ALIVE] = "alive",
	[PW_ELSEWHERE] = "elsewhere",
	[PW_GONE] = "gone",
	[PW_DAMAGED] = "damaged",
};

static enum pw_state state_of(uint32_t pid, uint64_t pidns)
{
	if (pid > INT32_MAX)
		return PW_DAMAGED;
	/* 0: not said yet, or it was killed before it could. */
	if (pidns && pw_shared_pidns() != pidns)
		return PW_ELSEWHERE;
	return kill((pid_t)pid, 0) && errno == ESRCH ? PW_GONE : PW_ALIVE;
}

/* Damaged words must not make a sum look small. */
static void add_to(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void take_process(struct pw_picture *p, struct pw_shm_slot *slot)
{
	uint32_t pid = pw_load_relaxed(&slot->owner);
	struct pw_process *to = &p->process[p->processes];

	if (!pid)
		return;
	p->processes++;
	to->pid = pid;
	to->state = state_of(pid, pw_load_relaxed(&slot->pidns));
	pw_clean(to->comm, sizeof(to->comm), slot->comm, sizeof(slot->comm));
	for (int i = 0; i < PW_S_COUNT; i++) {
		to->n[i] = pw_load_relaxed(&pw_stat_of(slot)[i]);
		if (to->state == PW_ALIVE || to->state == PW_ELSEWHERE)
			add_to(&p->all[i], to->n[i]);
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct pw_process *x = a;
	const struct pw_process *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

void pw_picture_take(struct pw_picture *p, const struct pw_segment *s)
{
	p->costs.call = pw_load_relaxed(&s->head->cost_call);
	p->costs.touch = pw_load_relaxed(&s->head->cost_touch);
	p->costs.map = pw_load_relaxed(&s->head->cost_map);
	for (uint32_t i = 0; i < PW_FILES; i++)
		p->files += pw_load_relaxed(&s->files[i].key) != 0;
	for (uint32_t i = 0; i < PW_WORDS; i++) {
		uint32_t w = pw_load_relaxed(&s->words[i]);

		p->uptodate += (w & PW_W_UPTODATE) != 0;
		p->locked += (w & PW_W_LOCKED) != 0;
		p->waiters += (w & PW_W_WAITERS) != 0;
	}
	/* What is mapped now is no matter of the past. */
	for (int i = PW_S_HITS; i < PW_S_COUNT; i++)
		p->all[i] = p->past[i] = pw_load_relaxed(&s->head->past[i]);
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		take_process(p, &s->slots[i]);
	qsort(p->process, p->processes, sizeof(p->process[0]), by_pid);
}
