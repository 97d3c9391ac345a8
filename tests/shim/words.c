/* words.c - see words.h. */
#include "words.h"

unsigned char word_byte(unsigned id, uint64_t off)
{
	static const uint64_t scale[4] = {0, UINT64_C(127) * 127, 127, 1};
	unsigned at = off % 4;

	return (unsigned char)(at ? 1 + off / 4 / scale[at] % 127 : 0x80 | id);
}

void words_make(const char *path, unsigned id, size_t size)
{
	unsigned char *buf = malloc(size);
	long fd = raw3(SYS_open, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	NEED(buf && fd >= 0);
	for (size_t i = 0; i < size; i++)
		buf[i] = word_byte(id, i);
	NEED(raw3(SYS_write, fd, buf, size) == (long)size);
	raw1(SYS_close, fd);
	free(buf);
}

bool is_words(const unsigned char *buf, size_t n, unsigned id, uint64_t off)
{
	for (size_t i = 0; i < n; i++)
		if (buf[i] != word_byte(id, off + i))
			return false;
	return true;
}

int64_t words_find(const unsigned char *buf, size_t n, unsigned *id)
{
	int64_t word;
	int64_t off;
	size_t i = 0;

	while (i < n && buf[i] < 0x80)
		i++;
	if (i + 4 > n)
		return -1;
	*id = buf[i] & 0x7f;
	word = ((buf[i + 1] - 1) * 127 + (buf[i + 2] - 1)) * 127 + (buf[i + 3] - 1);
	off = word * 4 - (int64_t)i;
	return off >= 0 && is_words(buf, n, *id, (uint64_t)off) ? off : -1;
}

uint32_t chance(uint32_t *state, uint32_t below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}
