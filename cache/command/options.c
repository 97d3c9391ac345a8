/* options.c - see options.h. */
#include "cache/command/options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cache/command/say.h"
#include "cache/pagewell.h"

#define OPTIONS 16

static const struct pw_option *look_up(const struct pw_option *table, const char *name,
				       size_t n)
{
	for (; table->name; table++)
		if (strlen(table->name) == n && memcmp(table->name, name, n) == 0)
			return table;
	return NULL;
}

static bool unknown(const char *command, const char *option, size_t n)
{
	pw_say("%s: unknown option %.*s; see pagewell %s --help", command, (int)n, option,
	       command);
	return false;
}

/* The option at argv[*at]; its value may be the next argument. */
static bool read_long(int argc, char **argv, int *at, const struct pw_option *table)
{
	const char *arg = argv[*at];
	size_t n = strcspn(arg, "=");
	const struct pw_option *o = n > 3 ? look_up(table, arg + 2, n - 2) : NULL;

	if (!o)
		return unknown(argv[0], arg, n);
	if (!o->value && arg[n]) {
		pw_say("%s: --%s takes no value", argv[0], o->name);
		return false;
	}
	if (!o->value)
		*o->given = true;
	else if (arg[n])
		*o->value = arg + n + 1;
	else if (++*at < argc)
		*o->value = argv[*at];
	else {
		pw_say("%s: --%s needs a value: --%s=VALUE", argv[0], o->name, o->name);
		return false;
	}
	return true;
}

static bool read_short(int argc, char **argv, int *at, const struct pw_option *table)
{
	const char *letter = argv[*at] + 1;
	const struct pw_option *o;

	if (!*letter)
		return unknown(argv[0], "-", 1);
	for (; *letter; letter++) {
		o = look_up(table, letter, 1);
		if (!o) {
			const char option[] = {'-', *letter};

			return unknown(argv[0], option, sizeof(option));
		}
		if (!o->value) {
			*o->given = true;
			continue;
		}
		if (letter[1])
			*o->value = letter + 1;
		else if (++*at < argc)
			*o->value = argv[*at];
		else {
			pw_say("%s: -%s needs a value: -%s VALUE", argv[0], o->name,
			       o->name);
			return false;
		}
		break;
	}
	return true;
}

int pw_options_read(int argc, char **argv, const struct pw_option *table)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (!(argv[i][1] == '-' ? read_long : read_short)(argc, argv, &i, table))
			return -1;
	}
	return i;
}

int pw_options_begin(int argc, char **argv, const struct pw_option *table,
		     const char *help, int *status)
{
	struct pw_option all[OPTIONS];
	bool wants_help = false;
	bool wants_version = false;
	int n = 0;
	int at;

	for (; table->name; table++)
		all[n++] = *table;
	all[n++] = (struct pw_option){"help", NULL, &wants_help};
	all[n++] = (struct pw_option){"version", NULL, &wants_version};
	all[n] = (struct pw_option){0};
	*status = PW_USAGE;
	at = pw_options_read(argc, argv, all);
	if (at < 0 || (!wants_help && !wants_version))
		return at;
	if (wants_help) {
		fputs(help, stdout);
		*status = pw_flushed() ? 0 : PW_FAILED;
	} else {
		*status = pw_print_version();
	}
	return -1;
}

int pw_print_version(void)
{
	fputs("pagewell " PW_VERSION "\n", stdout);
	return pw_flushed() ? 0 : PW_FAILED;
}
