/*
 * segment.c - see segment.h. What is accepted: a regular file of exactly the right size on
 * tmpfs, owned by the effective user, mode 0600, one link, never reached through a
 * symbolic link, whose head names this layout. Anything else is left untouched.
 */
#include "cache/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cache/check.h"
#include "cache/points.h"

void (*pw_note)(const char *what, const char *where, long err);

enum { UNTRIED, TRYING, ATTACHED, WITHOUT };

static char seg_path[PW_SEGMENT_PATH_MAX];
static PW_HOT_PAGE struct pw_segment seg;
static uintptr_t seg_at; /* of the mapping, from mmap to munmap; for pw_segment_lost() */
static PW_HOT_PAGE uint32_t seg_state; /* by CAS UNTRIED -> TRYING, then by that thread */

static int refuse(const char *why, const char *path, long err)
{
	if (pw_note)
		pw_note(why, path, -err);
	return err ? (int)err : -EINVAL;
}

void pw_segment_default_path(char out[PW_SEGMENT_PATH_MAX])
{
	static const char hex[] = "0123456789abcdef";
	char digits[12];
	size_t at = strlen("/dev/shm/pagewell-");
	size_t n = 0;
	unsigned uid = geteuid();

	memcpy(out, "/dev/shm/pagewell-", at);
	do
		digits[n++] = (char)('0' + uid % 10);
	while (uid /= 10);
	while (n)
		out[at++] = digits[--n];
	out[at++] = '-';
	out[at++] = 'v';
	for (int shift = 28; shift >= 0; shift -= 4)
		out[at++] = hex[PW_ABI >> shift & 15];
	out[at] = 0;
}

int pw_segment_set_path(const char *path)
{
	size_t n = strlen(path);

	if (n >= sizeof(seg_path))
		return -ENAMETOOLONG;
	memcpy(seg_path, path, n + 1);
	return 0;
}

const char *pw_segment_path(void)
{
	if (!seg_path[0])
		pw_segment_default_path(seg_path);
	return seg_path;
}

static void head_init(struct pw_shm_head *h)
{
	h->abi = PW_ABI;
	h->bytes = PW_SEGMENT_BYTES;
	h->words_at = PW_WORDS_AT;
	h->words = PW_WORDS;
	h->files_at = PW_FILES_AT;
	h->files = PW_FILES;
	h->slots_at = PW_SLOTS_AT;
	h->slots = PW_SLOTS;
	h->magic = PW_MAGIC;
}

/* The offsets are fixed by the ABI word; a head that says otherwise is not ours. */
static const char *head_wrong(const struct pw_shm_head *h)
{
	if (h->magic != PW_MAGIC)
		return "segment refused: not a pagewell segment";
	if (h->abi != PW_ABI)
		return "segment refused: made by another version";
	if (h->bytes != PW_SEGMENT_BYTES || h->words_at != PW_WORDS_AT ||
	    h->words != PW_WORDS || h->files_at != PW_FILES_AT || h->files != PW_FILES ||
	    h->slots_at != PW_SLOTS_AT || h->slots != PW_SLOTS ||
	    !pw_check_range(h->words_at, h->words, 4, h->bytes) ||
	    !pw_check_range(h->files_at, h->files, sizeof(struct pw_shm_file),
			    h->bytes) ||
	    !pw_check_range(h->slots_at, h->slots, sizeof(struct pw_shm_slot), h->bytes))
		return "segment refused: wild offsets in its head";
	return NULL;
}

static void seg_set(struct pw_segment *s, void *at)
{
	char *base = at;

	s->words = (uint32_t *)(base + PW_WORDS_AT);
	s->files = (struct pw_shm_file *)(base + PW_FILES_AT);
	s->slots = (struct pw_shm_slot *)(base + PW_SLOTS_AT);
	s->head = at;
}

static int map_fd(int fd, int prot, void **at)
{
	long m = pw_sys->mmap(NULL, PW_SEGMENT_BYTES, prot, MAP_SHARED, fd, 0);

	if (pw_is_err(m))
		return (int)m;
	*at = (void *)m;
	pw_store_release(&seg_at, (uintptr_t)m);
	/* Hints are of no use in a core file. */
	pw_sys->madvise(*at, PW_SEGMENT_BYTES, MADV_DONTDUMP);
	return 0;
}

static void unmap(void *at)
{
	pw_store_release(&seg_at, 0);
	pw_sys->munmap(at, PW_SEGMENT_BYTES);
}

static const char *file_wrong(int fd)
{
	struct stat st;
	struct statfs fs;

	if (pw_sys->fstat(fd, &st) || pw_sys->fstatfs(fd, &fs))
		return "segment refused: cannot be examined";
	if (!S_ISREG(st.st_mode))
		return "segment refused: not a regular file";
	if (st.st_uid != geteuid())
		return "segment refused: owned by another user";
	if ((st.st_mode & 07777) != 0600)
		return "segment refused: mode is not 0600";
	if (st.st_nlink != 1)
		return "segment refused: has other names";
	/* Only tmpfs: elsewhere a store may fail for want of space long after it was
	 * promised, and be written to a disk for nothing. */
	if (fs.f_type != TMPFS_MAGIC)
		return "segment refused: not on tmpfs";
	if (st.st_size != PW_SEGMENT_BYTES)
		return "segment refused: wrong size (too short, or of another version)";
	/* A sparse file would allocate at the first store, and SIGBUS where it cannot. */
	if (st.st_blocks * 512 < st.st_size)
		return "segment refused: has holes";
	return NULL;
}

