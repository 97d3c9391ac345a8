/*
 * words.h - files whose bytes say which file they are of and where they lie in it, for
 * tests with threads, where nobody can say beforehand what a read should give.
 */
#ifndef TESTS_SHIM_WORDS_H
#define TESTS_SHIM_WORDS_H

#include "_self.h"

/*
 * Words of four bytes: 0x80 | id, then the word's number in base 127, digits from 1. No
 * byte is zero, and seven bytes in a row hold one whole word. Files of up to 8 MB, ids up
 * to 127.
 */
unsigned char word_byte(unsigned id, uint64_t off);
void words_make(const char *path, unsigned id, size_t size);

/* Is this what lies at off in file id? */
bool is_words(const unsigned char *buf, size_t n, unsigned id, uint64_t off);
/* Where n >= 7 bytes lie, all of one file, in one piece: its id goes to *id. Or -1. */
int64_t words_find(const unsigned char *buf, size_t n, unsigned *id);

/* Small numbers by chance, the same in every run. */
uint32_t chance(uint32_t *state, uint32_t below);

#endif
