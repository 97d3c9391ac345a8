/*
 * test_place.c - which file systems are served, by their numbers and by what a knob says;
 * and of tmpfs, not what has holes or no name.
 */
#include "unit.h"

#include <linux/magic.h>

UNIT_SUITE(place);

#define EROFS_MAGIC 0xE0F5E1E2
#define F2FS_MAGIC 0xF2F52010
#define XFS_MAGIC 0x58465342
#define NFS_MAGIC 0x6969
#define FUSE_MAGIC 0x65735546

static long magic;
static unsigned asked;

static long some_fs(int fd, struct statfs *fs)
{
	(void)fd;
	asked++;
	memset(fs, 0, sizeof(*fs));
	fs->f_type = magic;
	return 0;
}

/* A file of 8 KiB, all there, on a device of that number. */
static struct stat file_on(dev_t dev)
{
	struct stat st = {0};

	st.st_dev = dev;
	st.st_ino = 12;
	st.st_mode = S_IFREG | 0644;
	st.st_nlink = 1;
	st.st_size = 8192;
	st.st_blocks = 16;
	return st;
}

static bool served_on(long fs_magic)
{
	static dev_t dev = 100;
	struct stat st = file_on(dev++);

	unit_sys.fstatfs = some_fs;
	magic = fs_magic;
	return pw_place_served(3, &st);
}

UNIT_TEST(place, by_default)
{
	cr_assert(served_on(EXT4_SUPER_MAGIC));
	cr_assert(served_on(BTRFS_SUPER_MAGIC));
	cr_assert(served_on(TMPFS_MAGIC));
	cr_assert(served_on(SQUASHFS_MAGIC));
	cr_assert(served_on(EROFS_MAGIC));
	/* As the kernel may hand out a number with its highest bit set. */
	cr_assert(served_on((long)(int32_t)BTRFS_SUPER_MAGIC));
	cr_assert_not(served_on(XFS_MAGIC));
	cr_assert_not(served_on(OVERLAYFS_SUPER_MAGIC));
	cr_assert_not(served_on(F2FS_MAGIC));
	cr_assert_not(served_on(NFS_MAGIC));
	cr_assert_not(served_on(FUSE_MAGIC));
	cr_assert_not(served_on(PROC_SUPER_MAGIC));
	cr_assert_not(served_on(SYSFS_MAGIC));
	cr_assert_not(served_on(HUGETLBFS_MAGIC));
	cr_assert_not(served_on(RAMFS_MAGIC));
	cr_assert_not(served_on(0));
	cr_assert_not(served_on(-1));
}

UNIT_TEST(place, by_consent)
{
	cr_assert_eq(pw_place_configure("+xfs,-ext4,+overlay,+f2fs,-tmpfs"), 0);
	cr_assert(served_on(XFS_MAGIC));
	cr_assert(served_on(OVERLAYFS_SUPER_MAGIC));
	cr_assert(served_on(F2FS_MAGIC));
	cr_assert_not(served_on(EXT4_SUPER_MAGIC));
	cr_assert_not(served_on(TMPFS_MAGIC));
	cr_assert(served_on(BTRFS_SUPER_MAGIC), "not named, not changed");
	cr_assert_eq(pw_place_configure("-xfs,+xfs"), 0);
	cr_assert(served_on(XFS_MAGIC), "the last word counts");
	cr_assert_eq(pw_place_configure("-xfs"), 0);
	cr_assert_not(served_on(XFS_MAGIC));
	cr_assert_eq(pw_place_configure(""), 0);
}

UNIT_TEST(place, bad_specs_change_nothing)
{
	static const char *const bad[] = {
		"xfs",		"+",	    "-",	   ",",		 "+xfs,,+f2fs",
		"+xfs,overlay", "*xfs",	    "+XFS",	   "+xf",	 "+xfsx",
		"+nfs",		"+ xfs",    " +xfs",	   "+xfs ",	 "+xfs+",
		"+xfs;",	"++xfs",    "+xfs,+",	   "+xfs:-ext4", "-ext4,+zfs",
		"+ext",		"-ext4,no", "+xfs, -ext4",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(pw_place_configure(bad[i]), -EINVAL, "\"%s\"", bad[i]);
		cr_assert_not(served_on(XFS_MAGIC), "\"%s\"", bad[i]);
		cr_assert(served_on(EXT4_SUPER_MAGIC), "\"%s\"", bad[i]);
	}
}

/* What the message offers is what is accepted. */
UNIT_TEST(place, names)
{
	char names[200];
	char spec[64];
	unsigned n = 0;

	snprintf(names, sizeof(names), "%s", pw_place_names());
	for (char *at = strtok(names, ", "); at; at = strtok(NULL, ", ")) {
		snprintf(spec, sizeof(spec), "+%s", at);
		cr_assert_eq(pw_place_configure(spec), 0, "%s", spec);
		n++;
	}
	cr_assert_eq(n, 8u);
}

