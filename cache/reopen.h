/*
 * reopen.h - a mapping to store into of a file that the program opened for writing only. Such
 * a descriptor can't be mapped, so the file is opened once more, through /proc, for reading
 * as well.
 *
 * Not by us: closing any descriptor of a file takes away all record locks that the process
 * has on it. A child does it that shares our memory and has numbers of its own; the mapping
 * is ours, the number never was, and the child's closing concerns nobody.
 */
#ifndef PW_CACHE_REOPEN_H
#define PW_CACHE_REOPEN_H

#include "cache/sys.h"

/*
 * Maps len bytes of fd's file, shared, for loads and stores: the address or -errno. -EACCES:
 * it may be written but not read by the process as it is. All signals are blocked. Waits for
 * the child, some 50 us; the child shows to nobody but a tracer and in pids that are skipped.
 */
long pw_reopen_map(int fd, size_t len);

#endif
