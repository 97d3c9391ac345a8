/* file.c - see file.h. */
#include "cache/file.h"

#include "cache/points.h"

#define PROBES 4u
#define STALE_MS 100u
#define SPINS 64 /* some 1 to 2 us of pauses */

/* Only if it is there already. */
static struct pw_shm_file *find(uint64_t id)
{
	const struct pw_segment *s = id ? pw_segment_peek() : NULL;

	for (uint32_t i = 0; s && i < PROBES; i++) {
		struct pw_shm_file *f = &s->files[(id + i) % PW_FILES];

		if (pw_load_acquire(&f->key) == id) /* pairs with the CAS below */
			return f;
	}
	return NULL;
}

struct pw_shm_file *pw_file_get(uint64_t id)
{
	const struct pw_segment *s = pw_segment_peek();
	struct pw_shm_file *f;
	uint64_t seen;

	if (!s)
		return NULL;
	for (uint32_t i = 0; i < PROBES; i++) {
		f = &s->files[(id + i) % PW_FILES];
		seen = pw_load_acquire(&f->key); /* pairs with the CAS below */
		if (seen == id)
			return f;
		if (!seen && pw_cas(&f->key, &seen, id))
			return f;
	}
	/* All taken: one is replaced. Whoever still writes to it under its old name spoils
	 * a hint. */
	f = &s->files[(id + (id >> 32) % PROBES) % PW_FILES];
	seen = pw_load_relaxed(&f->key);
	if (!pw_cas(&f->key, &seen, id))
		return NULL;
	pw_store_relaxed(&f->reads, 0);
	pw_store_relaxed(&f->opens, 0);
	pw_store_relaxed(&f->size, 0);
	pw_store_relaxed(&f->touch, 0);
	return f;
}

static uint32_t now_ms(void)
{
	return (uint32_t)(pw_sys->now_ns() / 1000000) | 1;
}

/* Taken long ago, or at a time that is none. Who took it just after we looked at the clock
 * is not stale. */
static bool stale(uint32_t now, uint32_t stamp)
{
	return now - stamp + STALE_MS > 2 * STALE_MS;
}

bool pw_file_lock_size(struct pw_shm_file *f)
{
	/* The stamp is only read by those who find the lock taken, so the clock is asked
	 * here, before: 20 ns, without a system call. */
	uint32_t mine = now_ms();
	uint32_t seen = 0;

	if (pw_cas(&f->lock, &seen, mine))
		return true;
	for (int i = 0; i < SPINS; i++) {
		if (stale(mine, seen) && pw_cas(&f->lock, &seen, mine))
			return true;
		__builtin_ia32_pause();
		seen = 0;
		if (pw_cas(&f->lock, &seen, mine))
			return true;
	}
	return false;
}

void pw_file_unlock_size(struct pw_shm_file *f, uint64_t size)
{
	PW_POINT("size.locked");
	if (pw_load_relaxed(&f->size) != size)
		pw_store_relaxed(&f->size, size);
	pw_store_release(&f->lock, 0); /* pairs with the CAS of the next holder */
}

uint32_t pw_file_expected_reads(uint64_t id)
{
	struct pw_shm_file *f = find(id);

	return f && pw_load_relaxed(&f->opens) ? pw_load_relaxed(&f->reads) / 16 : 0;
}

#define TOUCH_AGAIN 32u

uint32_t pw_file_touch(uint64_t id)
{
	struct pw_shm_file *f = find(id);

	if (!f || pw_load_relaxed(&f->opens) % TOUCH_AGAIN == TOUCH_AGAIN - 1)
		return 0;
	return (uint32_t)pw_min_u64(pw_load_relaxed(&f->touch), 160000);
}

void pw_file_set_touch(uint64_t id, uint32_t ns)
{
	struct pw_shm_file *f = pw_file_get(id);

	if (f && pw_load_relaxed(&f->touch) != ns)
		pw_store_relaxed(&f->touch, ns);
}

static void learn(struct pw_shm_file *f, uint64_t reads)
{
	uint32_t avg;
	uint32_t now = (uint32_t)pw_min_u64(reads, 1u << 20) * 16;

	/* Two processes may do this at once: one of the two openings is forgotten. */
	avg = pw_load_relaxed(&f->reads);
	if (!pw_load_relaxed(&f->opens))
		avg = now;
	else
		avg = avg - avg / 4 + now / 4;
	pw_store_relaxed(&f->reads, avg);
	pw_store_relaxed(&f->opens, pw_load_relaxed(&f->opens) + 1);
}

void pw_file_learn(uint64_t id, uint64_t reads)
{
	bool blocked = !pw_single_threaded();
	struct pw_shm_file *f;
	uint64_t saved;

	if (blocked)
		pw_segment_enter_blocked(&saved);
	f = pw_file_get(id);
	if (f)
		learn(f, reads);
	if (blocked)
		pw_segment_leave_blocked(&saved);
}
