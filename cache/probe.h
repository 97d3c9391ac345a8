/*
 * probe.h - does this kernel do what the witness rule rests on (cache/README.md, K1 and K2)?
 * Tried out on a small file without a name before the first window; that it does is noted in
 * the segment, whose file lives on a tmpfs and so never outlives its kernel.
 */
#ifndef PW_CACHE_PROBE_H
#define PW_CACHE_PROBE_H

#include "cache/segment.h"

/* What the segment's word says when the kernel does: "olds". */
#define PW_PROBE_HOLDS 0x73646c6fU

/*
 * 0 if it was seen to, by this process or by another that said so; -EPERM: it does not;
 * -EAGAIN: it could not be tried (no number free, memfd_create forbidden, a limit on file
 * size). All signals of the calling thread must be blocked: it uses a number for some 10 us.
 */
int pw_probe_kernel(void);

#endif
