/* stats.c - see stats.h. */
#include "cache/stats.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cache/hazard.h"
#include "cache/points.h"

const char *const pw_stat_name[PW_S_COUNT] = {
	"pages", "windows",  "hits",	 "hit_bytes", "seeks",	"fills",
	"waits", "timeouts", "reclaims", "doubts",    "mapped", "stores",
};

static_assert(PW_S_COUNT <= sizeof(((struct pw_shm_head *)0)->past) / 8, "past has room");

/* Any thread of this process, by atomic add. */
static PW_HOT_PAGE uint64_t own[PW_S_COUNT];

/* What of it is in the segment's past already (exec hands in before it is known to fail). */
static uint64_t handed[PW_S_COUNT];

/* Index + 1 of our slot; 0: none yet, UINT32_MAX: none to be had. */
static PW_HOT_PAGE uint32_t slot_no;

void pw_stat_add(enum pw_stat what, int64_t n)
{
	pw_add_relaxed(&own[what], (uint64_t)n);
}

void pw_stat_own(uint64_t out[PW_S_COUNT])
{
	for (int i = 0; i < PW_S_COUNT; i++)
		out[i] = pw_load_relaxed(&own[i]);
	for (struct pw_reader *r = pw_readers(); r; r = r->next) {
		out[PW_S_HITS] += pw_load_relaxed(&r->hits);
		out[PW_S_HIT_BYTES] += pw_load_relaxed(&r->hit_bytes);
		out[PW_S_SEEKS] += pw_load_relaxed(&r->seeks);
		out[PW_S_STORES] += pw_load_relaxed(&r->stores);
	}
}

static void name_slot(struct pw_shm_slot *s)
{
	long fd = pw_sys->open("/proc/self/comm", 0, 0);

	memset(s->comm, 0, sizeof(s->comm));
	if (fd < 0)
		return;
	if (pw_sys->pread((int)fd, s->comm, sizeof(s->comm) - 1, 0) > 0)
		s->comm[strcspn(s->comm, "\n")] = 0;
	pw_sys->close((int)fd);
}

/*
 * A pid means something only inside its pid namespace, so a slot names that as well, and
 * only a slot of one's own namespace is ever judged dead; or one that names none: its owner
 * was killed between taking it and saying so, or is there at this moment, in a namespace where
 * we can't see it. That one goes on with a slot that may be another's, too: counts, no more.
 */
static uint64_t pidns(void)
{
	struct stat st;

	return pw_sys->stat("/proc/self/ns/pid", &st) ? UINT64_MAX : st.st_ino;
}

/* The next one may be killed before it has named its namespace. */
static void give_up(struct pw_shm_slot *slot, uint32_t owner)
{
	if (pw_load_relaxed(&slot->owner) != owner)
		return;
	pw_store_relaxed(&slot->pidns, 0);
	pw_cas(&slot->owner, &owner, 0);
}

static uint32_t take(const struct pw_segment *s)
{
	uint32_t pid = (uint32_t)getpid();
	uint32_t start = (uint32_t)pw_mix(pid);

	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		uint32_t at = (start + i) % PW_SLOTS;
		struct pw_shm_slot *slot = &s->slots[at];
		uint32_t none = 0;

		if (pw_load_relaxed(&slot->owner) || !pw_cas(&slot->owner, &none, pid))
			continue;
		PW_POINT("attach.slot");
		for (int k = 0; k < PW_S_COUNT; k++)
			pw_store_relaxed(&pw_stat_of(slot)[k], 0);
		pw_store_relaxed(&slot->shrink, 0);
		name_slot(slot);
		/* Last: from now on what is there is ours (pairs with the sweeper's load). */
		pw_store_release(&slot->pidns, pidns());
		return at + 1;
	}
	return 0;
}

static struct pw_shm_slot *my_slot(void)
{
	const struct pw_segment *s = pw_segment_peek();
	uint32_t no = pw_load_relaxed(&slot_no);

	return s && no && no != UINT32_MAX ? &s->slots[no - 1] : NULL;
}

