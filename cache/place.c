/* place.c - the list of file systems. Why each is where it is: cache/README.md. */
#include "cache/place.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>

#include "cache/atomic.h"

#ifndef EROFS_SUPER_MAGIC_V1
#define EROFS_SUPER_MAGIC_V1 0xE0F5E1E2
#endif
#ifndef F2FS_SUPER_MAGIC
#define F2FS_SUPER_MAGIC 0xF2F52010
#endif

struct place {
	const char *name;
	uint32_t magic;
	bool fixed;  /* made whole, and never written to */
	bool stores; /* overwrites in place, and a mapping may be stored into */
	bool served; /* written by pw_place_configure() alone, before any reader */
};

static struct place places[] = {
	/* ext2 and ext3 have the same number */
	{"ext4", EXT4_SUPER_MAGIC, .served = true, .stores = true},
	{"btrfs", BTRFS_SUPER_MAGIC, .served = true},
	{"tmpfs", TMPFS_MAGIC, .served = true, .stores = true},
	{"squashfs", SQUASHFS_MAGIC, .served = true, .fixed = true},
	{"erofs", EROFS_SUPER_MAGIC_V1, .served = true, .fixed = true},
	/* its reads exclude writers, ours do not */
	{"xfs", 0x58465342, .served = false},
	/* a mapping stays with the lower file */
	{"overlay", OVERLAYFS_SUPER_MAGIC, .served = false},
	{"f2fs", F2FS_SUPER_MAGIC, .served = false},
};

#define PLACES (sizeof(places) / sizeof(places[0]))

/*
 * Device to verdict, direct-mapped; 0: empty. dev_t of the kernel has 32 bits in use (st_dev
 * is 64 wide, but from new_encode_dev), so nothing is cut off.
 */
static uint64_t verdicts[32];

#define SERVED 1u
#define FIXED 2u
#define NO_HOLES 4u /* only files without holes, and with a name */
#define BITS 3

static uint64_t verdict(dev_t dev, unsigned how)
{
	return (uint64_t)dev << BITS | how;
}

static bool whole(const struct stat *st)
{
	return st->st_nlink && st->st_blocks * 512 >= st->st_size;
}

static bool ordinary(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size > 0 && st->st_size < (int64_t)1 << 47;
}

static uint64_t *verdict_at(const struct stat *st)
{
	return &verdicts[pw_mix(st->st_dev) % 32];
}

const char *pw_place_names(void)
{
	return "ext4, btrfs, tmpfs, squashfs, erofs, xfs, overlay, f2fs";
}

static int configure(const char *spec, bool apply)
{
	while (*spec) {
		size_t n = strcspn(spec, ",");
		size_t i = 0;

		if (n < 2 || (spec[0] != '+' && spec[0] != '-'))
			return -EINVAL;
		while (i < PLACES && (strlen(places[i].name) != n - 1 ||
				      memcmp(places[i].name, spec + 1, n - 1) != 0))
			i++;
		if (i == PLACES)
			return -EINVAL;
		if (apply)
			places[i].served = spec[0] == '+';
		spec += n;
		spec += *spec == ',';
	}
	return 0;
}

int pw_place_configure(const char *spec)
{
	int err = configure(spec, false);

	return err ? err : configure(spec, true);
}

static const struct place *find(uint32_t magic)
{
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].magic == magic)
			return &places[i];
	return NULL;
}

bool pw_place_listed(int fd)
{
	struct statfs fs;

	return !pw_sys->fstatfs(fd, &fs) && find((uint32_t)fs.f_type);
}

bool pw_place_stores(int fd, const struct stat *st)
{
	const struct place *p;
	struct statfs fs;

	/* Where a page is several blocks, some of them may have been punched by somebody since
	 * the page became ours to store into; kernels before 6.14 are not known to tell. */
	if (!ordinary(st) || !whole(st) || (st->st_mode & (S_ISUID | S_ISGID)) ||
	    st->st_blksize < (blksize_t)PW_PAGE || pw_sys->fstatfs(fd, &fs))
		return false;
	p = find((uint32_t)fs.f_type);
	return p && p->served && p->stores;
}

/* The last verdict on that device; 0: forgotten. */
static unsigned last_verdict(const struct stat *st, bool *known)
{
	uint64_t v = pw_load_relaxed(verdict_at(st));

	*known = v && v >> BITS == (uint64_t)st->st_dev;
	return *known ? (unsigned)(v & ((1u << BITS) - 1)) : 0;
}

bool pw_place_fixed(const struct stat *st)
{
	bool known;

	return last_verdict(st, &known) & FIXED;
}

int pw_place_guess(const struct stat *st)
{
	bool known;
	unsigned how = last_verdict(st, &known);

	if (!ordinary(st))
		return 0;
	if (!known)
		return -1;
	return (how & SERVED) && (!(how & NO_HOLES) || whole(st));
}

/* 1 served, 0 not. Devices are told apart by number; a number reused for another file
 * system within one process (umount, mount) would need the old mount's files gone, and a
 * window's own fstat still sees the right file: only the verdict would be stale. So the
 * type is asked again whenever a window is made; this cache only spares the handles that
 * will never have one. */
bool pw_place_served(int fd, const struct stat *st)
{
	const struct place *p;
	unsigned how = 0;
	struct statfs fs;
	bool known;

	if (!ordinary(st))
		return false;
	if (!(last_verdict(st, &known) & SERVED) && known)
		return false;
	if (pw_sys->fstatfs(fd, &fs))
		return false;
	p = find((uint32_t)fs.f_type);
	if (p && p->served)
		how = SERVED | (p->fixed ? FIXED : 0) |
		      (p->magic == TMPFS_MAGIC ? NO_HOLES : 0);
	pw_store_relaxed(verdict_at(st), verdict(st->st_dev, how));
	return (how & SERVED) && (!(how & NO_HOLES) || whole(st));
}
