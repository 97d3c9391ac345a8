/*
 * stores_writer.c - the process that has the library: makes the calls that it is told to make,
 * by plain libc calls, and notes what they return.
 */
#include "stores.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int fds[SLOTS];

/* The bytes lie in memory of our own, at the same few pages always: a store is made only from
 * pages that the kernel has read in a write before. */
static unsigned char buf[MAX_IO + 64];

/* In three pieces, of which the second is empty. */
static int pieces(struct iovec v[3], unsigned char *from, const struct order *o)
{
	v[0] = (struct iovec){from, o->arg};
	v[1] = (struct iovec){NULL, 0};
	v[2] = (struct iovec){from + o->arg, o->n - o->arg};
	return 3;
}

static int64_t reopen(struct shared *s, const struct order *o)
{
	close(fds[o->slot]);
	fds[o->slot] = open(s->path, (int)o->arg);
	return fds[o->slot] < 0 ? -1 : 0;
}

static int64_t long_ago(int fd)
{
	const struct timespec t[2] = {{1000000000, 0}, {1000000000, 0}};

	return futimens(fd, t);
}

static int64_t make(struct shared *s, const struct order *o)
{
	unsigned char *data = s->data + o->data;
	unsigned char *from = buf + o->n % 64;
	int fd = fds[o->slot];
	struct iovec v[3];
	int64_t ret;

	if (o->call <= CALL_WRITEV)
		memcpy(from, data, o->n);
	switch (o->call) {
	case CALL_PWRITE:
		return pwrite(fd, from, o->n, o->off);
	case CALL_PWRITEV:
		return pwritev(fd, v, pieces(v, from, o), o->off);
	case CALL_WRITE:
		return write(fd, from, o->n);
	case CALL_WRITEV:
		return writev(fd, v, pieces(v, from, o));
	case CALL_LSEEK:
		return lseek(fd, o->off, (int)o->arg);
	case CALL_READ:
	case CALL_PREAD:
		ret = o->call == CALL_READ ? read(fd, from, o->n)
					   : pread(fd, from, o->n, o->off);
		if (ret > 0)
			memcpy(data, from, (size_t)ret);
		return ret;
	case CALL_REOPEN:
		return reopen(s, o);
	case CALL_TRUNCATE:
		return ftruncate(fd, o->off);
	default:
		return long_ago(fd);
	}
}

int stores_write(struct shared *s)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < SLOTS; i++)
		fds[i] = open(s->path, O_RDWR);
	for (bool mine = stores_wait(s, WRITER); mine; mine = stores_pass(s, PARENT)) {
		for (uint32_t i = 0; i < s->count; i++) {
			errno = 0;
			s->answer[i].ret = make(s, &s->order[i]);
			s->answer[i].err = errno;
		}
	}
	return 0;
}
