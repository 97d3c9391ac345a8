/* pos.c - the slow transitions of the position word. See pos.h. */
#include "shim/pos.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/fdtable.h"
#include "shim/thread.h"

static PW_HOT_PAGE uint32_t gate; /* atomic add and subtract */
static uint32_t
	closers; /* the same: threads between clearing an entry and the real close */
static PW_HOT_PAGE uint32_t epoch;

PW_CODE_PAGE(number) uint32_t pw_gate_epoch(void)
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
	/* For an open that began while it was up, and looks when it is not any more. */
	pw_add_acq_rel(&epoch, 1);
	pw_sub_acq_rel(&gate, 1);
}

PW_CODE_PAGE(number) bool pw_gate_is_up(void)
{
	return pw_load_acquire(&gate) != 0;
}

void pw_gate_reset(void)
{
	pw_store_relaxed(&gate, 0);
	pw_store_relaxed(&closers, 0);
	pw_me.closes = 0;
}

PW_CODE_PAGE(number) void pw_closing_begin(void)
{
	if (pw_me.closes)
		return;
	pw_me.closes = 1;
	if (pw_single_threaded())
		return;
	pw_me.closes = 2;
	pw_add_acq_rel(&closers, 1);
	pw_fence_seq(); /* an adopter sees it, or we see what it adopted */
}

PW_CODE_PAGE(number) void pw_closing_end(unsigned outer)
{
	unsigned closes = pw_me.closes;

	if (outer || !closes)
		return;
	pw_me.closes = 0;
	if (closes == 2)
		pw_sub_acq_rel(&closers, 1);
}

/* Does the number still stand for the handle, which the caller's slot names? If not it was
 * closed meanwhile, and may be another file's. */
static bool stands_for(int fd, const struct pw_handle *h)
{
	return pw_fd_handle(pw_fd_entry(fd)) == h;
}

static bool adoptable(const struct pw_handle *h)
{
	return !pw_me.closes && !pw_load_acquire(&gate) && !pw_load_acquire(&closers) &&
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

enum given { CHANGED, GIVEN, GONE };

/*
 * OURS to KERNEL with `count` calls in flight. CHANGED: the word, look again. GONE: the number
 * is not the handle's any more, and nothing was done. sure: it is, whatever the table says.
 *
 * Who closes a number has counted the word's tag up first, with adopting forbidden until the
 * number is closed (numbers.c): so either our CAS fails, or he waits MOVING out before.
 */
static enum given give_back(struct pw_handle *h, int fd, uint64_t p, uint64_t count,
			    bool sure)
{
	int64_t off = (int64_t)pw_pos_value(p);
	enum given did = GIVEN;
	uint64_t saved;

	/* With one thread too: a handler that itself gave the position back, before our
	 * lseek, would have the kernel's position moved under it. */
	pw_sys->block_signals(&saved);
	if (!pw_cas(&h->pos, &p, pw_pos_make(p, PW_POS_MOVING, 0))) {
		did = CHANGED;
	} else if (!sure && !stands_for(fd, h)) {
		pw_store_release(&h->pos, pw_pos_make(p, PW_POS_OURS, (uint64_t)off));
		did = GONE;
	} else {
		/* Fails only if the number was closed behind our back; then there is no
		 * position. */
		pw_sys->lseek(fd, off, SEEK_SET);
		pw_store_release(&h->pos, pw_pos_make(p, PW_POS_KERNEL, count));
	}
	pw_sys->restore_signals(&saved);
	return did;
}

bool pw_pos_begin(struct pw_handle *h, int fd)
{
	while (!pw_pos_try_begin(h)) {
		uint64_t p = pw_pos_load(h);
		enum given did = pw_pos_ours(p) ? give_back(h, fd, p, 1, false) : CHANGED;

		if (did != CHANGED)
			return did == GIVEN;
	}
	return true;
}

bool pw_pos_leave(struct pw_handle *h, int fd)
{
	for (;;) {
		uint64_t p = pw_pos_load(h);

		if (pw_pos_ours(p)) {
			if (!pw_pos_begin(h, fd))
				return false;
			pw_pos_end(h);
			return true;
		}
		if (pw_cas_private(&h->pos, p,
				   pw_pos_make(p, PW_POS_KERNEL, pw_pos_value(p))))
			return true;
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
		return off >= 0 && off < PW_POS_MAX && stands_for(fd, h) &&
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
	if (off >= PW_POS_MAX || !stands_for(fd, h))
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

static void share(struct pw_handle *h, int fd, bool sure)
{
	pw_or_acq_rel(&h->flags, PW_H_SHARED);
	for (;;) {
		uint64_t p = pw_pos_load(h);

		if (pw_pos_ours(p)) {
			if (give_back(h, fd, p, 0, sure) != CHANGED)
				return;
		} else if (pw_cas_private(
				   &h->pos, p,
				   pw_pos_make(p, PW_POS_KERNEL, pw_pos_value(p)))) {
			return; /* the tag moved: an adopter under way fails */
		}
	}
}

void pw_pos_share(struct pw_handle *h, int fd)
{
	share(h, fd, false);
}

void pw_pos_share_through(struct pw_handle *h, int fd)
{
	share(h, fd, true);
}

void pw_pos_abandon(struct pw_hazard *s)
{
	struct pw_handle *h =
		pw_handle_of((struct pw_window *)(uintptr_t)pw_load_relaxed(&s->obj));

	if (!h)
		return;
	if (s->note == 1)
		pw_pos_end(h);
	if (s->note == PW_NOTE_STORING)
		pw_me.stored_by_parent = false; /* nobody will ask */
	pw_pos_noted(s, false);
	pw_window_leave(s, &h->win);
}

void pw_pos_fork_child(struct pw_handle *h)
{
	h->pos = pw_pos_make(h->pos, PW_POS_KERNEL, 0);
}
