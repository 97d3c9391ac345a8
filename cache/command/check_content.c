/*
 * check_content.c - what in a segment can't be. Others go on using it: only what stayed the
 * same over two looks is a fault, and it is repaired by one CAS from what was seen (it
 * fails: somebody else has been there), or by what its owner would overwrite anyway.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "cache/command/check.h"
#include "cache/command/shared.h"

#define MOST_PAGES ((uint64_t)1 << 31) /* of 64 KiB: all there is of address space */
#define PROBES 4u		       /* file.c */
#define MOST_TOUCH 40000u
#define MOST_READS (16u << 20)

struct check {
	struct pw_faults *f;
	const struct pw_users *users;
	uint64_t pidns;
	bool stuck;
	const struct pw_segment *live;
};

static void check_head(const struct check *c, const struct pw_shm_head *a,
		       const struct pw_shm_head *b)
{
	struct pw_costs was = {a->cost_call, a->cost_touch, a->cost_map};
	struct pw_costs is = {b->cost_call, b->cost_touch, b->cost_map};
	struct pw_shm_head *h = c->live ? c->live->head : NULL;

	if (!pw_costs_in_range(&was) && !pw_costs_in_range(&is)) {
		if (h) { /* measured again by whoever comes next */
			pw_store_relaxed(&h->cost_rounds, 0);
			pw_store_relaxed(&h->cost_call, 0);
			pw_store_relaxed(&h->cost_touch, 0);
			pw_store_relaxed(&h->cost_map, 0);
		}
		pw_fault_add(c->f, PW_F_COSTS, 0, h);
	}
	if (b->kernel && b->kernel != PW_PROBE_HOLDS && a->kernel == b->kernel) {
		uint32_t seen = b->kernel;

		if (h)
			pw_cas(&h->kernel, &seen, 0);
		pw_fault_add(c->f, PW_F_KERNEL, 0, h);
	}
	for (uint32_t i = 0; i < sizeof(b->past) / sizeof(b->past[0]); i++) {
		uint64_t seen = b->past[i];

		if (seen <= INT64_MAX || a->past[i] <= INT64_MAX)
			continue;
		if (h)
			pw_cas(&h->past[i], &seen, 0);
		pw_fault_add(c->f, PW_F_PAST, i, h);
	}
}

/* Not there any more, or it is another program that has the number now. */
static bool is_gone(const struct check *c, uint32_t pid)
{
	if (kill((pid_t)pid, 0))
		return errno == ESRCH;
	for (size_t i = 0; i < c->users->users; i++)
		if (c->users->user[i].pid == (pid_t)pid)
			return !c->users->user[i].attached;
	return false; /* may not be looked at */
}

static bool can_be_count(int what, uint64_t n)
{
	return n <= (what == PW_S_PAGES || what == PW_S_WINDOWS ? MOST_PAGES : INT64_MAX);
}

static void check_counts(const struct check *c, uint32_t at, struct pw_shm_slot *a,
			 struct pw_shm_slot *b)
{
	struct pw_shm_slot *slot = c->live ? &c->live->slots[at] : NULL;
	bool found = false;

	for (int k = 0; k < PW_S_COUNT; k++) {
		uint64_t seen = pw_stat_of(b)[k];

		if (can_be_count(k, seen) || can_be_count(k, pw_stat_of(a)[k]))
			continue;
		found = true;
		/* Its owner writes what it has counted the next time. */
		if (slot)
			pw_cas(&pw_stat_of(slot)[k], &seen, 0);
	}
	if (found)
		pw_fault_add(c->f, PW_F_SLOT_COUNTS, at, slot);
}

