/*
 * crew.h - what kill, chaos and storm share: processes under the library that read and verify,
 * a note in shared memory of what each has done, and a look at the segment they share.
 *
 * A driver, which never loads the library, starts copies of its own program as members. Their
 * notes lie in a memfd that is handed on by number, so a member that is killed loses nothing.
 */
#ifndef TORTURE_CREW_H
#define TORTURE_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CREW_MAX 640

/* A cache page of the library (cache/base.h), in which all of this counts. */
#define CREW_PAGE ((int64_t)64 << 10)

struct member {
	_Alignas(64) _Atomic uint64_t reads;
	_Atomic uint64_t worst_ns; /* the longest call, less the time it was stopped in */
	_Atomic uint64_t stopped_ns; /* by the driver, before it lets the member go on */
	_Atomic uint32_t ready;
	_Atomic uint32_t wrongs;
	char wrong[200]; /* the first wrong thing */
};

struct crew {
	_Atomic uint32_t go;
	struct member member[CREW_MAX];
	_Alignas(64) char more[]; /* whatever else a test shares */
};

/* What lies at off, a multiple of 8, in a file that crew_make_file() made. No byte is ever
 * zero, so that every read has its witness. */
static inline uint64_t crew_word(uint64_t off)
{
	return (off / 8 + 1) * 0x9e3779b97f4a7c15u | 0x0101010101010101u;
}

bool crew_make_file(const char *path, int64_t pages);

uint64_t crew_now(void);
void crew_nap_ms(unsigned ms);

/* ---- the driver's ---------------------------------------------------------------------- */

/* All zeros, `more` bytes of it beyond the notes. */
struct crew *crew_make(size_t more);

/* Each is NULL or a value for the variable; the library is preloaded if there is one. */
struct crew_env {
	const char *lib;
	const char *point;
	const char *size;
	const char *report;
};

/* Starts `PROGRAM ROLE INDEX ARG...`, this very program, which ends when the driver does. */
pid_t crew_start(const struct crew_env *env, const char *role, int index,
		 const char *const *args);

/* What became of a child: waited for, but no longer than ten seconds. */
enum crew_end { CREW_WELL, CREW_STOPPED, CREW_KILLED, CREW_BADLY, CREW_LATE };
enum crew_end crew_await(pid_t pid);
extern int crew_status; /* what waitpid() said of the last one */

/* The count of that name in a report, 0 if there is none. */
uint64_t crew_report(const char *path, const char *name);

/* What `pagewell stat` says of PAGEWELL_SEGMENT. */
struct crew_stat {
	bool there;
	unsigned locked, waiters;
	unsigned alive, gone, other; /* owners of slots; other: damaged, or elsewhere */
	uint64_t hits;		     /* of all */
};
struct crew_stat crew_stat(void);

/* A folder of our own where files are served, below $TMPDIR or /dev/shm; NULL: there is none. */
const char *crew_folder(void);
void crew_folder_remove(void);

/* ---- a member's ------------------------------------------------------------------------ */

/* The notes, and this member's own by the index it was started with. */
extern struct crew *crew;
extern struct member *me;
void crew_join(const char *index);

/* Leaves a note if it is the first; and what a member that has done its work ends with. */
void crew_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline int crew_status_of_me(void)
{
	return atomic_load(&me->wrongs) ? 1 : 0;
}

/* One read of n bytes, a multiple of 8 up to 4096: at the position, which is known to be off;
 * or by place. It must give what crew_make_file() put there. */
void crew_read(int fd, size_t n, int64_t off);
void crew_pread(int fd, size_t n, int64_t off);
void crew_seek(int fd, int64_t off, int whence, int64_t want);

/* Calls of libc's, and so of the library, whose duration is noted. */
ssize_t timed_read(int fd, void *buf, size_t n);
ssize_t timed_pread(int fd, void *buf, size_t n, off_t off);
off_t timed_lseek(int fd, off_t off, int whence);
int timed_open(const char *path, int flags);
int timed_close(int fd);

#endif
