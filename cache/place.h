/*
 * place.h - where a file lives, and whether files that live there are served. Decided by
 * the file system's type (statfs), once per device and process.
 */
#ifndef PW_CACHE_PLACE_H
#define PW_CACHE_PLACE_H

#include "cache/sys.h"

/*
 * PAGEWELL_FS: comma-separated +NAME or -NAME. 0, or -EINVAL if a name is not known or a
 * sign is missing (then nothing has changed). Call before the first pw_place_served().
 */
int pw_place_configure(const char *spec);

/* The names pw_place_configure() knows, comma-separated, for a message. */
const char *pw_place_names(void);

/*
 * May a window be made of this file? st is a fresh fstat of fd. Looks at kind, size and,
 * for a device not seen before, asks fstatfs. What a tmpfs file has as holes would be
 * allocated by reading them through a mapping, so there a file with holes, or without a
 * name (a memfd, which may be sealed), is not served.
 */
bool pw_place_served(int fd, const struct stat *st);

/*
 * The same without asking, by what was last seen of its device: good enough for whether to
 * begin. 1 yes, 0 no, -1 not known.
 */
int pw_place_guess(const struct stat *st);

/*
 * Is its file system one of those that pw_place_served() knows? What was refused there was
 * refused for a reason of its own. False too if the kernel won't say.
 */
bool pw_place_listed(int fd);

/* Can no process change the files of that device: a file system that is only ever written
 * whole? What was last seen by pw_place_served(); false if that is not known any more. */
bool pw_place_fixed(const struct stat *st);

/*
 * May a file whose fresh fstat is st be stored into? Only where an overwrite goes to the same
 * page of the kernel's that a mapping shows, and never without a place on the disk: no file
 * with holes, and none in blocks smaller than a page. Not a set-id file either: a real write
 * takes that away. Asks the kernel.
 */
bool pw_place_stores(int fd, const struct stat *st);

#endif
