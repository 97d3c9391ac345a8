/* check.c - `pagewell check`: the file and the head; then, twice, the content. */
#include "cache/command/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"
#include "cache/command/text.h"

/* Exit statuses. */
enum { CLEAN = 0, FAULTY = 1, CANNOT = 2 };

/* Longer than a reader waits for a page, or one who wants a size lock respects it. */
#define MOMENT_US 150000

static const char help[] =
	"usage: pagewell check [--repair] [--segment=PATH]\n"
	"\n"
	"Looks for everything that can't be in a segment (PATH; default:\n"
	"PAGEWELL_SEGMENT, else the user's own in /dev/shm): its file, its head, slots "
	"of\n"
	"processes that are gone, page words and size locks that nobody will unlock,\n"
	"words and counts that no process writes. Others may be using it: only what is\n"
	"still the same at a second look, a moment later, counts.\n"
	"\n"
	"Nothing in a segment can make a program's reads wrong, so there is no need to\n"
	"check before anything; what is wrong costs time, or makes counts wrong.\n"
	"\n"
	"  --repair   put right what can be, also while it is in use. What can't be\n"
	"             is left for you: each line says what to do\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0 if nothing was wrong, or all of it has been repaired; 1 if\n"
	"something is wrong; 2 if there is no segment, it can't be looked at, or for a\n"
	"wrong option.\n";

static const struct {
	const char *one;   /* of one, or of the whole */
	const char *many;  /* of several, after their number; NULL: of the whole */
	const char *unit;  /* what `first` counts, or NULL */
	const char *to_do; /* where --repair can do nothing */
} text[PW_FAULTS] = {
	[PW_F_KIND] = {"it is not a regular file", NULL, NULL, "name another path"},
	[PW_F_OWNER] = {"it is owned by another user", NULL, NULL,
			"check it as that user, or name another path"},
	[PW_F_MODE] = {"its mode is not 0600", NULL, NULL, NULL},
	[PW_F_LINKS] = {"it has another name, too", NULL, NULL, "remove one of the two"},
	[PW_F_PLACE] = {"it is not on a tmpfs", NULL, NULL, "name another path"},
	[PW_F_SIZE] = {"it has the wrong size", NULL, NULL, NULL},
	[PW_F_HOLES] = {"it has holes", NULL, NULL, NULL},
	[PW_F_MAGIC] = {"it does not say that it is a pagewell segment", NULL, NULL,
			NULL},
	[PW_F_ABI] = {"it was made by another version of pagewell", NULL, NULL,
		      "remove it when that one is not used any more"},
	[PW_F_OFFSETS] = {"sizes and offsets in its head are wrong", NULL, NULL, NULL},
	[PW_F_COSTS] = {"what it says of this machine's costs can't be", NULL, NULL,
			NULL},
	[PW_F_KERNEL] = {"what it says of the kernel means nothing", NULL, NULL, NULL},
	[PW_F_PAST] = {"total of ended processes that can't be",
		       "totals of ended processes that can't be", NULL, NULL},
	[PW_F_SLOT_GONE] = {"slot of a process that is gone",
			    "slots of processes that are gone", "slot", NULL},
	[PW_F_SLOT_OWNER] = {"slot whose owner can't be a process",
			     "slots whose owners can't be processes", "slot", NULL},
	[PW_F_SLOT_FREE] = {"free slot that names a pid namespace",
			    "free slots that name a pid namespace", "slot", NULL},
	[PW_F_SLOT_COUNTS] = {"slot with counts that can't be",
			      "slots with counts that can't be", "slot", NULL},
	[PW_F_SLOT_SHRINK] = {"slot with a request that means nothing",
			      "slots with requests that mean nothing", "slot", NULL},
	[PW_F_WORD_LOCKED] = {"page word locked by nobody who is at work",
			      "page words locked by nobody who is at work", "word", NULL},
	[PW_F_WORD_WILD] = {"page word with bits that can't be together",
			    "page words with bits that can't be together", "word", NULL},
	[PW_F_FILE_FREE] = {"free file entry with content",
			    "free file entries with content", "entry", NULL},
	[PW_F_FILE_KEY] = {"file entry where nobody would look for it",
			   "file entries where nobody would look for them", "entry",
			   NULL},
	[PW_F_FILE_COUNTS] = {"file entry with numbers that can't be",
			      "file entries with numbers that can't be", "entry", NULL},
	[PW_F_FILE_LOCK] = {"file entry whose size lock is held too long",
			    "file entries whose size locks are held too long", "entry",
			    NULL},
};

static struct pw_content sooner;
static struct pw_content later;

void pw_fault_add(struct pw_faults *f, enum pw_fault what, uint32_t at, bool repaired)
{
	if (!f->of[what].n++)
		f->of[what].first = at;
	f->of[what].repaired += repaired;
}

