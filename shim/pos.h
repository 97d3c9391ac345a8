/*
 * pos.h - the position word of a handle, 64 bits, atomic:
 *
 *   63  62 61      48 47                                   0
 *  +------+----------+--------------------------------------+
 *  |state | tag      | offset, or real calls in flight      |
 *  +------+----------+--------------------------------------+
 *
 *   KERNEL  the kernel has the position; so many real calls are using it now
 *   OURS    we have it: the offset
 *   MOVING  on its way from one to the other, by a thread that has all its signals
 *           blocked, for the time of one lseek
 *
 * Every change counts the tag up, but for calls counting in, so that "read, and then move
 * on from where I read" can be one CAS that fails if anybody did anything in between.
 *
 * Adopting in a process with one thread needs no MOVING: only its own signal handlers come
 * between, they run whole, and asking where the position is moves nothing: ask, then CAS;
 * if the word changed, start over.
 */
#ifndef PW_SHIM_POS_H
#define PW_SHIM_POS_H

#include "shim/handle.h"

#define PW_POS_STATE (3ULL << 62)
#define PW_POS_KERNEL (0ULL << 62)
#define PW_POS_OURS (1ULL << 62)
#define PW_POS_MOVING (2ULL << 62)
#define PW_POS_TAG_ONE (1ULL << 48)
#define PW_POS_TAG (0x3fffULL << 48)
#define PW_POS_VALUE (PW_POS_TAG_ONE - 1)

/* Offsets from here on are the kernel's. */
#define PW_POS_MAX ((int64_t)1 << 47)

static inline bool pw_pos_ours(uint64_t p)
{
	return (p & PW_POS_STATE) == PW_POS_OURS;
}

static inline uint64_t pw_pos_value(uint64_t p)
{
	return p & PW_POS_VALUE;
}

static inline uint64_t pw_pos_make(uint64_t before, uint64_t state, uint64_t value)
{
	return state | ((before + PW_POS_TAG_ONE) & PW_POS_TAG) | value;
}

/*
 * OURS at `seen` to OURS at `off` (< PW_POS_MAX). False: somebody was quicker. Release:
 * what was read before is read before the move; acquire: with the next mover's.
 */
static inline bool pw_pos_move_as(struct pw_handle *h, uint64_t seen, uint64_t off,
				  bool alone)
{
	uint64_t to = pw_pos_make(seen, PW_POS_OURS, off);

	return alone ? pw_cas_local(&h->pos, seen, to) : pw_cas(&h->pos, &seen, to);
}

static inline bool pw_pos_move(struct pw_handle *h, uint64_t seen, uint64_t off)
{
	return pw_pos_move_as(h, seen, off, pw_single_threaded());
}

/*
 * A write of n bytes that one thread is about to make at our position moves it first, from
 * `seen`; a handler in between goes on behind that. False: one was quicker, or n is too much.
 */
static inline bool pw_pos_claim(struct pw_handle *h, uint64_t seen, uint64_t n)
{
	return n < (uint64_t)PW_POS_MAX - pw_pos_value(seen) &&
	       pw_pos_move_as(h, seen, pw_pos_value(seen) + n, true);
}

/* Only `put` of them were written. False: a handler has gone on from there, and it stays. */
static inline bool pw_pos_unclaim(struct pw_handle *h, uint64_t seen, uint64_t n,
				  uint64_t put)
{
	uint64_t claimed = pw_pos_make(seen, PW_POS_OURS, pw_pos_value(seen) + n);

	return pw_pos_move_as(h, claimed, pw_pos_value(seen) + put, true);
}

/*
 * Before a real call that uses the kernel's position through fd: gives the position back
 * if we have it, and counts the call in. pw_pos_end() counts it out. The caller's slot
 * names the handle's window until then. False: fd does not stand for the handle any more,
 * and nothing was done.
 */
