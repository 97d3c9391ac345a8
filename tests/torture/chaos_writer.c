/* chaos_writer.c - see chaos.h: the one who changes the files, under the library like all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "chaos.h"
#include "free_word.h"
#include "rng.h"

static uint64_t rng;

/* Writes records anew, each with its next version. False: it could not. */
static bool write_records(int number, int fd, int64_t first, int64_t n)
{
	struct chaos_file *f = &chaos_shared()->file[number];
	uint64_t buf[16 * RECORD / 8] = {0};

	while (n > 0) {
		int64_t some = n < 16 ? n : 16;

		for (int64_t i = 0; i < some; i++) {
			uint32_t id = (uint32_t)(number * RECORDS + first + i);
			uint32_t v = atomic_fetch_add(&f->begun[first + i], 1) + 1;

			for (uint32_t place = 0; place < RECORD / 8; place++)
				buf[i * RECORD / 8 + place] = free_word(v, id, place);
		}
		if (pwrite(fd, buf, (size_t)(some * RECORD), first * RECORD) !=
		    some * RECORD) {
			crew_wrong("pwrite: errno %d", errno);
			return false;
		}
		for (int64_t i = 0; i < some; i++)
			atomic_store(&f->done[first + i],
				     atomic_load(&f->begun[first + i]));
		first += some;
		n -= some;
	}
	return true;
}

static void flux(int number, bool on)
{
	struct chaos_file *f = &chaos_shared()->file[number];

	if (on != (atomic_load(&f->resizing) & 1))
		atomic_fetch_add(&f->resizing, 1);
}

/* Shorter, then whole again; or all of it anew, as by an editor or a shell's `>`. */
static void resize(int number, int fd)
{
	int64_t left = rng_below(&rng, RECORDS);
	int again;

	flux(number, true);
	if (rng_one_in(&rng, 3)) {
		again = open(chaos_shared()->path[number],
			     O_WRONLY | O_TRUNC | O_CLOEXEC);
		left = 0;
		close(again);
	} else if (ftruncate(fd, left * RECORD + rng_below(&rng, RECORD))) {
		crew_wrong("ftruncate: errno %d", errno);
	}
	crew_nap_ms((unsigned)rng_below(&rng, 3));
	if (write_records(number, fd, left, RECORDS - left))
		flux(number, false);
}

static void step(int number, int fd)
{
	int64_t first = rng_below(&rng, RECORDS);

	if (rng_one_in(&rng, 6))
		resize(number, fd);
	else
		write_records(
			number, fd, first,
			1 + rng_below(&rng, RECORDS - first < 40 ? RECORDS - first : 40));
}

int chaos_writer(char **argv)
{
	int fd[FILES];

	crew_join(argv[2]);
	rng = crew_now();
	for (int i = 0; i < FILES; i++) {
		fd[i] = open(chaos_shared()->path[i], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		/* The first one makes them; one that comes after a killed one finds out
		 * nothing, and puts everything right. */
		flux(i, true);
		if (write_records(i, fd[i], 0, RECORDS))
			flux(i, false);
	}
	atomic_store(&me->ready, CHAOS_STARTED);
	while (atomic_load(&crew->go) == CHAOS_READ && !me->wrongs) {
		int i = (int)rng_below(&rng, FILES);

		step(i, fd[i]);
		crew_nap_ms((unsigned)rng_below(&rng, 8));
	}
	for (int i = 0; i < FILES; i++)
		close(fd[i]);
	atomic_store(&me->ready, CHAOS_CLOSED);
	while (atomic_load(&crew->go) == CHAOS_CLOSE && !me->wrongs)
		crew_nap_ms(1);
	return crew_status_of_me();
}