static void print_fault(const struct pw_faults *f, int i, bool repair)
{
	uint32_t n = f->of[i].n;

	if (text[i].many)
		printf("  %u %s", n, n > 1 ? text[i].many : text[i].one);
	else
		printf("  %s", text[i].one);
	if (text[i].unit)
		printf(" (%s%s %u)", n > 1 ? "the first: " : "", text[i].unit,
		       f->of[i].first);
	if (f->of[i].repaired == n)
		printf(": repaired\n");
	else if (text[i].to_do)
		printf(": %s\n", text[i].to_do);
	else
		printf("%s\n", repair ? ": not repaired; remove the file" : "");
}

/* Returns how many are left. */
static unsigned report(const struct pw_faults *f, const char *path, bool repair)
{
	unsigned found = 0;
	unsigned left = 0;

	for (int i = 0; i < PW_FAULTS; i++) {
		found += f->of[i].n;
		left += f->of[i].n - f->of[i].repaired;
	}
	pw_text_name(path);
	if (!found)
		printf(": nothing is wrong\n");
	else
		printf(": %u thing%s wrong%s\n", found, found == 1 ? " is" : "s are",
		       repair ? "" : "; --repair puts right what can be");
	for (int i = 0; i < PW_FAULTS; i++)
		if (f->of[i].n)
			print_fault(f, i, repair);
	return left;
}

/* ---- the file and its head ------------------------------------------------------------ */

struct object {
	const char *path;
	int fd;
	struct stat st;
	bool repair;
	struct pw_shm_head head;
};

static const struct pw_shm_head right = {
	.magic = PW_MAGIC,
	.abi = PW_ABI,
	.bytes = PW_SEGMENT_BYTES,
	.words_at = PW_WORDS_AT,
	.words = PW_WORDS,
	.files_at = PW_FILES_AT,
	.files = PW_FILES,
	.slots_at = PW_SLOTS_AT,
	.slots = PW_SLOTS,
};

static unsigned wrong_offsets(const struct pw_shm_head *h)
{
	return (h->bytes != right.bytes) + (h->words_at != right.words_at) +
	       (h->words != right.words) + (h->files_at != right.files_at) +
	       (h->files != right.files) + (h->slots_at != right.slots_at) +
	       (h->slots != right.slots);
}

/*
 * Is it a segment of this layout that was damaged, or something else altogether, which is not
 * ours to change? Most of the head must say so.
 */
static bool is_ours(const struct object *o)
{
	const struct pw_shm_head *h = &o->head;

	return S_ISREG(o->st.st_mode) && o->st.st_uid == geteuid() &&
	       h->abi == right.abi && (h->magic != right.magic) + wrong_offsets(h) < 4;
}

/* Of its mode, and opened for writing. */
static bool put_mode_right(struct object *o)
{
	char path[64];
	int fd;

	if (fchmod(o->fd, 0600))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	close(o->fd);
	o->fd = fd;
	return true;
}

/* All there, and no more; whoever has it mapped sees the same as before where it was. */
static bool put_size_right(const struct object *o)
{
	return ftruncate(o->fd, PW_SEGMENT_BYTES) == 0 &&
	       fallocate(o->fd, 0, 0, PW_SEGMENT_BYTES) == 0;
}

static bool put_head_right(const struct object *o)
{
	size_t n = offsetof(struct pw_shm_head, cost_call);

	return pwrite(o->fd, &right, n, 0) == (ssize_t)n;
}

/* True: the content can be looked at. */
static bool check_file(struct object *o, struct pw_faults *f)
{
	const struct stat *st = &o->st;
	struct statfs fs;
	bool ours;
	bool whole;

	if (!S_ISREG(st->st_mode)) {
		pw_fault_add(f, PW_F_KIND, 0, false);
		return false;
	}
	if (pread(o->fd, &o->head, sizeof(o->head), 0) != (ssize_t)sizeof(o->head))
		memset(&o->head, 0, sizeof(o->head));
	ours = is_ours(o);
	o->repair &= ours;
	if (st->st_uid != geteuid())
		pw_fault_add(f, PW_F_OWNER, 0, false);
	if (o->repair)
		o->repair = put_mode_right(o);
	if ((st->st_mode & 07777) != 0600)
		pw_fault_add(f, PW_F_MODE, 0, o->repair);
	if (st->st_nlink != 1)
		pw_fault_add(f, PW_F_LINKS, 0, false);
	if (fstatfs(o->fd, &fs) || fs.f_type != TMPFS_MAGIC)
		pw_fault_add(f, PW_F_PLACE, 0, false);
	whole = st->st_size == PW_SEGMENT_BYTES;
	if (!whole) {
		whole = o->repair && put_size_right(o);
		pw_fault_add(f, PW_F_SIZE, 0, whole);
	} else if (st->st_blocks * 512 < st->st_size) {
		pw_fault_add(f, PW_F_HOLES, 0, o->repair && put_size_right(o));
	}
	if (o->head.magic != right.magic || wrong_offsets(&o->head)) {
		bool done = o->repair && put_head_right(o);

		if (o->head.magic != right.magic)
			pw_fault_add(f, PW_F_MAGIC, 0, done);
		else if (o->head.abi == right.abi)
			pw_fault_add(f, PW_F_OFFSETS, 0, done);
	}
	if (o->head.abi != right.abi && o->head.magic == right.magic)
		pw_fault_add(f, PW_F_ABI, 0, false);
	return ours && whole;
}

