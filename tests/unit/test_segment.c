/*
 * test_segment.c - the shared segment: made by one of many, attached by all, refused when it
 * is not what it should be, left untouched then, and no mapping or descriptor lost on any
 * way through.
 */
#include "unit.h"

#include <sys/resource.h>

UNIT_SUITE(segment);

static char noted[200];
static unsigned notes;

static void keep_note(const char *what, const char *where, long err)
{
	(void)where;
	notes++;
	snprintf(noted, sizeof(noted), "%s (%ld)", what, err);
}

/* Nothing is left open, and mapped is what a segment in use needs. */
static bool nothing_lost(bool attached)
{
	return unit_count(U_OPEN) == unit_count(U_CLOSE) &&
	       unit_count(U_MMAP) - unit_count(U_MUNMAP) == (attached ? 1 : 0);
}

static void attach_child(void *arg)
{
	(void)arg;
	MUST(pw_segment_get() != NULL);
	MUST(nothing_lost(true));
}

/* A segment at the test's path, made by another process. */
static const char *make_segment(void)
{
	unit_child(attach_child, NULL);
	return pw_segment_path();
}

/* ---- made and attached ---------------------------------------------------------------------- */

static void check_new(void *mask)
{
	struct stat st;
	const struct pw_segment *s;

	umask((mode_t)(uintptr_t)mask);
	MUST(pw_segment_peek() == NULL);
	s = pw_segment_get();
	MUST(s != NULL);
	MUST(pw_segment_get() == s);
	MUST(pw_segment_peek() == s);
	MUST(nothing_lost(true));
	MUST(unit_fds(pw_segment_path()) == 0);
	MUST(!stat(pw_segment_path(), &st));
	MUST(st.st_size == PW_SEGMENT_BYTES);
	MUST(st.st_mode == (S_IFREG | 0600));
	MUST(st.st_nlink == 1);
	MUST(st.st_uid == geteuid());
	MUST(st.st_blocks * 512 >= st.st_size); /* a store can never find tmpfs full */
	MUST(s->head->magic == PW_MAGIC);
	MUST(s->head->abi == PW_ABI);
	MUST((char *)s->words == (char *)s->head + PW_WORDS_AT);
	MUST((char *)s->files == (char *)s->head + PW_FILES_AT);
	MUST((char *)s->slots == (char *)s->head + PW_SLOTS_AT);
	MUST((char *)&s->slots[PW_SLOTS] == (char *)s->head + PW_SEGMENT_BYTES);
	MUST(s->words[PW_WORDS - 1] == 0);
	s->words[PW_WORDS - 1] = 7;
	s->slots[PW_SLOTS - 1].stores = 7;
}

static void see_sevens(void *arg)
{
	const struct pw_segment *s = pw_segment_get();

	(void)arg;
	MUST(s != NULL);
	MUST(nothing_lost(true));
	MUST(unit_count(U_FALLOCATE) == 0); /* attached, not made */
	MUST(s->words[PW_WORDS - 1] == 7);
	MUST(s->slots[PW_SLOTS - 1].stores == 7);
}

UNIT_TEST(segment, made_whatever_the_umask)
{
	const mode_t masks[] = {022, 0, 0777};

	for (int i = 0; i < 3; i++) {
		unit_child(check_new, (void *)(uintptr_t)masks[i]);
		unit_child(see_sevens, NULL);
		unlink(pw_segment_path());
	}
}

#define CROWD 12

static void one_of_a_crowd(void *arg)
{
	const struct pw_segment *s;

	unit_until(&unit_word[0], 1);
	s = pw_segment_get();
	MUST(s != NULL);
	MUST(nothing_lost(true));
	pw_add_acq_rel(&s->words[(uintptr_t)arg], 1);
	pw_add_acq_rel(&s->words[100], 1);
}

