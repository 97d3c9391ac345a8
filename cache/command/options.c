/* options.c - see options.h. */
#include "cache/command/options.h"

#include <stddef.h>
#include <string.h>

#include "cache/command/say.h"

static const struct pw_option *look_up(const struct pw_option *table, const char *name,
				       size_t n)
{
	for (; table->name; table++)
		if (strlen(table->name) == n && memcmp(table->name, name, n) == 0)
			return table;
	return NULL;
}

int pw_options_read(int argc, char **argv, const struct pw_option *table)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		const char *name = argv[i] + 2;
		size_t n = strcspn(argv[i], "=");
		const struct pw_option *o;

		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		o = n > 2 && argv[i][1] == '-' ? look_up(table, name, n - 2) : NULL;
		if (!o) {
			pw_say("%s: unknown option %.*s; see pagewell %s --help", argv[0],
			       (int)n, argv[i], argv[0]);
			return -1;
		}
		if (!o->value && argv[i][n]) {
			pw_say("%s: --%s takes no value", argv[0], o->name);
			return -1;
		}
		if (!o->value)
			*o->given = true;
		else if (argv[i][n])
			*o->value = argv[i] + n + 1;
		else if (++i < argc)
			*o->value = argv[i];
		else {
			pw_say("%s: --%s needs a value: --%s=VALUE", argv[0], o->name,
			       o->name);
			return -1;
		}
	}
	return i;
}