/* ---- its content ---------------------------------------------------------------------- */

static bool take(const struct object *o, struct pw_content *to)
{
	const struct {
		void *to;
		size_t n;
		off_t at;
	} part[] = {
		{&to->head, sizeof(to->head), 0},
		{to->words, sizeof(to->words), PW_WORDS_AT},
		{to->files, sizeof(to->files), PW_FILES_AT},
		{to->slots, sizeof(to->slots), PW_SLOTS_AT},
	};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (pread(o->fd, part[i].to, part[i].n, part[i].at) != (ssize_t)part[i].n)
			return false;
	return true;
}

static bool map(const struct object *o, struct pw_segment *out)
{
	char *base = mmap(NULL, PW_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			  o->fd, 0);

	if (base == MAP_FAILED)
		return false;
	out->head = (struct pw_shm_head *)base;
	out->words = (uint32_t *)(base + PW_WORDS_AT);
	out->files = (struct pw_shm_file *)(base + PW_FILES_AT);
	out->slots = (struct pw_shm_slot *)(base + PW_SLOTS_AT);
	return true;
}

static bool is_anyone_stuck(const struct pw_users *u)
{
	for (size_t i = 0; i < u->users; i++)
		if (u->user[i].attached && pw_user_is_stuck(u->user[i].pid))
			return true;
	return false;
}

/* False: it could not be looked at, which has been said. */
static bool check_content(const struct object *o, struct pw_faults *f)
{
	const struct pw_segment copy = {&sooner.head, sooner.words, sooner.files,
					sooner.slots};
	struct pw_segment live;
	struct pw_faults one = {0};
	struct pw_users users;
	bool stuck;
	bool seen;

	if (!take(o, &sooner))
		goto lost;
	if (o->repair && !map(o, &live)) {
		pw_say("%s: %s", o->path, strerror(errno));
		return false;
	}
	if (!pw_users_find(&copy, &o->st, &users))
		return false;
	stuck = is_anyone_stuck(&users);
	/* Mostly there is nothing that a second look could confirm. */
	pw_check_content(&one, &sooner, &sooner, &users, stuck, NULL);
	seen = true;
	for (int i = 0; i < PW_FAULTS; i++)
		seen &= !one.of[i].n;
	pw_users_free(&users);
	if (seen)
		return true;
	usleep(MOMENT_US);
	if (!take(o, &later))
		goto lost;
	if (!pw_users_find(&copy, &o->st, &users))
		return false;
	stuck |= is_anyone_stuck(&users);
	pw_check_content(f, &sooner, &later, &users, stuck, o->repair ? &live : NULL);
	pw_users_free(&users);
	return true;
lost:
	pw_say("%s: it was cut short meanwhile", o->path);
	return false;
}

/* -1, and what was wrong has been said or noted. */
static int open_it(const char *path, struct pw_faults *f, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ELOOP)
		pw_fault_add(f, PW_F_KIND, 0, false);
	else if (fd < 0 && errno == ENOENT)
		pw_say("%s: no segment: nothing has been served yet", path);
	else if (fd < 0)
		pw_say("%s: %s", path, strerror(errno));
	else if (fstat(fd, st)) {
		pw_say("%s: %s", path, strerror(errno));
		close(fd);
		fd = -1;
	}
	return fd;
}

int pw_check(int argc, char **argv)
{
	struct object o = {0};
	struct pw_faults faults = {0};
	const char *path = NULL;
	const struct pw_option options[] = {
		{"segment", &path, NULL},
		{"repair", NULL, &o.repair},
		{0},
	};
	bool repair;
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (at < argc) {
		pw_say("check: unexpected argument %s; see pagewell check --help",
		       argv[at]);
		return PW_USAGE;
	}
	repair = o.repair;
	o.path = pw_shared_path(path);
	pw_shared_guard();
	o.fd = open_it(o.path, &faults, &o.st);
	if (o.fd < 0 && !faults.of[PW_F_KIND].n)
		return CANNOT;
	if (o.fd >= 0 && check_file(&o, &faults) && !check_content(&o, &faults))
		return CANNOT;
	status = report(&faults, o.path, repair) ? FAULTY : CLEAN;
	return pw_flushed() ? status : CANNOT;
}
