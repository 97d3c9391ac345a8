/* pos.c - the slow transitions of the position word. See pos.h. */
#include "shim/pos.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/thread.h"

static uint32_t gate; /* atomic add and subtract */
static uint32_t epoch;

uint32_t pw_gate_epoch(void)
{
	return pw_load_acquire(&epoch);
}

void pw_gate_raise(void)
{
	pw_add_acq_rel(&epoch, 1);
	pw_add_acq_rel(&gate, 1);
	pw_fence_seq(); /* an adopter sees it, or we see what it adopted */
}

void pw_gate_lower(void)
{
	pw_sub_acq_rel(&gate, 1);
}

void pw_gate_reset(void)
{
	pw_store_relaxed(&gate, 0);
}

static bool adoptable(const struct pw_handle *h)
{
	return !pw_load_acquire(&gate) &&
	       !(pw_load_acquire(&h->flags) & (PW_H_SHARED | PW_H_NEVER));
}

/* MOVING lasts as long as an lseek. It cannot be our own: who moves has its signals
 * blocked, so no handler of that thread comes here. */
uint64_t pw_pos_load(struct pw_handle *h)
{
	uint64_t p = pw_load_acquire(&h->pos);

	while (pw_unlikely((p & PW_POS_STATE) == PW_POS_MOVING)) {
		struct timespec nap = {0, 20000};

		pw_syscall2(SYS_nanosleep, &nap, NULL);
		p = pw_load_acquire(&h->pos);
	}
	return p;
}

bool pw_pos_try_begin(struct pw_handle *h)
{
	for (;;) {
		uint64_t p = pw_pos_load(h);

		if (pw_pos_ours(p))
			return false;
		if (pw_cas_private(&h->pos, p, p + 1))
			return true;
	}
}

void pw_pos_end(struct pw_handle *h)
{
	for (;;) {
		uint64_t p = pw_load_acquire(&h->pos);

		/* A fork child may have been made by a handler inside a counted call: its
		 * word was reset, and there is nothing to count out. */
		if ((p & PW_POS_STATE) != PW_POS_KERNEL || !pw_pos_value(p))
			return;
		/* The tag moves: who adopts must not have looked before the call ended. */
		if (pw_cas_private(&h->pos, p,
				   pw_pos_make(p, PW_POS_KERNEL, pw_pos_value(p) - 1)))
			return;
	}
}

/* OURS to KERNEL with `count` calls in flight; false: the word changed, look again. */
static bool give_back(struct pw_handle *h, int fd, uint64_t p, uint64_t count)
{
	int64_t off = (int64_t)pw_pos_value(p);
	uint64_t saved;

	/* With one thread too: a handler that itself gave the position back, before our
	 * lseek, would have the kernel's position moved under it. */
	pw_sys->block_signals(&saved);
	if (!pw_cas(&h->pos, &p, pw_pos_make(p, PW_POS_MOVING, 0))) {
		pw_sys->restore_signals(&saved);
		return false;
	}
	/* Fails only if the number was closed behind our back; then there is no position. */
	pw_sys->lseek(fd, off, SEEK_SET);
	pw_store_release(&h->pos, pw_pos_make(p, PW_POS_KERNEL, count));
	pw_sys->restore_signals(&saved);
	return true;
}

void pw_pos_begin(struct pw_handle *h, int fd)
{
	while (!pw_pos_try_begin(h)) {
		uint64_t p = pw_pos_load(h);

		if (pw_pos_ours(p) && give_back(h, fd, p, 1))
			return;
	}
}

bool pw_pos_adopt(struct pw_handle *h, int fd)
{
	uint64_t p = pw_load_acquire(&h->pos);
	uint64_t saved;
	int64_t off;

	if ((p & (PW_POS_STATE | PW_POS_VALUE)) != PW_POS_KERNEL || !adoptable(h))
		return false;
	if (pw_single_threaded()) {
		off = pw_sys->lseek(fd, 0, SEEK_CUR);
		/* A handler that used, shared or adopted the handle meanwhile has moved the
		 * tag. */
		return off >= 0 && off < PW_POS_MAX &&
		       pw_cas_local(&h->pos, p,
				    pw_pos_make(p, PW_POS_OURS, (uint64_t)off));
	}
	pw_sys->block_signals(&saved);
	if (!pw_cas(&h->pos, &p, pw_pos_make(p, PW_POS_MOVING, 0))) {
		pw_sys->restore_signals(&saved);
		return false;
	}
	/* Looked at again after MOVING is there to be seen: a forker that raised the gate
	 * before waits us out, one that raises it after finds OURS and gives it back. */
	pw_fence_seq();
	off = adoptable(h) ? pw_sys->lseek(fd, 0, SEEK_CUR) : -1;
	if (off >= PW_POS_MAX)
		off = -1;
	pw_store_release(&h->pos, off < 0 ? pw_pos_make(p, PW_POS_KERNEL, 0)
					  : pw_pos_make(p, PW_POS_OURS, (uint64_t)off));
	pw_sys->restore_signals(&saved);
	return off >= 0;
}

bool pw_pos_adopt_at(struct pw_handle *h, uint64_t off)
{
	uint64_t p = pw_load_acquire(&h->pos);

	if ((p & (PW_POS_STATE | PW_POS_VALUE)) != PW_POS_KERNEL || !adoptable(h))
		return false;
	if (!pw_cas_private(&h->pos, p, pw_pos_make(p, PW_POS_OURS, off)))
		return false;
	/* A forker that set SHARED between our look and our CAS moved the tag, and the CAS
	 * failed; one that comes after it finds OURS. */
	return true;
}

void pw_pos_share(struct pw_handle *h, int fd)
{
	pw_or_acq_rel(&h->flags, PW_H_SHARED);
	for (;;) {
		uint64_t p = pw_pos_load(h);

		if (pw_pos_ours(p)) {
			if (give_back(h, fd, p, 0))
				return;
		} else if (pw_cas_private(
				   &h->pos, p,
				   pw_pos_make(p, PW_POS_KERNEL, pw_pos_value(p)))) {
			return; /* the tag moved: an adopter under way fails */
		}
	}
}

void pw_pos_abandon(struct pw_hazard *s)
{
	struct pw_handle *h =
		pw_handle_of((struct pw_window *)(uintptr_t)pw_load_relaxed(&s->obj));

	if (!h)
		return;
	if (s->note) {
		pw_pos_noted(s, false);
		pw_pos_end(h);
	}
	pw_window_leave(s, &h->win);
}

void pw_pos_fork_child(struct pw_handle *h)
{
	h->pos = pw_pos_make(h->pos, PW_POS_KERNEL, 0);
}
