/* explain_take.c - from the table that the processes wrote to what is shown. */
#include <stdlib.h>
#include <string.h>

#include "cache/command/explain.h"
#include "cache/command/say.h"

static const struct {
	const char *kind;
	const char *name;
} not_a_file[PW_TOLD_FIRST] = {
	[PW_TOLD_REST] = {"rest", "other files, and numbers that were not open"},
	[PW_TOLD_PIPE] = {"pipe", "pipes"},
	[PW_TOLD_SOCKET] = {"socket", "sockets"},
	[PW_TOLD_TERMINAL] = {"terminal", "terminals"},
	[PW_TOLD_DEVICE] = {"device", "devices"},
	[PW_TOLD_FOLDER] = {"folder", "folders"},
	[PW_TOLD_ODD] = {"odd", "other descriptors"},
};

/* In a damaged table a sum must not look small. */
static void add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void add_all(struct pw_account *to, const struct pw_account *a)
{
	for (int i = 0; i < PW_CALLS; i++)
		add(&to->calls[i], a->calls[i]);
	for (int i = 0; i < PW_WHY_COUNT; i++)
		add(&to->why[i], a->why[i]);
	add(&to->served_reads, a->served_reads);
	add(&to->served_seeks, a->served_seeks);
	add(&to->stores, a->stores);
	add(&to->served_bytes, a->served_bytes);
	add(&to->slow_bytes, a->slow_bytes);
	add(&to->passed_bytes, a->passed_bytes);
	add(&to->windows, a->windows);
	add(&to->touched, a->touched);
	add(&to->touched_ns, a->touched_ns);
}

/*
 * What the served calls would have cost as system calls, less what the windows took: costs.h
 * says how a call's part and a byte's part add up, so sums will do.
 */
static void finish(struct pw_account *a, const struct pw_costs *c)
{
	double quick = a->served_bytes > a->slow_bytes
			       ? (double)(a->served_bytes - a->slow_bytes)
			       : 0;

	for (int i = 0; i < PW_CALLS; i++)
		add(&a->all, a->calls[i]);
	add(&a->served, a->served_reads);
	add(&a->served, a->served_seeks);
	add(&a->served, a->stores);
	a->saved_ns = (double)(a->served_reads + a->stores) * c->call +
		      (double)a->served_seeks * pw_costs_gain_seek(c) +
		      quick / PW_COSTS_BYTES_NS - (double)a->windows * c->map -
		      (double)a->touched_ns;
}

static bool take_one(struct pw_explained *to, struct pw_shm_told *t, unsigned at)
{
	struct pw_account *a = &to->a;
	bool known = false;

	memset(to, 0, sizeof(*to));
	for (int i = 0; i < PW_CALLS; i++) {
		a->calls[i] = pw_load_relaxed(&t->calls[i]);
		known |= a->calls[i] != 0;
	}
	if (!known)
		return false;
	for (int i = 1; i < PW_WHY_COUNT; i++)
		a->why[i] = pw_load_relaxed(&t->why[i]);
	a->served_reads = pw_load_relaxed(&t->served_reads);
	a->served_seeks = pw_load_relaxed(&t->served_seeks);
	a->stores = pw_load_relaxed(&t->stores);
	a->served_bytes = pw_load_relaxed(&t->served_bytes);
	a->slow_bytes = pw_load_relaxed(&t->slow_bytes);
	a->passed_bytes = pw_load_relaxed(&t->passed_bytes);
	a->windows = pw_load_relaxed(&t->windows);
	a->touched = pw_load_relaxed(&t->touched);
	a->touched_ns = pw_load_relaxed(&t->touched_ns);
	if (at < PW_TOLD_FIRST) {
		to->kind = not_a_file[at].kind;
		strcpy(to->name, not_a_file[at].name);
		return true;
	}
	to->kind = "file";
	/* Who claimed the record may have been killed before it had written the name. */
	if (pw_load_acquire(&t->named) && t->path[0]) { /* pairs with the release there */
		pw_clean(to->name, sizeof(to->name), t->path, sizeof(t->path));
		pw_explain_place(to, pw_load_relaxed(&t->magic));
	} else {
		strcpy(to->name, "(a file whose name is not known)");
	}
	return true;
}

static int by_calls(const void *a, const void *b)
{
	const struct pw_explained *x = a;
	const struct pw_explained *y = b;

	if (x->a.all != y->a.all)
		return x->a.all < y->a.all ? 1 : -1;
	return strcmp(x->name, y->name);
}

void pw_explain_take(struct pw_explanation *x, struct pw_shm_explain *e)
{
	x->attached = pw_load_relaxed(&e->attached);
	x->aside = pw_load_relaxed(&e->aside);
	x->streams = pw_load_relaxed(&e->streams);
	pw_clean(x->aside_for, sizeof(x->aside_for), e->aside_for, sizeof(e->aside_for));
	x->costs.call = pw_load_relaxed(&e->cost_call);
	x->costs.touch = pw_load_relaxed(&e->cost_touch);
	x->costs.map = pw_load_relaxed(&e->cost_map);
	for (unsigned i = 0; i < PW_EXPLAIN_FILES; i++) {
		struct pw_explained *to = &x->file[x->files];

		if (!take_one(to, &e->file[i], i))
			continue;
		add_all(&x->total, &to->a);
		x->files++;
	}
	/* Nobody came so far as to need them; to say what could have been saved, we do. */
	if ((!x->costs.call || !x->costs.map) &&
	    x->total.calls[PW_CALL_READ] + x->total.calls[PW_CALL_SEEK] >= PW_EXPLAIN_FEW)
		x->costs = *pw_costs();
	for (uint32_t i = 0; i < x->files; i++)
		finish(&x->file[i].a, &x->costs);
	finish(&x->total, &x->costs);
	qsort(x->file, x->files, sizeof(x->file[0]), by_calls);
}
