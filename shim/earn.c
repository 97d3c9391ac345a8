/* earn.c - see earn.h. */
#include "shim/earn.h"

#include <errno.h>

#include "shim/dest.h"
#include "shim/explain.h"
#include "shim/fdtable.h"
#include "shim/guard.h"
#include "shim/life.h"
#include "shim/pos.h"
#include "shim/signals.h"
#include "shim/store.h"
#include "shim/thread.h"
#include "shim/trust.h"

/* Costs and history come from the segment, and attaching to it takes as long as some 150 reads
 * (system calls, and first touches of its pages): not before as many were made in this process, so
 * many batches; then what they would have gained is counted. */
#define ATTACH_AFTER 10u
/* Large reads gain little, so they wait longer. */
#define LARGE 16384u
#define LARGE_FIRST 64u
/* What a file is, and where it ends, is asked after so many reads, not before: two calls for 64. */
#define LOOK_FIRST 64u
/* So many reads in sequence for which the window was no help, and it goes. */
#define VAIN 4u
#define TRIES_MAX 24u /* a price of minutes */

static void look(struct pw_handle *h, int fd)
{
	struct stat st;

	if (pw_sys->fstat(fd, &st) || !pw_file_may_be_served(fd, &st)) {
		pw_or_acq_rel(&h->flags, PW_H_NEVER);
		return;
	}
	pw_store_relaxed(&h->win.id, pw_file_id(&st));
	pw_store_relaxed(&h->size, (uint64_t)st.st_size);
	pw_or_acq_rel(&h->flags, PW_H_QUALIFIED | (pw_place_fixed(&st) ? PW_H_FIXED : 0));
}

bool pw_earn_qualified(struct pw_handle *h, int fd)
{
	uint32_t flags = pw_load_relaxed(&h->flags);

	if (!(flags & (PW_H_QUALIFIED | PW_H_NEVER))) {
		look(h, fd);
		flags = pw_load_relaxed(&h->flags);
	}
	return (flags & (PW_H_QUALIFIED | PW_H_NEVER)) == PW_H_QUALIFIED;
}

/* Not shared, and not lately given back. */
static bool may_adopt(const struct pw_handle *h)
{
	return !(pw_load_relaxed(&h->flags) & (PW_H_SHARED | PW_H_NEVER)) &&
	       pw_load_relaxed(&h->calls) >= pw_load_relaxed(&h->adopt_at);
}

void pw_earn_sought(struct pw_handle *h, uint64_t to)
{
	pw_store_relaxed(&h->calls, pw_load_relaxed(&h->calls) + 1);
	pw_store_relaxed(&h->seeks, pw_load_relaxed(&h->seeks) + 1);
	if (to != pw_load_relaxed(&h->next_off)) /* not only asked where it is */
		pw_store_relaxed(&h->moved, 1);
	pw_store_relaxed(&h->next_off, to);
}

bool pw_earn_seek(struct pw_handle *h, int fd)
{
	return pw_earn_seek_may(h) && pw_earn_qualified(h, fd);
}

void pw_earn_returned(struct pw_handle *h)
{
	uint32_t returns = pw_load_relaxed(&h->returns);

	pw_store_relaxed(&h->returns, returns + 1);
	pw_store_relaxed(&h->adopt_at,
			 pw_load_relaxed(&h->calls) + (4u << pw_min_u64(returns, 10)));
}

static bool stands_for(int fd, const struct pw_window *w)
{
	return (const void *)pw_fd_handle(pw_fd_entry(fd)) == w;
}

