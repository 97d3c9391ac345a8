/*
 * test_cancel.c - threads that end in the middle of things: cancelled in loops of served
 * reads, deferred and at once, or inside a read that goes to the kernel; and the main
 * thread before the others. Records, windows and positions outlive none of them.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "words.h"

#define SIZE (1U << 20)

static int the_fd;
static atomic_long reads_made;
static atomic_long bytes_got;
static bool asynchronous;

static void open_warm(void)
{
	words_make("w", 1, SIZE);
	the_fd = open("w", O_RDONLY);
	warm(the_fd);
}

/* A window of another file, earned by the calling thread, and its end. */
static void still_well(void)
{
	static int round;
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "x%d", round++);
	fd = open_made(name, 2, 100000, O_RDONLY);
	warm(fd);
	need_hits(fd);
	close(fd);
	need_unmapped_file(name);
}

static void *new_thread(void *arg)
{
	need_hits(the_fd);
	still_well();
	return arg;
}

static void in_new_thread(void *(*body)(void *))
{
	pthread_t t;

	NEED(!pthread_create(&t, NULL, body, NULL));
	NEED(!pthread_join(t, NULL));
}

static void *loop(void *arg)
{
	unsigned char buf[64];
	intptr_t me = (intptr_t)arg;
	int old;

	if (asynchronous)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	for (int i = 0;; i = (i + 1) % 1000) {
		off_t at = (me * 1000 + i) * 8;

		if (pread(the_fd, buf, sizeof(buf), at) != 64 ||
		    !is_words(buf, 64, 1, (uint64_t)at))
			_exit(50);
		if (read(the_fd, buf, 1) < 0 || lseek(the_fd, 0, SEEK_SET))
			_exit(51);
		reads_made++;
	}
	return NULL;
}

#define AT_ONCE 4
#define THREADS 300

static void cancel_many(void)
{
	long before;
	long calls;

	open_warm();
	before = read_calls_all();
	for (int i = 0; i < THREADS / AT_ONCE; i++) {
		pthread_t t[AT_ONCE];
		long until = reads_made + 500;
		void *how;

		for (intptr_t k = 0; k < AT_ONCE; k++)
			NEED(!pthread_create(&t[k], NULL, loop, (void *)k));
		while (reads_made < until)
			sched_yield();
		for (int k = 0; k < AT_ONCE; k++)
			NEED(!pthread_cancel(t[k]));
		for (int k = 0; k < AT_ONCE; k++) {
			NEED(!pthread_join(t[k], &how));
			CHECK(how == PTHREAD_CANCELED, "thread %d", i * AT_ONCE + k);
		}
	}
	calls = read_calls_all() - before;
	if (self_preloaded)
		CHECK(before < 0 || calls < reads_made, "%ld calls for %ld reads", calls,
		      reads_made);
	say("%d threads cancelled", THREADS);
	need_hits(the_fd);
	in_new_thread(new_thread);
	close(the_fd);
	need_unmapped_file("w");
	still_well();
}

static void cancel_deferred(void)
{
	cancel_many();
}

static void cancel_asynchronous(void)
{
	asynchronous = true;
	cancel_many();
}

/* Deferred cancellation comes between calls: no byte is lost. */
static void *count_bytes(void *arg)
{
	unsigned char buf[16];

	for (;;) {
		ssize_t got = read(the_fd, buf, 7);

		bytes_got += got;
		if (got != 7) { /* lseek is no cancellation point */
			bytes_got = 0;
			lseek(the_fd, 0, SEEK_SET);
		}
		reads_made++;
	}
	return arg;
}

static void no_byte_lost(void)
{
	open_warm();
	lseek(the_fd, 0, SEEK_SET);
	for (int i = 0; i < 100; i++) {
		long until = reads_made + 300;
		pthread_t t;

		NEED(!pthread_create(&t, NULL, count_bytes, NULL));
		while (reads_made < until)
			sched_yield();
		NEED(!pthread_cancel(t) && !pthread_join(t, NULL));
		CHECK(lseek(the_fd, 0, SEEK_CUR) == bytes_got, "%d: at %ld, not %ld", i,
		      (long)lseek(the_fd, 0, SEEK_CUR), bytes_got);
		lseek(the_fd, 0, SEEK_SET);
		bytes_got = 0;
	}
	need_ours(the_fd);
	need_hits(the_fd);
}

