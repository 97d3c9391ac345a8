/* knobs.c - see knobs.h. The variables are described in README.md. */
#include "shim/knobs.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cache/pagewell.h"
#include "shim/report.h"

PW_HOT_PAGE struct pw_knobs pw_knobs;

/* Kept: the program may change its environment. */
static char kept[5][1024];

static void put(char *line, size_t *at, size_t size, const char *s)
{
	while (*s && *at + 1 < size)
		line[(*at)++] = *s++;
}

/* A value comes from anywhere: shortened, and nothing in it that a terminal would obey. */
static void put_value(char *line, size_t *at, size_t size, const char *s)
{
	size_t n = 0;

	for (; n < 60 && s[n]; n++) {
		char c[2] = {s[n] >= ' ' && s[n] <= '~' ? s[n] : '?', 0};

		put(line, at, size, c);
	}
	if (s[n])
		put(line, at, size, "...");
}

static bool bad(const char *name, const char *value, const char *accepted)
{
	char line[512];
	size_t at = 0;

	put(line, &at, sizeof(line), "pagewell: ");
	put(line, &at, sizeof(line), name);
	put(line, &at, sizeof(line), "=");
	put_value(line, &at, sizeof(line), value);
	put(line, &at, sizeof(line), ": not accepted; give ");
	put(line, &at, sizeof(line), accepted);
	put(line, &at, sizeof(line), "; running without the library\n");
	pw_syscall3(SYS_write, 2, line, at);
	return false;
}

/* Bytes, or with K, M or G. */
static bool read_size(const char *v, uint64_t *out)
{
	uint64_t n = 0;
	unsigned shift = 0;

	if (*v < '0' || *v > '9')
		return false;
	for (; *v >= '0' && *v <= '9'; v++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*v - '0'), &n))
			return false;
	if (*v == 'K' || *v == 'k')
		shift = 10;
	else if (*v == 'M' || *v == 'm')
		shift = 20;
	else if (*v == 'G' || *v == 'g')
		shift = 30;
	v += shift != 0;
	if (*v || n > UINT64_MAX >> shift || !(n << shift))
		return false;
	*out = n << shift;
	return true;
}

static bool keep(int i, const char *name, const char **to)
{
	const char *v = getenv(name);

	if (!v || !*v)
		return true;
	if (strlen(v) >= sizeof(kept[i]))
		return bad(name, "(too long)", "at most 1023 bytes");
	memcpy(kept[i], v, strlen(v) + 1);
	*to = kept[i];
	return true;
}

static bool read_size_knob(void)
{
	const char *v = getenv("PAGEWELL_SIZE");
	uint64_t bytes;

	if (!v || !*v)
		return true;
	if (!read_size(v, &bytes))
		return bad("PAGEWELL_SIZE", v, "bytes, or a number with K, M or G");
	pw_reclaim_set_bound(bytes);
	return true;
}

static bool read_segment_knob(void)
{
	const char *v = getenv("PAGEWELL_SEGMENT");

	if (!v || !*v)
		return true;
	if (v[0] != '/' || pw_segment_set_path(v))
		return bad("PAGEWELL_SEGMENT", v,
			   "an absolute path of at most 255 bytes");
	return true;
}

static bool read_fs_knob(void)
{
	const char *v = getenv("PAGEWELL_FS");
	char accepted[160];
	size_t at = 0;

	if (!v || !*v || !pw_place_configure(v))
		return true;
	put(accepted, &at, sizeof(accepted), "+NAME or -NAME, comma-separated, of ");
	put(accepted, &at, sizeof(accepted), pw_place_names());
	accepted[at] = 0;
	return bad("PAGEWELL_FS", v, accepted);
}

static bool read_trust_knob(void)
{
	const char *v;

	if (!keep(4, "PAGEWELL_TRUST", &pw_knobs.trust))
		return false;
	for (v = pw_knobs.trust; v && *v; v += *v == ':') {
		if (*v != '/')
			return bad("PAGEWELL_TRUST", pw_knobs.trust,
				   "absolute names of directories, colon-separated");
		v += strcspn(v, ":");
	}
	return true;
}

static bool read_write_knob(void)
{
	const char *v = getenv("PAGEWELL_WRITE");

	if (!v || !*v)
		return true;
	if (strcmp(v, "map") != 0)
		return bad("PAGEWELL_WRITE", v, "map, or nothing");
	pw_knobs.stores = true;
	return true;
}

bool pw_knobs_read(void)
{
	const char *off = getenv("PAGEWELL_DISABLE");

	if (off && *off && strcmp(off, "0") != 0) {
		if (strcmp(off, "1") != 0)
			return bad("PAGEWELL_DISABLE", off, "0 or 1");
		return false;
	}
	if (!keep(0, "PAGEWELL_INCLUDE", &pw_knobs.include) ||
	    !keep(1, "PAGEWELL_EXCLUDE", &pw_knobs.exclude) ||
	    !keep(2, "PAGEWELL_REPORT", &pw_knobs.report) ||
	    !keep(3, "PAGEWELL_LOG", &pw_knobs.log))
		return false;
	if (pw_knobs.log)
		pw_note = pw_log;
	return read_size_knob() && read_segment_knob() && read_fs_knob() &&
	       read_trust_knob() && read_write_knob();
}

static bool any_match(const char *globs, const char *path)
{
	char glob[1024];

	while (*globs) {
		size_t n = strcspn(globs, ":");

		if (n && n < sizeof(glob)) {
			memcpy(glob, globs, n);
			glob[n] = 0;
			/* Slashes are matched by *: a tree is named by "/dir/" and a star. */
			if (!fnmatch(glob, path, 0))
				return true;
		}
		globs += n;
		globs += *globs == ':';
	}
	return false;
}

PW_CODE_PAGE(number) bool pw_knobs_admit(const char *path)
{
	if (pw_knobs.include && !any_match(pw_knobs.include, path))
		return false;
	return !pw_knobs.exclude || !any_match(pw_knobs.exclude, path);
}
