/* test_shorter.c - files that get shorter, and longer again, while they are served. */
#include "bus.h"

static void truncated(void)
{
	int fd = open_made("t", 5, SIZE, O_RDWR);
	int other = open("t", O_RDWR);
	unsigned char buf[100];

	warm(fd);
	for (off_t at = 0; at < SIZE; at += 100)
		NEED(pread(fd, buf, 100, at) == 100);
	for (int round = 0; round < 60; round++) {
		off_t size = (off_t)(round * 7919L % SIZE);

		say_seek(fd, size > 50 ? size - 50 : 0, SEEK_SET);
		say_ret("ftruncate", ftruncate(other, size));
		say_read(fd, 100);
		say_read(fd, 100);
		say_pos(fd);
		say_pread(fd, 100, size + 4096);
		say_pread(fd, 100, size);
		say_pread(fd, 4000, size / 2);
		say_pread(fd, 100, 299900);
		/* and it grows again */
		make_file("t", 5 + (unsigned)round % 3, SIZE);
		say_read(fd, 100);
		for (int i = 0; i < 100; i++) {
			NEED(pread(fd, buf, 100, size) >= 0);
			NEED(pread(fd, buf, 100, 299800) == 100);
		}
	}
	say("count %d", count);
}

static void truncated_with_default(void)
{
	served = open_made("a", 1, SIZE, O_RDONLY);
	truncated();
}

static void truncated_with_handler(void)
{
	bus_ready();
	truncated();
	say_mask("at last");
}

/* Another process does it while this one reads without end. */
static void truncated_meanwhile(void)
{
	int fd = open_made("t", 5, SIZE, O_RDONLY);
	static unsigned char buf[9000];
	long got = 0;
	int status;
	pid_t pid;

	bus_ready();
	warm(fd);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 300; i++) {
			NEED(!truncate("t", i * 977L % SIZE));
			make_file("t", 5, SIZE);
		}
		_exit(0);
	}
	do {
		for (off_t at = 0; at < SIZE - 9000; at += 4321) {
			ssize_t n = pread(fd, buf, 9000, at);

			CHECK(n >= 0, "errno %d", errno);
			got += n > 0;
		}
	} while (waitpid(pid, &status, WNOHANG) == 0);
	CHECK(!status, "status %x", status);
	CHECK(!count, "the handler was called");
	CHECK(got > 0, "nothing was read");
	for (off_t at = 0; at < SIZE - 9000; at += 4321)
		CHECK(pread(fd, buf, 9000, at) == 9000 &&
			      is_content(buf, 9000, 5, (uint64_t)at),
		      "at %ld", (long)at);
}

static const struct self_case cases[] = {
	{"truncated", truncated_with_default, SELF_BOTH},
	{"truncated-with-handler", truncated_with_handler, SELF_BOTH},
	{"truncated-meanwhile", truncated_meanwhile, SELF_OURS},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
