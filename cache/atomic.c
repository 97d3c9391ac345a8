/* atomic.c - see atomic.h. */
#include "cache/atomic.h"

PW_HOT_PAGE char *const pw_single_threaded_at = &__libc_single_threaded;
