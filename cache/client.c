/*
 * client.c - see client.h: the engine for a program that asks for it. What the shim does for
 * programs that know nothing of it is done here in a few lines, because here one may be asked
 * to keep to some rules: a window is made when it is asked for, and the buffer is good.
 */
#include "cache/client.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cache/client_guard.h"
#include "cache/pagewell.h"

#define MOST 0x7ffff000u /* what the kernel reads in one call at the most */
#define FIRST_WAIT 16u	 /* reads without a window before the next try to make one */
#define LAST_WAIT (1u << 16)
#define CHUNK (16 * PW_PAGE) /* of memory for clients */

struct pw_client {
	struct pw_window win; /* first: a dead window is a dead client */
	int fd;
	bool writable;		/* how fd was opened */
	uint32_t wait;		/* hints: reads still to be made without a window, and */
	uint32_t next_wait;	/* how many it will be next time */
	struct pw_client *next; /* while it is free */
};

/* Clients are used again, never given back (rule W5). */
static struct pw_client *free_clients;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */

/* In a page that a child made without fork(3) finds zeroed: what it inherited speaks of
 * mappings that are not there, so it reads by the kernel. NULL: no windows at all. */
static uint32_t *live;
static bool forking; /* between fork's handlers: was it alive? */
static pthread_key_t key;

/* The calling thread. */
static __thread struct {
	struct pw_reader *reader; /* NULL: not served, or */
	bool asked;		  /* false: not looked at yet */
} me;

/* ---- threads, forks, the process --------------------------------------------------------- */

static bool bus_blocked(void)
{
	uint64_t mask = 0;

	return pw_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask)) ||
	       (mask >> (SIGBUS - 1) & 1);
}

static void thread_ended(void *reader)
{
	me.reader = NULL;
	me.asked = false; /* destructors that read after this one have it called again */
	pw_reader_release(reader);
}

static struct pw_reader *reader(void)
{
	if (pw_unlikely(!me.asked)) {
		me.asked = true;
		if (!bus_blocked())
			me.reader = pw_reader_claim();
		if (me.reader && pthread_setspecific(key, me.reader)) {
			pw_reader_release(me.reader); /* it would outlive the thread */
			me.reader = NULL;
		}
	}
	return pw_load_relaxed(live) ? me.reader : NULL;
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&lock);
	forking = pw_load_relaxed(live); /* a child made without fork(3) may fork */
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&lock);
}

static void fork_child(void)
{
	pthread_mutex_unlock(&lock); /* reuse() takes it */
	if (!forking)
		return;
	pw_readers_reset(me.reader);
	pw_stat_fork_child();
	pw_windows_fork_child();
	pw_store_relaxed(live, 1);
}

static void reuse(struct pw_window *w)
{
	struct pw_client *c = (struct pw_client *)w;

	pthread_mutex_lock(&lock);
	c->next = free_clients;
	free_clients = c;
	pthread_mutex_unlock(&lock);
}

static void start(void)
{
	const char *off = getenv("PAGEWELL_DISABLE");
	const char *path = secure_getenv("PAGEWELL_SEGMENT");
	long at;

	if (off && *off && strcmp(off, "0") != 0)
		return;
	if (path && *path == '/')
		pw_segment_set_path(path); /* too long: the default */
	at = pw_sys->mmap(NULL, PW_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pw_is_err(at))
		return;
	if (pw_sys->madvise((void *)at, PW_PAGE, MADV_WIPEONFORK) ||
	    pthread_key_create(&key, thread_ended) ||
	    pthread_atfork(fork_prepare, fork_parent, fork_child)) {
		pw_sys->munmap((void *)at, PW_PAGE);
		return;
	}
	pw_window_dead = reuse;
	live = (uint32_t *)at;
	pw_store_relaxed(live, 1);
}

/* What was counted since the last hand-in would be lost. */
__attribute__((destructor)) static void finish(void)
{
	if (live && pw_load_relaxed(live) && !bus_blocked())
		pw_stat_leave(true);
}

/* ---- windows ------------------------------------------------------------------------------ */

/* Called with the caller's slot naming the window (W1). */
static void open_window(struct pw_client *c)
{
	struct stat st;
	uint64_t saved;
	int err = -EPERM;

	pw_sys->block_signals(&saved);
	if (!pw_sys->fstat(c->fd, &st) && pw_place_served(c->fd, &st) &&
	    pw_client_guarded())
		err = pw_window_open(&c->win, c->fd,
				     c->writable ? PW_WIN_READ_WRITE : PW_WIN_READ_ONLY,
				     &st, NULL);
	pw_sys->restore_signals(&saved);
	if (!err) {
		pw_store_relaxed(&c->next_wait, FIRST_WAIT);
		return;
	}
	pw_store_relaxed(&c->wait, pw_load_relaxed(&c->next_wait));
	if (pw_load_relaxed(&c->next_wait) < LAST_WAIT)
		pw_store_relaxed(&c->next_wait, 2 * pw_load_relaxed(&c->next_wait));
}

