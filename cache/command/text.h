/* text.h - how sizes and foreign names are shown. */
#ifndef PW_COMMAND_TEXT_H
#define PW_COMMAND_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define PW_TEXT_SIZE 24

/* 999, 1.2K, 34M: powers of 1024, three digits at the most, and the unit. */
void pw_text_size(char out[PW_TEXT_SIZE], uint64_t bytes);

/*
 * A name for people, on stdout: valid UTF-8 as it is, but each control character, and each
 * byte that is no UTF-8, as a question mark.
 */
void pw_text_name(const char *name);

/* The same as a JSON string: control characters escaped, what is no UTF-8 as U+FFFD. */
void pw_text_json(const char *name);

/* The same copied, at most size - 1 bytes of it, whole characters only. */
void pw_text_copy(char *out, size_t size, const char *name);

#endif