void pw_earn_open(struct pw_handle *h, int fd)
{
	static uint32_t
		opened; /* the first finds all cold, and says little of those to come */
	int64_t began = pw_sys->now_ns();
	struct stat st;
	uint64_t saved;
	enum pw_window_kind kind = PW_WIN_NONE;
	int err = -EPERM;

	pw_signals_ask(); /* a handler under a mask we could not see must not begin this */
	if (!pw_me.serving)
		return;
	pw_sys->block_signals(&saved);
	if (!pw_sys->fstat(fd, &st) && pw_file_served(fd, &st) && pw_guard_install())
		kind = pw_store_kind(h, fd, &st);
	if (kind != PW_WIN_NONE)
		err = pw_window_open(&h->win, fd, kind, &st, stands_for);
	pw_sys->restore_signals(&saved);
	if (err && err != -EBUSY && err != -EAGAIN)
		pw_or_acq_rel(&h->flags, PW_H_NO_WINDOW);
	/* Refused meanwhile by pw_numbers_abandoned(), which then looked for a window: one of us
	 * two came second, and sees what the other did. */
	pw_fence_seq();
	if (!err && (pw_load_relaxed(&h->flags) & PW_H_NO_WINDOW)) {
		pw_window_retire(&h->win, false);
	} else if (!err) {
		if (pw_load_relaxed(&opened) && kind != PW_WIN_BLIND)
			pw_costs_window_took(pw_sys->now_ns() - began);
		pw_store_relaxed(&opened, 1);
		pw_store_relaxed(&h->size, (uint64_t)st.st_size);
		pw_store_relaxed(&h->hits_at, pw_me.serving->hits + 1);
		pw_explain_window(h, fd);
	}
	pw_store_relaxed(&h->earned, 0);
}

/*
 * What `n` reads, `bytes` long together, would have cost less from a window, in ns. On fresh
 * ground, in sequence beyond what was ever read, its pages would have to be touched for the
 * first time, which may cost more than it saves.
 */
static uint64_t gain_of(const struct pw_handle *h, uint64_t n, uint64_t bytes, bool fresh)
{
	const struct pw_costs *c = pw_costs();
	uint32_t own = pw_file_touch(pw_load_relaxed(&h->win.id));
	uint64_t touching = (uint64_t)(own ? own : c->touch) * bytes / PW_PAGE;
	uint64_t gain = n * pw_costs_gain_new(c, bytes / n);

	if (!fresh)
		return n * pw_costs_gain(c, bytes / n);
	if (pw_load_relaxed(&h->flags) & PW_H_VAIN)
		return 0;
	return pw_costs_pays(gain, touching, own) ? gain - touching : 0;
}

/*
 * In sequence, and by the machine's usual price a window would be no gain; but this file's
 * pages may be ten times as cheap to touch. Once for a handle, and if nobody knows this file,
 * that is worth finding out: it costs as much as a window, after calls that took more.
 */
static bool worth_exploring(struct pw_handle *h, int fd, uint64_t bytes)
{
	const struct pw_costs *c = pw_costs();
	uint64_t n = bytes / PW_EARN_BATCH;

	if ((pw_load_relaxed(&h->flags) & PW_H_VAIN) ||
	    pw_load_relaxed(&h->calls) < LARGE_FIRST ||
	    (uint64_t)pw_load_relaxed(&h->calls) * c->call < 2 * (uint64_t)c->map ||
	    !pw_earn_qualified(h, fd) ||
	    !pw_costs_pays(pw_costs_gain_new(c, n), c->touch * n / PW_PAGE / 8, true))
		return false;
	return !pw_file_touch(pw_load_relaxed(&h->win.id));
}

/* How many reads an opening brings in this process, as a moving average over those that brought
 * enough to be looked at; 0: not known yet. A hint: any thread, plain loads and stores. */
static PW_HOT_PAGE uint32_t usual_reads;

PW_CODE_PAGE(number) void pw_earn_ended(uint64_t reads)
{
	uint32_t n = (uint32_t)pw_min_u64(reads, 1U << 20);
	uint32_t usual = pw_load_relaxed(&usual_reads);

	if (n >= PW_EARN_BATCH)
		pw_store_relaxed(&usual_reads, usual ? usual - usual / 4 + n / 4 : n);
}

/* This file's history; else what is usual in this process. 0: neither is known. */
static uint64_t expected_reads(const struct pw_handle *h)
{
	uint64_t reads = pw_file_expected_reads(pw_load_relaxed(&h->win.id));

	return reads ? reads : pw_load_relaxed(&usual_reads);
}

