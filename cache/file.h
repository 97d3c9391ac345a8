/*
 * file.h - what the segment knows of a file: the size a SEEK_END last saw, the lock that
 * only SEEK_END and calls that move an end take, and how many reads an opening brings.
 */
#ifndef PW_CACHE_FILE_H
#define PW_CACHE_FILE_H

#include "cache/segment.h"

/*
 * The mixed identity of a file: device, inode and change-proof birth data are not to be
 * had for one fstat, so two files may share one, or a recycled inode inherit a history.
 * Good enough for hints. Never 0.
 */
static inline uint64_t pw_file_id(const struct stat *st)
{
	return pw_mix(pw_mix(st->st_dev) ^ st->st_ino) | 1;
}

/* The entry of a file, made if need be at the cost of another's. NULL: no segment. */
struct pw_shm_file *pw_file_get(uint64_t id);

/*
 * Takes the size lock. Waits a microsecond or two at the most; false: go without, the
 * kernel's answer is right with or without it. A lock held for a tenth of a second belongs
 * to the dead, and is taken over.
 */
bool pw_file_lock_size(struct pw_shm_file *f);
void pw_file_unlock_size(struct pw_shm_file *f, uint64_t size);

/* Reads that an opening of this file is likely to bring; 0: unknown. */
uint32_t pw_file_expected_reads(uint64_t id);

/*
 * What the first touch of one of its pages costs, in ns, its unmapping included: a tenth, where
 * the kernel keeps the file in larger pieces, of what it costs elsewhere. 0: unknown, or known
 * for so many openings that it is time to find out again.
 */
uint32_t pw_file_touch(uint64_t id);
void pw_file_set_touch(uint64_t id, uint32_t ns);

/* An opening has ended after so many reads. Where there are threads, all signals may be
 * blocked. */
void pw_file_learn(uint64_t id, uint64_t reads);

#endif