UNIT_TEST(segment, a_crowd_gets_the_same)
{
	const struct pw_segment *s;
	pid_t child[CROWD];

	for (uint32_t round = 1; round <= 15; round++) {
		pw_store_release(&unit_word[0], 0);
		unlink(pw_segment_path());
		for (uintptr_t i = 0; i < CROWD; i++)
			child[i] = unit_fork(one_of_a_crowd, (void *)i);
		pw_store_release(&unit_word[0], 1);
		for (int i = 0; i < CROWD; i++)
			unit_join(child[i]);
	}
	s = pw_segment_get();
	cr_assert_not_null(s);
	cr_assert_eq(s->words[100], (uint32_t)CROWD);
	for (int i = 0; i < CROWD; i++)
		cr_assert_eq(s->words[i], 1u);
}

static const struct pw_segment *thread_got[8];
static pthread_barrier_t together;

static void *get_in_thread(void *arg)
{
	pthread_barrier_wait(&together);
	thread_got[(uintptr_t)arg] = pw_segment_get();
	return NULL;
}

UNIT_TEST(segment, threads_at_once)
{
	pthread_t t[8];
	const struct pw_segment *s;

	pthread_barrier_init(&together, NULL, 8);
	for (uintptr_t i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, get_in_thread, (void *)i), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	s = pw_segment_get();
	cr_assert_not_null(s);
	for (int i = 0; i < 8; i++)
		cr_assert(thread_got[i] == s || !thread_got[i],
			  "without, this once, or the same");
	cr_assert_eq(unit_count(U_MMAP), 1u);
}

/* ---- refused ------------------------------------------------------------------------------------ */

/* No segment for this process, one note, nothing lost. */
static void refused_child(void *why)
{
	pw_note = keep_note;
	MUST(pw_segment_get() == NULL);
	MUST(nothing_lost(false));
	if (!CHECK(notes == 1 && (!why || strstr(noted, why))))
		fprintf(stderr, "%u notes, %s instead of %s\n", notes, noted,
			(char *)why);
	/* The answer stands. */
	MUST(pw_segment_get() == NULL);
	MUST(pw_segment_peek() == NULL);
	MUST(unit_count(U_OPEN) <= 2);

	/* The command is told the same. */
	struct pw_segment s;

	MUST(pw_segment_inspect(pw_segment_path(), &s) < 0);
	MUST(nothing_lost(false));
}

static uint64_t sum_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	unsigned char buf[8192];
	uint64_t sum = 0;
	ssize_t got;

	while (fd >= 0 && (got = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < got; i++)
			sum = sum * 31 + buf[i];
	if (fd >= 0)
		close(fd);
	return sum;
}