/* ---- cancelled inside a call that goes to the kernel ---- */

static int close_in_cleanup = -1;

static void cleanup(void *arg)
{
	(void)arg;
	if (close_in_cleanup >= 0)
		close(close_in_cleanup);
}

/* The cancellation is pending when the read begins, and its buffer is a new one. */
static void *cancelled_in_read(void *arg)
{
	unsigned char *buf = arg;

	pthread_cleanup_push(cleanup, NULL);
	pthread_cancel(pthread_self());
	read(the_fd, buf, 5000);
	pthread_cleanup_pop(0);
	return NULL;
}

static void one_cancelled_in_read(void)
{
	unsigned char *buf = malloc(8000);
	pthread_t t;
	void *how;

	NEED(buf && !pthread_create(&t, NULL, cancelled_in_read, buf));
	NEED(!pthread_join(t, &how));
	CHECK(how == PTHREAD_CANCELED, "it went on");
	free(buf);
}

static void in_slow_read(void)
{
	open_warm();
	lseek(the_fd, 400, SEEK_SET);
	for (int i = 0; i < 20; i++)
		one_cancelled_in_read();
	say_pos(the_fd);
	say_read(the_fd, 9);
	need_hits(the_fd);
	in_new_thread(new_thread);
	close(the_fd);
	need_unmapped_file("w");
}

/* The number is closed by the very thread that was cancelled in a read from it. */
static void closed_in_cleanup(void)
{
	open_warm();
	close_in_cleanup = the_fd;
	one_cancelled_in_read();
	need_unmapped_file("w");
	still_well();
	need_unmapped_file("w");
	say("nothing is left");
}

static void *pending_kernels(void *arg)
{
	unsigned char buf[16];

	pthread_cancel(pthread_self());
	read(the_fd, buf, 5);
	return arg;
}

/* The position is the kernel's: a call counted into its word never comes back. */
static void in_kernels_read(void)
{
	words_make("w", 1, SIZE);
	the_fd = open("w", O_RDONLY);
	in_new_thread(pending_kernels);
	say_read(the_fd, 9);
	warm_window(the_fd);
	say_seek(the_fd, 70, SEEK_SET);
	say_read(the_fd, 9);
	say_pos(the_fd);
	close(the_fd);
	need_unmapped_file("w");
	still_well();
}

/* ... and still the position can be adopted afterwards. */
static void adopted_after(void)
{
	words_make("w", 1, SIZE);
	the_fd = open("w", O_RDONLY);
	in_new_thread(pending_kernels);
	warm(the_fd);
	say_read(the_fd, 9);
}

/* ---- threads that end ---- */

static void *main_has_ended(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	/* /proc/self has nothing to say any more: by hits alone. */
	need_hits(the_fd);
	say_seek(the_fd, 33, SEEK_SET);
	say_read(the_fd, 9);
	close(the_fd);
	say_read(the_fd, 9);
	exit(0);
}

static void main_ends(void)
{
	static pthread_t t[2];

	open_warm();
	t[0] = pthread_self();
	NEED(!pthread_create(&t[1], NULL, main_has_ended, &t[0]));
	pthread_exit(NULL);
}

static const struct self_case cases[] = {
	{"cancel-deferred", cancel_deferred, SELF_BOTH},
	{"cancel-asynchronous", cancel_asynchronous, SELF_BOTH},
	{"no-byte-lost", no_byte_lost, SELF_OURS},
	{"cancelled-in-slow-read", in_slow_read, SELF_BOTH},
	{"closed-in-cleanup", closed_in_cleanup, SELF_BOTH},
	{"cancelled-in-kernels-read", in_kernels_read, SELF_BOTH},
	{"adopted-after-cancel", adopted_after, SELF_BOTH},
	{"main-ends", main_ends, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
