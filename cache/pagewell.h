/*
 * pagewell.h - the engine's public header: everything the shim, the command, or a C program
 * that wants windows of its own may use.
 *
 * A program's life with it: pw_reader_claim() once per thread; for each open description
 * a zeroed struct pw_window of its own, in memory that is never given back (rule W5), which
 * pw_window_open() fills; then
 *
 *	s = pw_hazard_enter(reader, w);
 *	if (pw_window_read(w, buf, n, off) != PW_HIT) ... pread ...
 *	pw_window_leave(s, w);
 *
 * and pw_window_retire(w, true) before the description's last close. The caller provides
 * the SIGBUS handler, which asks pw_copy_fixup() (shim/guard.c is one).
 *
 * Functions return a count, 0 or -errno; none touches errno.
 */
#ifndef PW_CACHE_PAGEWELL_H
#define PW_CACHE_PAGEWELL_H

#include "cache/atomic.h"
#include "cache/copy.h"
#include "cache/costs.h"
#include "cache/explain.h"
#include "cache/file.h"
#include "cache/hazard.h"
#include "cache/hit.h"
#include "cache/page.h"
#include "cache/place.h"
#include "cache/points.h"
#include "cache/probe.h"
#include "cache/reclaim.h"
#include "cache/segment.h"
#include "cache/stats.h"
#include "cache/store.h"
#include "cache/sys.h"
#include "cache/window.h"
#include "cache/word.h"

#define PW_VERSION "0.1.0"

#endif