/* What lies at the path is refused for this reason, and not touched. */
static void refused(const char *why)
{
	const char *path = pw_segment_path();
	uint64_t sum = sum_of(path);
	struct stat before;
	struct stat after;

	cr_assert_eq(lstat(path, &before), 0);
	unit_child(refused_child, (void *)(uintptr_t)why);
	cr_assert_eq(lstat(path, &after), 0, "still there");
	cr_assert_eq(after.st_ino, before.st_ino);
	cr_assert_eq(after.st_mode, before.st_mode);
	cr_assert_eq(after.st_uid, before.st_uid);
	cr_assert_eq(after.st_nlink, before.st_nlink);
	cr_assert_eq(after.st_size, before.st_size);
	cr_assert_eq(after.st_blocks, before.st_blocks);
	cr_assert_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	cr_assert_eq(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
	cr_assert_eq(sum_of(path), sum);
}

UNIT_TEST(segment, refuses_links)
{
	const char *path = pw_segment_path();
	const char *real = unit_shm("real");

	make_segment();
	cr_assert_eq(rename(path, real), 0);
	cr_assert_eq(symlink(real, path), 0);
	refused("symbolic link");
	cr_assert_eq(unlink(real), 0);
	refused("symbolic link"); /* that leads nowhere: nothing is made through it */
	cr_assert_neq(access(real, F_OK), 0);
	cr_assert_eq(unlink(path), 0);
	make_segment();
	cr_assert_eq(link(path, real), 0);
	refused("other names");
	cr_assert_eq(unlink(real), 0);
	unit_child(attach_child, NULL);
}

UNIT_TEST(segment, refuses_what_is_no_file)
{
	const char *path = pw_segment_path();

	cr_assert_eq(mkdir(path, 0700), 0);
	refused("cannot be opened");
	cr_assert_eq(rmdir(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	refused("not a regular file");
	cr_assert_eq(unlink(path), 0);
}

UNIT_TEST(segment, refuses_wrong_modes)
{
	const mode_t modes[] = {0644, 0660, 0606, 0700, 0400, 04600, 02600, 01600};

	make_segment();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		cr_assert_eq(chmod(pw_segment_path(), modes[i]), 0);
		/* Who is not root cannot even open it if it may not be written. */
		refused(modes[i] == 0400 && geteuid() ? "cannot be opened" : "mode");
	}
	cr_assert_eq(chmod(pw_segment_path(), 0600), 0);
	unit_child(attach_child, NULL);
}

static void as_nobody(void *arg)
{
	if (arg)
		MUST(!chown(pw_segment_path(), 65534, 65534));
	MUST(!setresuid(65534, 65534, 65534));
	if (arg)
		attach_child(NULL);
	else
		refused_child("cannot be opened");
}

UNIT_TEST(segment, refuses_another_users)
{
	if (geteuid())
		cr_skip_test("only root can give files away");
	make_segment();
	unit_child(as_nobody, NULL);
	unit_child(as_nobody, "its own");
	refused("another user");
}

UNIT_TEST(segment, refuses_wrong_sizes)
{
	const off_t sizes[] = {0,
			       1,
			       4096,
			       PW_SEGMENT_BYTES - 1,
			       PW_SEGMENT_BYTES + 1,
			       2 * (off_t)PW_SEGMENT_BYTES};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make_segment();
		cr_assert_eq(truncate(pw_segment_path(), sizes[i]), 0);
		refused("wrong size");
		cr_assert_eq(unlink(pw_segment_path()), 0);
	}
}

UNIT_TEST(segment, refuses_holes)
{
	int fd;

	make_segment();
	fd = open(pw_segment_path(), O_RDWR | O_CLOEXEC);
	cr_assert_eq(
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20, 4096),
		0);
	close(fd);
	refused("holes");
}

static void refuse_head(size_t at, size_t n, uint64_t value, const char *why)
{
	int fd = open(pw_segment_path(), O_RDWR | O_CLOEXEC);
	uint64_t good = 0;

	cr_assert_eq(pread(fd, &good, n, (off_t)at), (ssize_t)n);
	cr_assert_neq(good, value);
	cr_assert_eq(pwrite(fd, &value, n, (off_t)at), (ssize_t)n);
	refused(why);
	cr_assert_eq(pwrite(fd, &good, n, (off_t)at), (ssize_t)n);
	close(fd);
}

#define FIELD(f) offsetof(struct pw_shm_head, f), sizeof(((struct pw_shm_head *)0)->f)

UNIT_TEST(segment, refuses_other_heads)
{
	static const struct {
		size_t at, n;
		uint32_t good;
	} field[] = {
		{FIELD(bytes), PW_SEGMENT_BYTES}, {FIELD(words_at), PW_WORDS_AT},
		{FIELD(words), PW_WORDS},	  {FIELD(files_at), PW_FILES_AT},
		{FIELD(files), PW_FILES},	  {FIELD(slots_at), PW_SLOTS_AT},
		{FIELD(slots), PW_SLOTS},
	};

	make_segment();
	refuse_head(FIELD(magic), 0, "not a pagewell segment");
	refuse_head(FIELD(magic), PW_MAGIC ^ 1, "not a pagewell segment");
	refuse_head(FIELD(magic), ~PW_MAGIC, "not a pagewell segment");
	refuse_head(FIELD(abi), 0, "another version");
	refuse_head(FIELD(abi), PW_ABI + 1, "another version");
	refuse_head(FIELD(abi), PW_ABI + (1 << 24), "another version");
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		const uint32_t wild[] = {0,
					 1,
					 field[i].good - 1,
					 field[i].good + 1,
					 field[i].good * 2,
					 0x80000000,
					 UINT32_MAX};

		for (size_t k = 0; k < sizeof(wild) / sizeof(wild[0]); k++)
			refuse_head(field[i].at, field[i].n, wild[k], "wild offsets");
	}
	unit_child(attach_child, NULL);
}

