/* explain_words.c - what reasons and file systems are called. */
#include <linux/magic.h>

#include "cache/command/explain.h"

const char *const pw_verdict_name[] = {
	[PW_WORTH_IT] = "worth it",
	[PW_NOT_WORTH_IT] = "not worth it",
	[PW_CHANGE] = "change something",
	[PW_UNKNOWN] = "unknown",
};

const struct pw_reason pw_reason[PW_WHY_COUNT] = {
	[PW_SERVED] = {"served", "Answered from memory."},
	[PW_WHY_EARN] = {"not earned yet",
			 "So far the file had been read or sought too few times to pay "
			 "for mapping it."},
	[PW_WHY_ONCE] = {"read once",
			 "Read from front to back, where the rest of the file would not "
			 "pay for mapping it."},
	[PW_WHY_TOUCH] = {"page not earned yet",
			  "In a mapped file, a page that had been read too few times to "
			  "pay for its first touch."},
	[PW_WHY_DEST] = {"new memory",
			 "A buffer that the kernel has not written into yet: it might be "
			 "a bad one, so the kernel is asked once."},
	[PW_WHY_END] = {"past the end",
			"The read reached past the end of the file, and only the kernel "
			"knows where that is now."},
	[PW_WHY_WITNESS] = {"no witness",
			    "Nothing but zeros at the end of what was read: nothing "
			    "proves that the file still reached there."},
	[PW_WHY_FAULT] = {"page gone",
			  "The file had become shorter under the read, or could not be "
			  "read there."},
	[PW_WHY_REST] = {"resting",
			 "After too many reads without a witness, a page that was gone, "
			 "or many writes without one that paid for opening its page, a "
			 "file is left alone for a while."},
	[PW_WHY_SHARED] = {"shared",
			   "After fork, exec or the like another process may use the "
			   "same position; it stays the kernel's."},
	[PW_WHY_RETURNED] = {"position given back",
			     "The position had to go back to the kernel for a write or "
			     "the like, and was not taken again yet."},
	[PW_WHY_LIMIT] = {"nothing can be mapped",
			  "Address space is limited, memory is locked, SIGBUS is "
			  "ignored, or the kernel refused."},
	[PW_WHY_SIGBUS] = {"SIGBUS blocked",
			   "The thread has SIGBUS blocked, where a file that becomes "
			   "shorter would kill it."},
	[PW_WHY_SEEK_END] = {"seek to the end",
			     "SEEK_END asks the kernel each time, for the end can move."},
	[PW_WHY_SEEK_FAR] = {"seek beyond",
			     "A seek past what is known of the file, before its "
			     "beginning, or to data or holes."},
	[PW_WHY_VECTOR] = {"readv",
			   "readv, preadv2 and kin are the kernel's; read and pread are "
			   "served."},
	[PW_WHY_WRITE] = {"write", "Writes are the kernel's, but for overwrites under "
				   "PAGEWELL_WRITE=map."},
	[PW_WHY_PASS] = {"written once",
			 "Written over from front to back in pieces too large to pay for "
			 "opening its pages to stores."},
	[PW_WHY_TICK] = {"clock tick",
			 "The first write of each clock tick is the kernel's: "
			 "it leaves the file its time."},
	[PW_WHY_UNSEEN] = {"inherited",
			   "The descriptor was inherited, received, or opened in a way "
			   "that the library does not see."},
	[PW_WHY_KIND] = {"not a regular file",
			 "Pipes, terminals, sockets and devices are the kernel's."},
	[PW_WHY_FS] = {"file system", "Its file system is not on the list of those that "
				      "are served."},
	[PW_WHY_EXCLUDED] = {"excluded", "Its name is left out by PAGEWELL_INCLUDE or "
					 "PAGEWELL_EXCLUDE."},
	[PW_WHY_DIRECT] = {"O_DIRECT", "Opened with O_DIRECT, which is not for caches."},
	[PW_WHY_APPEND] = {"O_APPEND", "Opened with O_APPEND: writes move the position."},
	[PW_WHY_ACCESS] = {"not readable", "Opened for writing only, or with O_PATH."},
	[PW_WHY_EMPTY] = {"empty", "The file was empty when it was looked at."},
	[PW_WHY_HOLES] = {"holes",
			  "A file of tmpfs with holes, which reading it by a mapping "
			  "would fill, or without a name."},
	[PW_WHY_STREAMS] = {"streams stay with libc",
			    "glibc's tables for streams are not as expected, so numbers "
			    "that streams may use are left alone."},
	[PW_WHY_ASIDE] = {"stepped aside",
			  "The library is not at work in that process (see the head of "
			  "this report), or the process was made by a bare system call."},
	[PW_WHY_NOTHING] = {"no bytes", "A read of no bytes."},
	[PW_WHY_ERROR] = {"no such descriptor", "The number was not open."},
	[PW_WHY_OTHER] = {"other",
			  "Inside nested signal handlers, closed meanwhile, or for want "
			  "of memory."},
};

enum { NEITHER, USUAL, LISTED, HOPELESS };

static const struct {
	uint32_t magic;
	const char *name;
	int how;
} places[] = {
	{EXT4_SUPER_MAGIC, "ext4", USUAL},
	{BTRFS_SUPER_MAGIC, "btrfs", USUAL},
	{TMPFS_MAGIC, "tmpfs", USUAL},
	{SQUASHFS_MAGIC, "squashfs", USUAL},
	{0xE0F5E1E2, "erofs", USUAL},
	{0x58465342, "xfs", LISTED},
	{OVERLAYFS_SUPER_MAGIC, "overlay", LISTED},
	{0xF2F52010, "f2fs", LISTED},
	{PROC_SUPER_MAGIC, "proc", HOPELESS},
	{SYSFS_MAGIC, "sysfs", HOPELESS},
	{0x958458f6, "hugetlbfs", HOPELESS},
	{CGROUP_SUPER_MAGIC, "cgroup", HOPELESS},
	{CGROUP2_SUPER_MAGIC, "cgroup2", HOPELESS},
	{DEBUGFS_MAGIC, "debugfs", HOPELESS},
	{TRACEFS_MAGIC, "tracefs", HOPELESS},
	{SECURITYFS_MAGIC, "securityfs", HOPELESS},
	{0x62656570, "configfs", HOPELESS},
	{EFIVARFS_MAGIC, "efivarfs", HOPELESS},
	{0x65735546, "fuse", NEITHER},
	{NFS_SUPER_MAGIC, "nfs", NEITHER},
	{0xFF534D42, "cifs", NEITHER},
	{0xFE534D42, "smb3", NEITHER},
	{0x01021997, "9p", NEITHER},
	{0x00C36400, "ceph", NEITHER},
	{0x2FC12FC1, "zfs", NEITHER},
	{0xCA451A4E, "bcachefs", NEITHER},
	{MSDOS_SUPER_MAGIC, "vfat", NEITHER},
	{0x2011BAB0, "exfat", NEITHER},
	{0x7366746e, "ntfs3", NEITHER},
	{ISOFS_SUPER_MAGIC, "iso9660", NEITHER},
	{0x858458f6, "ramfs", NEITHER},
};

void pw_explain_place(struct pw_explained *f, uint32_t magic)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i].magic != magic)
			continue;
		f->place = places[i].name;
		f->usual = places[i].how == USUAL;
		f->listed = places[i].how == LISTED;
		f->hopeless = places[i].how == HOPELESS;
	}
}
