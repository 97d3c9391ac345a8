/* Steps on streams in wide characters, which glibc reads through tables of their own. */
#define _GNU_SOURCE
#include "streams.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

void pw_do_LOCALE(const struct pw_step *s)
{
	const char *got = setlocale(LC_CTYPE, s->arg[0] & 1 ? "C.UTF-8" : "C");

	pw_err = PW_UNTOUCHED;
	pw_said(s, got ? 0 : -1, "%s", got ? got : "");
}

void pw_do_FWIDE(const struct pw_step *s)
{
	FILE *f = pw_stream_any(s, s->arg[0]);
	int way;

	if (!f)
		return;
	way = PW_CALL(fwide(f, (int)s->arg[1]));
	pw_said(s, (way > 0) - (way < 0), " ");
}

void pw_do_FGETWC(const struct pw_step *s)
{
	FILE *f = pw_stream_wide(s, s->arg[0]);

	if (f)
		pw_said(s,
			(int)(s->name ? PW_CALL(getwc_unlocked(f)) : PW_CALL(fgetwc(f))),
			"%s", pw_stream_state(f));
}

void pw_do_FGETWS(const struct pw_step *s)
{
	static wchar_t line[4096];
	FILE *f = pw_stream_wide(s, s->arg[0]);
	int n = s->arg[1] & 0xfff;
	wchar_t *p;

	if (!f || pw_stream_endless(s, f))
		return;
	memset(line, 0xa5, sizeof(line));
	p = s->name ? PW_CALL(fgetws_unlocked(line, n, f)) : PW_CALL(fgetws(line, n, f));
	pw_said(s, p ? 0 : -1, "h=%08x %s",
		p ? (unsigned int)pw_hash(line, sizeof(line)) : 0, pw_stream_state(f));
}

void pw_do_UNGETWC(const struct pw_step *s)
{
	FILE *f = pw_stream_wide(s, s->arg[0]);

	if (f && !pw_stream_writing(s, f))
		pw_said(s, (int)PW_CALL(ungetwc((wint_t)(s->arg[1] & 0xfff), f)), "%s",
			pw_stream_state(f));
}

void pw_do_FPUTWC(const struct pw_step *s)
{
	FILE *f = pw_stream_wide(s, s->arg[0]);
	wchar_t c = (wchar_t)(s->arg[1] & 0xfff);

	if (f)
		pw_said(s,
			(int)(s->name ? PW_CALL(putwc_unlocked(c, f))
				      : PW_CALL(fputwc(c, f))),
			"%s", pw_stream_state(f));
}

void pw_do_FPUTWS(const struct pw_step *s)
{
	FILE *f = pw_stream_wide(s, s->arg[0]);
	wchar_t text[300];
	size_t n = (size_t)s->arg[1] & 0xff;
	int ret;

	if (!f)
		return;
	for (size_t i = 0; i < n; i++)
		text[i] = i % 40 == 39 ? L'\n' : (wchar_t)(L'a' + i % 26);
	text[n] = 0;
	ret = s->name ? PW_CALL(fputws_unlocked(text, f)) : PW_CALL(fputws(text, f));
	pw_said(s, ret, "%s", pw_stream_state(f));
}

void pw_do_FWSCANF(const struct pw_step *s)
{
	FILE *f = pw_stream_wide(s, s->arg[0]);
	wchar_t word[100] = L"";
	int n;

	if (!f || pw_stream_endless(s, f))
		return;
	n = PW_CALL(fwscanf(f, L"%99ls", word));
	pw_said(s, n, "h=%08x %s",
		(unsigned int)pw_hash(word, wcslen(word) * sizeof(*word)),
		pw_stream_state(f));
}
