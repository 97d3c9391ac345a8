/*
 * earn.h - what a handle has to show before anything is done for it. A file that is read
 * once or twice must cost what it costs without us, so: a look at the file after some
 * calls, its position after that, a window when real reads have cost as much as one.
 */
#ifndef PW_SHIM_EARN_H
#define PW_SHIM_EARN_H

#include "shim/handle.h"

/* All of these: the caller's slot names the handle, and fd's entry was seen to be it. */

/* One more read or seek that went to the kernel. True: the handle may be adopted now. */
bool pw_earn_call(struct pw_handle *h, int fd);

/* The position went back for a write or the like: wait longer before adopting again. */
void pw_earn_returned(struct pw_handle *h);

/*
 * A real read of `got` > 0 bytes at `off` was made where a window might have served:
 * opens one when it has been earned, refreshes the one that is there.
 */
void pw_earn_read(struct pw_handle *h, int fd, uint64_t off, uint64_t got);

#endif
