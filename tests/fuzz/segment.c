/*
 * segment.c - libFuzzer's target: a segment in which anything may stand. The engine attaches to
 * a good one once; each input is a list of steps that write words anywhere in it and then do
 * what the engine does with it: page words, file entries, slots. A second file is given any head
 * and any length, and looked at as one that is there already. Nothing may crash, hang, or read
 * or write beside the segment (ASan, UBSan); what the words say is up to them.
 *
 * Built by tests/torture/fuzz_segment.sh.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/page.h"
#include "cache/pagewell.h"
#include "cache/word.h"

static const struct pw_segment *live;
static struct pw_shm_head good; /* the head as it was at first */
static char other[300];		/* the second file */
static int other_fd;
static bool cut = true; /* it is not as long as it should be */
static struct pw_sys fuzz_sys;

/* Time goes by as soon as somebody looks, so that deadlines come at once. */
static int64_t quick_clock(void)
{
	static int64_t now;

	return now += 20 * 1000 * 1000;
}

static long no_sleep(uint32_t *word, uint32_t seen, const struct timespec *rel)
{
	(void)word, (void)seen, (void)rel;
	return -ETIMEDOUT;
}

/* Pids are whatever stands there: nobody is asked, half of them are dead. */
static long odd_are_dead(int pid, int sig)
{
	(void)sig;
	return pid & 1 ? -ESRCH : 0;
}

static void need(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "segment fuzz: %s\n", what);
		abort();
	}
}

static void make_other(void)
{
	if (cut) /* else it would take longer than all the rest */
		need(!ftruncate(other_fd, 0) &&
			     !fallocate(other_fd, 0, 0, PW_SEGMENT_BYTES),
		     "no room");
	cut = false;
	need(pwrite(other_fd, &good, sizeof(good), 0) == sizeof(good), "head");
}

static void begin(void)
{
	const char *given = getenv("PAGEWELL_SEGMENT");
	char path[256];

	fuzz_sys = pw_sys_kernel;
	fuzz_sys.now_ns = quick_clock;
	fuzz_sys.futex_wait = no_sleep;
	fuzz_sys.kill = odd_are_dead;
	pw_sys = &fuzz_sys;
	snprintf(path, sizeof(path), "%s-fuzz-%d", given ? given : "/dev/shm/pagewell",
		 (int)getpid());
	snprintf(other, sizeof(other), "%s.other", path);
	need(!pw_segment_set_path(path), "path");
	live = pw_segment_get();
	need(live != NULL, "cannot make a segment");
	good = *live->head;
	unlink(path);
	other_fd = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	need(other_fd >= 0, "cannot make a file in /dev/shm");
	make_other();
	pw_costs();
}

static void write_word(uint32_t at, uint32_t value)
{
	char *base = (char *)live->head;

	/* Often where somebody looks: heads, slots and the first words of the tables. */
	switch (at >> 30) {
	case 0:
		at %= PW_HEAD_BYTES;
		break;
	case 1:
		at = PW_SLOTS_AT + at % (PW_SLOTS * sizeof(struct pw_shm_slot));
		break;
	case 2:
		at = PW_FILES_AT + at % (8 * sizeof(struct pw_shm_file));
		break;
	default:
		at %= PW_SEGMENT_BYTES;
	}
	memcpy(base + (at & ~3u), &value, sizeof(value));
}

static void use_page(uint32_t id, uint32_t how)
{
	uint64_t cp = how % 8;

	if (pw_page_begin(id | 1, cp, how & 0x100) == PW_PAGE_MINE)
		pw_page_end(id | 1, cp, how & 0x200);
}

static void use_file(uint32_t id, uint32_t how)
{
	uint64_t key = id % 16 + 1;
	struct pw_shm_file *f = pw_file_get(key);

	need(!f || (f >= live->files && f < live->files + PW_FILES),
	     "an entry elsewhere");
	(void)pw_file_expected_reads(key);
	(void)pw_file_touch(key);
	pw_file_set_touch(key, how);
	pw_file_learn(key, how);
	if (f && pw_file_lock_size(f))
		pw_file_unlock_size(f, how);
}

static void use_slots(uint32_t how)
{
	uint64_t own[PW_S_COUNT];
	uint32_t processes;

	pw_stat_add((enum pw_stat)(how % PW_S_COUNT), how & 1 ? 1 : -1);
	pw_stat_publish();
	pw_stat_own(own);
	(void)pw_stat_total_pages(&processes);
	need(processes > 0, "shared by nobody");
	(void)pw_stat_shrink_asked();
	if (how & 0x100)
		pw_stat_sweep(live);
	if (how & 0x200)
		pw_stat_leave(false);
}

static void use_other(uint32_t at, uint32_t value)
{
	struct pw_segment seen = {0};

	if (!(at & 0x40000000)) /* else one damage upon the other */
		make_other();
	if ((at & 0x80000000) && value % 8 == 0) {
		need(!ftruncate(other_fd, value % (2 * PW_SEGMENT_BYTES)), "truncate");
		cut = true;
	} else {
		need(pwrite(other_fd, &value, 4, at % 128 / 4 * 4) == 4, "write");
	}
	if (!pw_segment_inspect(other, &seen)) {
		need(seen.head->magic == PW_MAGIC && seen.head->abi == PW_ABI &&
			     seen.head->bytes == PW_SEGMENT_BYTES,
		     "another layout was accepted");
		pw_sys->munmap(seen.head, PW_SEGMENT_BYTES);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!live)
		begin();
	for (; n >= 9; data += 9, n -= 9) {
		uint32_t a;
		uint32_t b;

		memcpy(&a, data + 1, 4);
		memcpy(&b, data + 5, 4);
		switch (data[0] % 6) {
		case 0:
		case 1:
			write_word(a, b);
			break;
		case 2:
			use_page(a, b);
			break;
		case 3:
			use_file(a, b);
			break;
		case 4:
			use_slots(b);
			break;
		default:
			use_other(a, b);
		}
	}
	return 0;
}

__attribute__((destructor)) static void end(void)
{
	if (other[0])
		unlink(other);
}