static bool from_window(struct pw_client *c, struct pw_reader *r, void *buf, size_t n,
			uint64_t off)
{
	enum pw_hit hit = pw_window_read(&c->win, buf, n, off);

	if (hit == PW_MISS_TOUCH) {
		bool again = pw_window_touch(&c->win, c->fd, n, off, r->hit_bytes);

		pw_reclaim_poll(r, &c->win);
		if (!again)
			return false;
		hit = pw_window_read(&c->win, buf, n, off);
	}
	if (pw_likely(hit == PW_HIT)) {
		pw_tally(&r->hits, 1);
		pw_tally(&r->hit_bytes, n);
		return true;
	}
	pw_window_doubt(&c->win, hit, r->hits);
	return false;
}

/* And what it says of the window. */
static ssize_t from_kernel(struct pw_client *c, void *buf, size_t n, off_t off)
{
	ssize_t got = pw_sys->pread(c->fd, buf, n, off);
	uint32_t wait = pw_load_relaxed(&c->wait);

	if (got <= 0)
		return got;
	if (pw_window_is_open(&c->win)) {
		/* Outgrown: it ends as the caller leaves, and the next read makes another. */
		if (!pw_window_refresh(&c->win, c->fd, (uint64_t)off, (uint64_t)got))
			pw_window_retire(&c->win, false);
	} else if (wait) {
		pw_store_relaxed(&c->wait, wait - 1);
	} else {
		open_window(c);
	}
	return got;
}

/* ---- what client.h promises ---------------------------------------------------------------- */

static struct pw_client *client_new(void)
{
	struct pw_client *c;

	pthread_mutex_lock(&lock);
	if (!free_clients) {
		long at = pw_sys->mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; !pw_is_err(at) && i < CHUNK / sizeof(*c); i++) {
			c = (struct pw_client *)at + i;
			c->next = free_clients;
			free_clients = c;
		}
	}
	c = free_clients;
	if (c)
		free_clients = c->next;
	pthread_mutex_unlock(&lock);
	return c;
}

/* F_GETFL says O_RDONLY of a number that is only a path. */
static int opened_for_reading(int fd)
{
	long how = pw_syscall2(SYS_fcntl, fd, F_GETFL);

	if (how < 0)
		return (int)how;
	return (how & O_ACCMODE) == O_WRONLY || (how & O_PATH) ? -EBADF : (int)how;
}

int pw_client_open(int fd, struct pw_client **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int how = opened_for_reading(fd);
	struct pw_reader *r;
	struct pw_hazard *s;
	struct pw_client *c;

	if (how < 0)
		return how;
	pthread_once(&once, start);
	c = client_new();
	if (!c)
		return -ENOMEM;
	c->fd = fd;
	c->writable = (how & O_ACCMODE) == O_RDWR;
	pw_store_relaxed(&c->next_wait, FIRST_WAIT);
	/* O_DIRECT means to pass the page cache by. */
	pw_store_relaxed(&c->wait, how & O_DIRECT ? UINT32_MAX : 0);
	r = live && !(how & O_DIRECT) ? reader() : NULL;
	s = r ? pw_hazard_enter(r, &c->win) : NULL;
	if (s) {
		open_window(c);
		pw_window_leave(s, &c->win);
	}
	*out = c;
	return 0;
}

ssize_t pw_client_pread(struct pw_client *c, void *buf, size_t n, off_t off)
{
	struct pw_reader *r = live ? reader() : NULL;
	struct pw_hazard *s;
	ssize_t got = (ssize_t)n;

	s = r && n && n <= MOST && off >= 0 ? pw_hazard_enter(r, &c->win) : NULL;
	if (!s)
		return pw_sys->pread(c->fd, buf, n, off);
	if (!from_window(c, r, buf, n, (uint64_t)off))
		got = from_kernel(c, buf, n, off);
	pw_window_leave(s, &c->win);
	return got;
}

int pw_client_mapped(const struct pw_client *c)
{
	return pw_window_is_open(&c->win);
}

void pw_client_close(struct pw_client *c)
{
	if (c)
		pw_window_retire(&c->win, true);
}

uint64_t pw_client_hits(void)
{
	uint64_t own[PW_S_COUNT];

	pw_stat_own(own);
	return own[PW_S_HITS];
}

void pw_client_own_handler(void)
{
	pw_client_guard_is_theirs();
}

int pw_client_sigbus(const siginfo_t *info, void *ucontext)
{
	return pw_client_guard_took(info, ucontext);
}
