/*
 * test_limits.c - where the program is short of something, mappings, address space, locked
 * memory, file size, numbers, the library takes nothing that the program would have had
 * without it.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "_self.h"

#define PAGE ((size_t)4096)
#define SIZE (40 * PAGE)

/* ---- looking ---- */

static char text[16 << 20];

static const char *slurp(const char *path)
{
	int fd = (int)raw3(SYS_open, path, O_RDONLY | O_CLOEXEC, 0);
	size_t at = 0;
	long n;

	while (at < sizeof(text) - 4096 && (n = raw3(SYS_read, fd, text + at, 4095)) > 0)
		at += (size_t)n;
	raw1(SYS_close, fd);
	text[at] = 0;
	return text;
}

/* A line of /proc/self/status, in KiB. */
static long status_of(const char *name)
{
	const char *at = strstr(slurp("/proc/self/status"), name);

	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static long maps(void)
{
	long n = 0;

	for (const char *at = slurp("/proc/self/maps"); (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void limit(int what, rlim_t to)
{
	struct rlimit l;

	NEED(!getrlimit(what, &l));
	l.rlim_cur = to;
	NEED(!setrlimit(what, &l));
}

/* ---- files to read ---- */

/* Reads often enough for a window, if there can be one. */
static void read_times(int fd, int times)
{
	unsigned char buf[64];

	for (int i = 0; i < times; i++)
		if (pread(fd, buf, sizeof(buf), i % 64 * 64) != sizeof(buf) ||
		    !is_content(buf, sizeof(buf), 1, (uint64_t)(i % 64 * 64))) {
			say("wrong");
			return;
		}
}

static void read_much(int fd)
{
	read_times(fd, 1500);
}

static int many[8000];

static void open_many(int n)
{
	make_file("file", 1, SIZE);
	for (int i = 0; i < n; i++) {
		many[i] = open("file", O_RDONLY | O_CLOEXEC);
		NEED(many[i] >= 0);
	}
}

/* ---- mappings ---- */

/* One more, that merges with no other, and stays. */
static bool map_one(void)
{
	static int turn;
	int prot = turn++ % 2 ? PROT_READ : PROT_NONE;
	void *at = mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at != MAP_FAILED;
}

static long max_maps(void)
{
	return strtol(slurp("/proc/sys/vm/max_map_count"), NULL, 10);
}

static long map_until(long left)
{
	long more = max_maps() - maps() - left;
	long n = 0;

	while (n < more && map_one())
		n++;
	return more - n;
}

/* As many windows as there can be; the program still has nine in ten of all mappings. */
static void windows_first(void)
{
	long want = max_maps() * 9 / 10;
	long n = 0;

	limit(RLIMIT_NOFILE, 6000);
	open_many(5500);
	for (int i = 0; i < 5500; i++)
		read_times(many[i],
			   i < 10 ? 3000 : 700); /* known by then to be read much */
	CHECK(!self_preloaded || maps() > 1000, "no windows");
	while (n < want && map_one())
		n++;
	say("%ld mappings", n);
}

/* The program has nearly all; then it reads; then it wants most of the rest. */
static void maps_first(void)
{
	int n = 0;

	open_many(200);
	read_much(many[0]);
	say("missing %ld", map_until(100));
	for (int i = 0; i < 200; i++)
		read_much(many[i]);
	while (n < 60 && map_one())
		n++;
	say("%d more", n);
}

/* ---- address space and locked memory ---- */

/* The case once more, in a process that finds the limit when it starts. */
static void again_under(int what, rlim_t to)
{
	char *argv[] = {self_exe, "--case", "address-space",
			self_preloaded ? "preloaded" : "plain", NULL};

	limit(what, to);
	execv(self_exe, argv);
	NEED(false);
}

static void address_space(void)
{
	struct rlimit l;
	long before;

	NEED(!getrlimit(RLIMIT_AS, &l));
	if (l.rlim_cur == RLIM_INFINITY)
		again_under(RLIMIT_AS, 256 << 20);
	open_many(20);
	before = status_of("VmSize:");
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	say("grown by %ld KiB", status_of("VmSize:") - before);
}

static void address_space_later(void)
{
	open_many(20);
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	need_mapped(many[0]);
	limit(RLIMIT_AS, 1 << 30);
	need_unmapped_file("file");
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	need_unmapped_file("file");
	say("done");
}

static void locked(int flags)
{
	long before;

	open_many(20);
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	need_mapped(many[0]);
	say_ret("mlockall", mlockall(flags));
	need_unmapped_file("file");
	before = status_of("VmLck:");
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	need_unmapped_file("file");
	say("locked since: %ld KiB", status_of("VmLck:") - before);
	say_ret("munlockall", munlockall());
}

static void locked_current(void)
{
	locked(MCL_CURRENT);
}

static void locked_future(void)
{
	locked(MCL_FUTURE);
}

static void locked_on_fault(void)
{
	locked(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

/* ---- file size and numbers ---- */

static void too_large(int sig)
{
	say("signal %d", sig);
}

static void file_size(void)
{
	signal(SIGXFSZ, too_large);
	open_many(20);
	limit(RLIMIT_FSIZE, 0);
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	limit(RLIMIT_FSIZE, 4096);
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	need_hits(many[0]);
	say("done");
}

static void no_numbers(void)
{
	int last = -1;
	int none;
	int kept;
	int fd;

	limit(RLIMIT_NOFILE, 200);
	open_many(20);
	while ((fd = open("/dev/null", O_RDONLY)) >= 0)
		last = fd;
	none = errno;
	errno = 4711;
	for (int i = 0; i < 20; i++)
		read_much(many[i]);
	kept = errno;
	close(last);
	fd = open("file", O_RDONLY);
	close(fd);
	say("the last is %d, errno %d, then %d; open gives %d", last, none, kept, fd);
}

static const struct self_case cases[] = {
	{"windows-first", windows_first, SELF_BOTH},
	{"maps-first", maps_first, SELF_BOTH},
	{"address-space", address_space, SELF_BOTH},
	{"address-space-later", address_space_later, SELF_BOTH},
	{"locked-current", locked_current, SELF_BOTH},
	{"locked-future", locked_future, SELF_BOTH},
	{"locked-on-fault", locked_on_fault, SELF_BOTH},
	{"file-size", file_size, SELF_BOTH},
	{"no-numbers", no_numbers, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
