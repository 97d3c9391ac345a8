/*
 * Makes a failing program short. Steps are left out in ever smaller pieces
 * (delta debugging), then arguments are made plainer, for as long as the two
 * runs still differ.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <string.h>
#include <time.h>

static time_t deadline;

static bool in_time(void)
{
	return time(NULL) < deadline;
}

static bool fails(struct pw_driver *d, const struct pw_prog *p)
{
	return !pw_driver_same(d, p, NULL, NULL);
}

/* Takes the attempt as the new program if it still fails. */
static bool try(struct pw_driver *d, struct pw_prog *p, const struct pw_prog *attempt)
{
	if (!in_time() || !fails(d, attempt))
		return false;
	*p = *attempt;
	return true;
}

static bool leave_out(struct pw_driver *d, struct pw_prog *p, int size)
{
	bool any = false;

	/* From the end: what comes after the failure goes first. */
	for (int at = p->steps - size; in_time(); at -= size) {
		struct pw_prog q = *p;
		int from = at < 0 ? 0 : at, n = at < 0 ? at + size : size;

		if (n <= 0)
			break;
		if (from + n > q.steps)
			continue;
		memmove(q.step + from, q.step + from + n,
			(q.steps - from - n) * sizeof(q.step[0]));
		q.steps -= n;
		any |= try(d, p, &q);
		if (from == 0)
			break;
	}
	return any;
}

static bool simplify_step(struct pw_driver *d, struct pw_prog *p, int i)
{
	struct pw_prog q = *p;
	bool any = false;

	if (q.step[i].name) {
		q.step[i].name = 0;
		any |= try(d, p, &q);
		q = *p;
	}
	if (q.step[i].actor) {
		q.step[i].actor = 0;
		any |= try(d, p, &q);
		q = *p;
	}
	for (int k = 0; k < PW_MAX_ARGS && pw_op_spec(q.step[i].op)[k]; k++) {
		char letter = pw_op_spec(q.step[i].op)[k];

		/* Flags and sizes: none, or less. */
		if (q.step[i].arg[k] && strchr("oOvRepqlzkWn", letter)) {
			q.step[i].arg[k] = letter == 'z' || letter == 'n' ? 10 : 0;
			if (q.step[i].arg[k] != p->step[i].arg[k])
				any |= try(d, p, &q);
			q = *p;
		}
		if (q.step[i].arg[k] && letter == 'b') {
			q.step[i].arg[k] = PW_BUF(PW_AREA_B, 0);
			any |= try(d, p, &q);
			q = *p;
		}
	}
	return any;
}

static void simplify_files(struct pw_driver *d, struct pw_prog *p)
{
	for (int i = 0; i < PW_REGULAR; i++) {
		struct pw_prog q = *p;

		if (q.file[i].there) {
			q.file[i].there = false;
			if (q.input == i)
				q.input = -1;
			try(d, p, &q);
		}
	}
	if (p->input >= 0) {
		struct pw_prog q = *p;

		q.input = -1;
		try(d, p, &q);
	}
}

void pw_shrink(struct pw_driver *d, struct pw_prog *p, int seconds)
{
	bool any = true;

	deadline = time(NULL) + seconds;
	while (any && in_time()) {
		any = false;
		for (int size = (p->steps + 1) / 2; size >= 1 && in_time(); size /= 2)
			any |= leave_out(d, p, size);
	}
	for (any = true; any && in_time();) {
		any = false;
		for (int i = 0; i < p->steps; i++)
			any |= simplify_step(d, p, i);
	}
	while (in_time() && leave_out(d, p, 1))
		;
	simplify_files(d, p);
}
