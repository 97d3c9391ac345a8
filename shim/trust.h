/*
 * trust.h - PAGEWELL_TRUST: trees on file systems that are not on the list (NFS, FUSE...),
 * whose files are served close-to-open because the user says that this is enough.
 */
#ifndef PW_SHIM_TRUST_H
#define PW_SHIM_TRUST_H

#include <sys/stat.h>

#include "cache/pagewell.h"

/* May a window be made of it: by the list of file systems (place.h), or by trust? st is a
 * fresh fstat of fd. Some ten system calls where trust decides, once or twice a handle. */
bool pw_file_served(int fd, const struct stat *st);

/* The same, for whether to begin: by what was last seen of its device, if anything was. */
bool pw_file_may_be_served(int fd, const struct stat *st);

/* The kernel's name for a descriptor, ended by 0; its length, or 0 if it has none that begins
 * with a slash, or not one that fits. */
size_t pw_fd_name(int fd, char *to, size_t size);

#endif
