/* say.c - see say.h. */
#include "cache/command/say.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pw_say(const char *format, ...)
{
	char line[2 * PATH_MAX + 512] = "pagewell: ";
	size_t at = strlen(line);
	size_t n;
	va_list args;

	va_start(args, format);
	vsnprintf(line + at, sizeof(line) - at - 1, format, args);
	va_end(args);
	n = strlen(line);
	for (size_t i = at; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	fwrite(line, 1, n, stderr);
}

void pw_clean(char *to, size_t size, const char *from, size_t n)
{
	size_t i = 0;

	for (; i < n && i + 1 < size && from[i]; i++)
		to[i] = from[i] >= ' ' && from[i] <= '~' ? from[i] : '?';
	to[i] = 0;
}

bool pw_flushed(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	pw_say("cannot write to standard output: %s", strerror(errno));
	return false;
}