static long on_ext4(int fd, struct statfs *fs)
{
	long err = pw_sys_kernel.fstatfs(fd, fs);

	fs->f_type = 0xEF53;
	return err;
}

UNIT_TEST(segment, refuses_other_file_systems)
{
	make_segment();
	unit_sys.fstatfs = on_ext4;
	refused("not on tmpfs");
	cr_assert_eq(unlink(pw_segment_path()), 0);
	unit_child(refused_child, "not made");
	cr_assert_neq(access(pw_segment_path(), F_OK), 0, "and makes none there");
}

/* ---- not made -------------------------------------------------------------------------------------- */

UNIT_TEST(segment, bad_paths)
{
	char longest[PW_SEGMENT_PATH_MAX + 1];
	char before[PW_SEGMENT_PATH_MAX];

	snprintf(before, sizeof(before), "%s", pw_segment_path());
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[PW_SEGMENT_PATH_MAX] = 0;
	cr_assert_eq(pw_segment_set_path(longest), -ENAMETOOLONG);
	cr_assert_str_eq(pw_segment_path(), before);
	longest[PW_SEGMENT_PATH_MAX - 1] = 0;
	cr_assert_eq(pw_segment_set_path(longest), 0);
	cr_assert_str_eq(pw_segment_path(), longest);
	unit_child(refused_child, NULL);
	cr_assert_eq(pw_segment_set_path("/dev/shm/no such folder/segment"), 0);
	unit_child(refused_child, "not made");
	cr_assert_eq(pw_segment_set_path("pagewell-relative"), 0);
	unit_child(refused_child, "not absolute");
	cr_assert_eq(pw_segment_set_path("/proc/self/cmdline"), 0);
	unit_child(refused_child, NULL);
	cr_assert_eq(pw_segment_set_path("/dev/null"), 0);
	unit_child(refused_child, "not a regular file");
	cr_assert_eq(pw_segment_set_path("/dev/shm/"), 0);
	unit_child(refused_child, "cannot be opened");
}

static void default_path_of(void *arg)
{
	char want[100];
	char got[PW_SEGMENT_PATH_MAX];
	uid_t uid = arg ? *(uid_t *)arg : geteuid();

	MUST(!arg || !setresuid(uid, uid, uid));
	snprintf(want, sizeof(want), "/dev/shm/pagewell-%u-v%08x", (unsigned)uid, PW_ABI);
	pw_segment_default_path(got);
	MUST(!strcmp(got, want));
}

UNIT_TEST(segment, default_path)
{
	uid_t uids[] = {0, 7, 10, 1000, 65534, 4294967294u};

	unit_child(default_path_of, NULL);
	for (size_t i = 0; !geteuid() && i < sizeof(uids) / sizeof(uids[0]); i++)
		unit_child(default_path_of, &uids[i]);
	cr_assert_eq(pw_segment_set_path(""), 0);
	char want[PW_SEGMENT_PATH_MAX];

	pw_segment_default_path(want);
	cr_assert_str_eq(pw_segment_path(), want);
}

/* Beyond the limit a fallocate would end the process by SIGXFSZ. */
static void small_limit(void *arg)
{
	struct rlimit r = {(rlim_t)(uintptr_t)arg, RLIM_INFINITY};

	MUST(!setrlimit(RLIMIT_FSIZE, &r));
	refused_child("file size limit");
}

static void enough_limit(void *arg)
{
	struct rlimit r = {PW_SEGMENT_BYTES, PW_SEGMENT_BYTES};

	MUST(!setrlimit(RLIMIT_FSIZE, &r));
	attach_child(arg);
}

/* There will be no windows, and the program may need every page. */
static void limited_space(void *arg)
{
	struct rlimit r = {1UL << 34, RLIM_INFINITY};

	(void)arg;
	MUST(!setrlimit(RLIMIT_AS, &r));
	pw_note = keep_note;
	MUST(pw_segment_get() == NULL);
	MUST(notes == 1 && strstr(noted, "address space"));
	MUST(unit_maps(pw_segment_path()) == 0);
}

