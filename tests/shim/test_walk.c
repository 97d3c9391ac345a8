/*
 * test_walk.c - whether a window stays when reads on new ground in sequence have no use for it:
 * 1 MiB at a time is for the kernel on any machine. Who walks through an index and goes back
 * to pages that are known between the steps keeps it; who only walks on does not, and who
 * walks again and again does not get and lose one all the time. And who reads here and there pays
 * for page after page.
 */
#include "_self.h"

#define STEP ((size_t)1 << 20)
#define STEPS 12

static char block[STEP];

static int begin(void)
{
	int fd = open_made("a", 1, (STEPS + 2) * STEP, O_RDONLY);

	warm_window(fd);
	need_mapped(fd);
	return fd;
}

static void step(int fd, int i)
{
	off_t at = (off_t)((size_t)(i + 1) * STEP);

	NEED(pread(fd, block, STEP, at) == (ssize_t)STEP);
	CHECK(is_content(block, STEP, 1, (uint64_t)at), "step %d", i);
}

static void with_reads_between(void)
{
	int fd = begin();

	for (int i = 0; i < STEPS; i++) {
		step(fd, i);
		for (int k = 0; k < 4; k++)
			NEED(pread(fd, block, 100, 50) == 100);
		CHECK(is_mapped_file("a"), "gone after step %d", i);
	}
	need_hits(fd);
}

static void without(void)
{
	int fd = begin();

	for (int i = 0; i < STEPS; i++)
		step(fd, i);
	need_unmapped_file("a");
}

/* Ground that was read before is worth another try, but not one every few reads. */
static void again_and_again(void)
{
	int fd = begin();
	bool mapped = true;
	int opened = 0;

	for (int pass = 0; pass < 20; pass++) {
		for (int i = 0; i < STEPS; i++) {
			bool was = mapped;

			step(fd, i);
			mapped = is_mapped_file("a");
			opened += mapped && !was;
		}
	}
	CHECK(opened <= 12, "opened %d times in %d reads", opened, 20 * STEPS);
}

/* Each page is paid for by reads before it is touched: these are the kernel's, all of them right,
 * and in the end there are hits everywhere. */
static void here_and_there(void)
{
	size_t size = (STEPS + 2) * STEP;
	int fd = begin();
	uint32_t at = 1;
	long calls;

	for (int i = 0; i < 60000; i++) {
		uint64_t off = (at = at * 1664525u + 1013904223u) % (size - 600);
		ssize_t n = 1 + i % 600;

		if (i % 3) {
			NEED(pread(fd, block, (size_t)n, (off_t)off) == n);
		} else {
			NEED(lseek(fd, (off_t)off, SEEK_SET) == (off_t)off);
			NEED(read(fd, block, (size_t)n) == n);
			CHECK(lseek(fd, 0, SEEK_CUR) == (off_t)off + n, "after read %d",
			      i);
		}
		CHECK(is_content(block, (size_t)n, 1, off), "read %d at %llu", i,
		      (unsigned long long)off);
	}
	calls = read_calls();
	for (uint64_t off = 0; off < size; off += size / 64)
		NEED(pread(fd, block, 9, (off_t)off) == 9);
	CHECK(read_calls() - calls < 32, "%ld of 64 were no hits", read_calls() - calls);
}

int main(int argc, char **argv)
{
	static const struct self_case cases[] = {
		{"with reads between", with_reads_between, SELF_OURS},
		{"without", without, SELF_OURS},
		{"again and again", again_and_again, SELF_OURS},
		{"here and there", here_and_there, SELF_OURS},
	};

	return SELF_RUN(argc, argv, cases);
}
