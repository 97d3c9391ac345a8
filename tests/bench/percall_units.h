/*
 * percall_units.h - the calls that percall.c times, as loops. A unit is the smallest piece
 * of work whose cost is even: 1024 calls of a random pattern, one whole pass of a
 * sequential one in large steps. It returns the calls that it made.
 */
#ifndef PW_BENCH_PERCALL_UNITS_H
#define PW_BENCH_PERCALL_UNITS_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PW_UNIT 1024

struct pw_job {
	int fd;
	size_t size; /* bytes a call */
	size_t span; /* bytes of the file that the case moves in */
	size_t pos;  /* for the sequential patterns */
	uint64_t rng;
	const char *path;
	const char *map; /* the same bytes, for the memcpy floors */
	FILE *stream;	 /* for the calls of stdio */
	char *buf;
};

static void pw_die(const char *what)
{
	fprintf(stderr, "percall: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static inline void pw_expect(ssize_t got, size_t want, const char *what)
{
	if (__builtin_expect(got != (ssize_t)want, 0)) {
		if (got >= 0)
			errno = ERANGE;
		pw_die(what);
	}
}

/* A place in the span, aligned to the size; the top bits of an LCG are the good ones. */
static inline size_t pw_place(struct pw_job *job)
{
	uint64_t slots = job->span / job->size;

	job->rng = job->rng * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(((job->rng >> 32) * slots) >> 32) * job->size;
}

/* As who follows pointers: where to is known only when the last read's bytes are here. At places
 * known before, the processor waits for the memory of several copies at once, of as many as it
 * has room for instructions: for more memcpys than preads. */
static inline size_t pw_place_from(struct pw_job *job)
{
	job->rng += *(unsigned char *)job->buf;
	return pw_place(job);
}

/* The next place of a sequential pattern; true when it starts over. */
static inline int pw_step(struct pw_job *job, size_t *at)
{
	*at = job->pos;
	job->pos += job->size;
	if (job->pos + job->size <= job->span)
		return 0;
	job->pos = 0;
	return 1;
}

/* Two pieces, so that a vector is what it says. */
static inline int pw_halves(struct pw_job *job, struct iovec v[2])
{
	size_t half = job->size / 2;

	v[0] = (struct iovec){job->buf, job->size - half};
	v[1] = (struct iovec){job->buf + job->size - half, half};
	return half ? 2 : 1;
}

/* ---- seeks ---- */

static long pw_unit_seek_set(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		off_t to = (off_t)pw_place(job);

		pw_expect(lseek(job->fd, to, SEEK_SET), (size_t)to, "lseek");
	}
	return PW_UNIT;
}

static long pw_unit_seek_cur(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(lseek(job->fd, 0, SEEK_CUR), 0, "lseek");
	return PW_UNIT;
}

static long pw_unit_seek_end(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		if (lseek(job->fd, 0, SEEK_END) < (off_t)job->span)
			pw_die("lseek");
	return PW_UNIT;
}

/* ---- reads from the position ---- */

static long pw_unit_read(struct pw_job *job)
{
	size_t at;

	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect(read(job->fd, job->buf, job->size), job->size, "read");
		if (pw_step(job, &at))
			pw_expect(lseek(job->fd, 0, SEEK_SET), 0, "lseek");
	}
	return PW_UNIT;
}

static long pw_unit_seek_read(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		off_t to = (off_t)pw_place(job);

		pw_expect(lseek(job->fd, to, SEEK_SET), (size_t)to, "lseek");
		pw_expect(read(job->fd, job->buf, job->size), job->size, "read");
	}
	return PW_UNIT;
}

static long pw_unit_readv(struct pw_job *job)
{
	struct iovec v[2];
	int n = pw_halves(job, v);
	size_t at;

	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect(readv(job->fd, v, n), job->size, "readv");
		if (pw_step(job, &at))
			pw_expect(lseek(job->fd, 0, SEEK_SET), 0, "lseek");
	}
	return PW_UNIT;
}

static long pw_unit_seek_readv(struct pw_job *job)
{
	struct iovec v[2];
	int n = pw_halves(job, v);

	for (int i = 0; i < PW_UNIT; i++) {
		off_t to = (off_t)pw_place(job);

		pw_expect(lseek(job->fd, to, SEEK_SET), (size_t)to, "lseek");
		pw_expect(readv(job->fd, v, n), job->size, "readv");
	}
	return PW_UNIT;
}

