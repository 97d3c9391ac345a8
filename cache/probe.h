/*
 * probe.h - does this kernel do what the witness rule rests on (cache/README.md, K1 and K2)?
 * Tried out on a small file without a name before the first window; that it does is noted in
 * the segment, whose file lives on a tmpfs and so never outlives its kernel.
 */
#ifndef PW_CACHE_PROBE_H
#define PW_CACHE_PROBE_H

#include "cache/segment.h"

/*
 * True if it was seen to, by this process or by another that said so. False: it does not, or
 * it could not be tried (no descriptor left, memfd_create forbidden, a limit on file size).
 * All signals of the calling thread must be blocked: it uses a descriptor for some 10 us.
 */
bool pw_probe_kernel(void);

#endif
