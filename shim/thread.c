/* thread.c - see thread.h. */
#include "shim/thread.h"

#include <pthread.h>

#include "shim/pos.h"
#include "shim/signals.h"

__thread struct pw_thread pw_me;
PW_HOT_PAGE intptr_t pw_me_at;

static PW_HOT_PAGE pthread_key_t key;
static PW_HOT_PAGE bool have_key;

/* The thread ends: its record may be another's. Destructors of other keys that run after
 * this one and read get a record again, and glibc comes round again for it. */
static void ended(void *reader)
{
	struct pw_reader *r = reader;

	pw_thread_settle();
	pw_closing_end(0); /* cancelled in close() */
	pw_me.serving = NULL;
	pw_me.reader = NULL;
	/* Cancelled in the middle of a call: what it held goes now. */
	for (int i = 0; i < PW_HAZARD_DEPTH; i++)
		pw_pos_abandon(&r->slot[i]);
	pw_reader_release(r);
}

void pw_thread_start(void)
{
	pw_me_at = (const char *)&pw_me - (const char *)__builtin_thread_pointer();
	have_key = !pthread_key_create(&key, ended);
}

void pw_thread_update(void)
{
	pw_me.serving = pw_me.bus_blocked || pw_me.vforked ? NULL : pw_me.reader;
}

struct pw_reader *pw_thread_reader(void)
{
	struct pw_reader *r = pw_me.reader;

	if (pw_likely(r != NULL) && !pw_me.vforked)
		return r;
	if (pw_me.vforked || !have_key)
		return NULL;
	r = pw_reader_claim();
	if (!r)
		return NULL;
	/* A handler that came in between has claimed one as well: keep its. */
	if (pw_me.reader) {
		pw_reader_release(r);
		return pw_me.reader;
	}
	pw_me.reader = r;
	pw_signals_ask(); /* a mask inherited over exec or from the creating thread */
	/* Fails only for want of memory: then the record outlives the thread, unused. */
	pthread_setspecific(key, r);
	return r;
}