bool pw_pos_begin(struct pw_handle *h, int fd);
void pw_pos_end(struct pw_handle *h);

/*
 * The slot remembers that a call is counted in, from after it was until before it is counted
 * out, so that a thread that is cancelled in the call, or jumps out of it, does not leave
 * the handle with a call in flight for ever.
 */
static inline void pw_pos_noted(struct pw_hazard *s, bool counted)
{
	pw_compiler_barrier();
	pw_store_relaxed(&s->note, (uintptr_t)counted);
	pw_compiler_barrier();
}

/* In the same place: the slot's call is in the middle of a store. */
#define PW_NOTE_STORING 2u

static inline void pw_store_noted(struct pw_hazard *s, uintptr_t storing)
{
	pw_compiler_barrier();
	pw_store_relaxed(&s->note, storing);
	pw_compiler_barrier();
}

/* The slot's call will not come back: it is counted out if need be, and the slot is left. */
void pw_pos_abandon(struct pw_hazard *s);

/* As pw_pos_begin() if the word says KERNEL; false, and nothing done, if it does not. */
bool pw_pos_try_begin(struct pw_handle *h);

/* Counting in and out with one thread, where nothing is in the way; false: the long way. */
static inline bool pw_pos_quick_begin(struct pw_handle *h)
{
	uint64_t p = pw_load_relaxed(&h->pos);

	return (p & PW_POS_STATE) == PW_POS_KERNEL && pw_cas_local(&h->pos, p, p + 1);
}

static inline bool pw_pos_quick_end(struct pw_handle *h)
{
	uint64_t p = pw_load_relaxed(&h->pos);

	return (p & PW_POS_STATE) == PW_POS_KERNEL && pw_pos_value(p) &&
	       pw_cas_local(&h->pos, p,
			    pw_pos_make(p, PW_POS_KERNEL, pw_pos_value(p) - 1));
}

/*
 * KERNEL with nothing in flight to OURS, asking the kernel through fd. False if it is not
 * so, the gate is up, the handle is shared, or the offset is out of range.
 */
bool pw_pos_adopt(struct pw_handle *h, int fd);

/* The same with a new offset (SEEK_SET), without asking. */
bool pw_pos_adopt_at(struct pw_handle *h, uint64_t off);

/* Back to the kernel, and never adopted again: others may come to share it. Nothing is given
 * back if fd does not stand for the handle any more. */
void pw_pos_share(struct pw_handle *h, int fd);
/* The same through a number that is known to be its, though it is not in the table. */
void pw_pos_share_through(struct pw_handle *h, int fd);

/* Before fd's entry is cleared: back to the kernel, and the tag is counted up, so that whoever
 * was about to move the position looks again. False as pw_pos_begin(). */
bool pw_pos_leave(struct pw_handle *h, int fd);

/*
 * From before an entry is cleared until the number is closed or replaced nothing is adopted:
 * an adopter's lseek might be of the file that the number stands for next, and whoever still
 * reads from the number reads from the kernel's position. With one thread it is kept from its
 * own handlers only. The end comes in the same thread, also when the call is left by a jump.
 * outer: pw_me.closes when the call began; a handler's close in the middle of another one does
 * not end that.
 */
void pw_closing_begin(void);
void pw_closing_end(unsigned outer);

/* The position for a reader: waits out MOVING, asleep. */
uint64_t pw_pos_load(struct pw_handle *h);

/*
 * While the gate is up nothing is adopted: from before a fork or exec gives everything
 * back until both sides go their ways. Counted: gates nest across threads.
 */
void pw_gate_raise(void);
void pw_gate_lower(void);
/* How often it was raised: an open during which this changed may have been forked. */
uint32_t pw_gate_epoch(void);
bool pw_gate_is_up(void);
void pw_gate_reset(void); /* fork child: the other threads' gates are gone */

/* In a fork child: calls in flight were other threads'. */
void pw_pos_fork_child(struct pw_handle *h);

#endif