static void check_slot(const struct check *c, uint32_t at,
		       const struct pw_content *sooner, const struct pw_content *later)
{
	struct pw_shm_slot a = sooner->slots[at];
	struct pw_shm_slot b = later->slots[at];
	enum pw_fault fault;

	if (a.owner != b.owner || a.pidns != b.pidns)
		return; /* somebody comes or goes */
	if (b.owner)
		check_counts(c, at, &a, &b); /* first: they may go to the past below */
	if (b.shrink > PW_SHRINK_ALL && a.shrink == b.shrink) {
		if (c->live)
			pw_cas(&c->live->slots[at].shrink, &b.shrink, 0);
		pw_fault_add(c->f, PW_F_SLOT_SHRINK, at, c->live);
	}
	if (!b.owner && b.pidns)
		fault = PW_F_SLOT_FREE;
	else if (b.owner > INT32_MAX)
		fault = PW_F_SLOT_OWNER;
	else if (b.owner && (!b.pidns || b.pidns == c->pidns) && is_gone(c, b.owner))
		fault = PW_F_SLOT_GONE;
	else
		return;
	if (c->live)
		pw_stat_free(c->live, at, b.owner);
	pw_fault_add(c->f, fault, at, c->live);
}

static void check_word(const struct check *c, uint32_t at, uint32_t a, uint32_t b)
{
	enum pw_fault fault;

	if (a != b)
		return;
	if (pw_word_is_wild(b))
		fault = PW_F_WORD_WILD;
	else if ((b & PW_W_LOCKED) && !c->stuck)
		fault = PW_F_WORD_LOCKED;
	else
		return;
	if (c->live)
		pw_page_free(c->live, at, b);
	pw_fault_add(c->f, fault, at, c->live);
}

static bool has_content(const struct pw_shm_file *f)
{
	return f->size || f->lock || f->reads || f->opens || f->touch;
}

/* Where nobody would look for it. */
static bool is_misplaced(uint64_t key, uint32_t at)
{
	for (uint32_t i = 0; i < PROBES; i++)
		if ((key + i) % PW_FILES == at)
			return !(key & 1);
	return true;
}

static void empty(struct pw_shm_file *f)
{
	pw_store_relaxed(&f->size, 0);
	pw_store_relaxed(&f->reads, 0);
	pw_store_relaxed(&f->opens, 0);
	pw_store_relaxed(&f->touch, 0);
	pw_store_relaxed(&f->lock, 0);
}

static bool can_be_known(const struct pw_shm_file *f)
{
	return f->reads <= MOST_READS && f->touch <= MOST_TOUCH && f->size <= INT64_MAX;
}

static void check_file(const struct check *c, uint32_t at, const struct pw_shm_file *a,
		       const struct pw_shm_file *b)
{
	struct pw_shm_file *f = c->live ? &c->live->files[at] : NULL;
	uint64_t key = b->key;
	uint32_t lock = b->lock;
	enum pw_fault fault;

	if (a->key != key)
		return;
	if (key && lock && a->lock == lock && !c->stuck) {
		if (f)
			pw_cas(&f->lock, &lock, 0);
		pw_fault_add(c->f, PW_F_FILE_LOCK, at, f);
	}
	if (!key && has_content(a) && has_content(b))
		fault = PW_F_FILE_FREE;
	else if (key && is_misplaced(key, at))
		fault = PW_F_FILE_KEY;
	else if (!can_be_known(a) && !can_be_known(b))
		fault = PW_F_FILE_COUNTS;
	else
		return;
	/* Where another file has it by now, that one loses a hint. */
	if (f)
		empty(f);
	if (f && fault == PW_F_FILE_KEY)
		pw_cas(&f->key, &key, 0);
	pw_fault_add(c->f, fault, at, f);
}

void pw_check_content(struct pw_faults *f, const struct pw_content *sooner,
		      const struct pw_content *later, const struct pw_users *users,
		      bool stuck, const struct pw_segment *live)
{
	const struct check c = {f, users, pw_shared_pidns(), stuck, live};

	check_head(&c, &sooner->head, &later->head);
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		check_slot(&c, i, sooner, later);
	for (uint32_t i = 0; i < PW_WORDS; i++)
		check_word(&c, i, sooner->words[i], later->words[i]);
	for (uint32_t i = 0; i < PW_FILES; i++)
		check_file(&c, i, &sooner->files[i], &later->files[i]);
}
