/*
 * segment.h - the shared segment: made, attached, validated, or refused. Everything else
 * works without it; it only makes the library better informed.
 */
#ifndef PW_CACHE_SEGMENT_H
#define PW_CACHE_SEGMENT_H

#include "cache/atomic.h"
#include "cache/layout.h"
#include "cache/sys.h"

#define PW_SEGMENT_PATH_MAX 256

/* This process's view; all NULL while there is none. Set once, cleared by detach. */
struct pw_segment {
	struct pw_shm_head *head;
	uint32_t *words;
	struct pw_shm_file *files;
	struct pw_shm_slot *slots;
};

/*
 * Where the engine says why it went without something: a short text and an errno (0 if
 * none). NULL (the default) means nobody wants to know.
 */
extern void (*pw_note)(const char *what, const char *where, long err);

/*
 * The path used when attaching; default /dev/shm/pagewell-UID-vABI. Returns 0, or
 * -ENAMETOOLONG (then the old path stays). Call before the first attach.
 */
int pw_segment_set_path(const char *path);
const char *pw_segment_path(void);

/*
 * Attaches, making the segment if there is none. The first call decides: later ones
 * return the same answer. NULL: this process goes without. Never blocks on another
 * process. Opens and closes one descriptor.
 */
const struct pw_segment *pw_segment_get(void);

/* The same, but only looks: nothing is made or attached. The hot side's form. */
const struct pw_segment *pw_segment_peek(void);

/*
 * Attaches to what is there, read-only, without making anything; for the command. 0 or
 * -errno; -ENOENT: no segment.
 */
int pw_segment_inspect(const char *path, struct pw_segment *out);

/* The same, to be written to as well. */
int pw_segment_join(const char *path, struct pw_segment *out);

/*
 * The ids of this process change: its view of the segment becomes zero pages (other
 * threads may hold pointers into it), and it will not attach again.
 */
void pw_segment_detach(void);

/*
 * For the SIGBUS handler: if `at` lies in the segment, which somebody has cut short, puts
 * zero pages in its place, after which the access may be made again; true. The process goes
 * on without a segment.
 */
bool pw_segment_lost(uintptr_t at);

/*
 * Where SIGBUS is blocked there is no handler, and a segment that was cut short kills. Who
 * comes to it with all signals blocked lets this one through while it is there. (A thread that
 * has it blocked by its program's wish is not served, and never comes here.)
 */
static inline void pw_segment_enter_blocked(uint64_t *saved)
{
	pw_sys->unblock_sigbus(saved);
}

static inline void pw_segment_leave_blocked(const uint64_t *saved)
{
	pw_sys->restore_signals(saved);
}

/* "/dev/shm/pagewell-UID-vABI" for the effective user. */
void pw_segment_default_path(char out[PW_SEGMENT_PATH_MAX]);

#endif