UNIT_TEST(place, kinds_and_sizes)
{
	const mode_t kinds[] = {S_IFDIR, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK, S_IFLNK, 0};
	struct stat st = file_on(5);

	magic = EXT4_SUPER_MAGIC;
	unit_sys.fstatfs = some_fs;
	cr_assert(pw_place_served(3, &st));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		st.st_mode = kinds[i] | 0644;
		cr_assert_not(pw_place_served(3, &st));
	}
	st.st_mode = S_IFREG;
	st.st_size = 0;
	cr_assert_not(pw_place_served(3, &st));
	st.st_size = -1;
	cr_assert_not(pw_place_served(3, &st));
	st.st_size = (off_t)1 << 47;
	cr_assert_not(pw_place_served(3, &st));
	st.st_size = INT64_MAX;
	cr_assert_not(pw_place_served(3, &st));
	st.st_size = ((off_t)1 << 47) - 1;
	cr_assert(pw_place_served(3, &st));
	st.st_size = 1;
	cr_assert(pw_place_served(3, &st));
	/* Holes and a lost name are no matter on a disk. */
	st.st_size = 1 << 20;
	st.st_blocks = 0;
	st.st_nlink = 0;
	cr_assert(pw_place_served(3, &st));
}

UNIT_TEST(place, a_verdict_holds)
{
	struct stat st = file_on(77);

	unit_sys.fstatfs = some_fs;
	magic = NFS_MAGIC;
	for (int i = 0; i < 10; i++)
		cr_assert_not(pw_place_served(3, &st));
	cr_assert_eq(asked, 1u, "what is not served is asked for once");
	/* The table of verdicts is small; devices that share a place in it must not share
	 * the verdict. */
	for (dev_t dev = 1000; dev < 1200; dev++) {
		st = file_on(dev);
		magic = dev % 2 ? NFS_MAGIC : EXT4_SUPER_MAGIC;
		cr_assert_eq(pw_place_served(3, &st), dev % 2 == 0);
		cr_assert_eq(pw_place_served(3, &st), dev % 2 == 0);
	}
	/* A number that now stands for another file system: a window is never made on the
	 * strength of what it stood for before. */
	st = file_on(1300);
	magic = EXT4_SUPER_MAGIC;
	cr_assert(pw_place_served(3, &st));
	magic = FUSE_MAGIC;
	cr_assert_not(pw_place_served(3, &st));
}

UNIT_TEST(place, fstatfs_fails)
{
	struct stat st = file_on(78);

	unit_sys.fstatfs = some_fs;
	magic = EXT4_SUPER_MAGIC;
	unit_sys.fstatfs = pw_sys_kernel.fstatfs;
	cr_assert_not(pw_place_served(-1, &st));
	unit_sys.fstatfs = some_fs;
	cr_assert(pw_place_served(3, &st), "a failure is no verdict");
}

/* ---- tmpfs, for real ------------------------------------------------------------------------------ */

static bool served(int fd)
{
	struct stat st;

	cr_assert_eq(fstat(fd, &st), 0);
	return pw_place_served(fd, &st);
}

UNIT_TEST(place, tmpfs)
{
	const char *path = unit_shm("file");
	int fd = unit_file(path, 3 * 4096);
	int tmp;
	int mem;

	cr_assert(served(fd));
	cr_assert_eq(ftruncate(fd, 3 * 4096 + 1), 0);
	cr_assert_not(served(fd), "a hole at its end");
	cr_assert_eq(pwrite(fd, "x", 1, 3 * 4096), 1);
	cr_assert(served(fd));
	cr_assert_eq(
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
	cr_assert_not(served(fd), "a hole in it");
	cr_assert_eq(pwrite(fd, "x", 1, 4096), 1);
	cr_assert(served(fd));
	cr_assert_eq(unlink(path), 0);
	cr_assert_not(served(fd), "without a name");
	tmp = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	cr_assert_geq(tmp, 0);
	cr_assert_eq(write(tmp, "x", 1), 1);
	cr_assert_not(served(tmp));
	mem = memfd_create("pagewell", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	cr_assert_geq(mem, 0);
	cr_assert_eq(write(mem, "x", 1), 1);
	cr_assert_not(served(mem));
}

UNIT_TEST(place, not_files)
{
	int dir = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int proc = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	cr_assert_not(served(dir));
	cr_assert_not(served(null));
	cr_assert_not(served(proc));
	cr_assert_not(served(fds[0]));
}
