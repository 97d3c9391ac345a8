/* numbers.h - what happens to the fd table when numbers come and go. */
#ifndef PW_SHIM_NUMBERS_H
#define PW_SHIM_NUMBERS_H

#include "shim/io.h"

/* Before a real open: hand the result to pw_opened(). */
uint32_t pw_opening(void);

/*
 * fd (or -1) came from an open of path (NULL: unknown) with these flags: tracked from now
 * on if it can be. Returns fd.
 */
int pw_opened(uint32_t opening, int fd, const char *path, int flags);

/* fd came from somewhere that is not tracked: what the table says of it is stale. */
void pw_forget(int fd);

/* The number keeps its description, but is not tracked any more, for it is one that is never
 * served. entry: as it was seen. The caller is not inside. */
void pw_let_go(int fd, uint64_t entry);

/* `to` is a duplicate of x's number, just made. */
void pw_duplicated(struct pw_held *x, int from, int to);

/* The thread's call was left by a jump out of a signal handler: counts are set right. */
void pw_numbers_abandoned(void);

/* The description is the kernel's from now on, under all its numbers (entry_fd.c). */
void pw_give_up(int fd);

/* The number is about to be closed or replaced: pw_closing_end() comes when it has been. */
void pw_drop(int fd);

#endif