UNIT_TEST(segment, address_space_limit)
{
	unit_child(limited_space, NULL);
	cr_assert_neq(access(pw_segment_path(), F_OK), 0);
	make_segment();
	unit_child(limited_space, NULL);
}

UNIT_TEST(segment, file_size_limit)
{
	unit_child(small_limit, (void *)(uintptr_t)(PW_SEGMENT_BYTES - 1));
	unit_child(small_limit, NULL);
	cr_assert_neq(access(pw_segment_path(), F_OK), 0);
	unit_child(enough_limit, NULL);
	cr_assert_eq(unlink(pw_segment_path()), 0);
	make_segment();
}

static long killed(int fd, const char *path)
{
	(void)fd;
	(void)path;
	raise(SIGKILL);
	return 0;
}

static void die_before_link(void *arg)
{
	(void)arg;
	unit_sys.link_fd = killed;
	pw_segment_get();
}

UNIT_TEST(segment, maker_killed_leaves_nothing)
{
	pid_t child = unit_fork(die_before_link, NULL);
	int status;

	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	cr_assert_neq(access(pw_segment_path(), F_OK), 0);
	make_segment();
}

/* Another process links its own in the moment before we do. */
static const char *quicker;

static long too_late(int fd, const char *path)
{
	MUST(!rename(quicker, path));
	return pw_sys_kernel.link_fd(fd, path);
}

static void too_late_child(void *good)
{
	unit_sys.link_fd = too_late;
	pw_note = keep_note;
	MUST(!!pw_segment_get() == !!good);
	MUST(nothing_lost(good));
	MUST(notes == (good ? 0 : 1));
	if (good)
		MUST(pw_segment_peek()->words[5] == 55);
}

static void mark(void *arg)
{
	(void)arg;
	MUST(pw_segment_get() != NULL);
	pw_segment_peek()->words[5] = 55;
}

UNIT_TEST(segment, another_was_quicker)
{
	quicker = unit_shm("quicker");
	unit_child(mark, NULL);
	cr_assert_eq(rename(pw_segment_path(), quicker), 0);
	unit_child(too_late_child, "good");
	cr_assert_eq(rename(pw_segment_path(), quicker), 0);
	cr_assert_eq(truncate(quicker, 1), 0);
	unit_child(too_late_child, NULL);
}

/* ---- each call fails once ---------------------------------------------------------------------------- */

struct fault {
	enum unit_call call;
	unsigned nth;
	long err;
};

static void with_fault(void *arg)
{
	const struct fault *f = arg;
	bool got;

	pw_note = keep_note;
	unit_fail(f->call, f->nth, f->err);
	got = pw_segment_get() != NULL;
	pw_store_relaxed(&unit_word[0], unit_failed());
	MUST(nothing_lost(got));
	MUST(notes == (got ? 0 : 1));
	pw_store_relaxed(&unit_word[1], got);
	MUST(pw_segment_get() == (got ? pw_segment_peek() : NULL));
}

/* Walks through all calls of one way, whatever they are, until none was left to fail. */
static unsigned walk(bool exists, long err)
{
	struct fault f = {U_ANY, 0, err};
	unsigned refusals = 0;

	do {
		f.nth++;
		unlink(pw_segment_path());
		if (exists)
			make_segment();
		unit_child(with_fault, &f);
		refusals += !unit_word[1];
		if (!unit_word[1] && !exists)
			cr_assert_neq(access(pw_segment_path(), F_OK), 0,
				      "call %u: nothing half made", f.nth);
	} while (unit_word[0]);
	cr_assert_eq(unit_word[1], 1u, "without a failure it works");
	cr_assert_gt(f.nth, exists ? 4u : 7u, "all calls were reached");
	return refusals;
}

UNIT_TEST(segment, each_call_fails_once)
{
	/* madvise alone may fail without harm. */
	cr_assert_eq(walk(true, -EIO), 5u, "getrlimit open fstat fstatfs mmap");
	cr_assert_geq(walk(false, -EIO), 8u,
		      "getrlimit open getrlimit open statfs fchmod fallocate...");
	walk(true, -ENOMEM);
	walk(false, -ENOSPC);
	walk(false, -EMFILE);
}