/*
 * Adds up `gain`, of n reads. True: a window now. Where nothing is known of what is to come,
 * when reads have cost as much more than hits would have as a window costs: so, whatever
 * comes, at most twice the price of the best choice is paid (ski rental). Where openings have
 * a history, at once if what is still to be expected pays for it, else not before twice as
 * many have come as were expected. Each window that was let go doubles the price of the next:
 * so all of them together cost no more than twice what the reads did.
 */
static bool paid(struct pw_handle *h, uint64_t gain, uint64_t n)
{
	uint64_t price = (uint64_t)pw_costs()->map
			 << pw_min_u64(pw_load_relaxed(&h->tries), TRIES_MAX);
	uint64_t sum = pw_load_relaxed(&h->earned) + gain;
	uint64_t expected = expected_reads(h);
	uint64_t calls = pw_load_relaxed(&h->calls);

	pw_store_relaxed(&h->earned, sum);
	if (calls < expected && (expected - calls) * (gain / n) >= price)
		return true;
	return sum >= price && (!expected || calls >= 2 * expected);
}

/*
 * Who reads new ground in sequence mostly stops at the file's end, and how far that is can be
 * known: `gain`, of reads of `bytes` that ended at `end`, says what the rest of the file will
 * bring. Much more than a window costs: not waited for. Less: not now, however much was paid;
 * reads that come back over the same ground are another matter.
 */
static bool promising(const struct pw_handle *h, uint64_t gain, uint64_t bytes,
		      uint64_t end, bool paid)
{
	uint64_t price = pw_costs()->map;
	uint64_t size = pw_load_relaxed(&h->size);
	uint64_t coming = bytes && size > end ? (size - end) / bytes * gain : 0;

	return coming >= (paid ? price : 3 * price);
}

static PW_HOT_PAGE uint32_t batches; /* racy: any thread, plain loads and stores */

/* Is the segment there, or has it been earned by now? */
static bool attachable(void)
{
	uint32_t so_far = pw_load_relaxed(&batches) + 1;

	if (pw_segment_peek())
		return true;
	pw_store_relaxed(&batches, so_far);
	return so_far >= ATTACH_AFTER;
}

/* A segment that is cut short is a SIGBUS: not attached before that is looked after. */
static bool informed(struct pw_handle *h)
{
	/* With no destination ever known to be good, a window would only be looked at. */
	if (pw_load_relaxed(&pw_dest_closed) ||
	    (!pw_guard_installed() && !pw_guard_install())) {
		pw_or_acq_rel(&h->flags, PW_H_NO_WINDOW);
		return false;
	}
	pw_segment_get();
	return true;
}

/* The window has been paid for; what else is known of this reader is for the next one. */
static void adopt_again(struct pw_handle *h, int fd)
{
	if (may_adopt(h) && pw_me.serving)
		pw_pos_adopt(h, fd);
}

/* A batch is full: do its reads and those before ask for a window? */
static bool batch_asks(struct pw_handle *h, int fd)
{
	uint64_t bytes = pw_load_relaxed(&h->batch);
	uint64_t end = pw_load_relaxed(&h->next_off);
	bool in_sequence = !pw_load_relaxed(&h->moved);
	bool fresh = in_sequence && end > pw_load_relaxed(&h->high);
	bool attached = pw_segment_peek() != NULL;
	uint64_t calls = pw_load_relaxed(&h->calls);
	uint64_t gain;
	bool wanted;

	pw_store_relaxed(&h->batch, 0);
	pw_store_relaxed(&h->moved, 0);
	if (!pw_me.serving ||
	    (pw_load_relaxed(&h->flags) & (PW_H_NO_WINDOW | PW_H_NEVER)))
		return false;
	if (bytes > LARGE * (uint64_t)PW_EARN_BATCH && calls < LARGE_FIRST) {
		pw_earn_note_high(h, end);
		return false;
	}
	if (!attachable() || !informed(h)) {
		pw_earn_note_high(h, end);
		if (calls >= LOOK_FIRST)
			pw_earn_qualified(h, fd); /* a device? it passes by */
		return false;
	}
	gain = gain_of(h, PW_EARN_BATCH, bytes, fresh);
	pw_earn_note_high(h, end);
	if (!attached && pw_segment_peek()) /* its batches until now were worth as much */
		pw_store_relaxed(&h->earned, gain * (calls / PW_EARN_BATCH - 1));
	wanted = paid(h, gain, PW_EARN_BATCH);
	if (fresh && gain && calls >= LOOK_FIRST && pw_earn_qualified(h, fd))
		wanted = promising(h, gain, bytes, end, wanted);
	if (!gain)
		wanted = worth_exploring(h, fd, bytes);
	pw_explain_denied(h, fresh && !wanted ? PW_WHY_ONCE : PW_WHY_EARN);
	return wanted && pw_earn_qualified(h, fd);
}

