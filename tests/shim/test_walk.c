/*
 * test_walk.c - whether a window stays when reads on new ground in sequence have no use for it:
 * 1 MiB at a time is for the kernel on any machine. Who walks through an index and goes back
 * to pages that are known between the steps keeps it; who only walks on does not, and who
 * walks again and again does not get and lose one all the time.
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

int main(int argc, char **argv)
{
	static const struct self_case cases[] = {
		{"with reads between", with_reads_between, SELF_OURS},
		{"without", without, SELF_OURS},
		{"again and again", again_and_again, SELF_OURS},
	};

	return SELF_RUN(argc, argv, cases);
}
