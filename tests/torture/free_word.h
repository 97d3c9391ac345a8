/*
 * Files of the free-running mode consist of 8-byte words that describe
 * themselves: each holds the version of its record, the record's index and the
 * word's place in it, in groups of 7 bits under a set top bit. So no byte is
 * ever zero, and each word that is read can be judged by itself.
 */
#ifndef TORTURE_FREE_WORD_H
#define TORTURE_FREE_WORD_H

#include <stdint.h>

#define TOP_BITS 0x8080808080808080u

static inline uint64_t free_word(uint32_t version, uint32_t record, uint32_t place)
{
	uint64_t w = (uint64_t)version << 24 | (uint64_t)record << 8 | place;

	w = (w & 0x000000000fffffff) | (w & 0x00fffffff0000000) << 4;
	w = (w & 0x00003fff00003fff) | (w & 0x0fffc0000fffc000) << 2;
	w = (w & 0x007f007f007f007f) | (w & 0x3f803f803f803f80) << 1;
	return w | TOP_BITS;
}

/* The bits of a word that its version decides. */
#define VERSION_BITS (free_word(UINT32_MAX, 0, 0) ^ TOP_BITS)

static inline uint32_t free_word_version(uint64_t w)
{
	w &= ~TOP_BITS;
	w = (w & 0x007f007f007f007f) | (w & 0x7f007f007f007f00) >> 1;
	w = (w & 0x00003fff00003fff) | (w & 0x3fff00003fff0000) >> 2;
	w = (w & 0x000000000fffffff) | (w & 0x0fffffff00000000) >> 4;
	return (uint32_t)(w >> 24);
}

#endif
