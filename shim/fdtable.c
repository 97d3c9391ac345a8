/* fdtable.c - see fdtable.h. Chunks of the table are made when first needed, never freed. */
#include "shim/fdtable.h"

#include <sys/mman.h>

PW_HOT_PAGE uint64_t pw_fd_first[PW_FD_FIRST];
uint64_t *pw_fd_chunk[PW_FD_CHUNKS];

static PW_HOT_PAGE uint32_t any; /* 0, then 1 */

bool pw_fd_any(void)
{
	return pw_load_relaxed(&any);
}

static uint64_t *slot_make(int fd)
{
	unsigned n = (unsigned)fd;
	uint64_t *none = NULL;
	long at;

	if (pw_fd_slot(fd) || n >= PW_FD_CHUNK * PW_FD_CHUNKS)
		return pw_fd_slot(fd);
	at = pw_sys->mmap(NULL, PW_FD_CHUNK * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pw_is_err(at))
		return NULL;
	if (!pw_cas(&pw_fd_chunk[n / PW_FD_CHUNK], &none, (uint64_t *)at))
		pw_sys->munmap((void *)at, PW_FD_CHUNK * sizeof(uint64_t));
	return pw_fd_slot(fd);
}

static uint64_t next_entry(uint64_t seen, struct pw_handle *h)
{
	return (uint64_t)(uintptr_t)h << 16 | ((seen + 1) & 0xffff);
}

/* As pw_cas(); without the bus lock where there is one thread. */
static bool swap(uint64_t *slot, uint64_t *seen, uint64_t to)
{
	if (!pw_single_threaded())
		return pw_cas(slot, seen, to);
	if (pw_cas_local(slot, *seen, to))
		return true;
	*seen = pw_load_relaxed(slot);
	return false;
}

PW_CODE_PAGE(number) void pw_fd_set(int fd, struct pw_handle *h)
{
	uint64_t *slot = h ? slot_make(fd) : pw_fd_slot(fd);
	uint64_t seen;

	if (!slot) {
		if (h)
			pw_handle_unref(h); /* no room: the number is the kernel's */
		return;
	}
	if (h && !pw_load_relaxed(&any))
		pw_store_relaxed(&any, 1);
	seen = pw_load_acquire(slot);
	do
		if (!h && !pw_fd_handle(seen))
			return;
	while (!swap(slot, &seen, next_entry(seen, h)));
	if (pw_fd_handle(seen))
		pw_handle_unref(pw_fd_handle(seen));
}

PW_CODE_PAGE(number) bool pw_fd_clear(int fd, uint64_t seen)
{
	uint64_t *slot = pw_fd_slot(fd);

	if (!slot || !pw_fd_handle(seen) || !swap(slot, &seen, next_entry(seen, NULL)))
		return false;
	pw_handle_unref(pw_fd_handle(seen));
	return true;
}

void pw_fd_each(unsigned from, unsigned to, void (*visit)(int fd, uint64_t entry))
{
	unsigned last = PW_FD_CHUNK * PW_FD_CHUNKS - 1;

	if (to > last)
		to = last;
	for (unsigned n = from; n <= to; n++) {
		uint64_t *slot = pw_fd_slot((int)n);
		uint64_t e;

		if (!slot) {
			n |= PW_FD_CHUNK - 1;
			continue;
		}
		e = pw_load_acquire(slot);
		if (pw_fd_handle(e))
			visit((int)n, e);
	}
}