void pw_stat_publish(void)
{
	const struct pw_segment *s = pw_segment_peek();
	uint64_t now[PW_S_COUNT];
	struct pw_shm_slot *slot;

	if (!s || pw_load_relaxed(&slot_no) == UINT32_MAX)
		return;
	slot = my_slot();
	if (!slot) {
		uint32_t none = 0;
		uint32_t no = take(s);

		if (!no && pw_stat_sweep(s))
			no = take(s);
		if (!pw_cas(&slot_no, &none, no ? no : UINT32_MAX)) {
			/* Another thread was quicker; ours goes back. */
			if (no)
				give_up(&s->slots[no - 1], (uint32_t)getpid());
		}
		slot = my_slot();
		if (!slot)
			return;
	}
	pw_stat_own(now);
	for (int i = 0; i < PW_S_COUNT; i++)
		pw_store_relaxed(&pw_stat_of(slot)[i],
				 now[i] - pw_load_relaxed(&handed[i]));
}

uint64_t pw_stat_total_pages(uint32_t *processes)
{
	const struct pw_segment *s = pw_segment_peek();
	struct pw_shm_slot *mine = my_slot();
	uint64_t total = pw_load_relaxed(&own[PW_S_PAGES]);

	*processes = 1;
	if (!s)
		return total;
	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		struct pw_shm_slot *slot = &s->slots[i];

		if (slot == mine || !pw_load_relaxed(&slot->owner))
			continue;
		uint64_t pages = pw_load_relaxed(&slot->pages);

		/* Garbage must not make the sum wrap: nobody maps more than this. */
		total += pw_min_u64(pages, (uint64_t)1 << 40);
		if (pages)
			++*processes;
	}
	return total;
}

bool pw_stat_free(const struct pw_segment *s, uint32_t at, uint32_t owner)
{
	struct pw_shm_slot *slot = &s->slots[at];
	uint64_t in = pw_load_acquire(&slot->pidns);
	bool counted = in && owner && owner <= INT32_MAX;
	uint32_t me = (uint32_t)getpid();

	/* It is ours meanwhile: if we are killed the next one finds a dead owner. */
	if (!pw_cas(&slot->owner, &owner, me))
		return false;
	PW_POINT("sweep.claimed");
	for (int k = PW_S_HITS; counted && k < PW_S_COUNT; k++)
		pw_add_relaxed(&s->head->past[k], pw_load_relaxed(&pw_stat_of(slot)[k]));
	give_up(slot, me);
	return true;
}

unsigned pw_stat_sweep(const struct pw_segment *s)
{
	uint64_t ns = pidns();
	unsigned freed = 0;

	for (uint32_t i = 0; i < PW_SLOTS; i++) {
		struct pw_shm_slot *slot = &s->slots[i];
		uint32_t pid = pw_load_relaxed(&slot->owner);
		uint64_t in = pw_load_acquire(&slot->pidns);
		bool no_pid = pid > INT32_MAX; /* only damage can have put it there */

		if (!pid || (!no_pid && in && in != ns))
			continue;
		if (no_pid || pw_sys->kill((int)pid, 0) == -ESRCH)
			freed += pw_stat_free(s, i, pid);
	}
	return freed;
}

uint32_t pw_stat_shrink_asked(void)
{
	struct pw_shm_slot *slot = my_slot();
	uint32_t what = slot && pw_load_relaxed(&slot->shrink)
				? pw_xchg_acq_rel(&slot->shrink, 0)
				: 0;

	return what && what != PW_SHRINK_ALL ? PW_SHRINK_FAIR : what;
}

bool pw_stat_shrink_is(uint32_t what)
{
	struct pw_shm_slot *slot = my_slot();

	return slot && pw_load_relaxed(&slot->shrink) == what;
}

void pw_stat_leave(bool for_good)
{
	const struct pw_segment *s = pw_segment_peek();
	struct pw_shm_slot *slot = my_slot();
	uint32_t me = (uint32_t)getpid();
	uint64_t now[PW_S_COUNT];

	if (!s)
		return;
	pw_stat_own(now);
	for (int i = PW_S_HITS; i < PW_S_COUNT; i++) {
		uint64_t more = now[i] - pw_xchg_acq_rel(&handed[i], now[i]);

		if (more)
			pw_add_relaxed(&s->head->past[i], more);
		PW_POINT("stats.leaving");
	}
	pw_store_relaxed(&slot_no, for_good ? UINT32_MAX : 0);
	/* Only if it still is ours: in a damaged segment it may be anyone's. */
	if (slot)
		give_up(slot, me);
}

void pw_stat_fork_child(void)
{
	for (struct pw_reader *r = pw_readers(); r; r = r->next)
		r->hits = r->hit_bytes = r->seeks = r->stores = 0;
	memset(own, 0, sizeof(own));
	memset(handed, 0, sizeof(handed));
	pw_store_relaxed(&slot_no, 0);
}
