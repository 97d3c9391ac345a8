/* text.c - see text.h. */
#include "cache/command/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void pw_text_size(char out[PW_TEXT_SIZE], uint64_t bytes)
{
	static const char unit[] = "BKMGTPE";
	double v = (double)bytes;
	int i = 0;

	while (v >= 999.5 && unit[i + 1]) {
		v /= 1024;
		i++;
	}
	snprintf(out, PW_TEXT_SIZE, i && v < 9.95 ? "%.1f%c" : "%.0f%c", v, unit[i]);
}

/* The bytes of the character that begins at `s`: 1 to 4; 0: it is no UTF-8. */
static size_t length_of(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80		   ? 1
		   : (s[0] & 0xe0) == 0xc0 ? 2
		   : (s[0] & 0xf0) == 0xe0 ? 3
		   : (s[0] & 0xf8) == 0xf0 ? 4
					   : 0;

	if (!n)
		return 0;
	*code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	if (*code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return n;
}

static bool is_control(uint32_t code)
{
	/* The last two are line and paragraph separator. */
	return code < ' ' || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
	       code == 0x2029;
}

void pw_text_copy(char *out, size_t size, const char *name)
{
	size_t at = 0;
	uint32_t code;

	while (*name) {
		size_t n = length_of((const unsigned char *)name, &code);
		bool clean = n && !is_control(code);
		size_t shown = clean ? n : 1;

		if (at + shown >= size)
			break;
		if (clean)
			memcpy(out + at, name, n);
		else
			out[at] = '?';
		at += shown;
		name += n ? n : 1;
	}
	out[at] = 0;
}

void pw_text_name(const char *name)
{
	char one[8];
	uint32_t code;

	while (*name) {
		size_t n = length_of((const unsigned char *)name, &code);

		if (!n)
			n = 1;
		memcpy(one, name, n);
		one[n] = 0;
		pw_text_copy(one, sizeof(one), one);
		fputs(one, stdout);
		name += n;
	}
}

void pw_text_json(const char *name)
{
	uint32_t code;

	putchar('"');
	while (*name) {
		size_t n = length_of((const unsigned char *)name, &code);

		if (!n)
			fputs("\\ufffd", stdout);
		else if (is_control(code))
			printf("\\u%04x", code);
		else {
			if (code == '"' || code == '\\')
				putchar('\\');
			fwrite(name, 1, n, stdout);
		}
		name += n ? n : 1;
	}
	putchar('"');
}
