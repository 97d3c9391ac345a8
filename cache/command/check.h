/* check.h - `pagewell check`: what may be wrong with a segment, and who looks for it. */
#ifndef PW_COMMAND_CHECK_H
#define PW_COMMAND_CHECK_H

#include "cache/command/users.h"

/* Returns the exit status. */
int pw_check(int argc, char **argv);

enum pw_fault {
	PW_F_KIND, /* the file */
	PW_F_OWNER,
	PW_F_MODE,
	PW_F_LINKS,
	PW_F_PLACE,
	PW_F_SIZE,
	PW_F_HOLES,
	PW_F_MAGIC, /* its head */
	PW_F_ABI,
	PW_F_OFFSETS,
	PW_F_COSTS,
	PW_F_KERNEL,
	PW_F_PAST,
	PW_F_SLOT_GONE, /* slots */
	PW_F_SLOT_OWNER,
	PW_F_SLOT_FREE,
	PW_F_SLOT_COUNTS,
	PW_F_SLOT_SHRINK,
	PW_F_WORD_LOCKED, /* page words */
	PW_F_WORD_WILD,
	PW_F_FILE_FREE, /* file entries */
	PW_F_FILE_KEY,
	PW_F_FILE_COUNTS,
	PW_F_FILE_LOCK,
	PW_FAULTS
};

struct pw_faults {
	struct {
		uint32_t n; /* found */
		uint32_t repaired;
		uint32_t first; /* number of the first slot, word or entry */
	} of[PW_FAULTS];
};

/* Notes one, found at number `at`. */
void pw_fault_add(struct pw_faults *f, enum pw_fault what, uint32_t at, bool repaired);

/* A segment's content, copied. */
struct pw_content {
	struct pw_shm_head head;
	struct pw_shm_slot slots[PW_SLOTS];
	struct pw_shm_file files[PW_FILES];
	uint32_t words[PW_WORDS];
};

/*
 * Adds what was wrong at both looks, a moment apart. `users`: who was there at the second;
 * stuck: one of those that have the segment was seen stopped, or waiting for a disk, and may
 * hold any lock in it. live: the segment, to repair what is wrong as long as it still is what
 * `later` says; or NULL.
 */
void pw_check_content(struct pw_faults *f, const struct pw_content *sooner,
		      const struct pw_content *later, const struct pw_users *users,
		      bool stuck, const struct pw_segment *live);

#endif