/* ---- reads from a place ---- */

static long pw_unit_pread(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(pread(job->fd, job->buf, job->size, (off_t)pw_place(job)),
			  job->size, "pread");
	return PW_UNIT;
}

static long pw_unit_pread_chain(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(pread(job->fd, job->buf, job->size, (off_t)pw_place_from(job)),
			  job->size, "pread");
	return PW_UNIT;
}

static long pw_unit_pread_next(struct pw_job *job)
{
	size_t at;

	for (int i = 0; i < PW_UNIT; i++) {
		(void)pw_step(job, &at);
		pw_expect(pread(job->fd, job->buf, job->size, (off_t)at), job->size,
			  "pread");
	}
	return PW_UNIT;
}

static long pw_unit_pread_pass(struct pw_job *job)
{
	for (size_t at = 0; at < job->span; at += job->size)
		pw_expect(pread(job->fd, job->buf, job->size, (off_t)at), job->size,
			  "pread");
	return (long)(job->span / job->size);
}

static long pw_unit_preadv(struct pw_job *job)
{
	struct iovec v[2];
	int n = pw_halves(job, v);

	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(preadv(job->fd, v, n, (off_t)pw_place(job)), job->size,
			  "preadv");
	return PW_UNIT;
}

static long pw_unit_preadv2(struct pw_job *job)
{
	struct iovec v[2];
	int n = pw_halves(job, v);

	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(preadv2(job->fd, v, n, (off_t)pw_place(job), 0), job->size,
			  "preadv2");
	return PW_UNIT;
}

/* ---- streams ---- */

static long pw_unit_fread(struct pw_job *job)
{
	size_t at;

	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect((ssize_t)fread(job->buf, 1, job->size, job->stream), job->size,
			  "fread");
		if (pw_step(job, &at))
			rewind(job->stream);
	}
	return PW_UNIT;
}

static long pw_unit_seek_fread(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect(fseeko(job->stream, (off_t)pw_place(job), SEEK_SET), 0,
			  "fseeko");
		pw_expect((ssize_t)fread(job->buf, 1, job->size, job->stream), job->size,
			  "fread");
	}
	return PW_UNIT;
}

/* ---- the floor ---- */

/* A copy the compiler may neither drop nor turn into something else than memcpy. */
static inline void pw_copy(struct pw_job *job, size_t at)
{
	memcpy(job->buf, job->map + at, job->size);
	__asm__ volatile("" ::: "memory");
}

static long pw_unit_memcpy(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_copy(job, pw_place(job));
	return PW_UNIT;
}

static long pw_unit_memcpy_chain(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_copy(job, pw_place_from(job));
	return PW_UNIT;
}

static long pw_unit_memcpy_next(struct pw_job *job)
{
	size_t at;

	for (int i = 0; i < PW_UNIT; i++) {
		(void)pw_step(job, &at);
		pw_copy(job, at);
	}
	return PW_UNIT;
}

static long pw_unit_memcpy_pass(struct pw_job *job)
{
	for (size_t at = 0; at < job->span; at += job->size)
		pw_copy(job, at);
	return (long)(job->span / job->size);
}

/* ---- what can't gain ---- */

static long pw_unit_write(struct pw_job *job)
{
	size_t at;

	for (int i = 0; i < PW_UNIT; i++) {
		pw_expect(write(job->fd, job->buf, job->size), job->size, "write");
		if (pw_step(job, &at))
			pw_expect(lseek(job->fd, 0, SEEK_SET), 0, "lseek");
	}
	return PW_UNIT;
}

static long pw_unit_pwrite(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT; i++)
		pw_expect(pwrite(job->fd, job->buf, job->size, (off_t)pw_place(job)),
			  job->size, "pwrite");
	return PW_UNIT;
}

static inline void pw_visit(struct pw_job *job, int reads)
{
	int fd = open(job->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		pw_die(job->path);
	while (reads--)
		pw_expect(read(fd, job->buf, job->size), job->size, "read");
	pw_expect(close(fd), 0, "close");
}

static long pw_unit_visit1(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT / 8; i++)
		pw_visit(job, 1);
	return PW_UNIT / 8;
}

static long pw_unit_visit10(struct pw_job *job)
{
	for (int i = 0; i < PW_UNIT / 8; i++)
		pw_visit(job, 10);
	return PW_UNIT / 8;
}

#endif
