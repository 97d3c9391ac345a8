/* test_locks.c - locks that are relative to the position. */
#include <sys/file.h>

#include "calls.h"

/* What a lock at the position covers is seen by another process's F_GETLK. */
static void say_locks(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		int fd = open(path, O_RDWR);

		for (off_t at = 0; at < 20000;) {
			struct flock l = {
				.l_type = F_WRLCK, .l_start = at, .l_whence = SEEK_SET};

			NEED(!fcntl(fd, F_GETLK, &l));
			if (l.l_type == F_UNLCK) {
				say("no lock from %ld", (long)at);
				break;
			}
			say("lock %d from %ld, %ld", l.l_type, (long)l.l_start,
			    (long)l.l_len);
			at = l.l_start + l.l_len;
			if (!l.l_len)
				break;
		}
		_exit(0);
	}
	say_wait(pid);
}

static void with_locks(void)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 5, .l_len = 7};
	int fd = ready("a", 1, O_RDWR, 100);

	say_ret("F_SETLK", fcntl(fd, F_SETLK, &l));
	go_on(fd);
	l.l_start = 1000;
	say_ret("F_SETLKW", fcntl(fd, F_SETLKW, &l));
	go_on(fd);
	l.l_start = 3000;
	say_ret("lockf", lockf(fd, F_LOCK, 20));
	go_on(fd);
	say_ret("lockf test", lockf(fd, F_TEST, 0));
	say_locks("a");
	l.l_type = F_UNLCK;
	l.l_start = -3000;
	l.l_len = 0;
	say_ret("F_SETLK before 0", fcntl(fd, F_SETLK, &l));
	l.l_start = -10;
	say_ret("unlock", fcntl(fd, F_SETLK, &l));
	say_locks("a");
	say_ret("bad pointer", fcntl(fd, F_SETLK, 8));
	go_on(fd);
}

static void with_ofd_locks(void)
{
	struct flock l = {
		.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_start = 5, .l_len = 7};
	int fd = ready("a", 1, O_RDWR, 100);

	say_ret("F_OFD_SETLK", fcntl(fd, F_OFD_SETLK, &l));
	say_locks("a");
	go_on(fd);
	say_ret("flock", flock(fd, LOCK_EX));
	go_on(fd);
	l.l_type = F_RDLCK;
	say_ret("F_OFD_GETLK", fcntl(fd, F_OFD_GETLK, &l));
	say("%d %ld %ld", l.l_type, (long)l.l_start, (long)l.l_len);
	go_on(fd);
}

static void with_lockf(void)
{
	int fd = ready("a", 1, O_RDWR, 100);

	say_ret("lockf", lockf(fd, F_LOCK, 20));
	say_locks("a");
	go_on(fd);
	say_seek(fd, 5000, SEEK_SET);
	say_ret("lockf64", lockf64(fd, F_TLOCK, 20));
	say_locks("a");
}

static const struct self_case cases[] = {
	{"locks", with_locks, SELF_BOTH},
	{"ofd-locks", with_ofd_locks, SELF_BOTH},
	{"lockf", with_lockf, SELF_BOTH},
};

int main(int argc, char **argv)
{
	return SELF_RUN(argc, argv, cases);
}
