/* alloc.h - memory for the slab of handles. Never given back. */
#ifndef PW_SHIM_ALLOC_H
#define PW_SHIM_ALLOC_H

#include <stddef.h>

/* Zeroed, cache-line aligned; NULL: none. Any thread, any handler, any moment. */
void *pw_alloc(size_t n);

/* In a fork child. */
void pw_alloc_fork_child(void);

#endif
