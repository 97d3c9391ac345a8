/* numbers.c - see numbers.h. */
#include "shim/numbers.h"

#include <fcntl.h>

#include "shim/knobs.h"
#include "shim/pos.h"
#include "shim/stdio_hook.h"

/* Appending, direct and path-only descriptors, directories by name, and those that cannot
 * be read, are the kernel's alone. */
static bool trackable(int fd, const char *path, int flags)
{
	int acc = flags & O_ACCMODE;

	if ((acc != O_RDONLY && acc != O_RDWR) ||
	    (flags & (O_APPEND | O_DIRECT | O_PATH)))
		return false;
	if ((flags & O_DIRECTORY) && (flags & O_TMPFILE) != O_TMPFILE)
		return false;
	if (fd <= 2 && !pw_stdio_hooked())
		return false;
	return !path || pw_knobs_admit(path);
}

uint32_t pw_opening(void)
{
	return pw_gate_epoch();
}

int pw_opened(uint32_t opening, int fd, const char *path, int flags)
{
	struct pw_handle *h;

	if (fd < 0 || !pw_alive() || pw_me.vforked)
		return fd;
	if (!trackable(fd, path, flags)) {
		pw_forget(fd);
		return fd;
	}
	h = pw_handle_new((flags & O_ACCMODE) == O_RDWR ? PW_H_WRITABLE : 0);
	if (!h) {
		pw_forget(fd);
		return fd;
	}
	pw_fd_set(fd, h);
	/* A fork that came between the kernel's open and our entry gave its child a
	 * description that nobody has marked as shared. */
	if (pw_unlikely(pw_gate_epoch() != opening))
		pw_share_fd(fd);
	return fd;
}

void pw_forget(int fd)
{
	if (fd >= 0 && pw_fd_handle(pw_fd_entry(fd)) && pw_alive() && !pw_me.vforked)
		pw_fd_set(fd, NULL);
}

void pw_duplicated(struct pw_held *x, int from, int to)
{
	if (!x->h || (to <= 2 && !pw_stdio_hooked()) || pw_fd_entry(from) != x->entry) {
		if (x->h)
			pw_pos_share(x->h, from);
		pw_forget(to);
		return;
	}
	pw_handle_ref(x->h);
	pw_fd_set(to, x->h);
}

/*
 * The position goes back first, so that whoever still uses the number meanwhile (another
 * thread, a handler) finds the kernel right; then the entry goes; the caller closes last.
 */
void pw_drop(int fd)
{
	struct pw_held x;
	uint64_t entry;

	if (!pw_hold(&x, fd))
		return;
	entry = x.entry;
	pw_pos_begin(x.h, fd);
	pw_pos_end(x.h);
	pw_release(&x); /* before the clearing, which may end the window */
	pw_fd_clear(fd, entry);
}