/* ---- looked at by the command --------------------------------------------------------------------------- */

static void inspect_child(void *arg)
{
	struct pw_segment s;

	(void)arg;
	MUST(pw_segment_inspect(pw_segment_path(), &s) == 0);
	MUST(nothing_lost(true));
	MUST(pw_segment_peek() == NULL);
	MUST(s.head->magic == PW_MAGIC);
	MUST(s.words[5] == 55);
	/* A read-only look: a store would be the end. */
	MUST(pw_sys_kernel.mprotect(s.head, PW_PAGE, PROT_READ | PROT_WRITE) == -EACCES);
}

UNIT_TEST(segment, inspect)
{
	struct pw_segment s;

	pw_note = keep_note;
	cr_assert_eq(pw_segment_inspect(pw_segment_path(), &s), -ENOENT);
	cr_assert_neq(access(pw_segment_path(), F_OK), 0, "nothing is made");
	unit_child(mark, NULL);
	unit_child(inspect_child, NULL);
	for (unsigned nth = 1; nth <= 4; nth++) {
		unit_fail(U_ANY, nth, -EIO);
		cr_assert_lt(pw_segment_inspect(pw_segment_path(), &s), 0);
		cr_assert(nothing_lost(false));
	}
}

/* ---- detached ------------------------------------------------------------------------------------------ */

static void see_55(void *arg)
{
	(void)arg;
	unit_until(&unit_word[0], 1);
	MUST(pw_segment_get() != NULL);
	MUST(pw_segment_peek()->words[5] == 55);
}

/* Zero pages of one's own: a child's stores do not show in its parent. */
static void see_nothing(void *words)
{
	MUST(((uint32_t *)words)[5] == 1);
	((uint32_t *)words)[6] = 66;
}

UNIT_TEST(segment, detach_leaves_zero_pages)
{
	struct pw_segment was;
	pid_t other = unit_fork(see_55, NULL);

	unit_child(mark, NULL);
	cr_assert_not_null(pw_segment_get());
	was = *pw_segment_peek();
	cr_assert_eq(was.words[5], 55u);
	cr_assert_eq(unit_maps(pw_segment_path()), 1u);
	pw_segment_detach();
	cr_assert_null(pw_segment_peek());
	cr_assert_null(pw_segment_get(), "and never again");
	cr_assert_eq(unit_maps(pw_segment_path()), 0u);
	/* Other threads may still hold pointers into it. */
	for (uint32_t i = 0; i < PW_SEGMENT_BYTES; i += 64)
		CHECK(((char *)was.head)[i] == 0);
	was.words[5] = 1;
	was.slots[PW_SLOTS - 1].pages = 1;
	unit_child(see_nothing, was.words);
	cr_assert_eq(was.words[6], 0u);
	pw_store_release(&unit_word[0], 1);
	unit_join(other); /* who attaches now sees what was there */
}

static void detach_first(void *arg)
{
	(void)arg;
	pw_segment_detach();
	pw_segment_detach();
	MUST(pw_segment_get() == NULL);
	MUST(unit_count(U_OPEN) == 0);
	MUST(access(pw_segment_path(), F_OK));
}

/* The ids change while another thread attaches. */
static long detach_and_open(const char *where, int flags, unsigned mode)
{
	pw_segment_detach();
	return pw_sys_kernel.open(where, flags, mode);
}

static void detach_meanwhile(void *arg)
{
	(void)arg;
	unit_sys.open = detach_and_open;
	MUST(pw_segment_get() == NULL);
	MUST(pw_segment_peek() == NULL);
	MUST(pw_segment_get() == NULL);
	MUST(unit_maps(pw_segment_path()) == 0);
}

UNIT_TEST(segment, detached_while_attaching)
{
	unit_child(detach_meanwhile, NULL); /* or making */
	make_segment();
	unit_child(detach_meanwhile, NULL);
}

UNIT_TEST(segment, detach_before_attach)
{
	unit_child(detach_first, NULL);
}

