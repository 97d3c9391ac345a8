/*
 * stdio_hook.h - glibc's streams read, write, seek and close through an exported table of
 * functions, _IO_file_jumps, which is data. Its slots are exchanged at start-up, so that a
 * stream on a tracked number goes through our own read, write, lseek and close.
 */
#ifndef PW_SHIM_STDIO_HOOK_H
#define PW_SHIM_STDIO_HOOK_H

#include <stdbool.h>

/* Once, at start-up. If anything is not as expected, nothing is changed. */
void pw_stdio_hook(void);

/* Were the tables exchanged? If not, numbers that a stream may own are not tracked. */
bool pw_stdio_hooked(void);

#endif