static int attach(const char *path, int prot, struct pw_segment *out)
{
	bool write = prot & PROT_WRITE;
	int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
		    O_NOCTTY;
	long fd = pw_sys->open(path, flags, 0);
	const char *wrong;
	void *at;
	int err;

	if (fd == -ENOENT)
		return -ENOENT;
	if (fd < 0)
		return refuse(fd == -ELOOP ? "segment refused: a symbolic link"
					   : "segment cannot be opened",
			      path, fd);
	wrong = file_wrong((int)fd);
	err = wrong ? refuse(wrong, path, 0) : map_fd((int)fd, prot, &at);
	pw_sys->close((int)fd);
	if (err)
		return wrong ? err : refuse("segment cannot be mapped", path, err);
	wrong = head_wrong(at);
	if (wrong) {
		unmap(at);
		return refuse(wrong, path, 0);
	}
	seg_set(out, at);
	return 0;
}

/* The directory part of path, which must be absolute. */
static int dir_of(const char *path, char out[PW_SEGMENT_PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n;

	if (!slash || path[0] != '/')
		return -EINVAL;
	n = (size_t)(slash - path);
	if (!n)
		n = 1;
	memcpy(out, path, n);
	out[n] = 0;
	return 0;
}

/*
 * Made without a name and linked when complete, so nobody ever sees half of one. Space
 * for all of it is taken now: a store into a page that a full tmpfs could not give would
 * be a SIGBUS much later.
 */
static int create(const char *path, struct pw_segment *out)
{
	char dir[PW_SEGMENT_PATH_MAX];
	uint64_t limit;
	struct statfs fs;
	void *at;
	long fd;
	long err = dir_of(path, dir);

	if (err)
		return refuse("segment path is not absolute", path, err);
	/* Growing a file past RLIMIT_FSIZE is a SIGXFSZ, which kills. */
	if (pw_sys->getrlimit(RLIMIT_FSIZE, &limit) || limit < PW_SEGMENT_BYTES)
		return refuse("segment not made: file size limit", path, -EFBIG);
	fd = pw_sys->open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return refuse("segment not made", path, fd);
	if (pw_sys->fstatfs((int)fd, &fs) || fs.f_type != TMPFS_MAGIC)
		err = -EINVAL;
	if (!err)
		err = pw_sys->fchmod((int)fd, 0600); /* whatever the umask made of it */
	if (!err)
		err = pw_sys->fallocate((int)fd, 0, 0, PW_SEGMENT_BYTES);
	if (!err)
		err = map_fd((int)fd, PROT_READ | PROT_WRITE, &at);
	if (!err) {
		head_init(at);
		PW_POINT("attach.created");
		err = pw_sys->link_fd((int)fd, path);
		if (err)
			unmap(at);
		else
			seg_set(out, at);
	}
	pw_sys->close((int)fd);
	if (err == -EEXIST)
		return -EEXIST;
	return err ? refuse("segment not made", path, err) : 0;
}

const struct pw_segment *pw_segment_peek(void)
{
	/* Pairs with the release in pw_segment_get: the pointers before the state. */
	return pw_load_acquire(&seg_state) == ATTACHED ? &seg : NULL;
}

/* Under a limit on address space there are no windows (window.c): the segment would be of no
 * use, and may be what the program is short of later. */
static int space(const char *path)
{
	uint64_t limit;

	if (pw_sys->getrlimit(RLIMIT_AS, &limit) || limit != RLIM64_INFINITY)
		return refuse("segment not used: address space is limited", path,
			      -ENOMEM);
	return 0;
}

const struct pw_segment *pw_segment_get(void)
{
	uint32_t state = UNTRIED;
	const char *path;
	int err;

	if (pw_likely(pw_load_acquire(&seg_state) != UNTRIED))
		return pw_segment_peek();
	if (!pw_cas(&seg_state, &state, TRYING))
		return NULL; /* another thread is at it: go without, this once */
	path = pw_segment_path();
	err = space(path);
	if (!err)
		err = attach(path, PROT_READ | PROT_WRITE, &seg);
	if (err == -ENOENT) {
		err = create(path, &seg);
		if (err == -EEXIST) /* another process was quicker */
			err = attach(path, PROT_READ | PROT_WRITE, &seg);
	}
	PW_POINT("attach.mapped");
	state = TRYING;
	if (pw_cas(&seg_state, &state, err ? WITHOUT : ATTACHED))
		return err ? NULL : &seg;
	if (!err) /* detached, or lost, meanwhile */
		unmap(seg.head);
	return NULL;
}

int pw_segment_inspect(const char *path, struct pw_segment *out)
{
	return attach(path, PROT_READ, out);
}

int pw_segment_join(const char *path, struct pw_segment *out)
{
	return attach(path, PROT_READ | PROT_WRITE, out);
}

/* Anyone of the same user may cut the file short; the next store there is a SIGBUS. */
bool pw_segment_lost(uintptr_t at)
{
	uintptr_t base = pw_load_acquire(&seg_at);

	if (!base || at - base >= PW_SEGMENT_BYTES)
		return false;
	/* Whoever is in the middle of it goes on with zero pages, which are hints, too. */
	if (pw_is_err(pw_sys->mmap((void *)base, PW_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)))
		return false;
	pw_store_release(&seg_state, WITHOUT);
	return true;
}

void pw_segment_detach(void)
{
	uint32_t was = pw_xchg_acq_rel(&seg_state, WITHOUT);

	if (was == ATTACHED)
		pw_sys->mmap(seg.head, PW_SEGMENT_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