/* ---- cut short by somebody ------------------------------------------------------------ */

static unsigned lost;

static void on_sigbus(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)ctx;
	lost++;
	if (lost > 1 || !pw_segment_lost((uintptr_t)si->si_addr))
		_exit(9);
}

static void cut_child(void *arg)
{
	struct pw_segment s;
	struct sigaction act = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	(void)arg;
	MUST(!pw_segment_lost((uintptr_t)&s));
	MUST(!pw_segment_lost(0));
	MUST(pw_segment_get() != NULL);
	s = *pw_segment_peek();
	MUST(!pw_segment_lost((uintptr_t)s.head - 1));
	MUST(!pw_segment_lost((uintptr_t)s.head + PW_SEGMENT_BYTES));
	MUST(!pw_segment_lost((uintptr_t)&s));
	MUST(pw_segment_peek() != NULL);
	MUST(!sigaction(SIGBUS, &act, NULL));
	MUST(!truncate(pw_segment_path(), 0));
	pw_store_relaxed(&s.words[PW_WORDS - 1], 3);
	MUST(lost == 1);
	MUST(s.words[PW_WORDS - 1] == 3); /* made again, on zero pages */
	MUST(s.head->magic == 0);
	s.slots[0].pages = 1;
	MUST(lost == 1);
	MUST(pw_segment_peek() == NULL);
	MUST(pw_segment_get() == NULL);
}

UNIT_TEST(segment, cut_short_under_us)
{
	unit_child(cut_child, NULL);
}

/* In the moment between its examination and the look at its head. */
static long cut_mmap(void *at, size_t len, int prot, int flags, int fd, int64_t off)
{
	MUST(!truncate(pw_segment_path(), 0));
	return pw_sys_kernel.mmap(at, len, prot, flags, fd, off);
}

static void cut_early_child(void *arg)
{
	struct sigaction act = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	(void)arg;
	MUST(!sigaction(SIGBUS, &act, NULL));
	unit_sys.mmap = cut_mmap;
	MUST(pw_segment_get() == NULL);
	MUST(lost == 1);
	MUST(unit_maps(pw_segment_path()) == 0);
}

UNIT_TEST(segment, cut_short_while_attaching)
{
	make_segment();
	unit_child(cut_early_child, NULL);
}

/* Where SIGBUS is blocked a fault kills: windows are opened, and numbers change hands where
 * there are threads, with all signals blocked. */
static void *idle(void *arg)
{
	pause();
	return arg;
}

static void block_and_cut(bool probed)
{
	struct sigaction act = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
	sigset_t all;
	pthread_t t;

	make_segment();
	cr_assert_not_null(pw_segment_get());
	if (probed)
		cr_assert_eq(pw_probe_kernel(), 0);
	cr_assert_eq(sigaction(SIGBUS, &act, NULL), 0);
	cr_assert_eq(pthread_create(&t, NULL, idle, NULL), 0);
	sigfillset(&all);
	cr_assert_eq(sigprocmask(SIG_BLOCK, &all, NULL), 0);
	cr_assert_eq(truncate(pw_segment_path(), 0), 0);
}

static void still_blocked(void)
{
	sigset_t now;

	cr_assert_eq(lost, 1u);
	cr_assert_eq(sigprocmask(SIG_BLOCK, NULL, &now), 0);
	cr_assert(sigismember(&now, SIGBUS) == 1);
	cr_assert(sigismember(&now, SIGTERM) == 1);
}

UNIT_TEST(segment, cut_short_before_learning)
{
	block_and_cut(true);
	pw_file_learn(4711, 1);
	still_blocked();
}

UNIT_TEST(segment, cut_short_before_probing)
{
	block_and_cut(false);
	pw_probe_kernel();
	still_blocked();
}

UNIT_TEST(segment, cut_short_before_a_window)
{
	static struct pw_window w;
	int fd = unit_file(unit_tmp("file"), 100000);
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	block_and_cut(true);
	cr_assert_eq(pw_window_open(&w, fd, PW_WIN_READ_ONLY, &st, NULL), 0);
	still_blocked();
}
