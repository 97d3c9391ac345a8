/* say.h - what the command says on stderr, and how foreign bytes are shown. */
#ifndef PW_COMMAND_SAY_H
#define PW_COMMAND_SAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * One line on stderr, "pagewell: " before it. Control characters in it are shown as
 * question marks: names come from outside, and one line must stay one line.
 */
void pw_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Copies at most `size - 1` bytes of the string of at most `n` bytes at `from`, all that
 * is not printable ASCII replaced by a question mark.
 */
void pw_clean(char *to, size_t size, const char *from, size_t n);

/* All of stdout is written, or the reason why not has been said. */
bool pw_flushed(void);

#endif
