/* room.c - see room.h. */
#include "cache/room.h"

#include <errno.h>

#include "cache/atomic.h"

#define WINDOWS_MAX 4096 /* of 65530 mappings, the kernel's default */
#define FIRST_LOOK 16	 /* most programs never have as many */

static uint64_t next_look = FIRST_LOOK;
static uint32_t crowded; /* 0 or 1; never goes back */

/* Lines of /proc/self/maps, but not many more than `enough`; -1: could not be read. */
static int64_t mappings(int64_t enough)
{
	char buf[1024]; /* the stack may be small */
	long fd = pw_sys->open("/proc/self/maps", 0, 0);
	int64_t n = 0;
	int64_t off = 0;
	long got;

	if (fd < 0)
		return -1;
	do {
		got = pw_sys->pread((int)fd, buf, sizeof(buf), off);
		for (long i = 0; i < got; i++)
			n += buf[i] == '\n';
		off += got;
	} while (got > 0 && n <= enough);
	pw_sys->close((int)fd);
	return got < 0 ? -1 : n;
}

/* vm.max_map_count; -1: could not be read. */
static int64_t most_mappings(void)
{
	char buf[20];
	long fd = pw_sys->open("/proc/sys/vm/max_map_count", 0, 0);
	int64_t n = 0;
	long got;

	if (fd < 0)
		return -1;
	got = pw_sys->pread((int)fd, buf, sizeof(buf), 0);
	pw_sys->close((int)fd);
	for (long i = 0; i < got && buf[i] >= '0' && buf[i] <= '9'; i++)
		n = n * 10 + (buf[i] - '0');
	return n ? n : -1;
}

int pw_room_for_window(uint64_t windows)
{
	int64_t most;
	int64_t now;

	if (pw_likely(windows < pw_load_relaxed(&next_look)))
		return 0;
	if (windows >= WINDOWS_MAX || pw_load_relaxed(&crowded))
		return -EPERM;
	most = most_mappings();
	now = most < 0 ? -1 : mappings(most / 2);
	if (now < 0)
		return -EAGAIN;
	if (now > most / 2) {
		pw_store_relaxed(&crowded, 1);
		return -EPERM;
	}
	pw_store_relaxed(&next_look, 2 * windows);
	return 0;
}