void pw_earn_batch(struct pw_handle *h, int fd)
{
	bool open = pw_window_is_open(&h->win);

	/* Of what can only be written to these were errors. */
	if (open || !may_adopt(h) || (pw_load_relaxed(&h->flags) & PW_H_WRITE_ONLY)) {
		pw_store_relaxed(&h->batch, 0);
		pw_store_relaxed(&h->moved, 0);
		if (open)
			adopt_again(h, fd);
		return;
	}
	if (batch_asks(h, fd) && pw_pos_adopt(h, fd))
		pw_earn_open(h, fd);
}

void pw_earn_pread_batch(struct pw_handle *h, int fd)
{
	if (batch_asks(h, fd))
		pw_earn_open(h, fd);
}

/* The window was a try, and is no gain: as if it had never been, and not for reads like
 * these again. Ends when the caller, whose
 * slot names it, leaves. */
static void let_go(struct pw_handle *h, int fd)
{
	pw_or_acq_rel(&h->flags, PW_H_VAIN);
	pw_store_relaxed(&h->vain, 0);
	pw_store_relaxed(&h->tries, pw_load_relaxed(&h->tries) + 1);
	pw_store_relaxed(&h->earned, 0);
	pw_window_retire(&h->win, false);
	if (pw_pos_ours(pw_pos_load(h)) && pw_pos_begin(h, fd))
		pw_pos_end(h);
}

void pw_earn_refresh(struct pw_handle *h, int fd, uint64_t off, uint64_t n)
{
	if (!pw_window_refresh(&h->win, fd, off, n)) {
		pw_window_retire(&h->win, false);
		pw_store_relaxed(&h->earned, 0);
	} else if (off + n > pw_load_relaxed(&h->size)) {
		pw_store_relaxed(&h->size, off + n);
	}
}

void pw_earn_read(struct pw_handle *h, int fd, uint64_t off, uint64_t got)
{
	bool in_sequence = off == pw_load_relaxed(&h->next_off);
	uint64_t hits = pw_me.serving ? pw_me.serving->hits : 0;

	if (!pw_window_is_open(&h->win)) {
		if (pw_earn_pread(h, off, got))
			pw_earn_pread_batch(h, fd);
		return;
	}
	/* A reader that comes back to pages it knows between those in sequence, as who walks
	 * through an index does, has use for its window; and ground that is read once more may
	 * be read again: there every page is paid off by its reads. */
	if (in_sequence && off + got > pw_load_relaxed(&h->high) &&
	    hits == pw_load_relaxed(&h->hits_seen) && !pw_window_gains(&h->win, got))
		pw_store_relaxed(&h->vain, pw_load_relaxed(&h->vain) + 1);
	else
		pw_store_relaxed(&h->vain, 0);
	pw_store_relaxed(&h->hits_seen, hits);
	pw_earn_noted(h, off, got);
	/* What is stored into is a gain all the same. */
	if (pw_load_relaxed(&h->vain) >= VAIN && !pw_load_relaxed(&h->overwrites))
		let_go(h, fd);
	else
		pw_earn_refresh(h, fd, off, got);
}
