/*
 * Steps that change memory which other steps read into: a buffer that was good
 * a moment ago must give EFAULT when it is gone. All of it lies at addresses
 * far from where the kernel puts mappings by itself, so that a hole stays one.
 */
#define _GNU_SOURCE
#include "interp.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096

struct pw_mapped pw_mapped;

struct range {
	char *p;
	size_t size;
};

static struct range pages(char *base, unsigned int all, int64_t first, int64_t count)
{
	uint64_t g = (uint64_t)first % all, h = count < 0 ? 0 : count;

	if (h > all - g)
		h = all - g;
	return (struct range){base + g * PAGE, h * PAGE};
}

void pw_do_MMAP(const struct pw_step *s)
{
	struct range r = pages(PW_M_BASE, PW_M_PAGES, s->arg[0], s->arg[1]);
	int prot = s->arg[2], flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	void *p;

	if (s->name == 0)
		p = PW_CALL(mmap(r.p, r.size, prot, flags, -1, 0));
	else if (s->name == 1)
		p = PW_CALL(mmap64(r.p, r.size, prot, flags, -1, 0));
	else
		p = (void *)PW_CALL(syscall(SYS_mmap, r.p, r.size, prot, flags, -1, 0L));
	pw_said(s, p == MAP_FAILED ? -1 : 0, " ");
}

void pw_do_MUNMAP(const struct pw_step *s)
{
	struct range r = pages(PW_M_BASE, PW_M_PAGES, s->arg[0], s->arg[1]);

	pw_said(s,
		s->name ? PW_CALL((int)syscall(SYS_munmap, r.p, r.size))
			: PW_CALL(munmap(r.p, r.size)),
		" ");
}

void pw_do_MPROTECT(const struct pw_step *s)
{
	struct range r = pages(PW_M_BASE, PW_M_PAGES, s->arg[0], s->arg[1]);
	int prot = s->arg[2], ret;

	if (s->name == 0)
		ret = PW_CALL(mprotect(r.p, r.size, prot));
	else if (s->name == 1)
		ret = PW_CALL(pkey_mprotect(r.p, r.size, prot, -1));
	else
		ret = PW_CALL(syscall(SYS_mprotect, r.p, r.size, prot));
	pw_said(s, ret, " ");
}

void pw_do_MREMAP(const struct pw_step *s)
{
	struct range from = pages(PW_M_BASE, PW_M_PAGES, s->arg[0], s->arg[1]);
	struct range to = pages(PW_M_BASE, PW_M_PAGES, s->arg[0], s->arg[2]);
	void *p;

	if (s->name == 0) {
		p = PW_CALL(mremap(from.p, from.size, to.size, 0));
	} else if (s->name == 1) {
		p = PW_CALL(mremap(from.p, from.size, to.size,
				   MREMAP_MAYMOVE | MREMAP_FIXED,
				   (void *)0x240000000000));
		if (p != MAP_FAILED)
			PW_RAW2(SYS_munmap, p, to.size);
	} else {
		p = (void *)PW_CALL(syscall(SYS_mremap, from.p, from.size, to.size, 0L));
	}
	pw_said(s, p == MAP_FAILED ? -1 : 0, " ");
}

void pw_do_MADVISE(const struct pw_step *s)
{
	static const int advice[] = {MADV_DONTNEED, MADV_WILLNEED, MADV_DONTFORK,
				     MADV_FREE};
	struct range r = pages(PW_M_BASE, PW_M_PAGES, s->arg[0], s->arg[1]);
	int a = advice[s->arg[2] & 3];

	pw_said(s,
		s->name ? PW_CALL((int)syscall(SYS_madvise, r.p, r.size, a))
			: PW_CALL(madvise(r.p, r.size, a)),
		" ");
}

void pw_do_MAPFILE(const struct pw_step *s)
{
	struct range r = pages(PW_F_BASE, PW_F_PAGES, 0, s->arg[4]);
	int fd = pw_fd(s->arg[0]);
	off_t off = s->arg[3] & ~(int64_t)(PAGE - 1);
	struct stat st;
	void *p;

	/* One file at a time is mapped, or own_mapping in do_io.c is wrong. */
	munmap(PW_F_BASE, (size_t)PW_F_PAGES * PAGE);
	p = PW_CALL(mmap(r.p, r.size, s->arg[1], s->arg[2] | MAP_FIXED, fd, off));
	if (p != MAP_FAILED && !PW_RAW2(SYS_fstat, fd, &st))
		pw_mapped = (struct pw_mapped){st.st_ino, off};
	pw_said(s, p == MAP_FAILED ? -1 : 0, " ");
}

void pw_do_UNMAPFILE(const struct pw_step *s)
{
	struct range r = pages(PW_F_BASE, PW_F_PAGES, s->arg[0], s->arg[1]);

	pw_said(s, PW_CALL(munmap(r.p, r.size)), " ");
}

/* A store into the mapped file; the kernel does it, for it may not be there. */
void pw_do_MAPSTORE(const struct pw_step *s)
{
	int64_t size = s->arg[1] < 0 || s->arg[1] > 65536 ? 65536 : s->arg[1];
	struct iovec from = {(char *)pw_bytes(size, s->arg[2]), size};
	struct iovec to = {PW_F_BASE + s->arg[0], size};
	long n;

	if (s->arg[0] < 0 || s->arg[0] > PW_F_PAGES * PAGE) {
		pw_skipped(s, "beyond the mapping");
		return;
	}
	n = PW_RAW6(SYS_process_vm_writev, PW_RAW0(SYS_getpid), &from, 1, &to, 1, 0);
	pw_err = n < 0 ? -n : PW_UNTOUCHED;
	pw_said(s, n < 0 ? -1 : n, " ");
}

static void read_into(const struct pw_step *s, const char *when, char *p)
{
	ssize_t n = PW_CALL(read(pw_fd(s->arg[0]), p, s->arg[1] & 0xfff));

	pw_said(s, n, "%s h=%08x", when, n > 0 ? (unsigned int)pw_hash(p, n) : 0);
}

/* Memory from the break, read into while it is there and when it is not. */
void pw_do_BRK(const struct pw_step *s)
{
	char *p;

	if (s->name < 2) {
		p = sbrk(4 * PAGE);
	} else {
		p = (char *)PW_RAW1(SYS_brk, 0);
		syscall(SYS_brk, p + 4 * PAGE);
	}
	if (p == (char *)-1) {
		pw_skipped(s, "no memory");
		return;
	}
	p += PAGE;
	read_into(s, "first", p);
	read_into(s, "again", p);
	if (s->name == 0)
		sbrk(-4 * PAGE);
	else if (s->name == 1)
		brk(p - PAGE);
	else
		syscall(SYS_brk, p - PAGE);
	read_into(s, "gone", p);
}

void pw_do_SHM(const struct pw_step *s)
{
	char *at = (char *)0x230000000000, *p;
	int id = shmget(IPC_PRIVATE, 4 * PAGE, 0600);

	if (id < 0) {
		pw_skipped(s, "no shared memory");
		return;
	}
	p = PW_CALL(shmat(id, at, 0));
	PW_RAW3(SYS_shmctl, id, IPC_RMID, 0);
	if (p == at) {
		read_into(s, "first", p);
		read_into(s, "again", p);
		PW_CALL(shmdt(p));
	}
	read_into(s, "gone", at);
}
