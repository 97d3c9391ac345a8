/*
 * stat.c - `pagewell stat`: reads the segment and writes nothing to it, so that looking
 * never changes what is seen. Each word that comes from there is only ever counted, added
 * up or shown.
 */
#include "cache/command/stat.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cache/command/options.h"
#include "cache/command/say.h"
#include "cache/command/shared.h"

static const char help[] =
	"usage: pagewell stat [--json] [--segment=PATH]\n"
	"\n"
	"Shows what the processes that share a segment have mapped, and what became of\n"
	"their reads. PATH is the segment; default: PAGEWELL_SEGMENT, else the user's\n"
	"own in /dev/shm. A process hands its counts in now and then, and when it ends:\n"
	"what is shown of a running one may be old.\n"
	"\n"
	"  pages      cache pages (64 KiB) mapped now; size is the same in bytes\n"
	"  windows    mapped files now; mapped: in all\n"
	"  hits       reads served from a window; hit_bytes: the bytes of these\n"
	"  seeks      lseek calls served\n"
	"  fills      cold cache pages brought in\n"
	"  waits      sleeps until another process had brought one in\n"
	"  timeouts   sleeps that ended at the deadline\n"
	"  reclaims   cache pages given back to keep the bound\n"
	"  doubts     reads given to the kernel for want of proof\n"
	"\n"
	"A process is alive; elsewhere, that is in another pid namespace; gone, killed\n"
	"before it could hand its counts in; or damaged. The totals are those of\n"
	"processes that ended well, are alive, or elsewhere.\n"
	"\n"
	"--json prints one object; numbers are integers, new members may be added:\n"
	"  version, path              strings\n"
	"  bytes, abi, page_bytes     of the segment, its layout, one cache page\n"
	"  costs_ns                   {call, touch, map}: measured here; 0: not yet\n"
	"  words                      {uptodate, locked, waiters, capacity}\n"
	"  files                      {entries, capacity}\n"
	"  totals, past               {pages ... doubts, mapped}; past: ended processes\n"
	"  processes                  [{pid, comm, state, pages ... doubts, mapped}]\n"
	"\n"
	"Exit status: 0; 1 if there is no segment, or it was refused; 2 for a wrong\n"
	"option.\n";

const char *const pw_state_name[] = {
	[PW_ALIVE] = "alive",
	[PW_ELSEWHERE] = "elsewhere",
	[PW_GONE] = "gone",
	[PW_DAMAGED] = "damaged",
};

static struct pw_picture picture;

static enum pw_state state_of(uint32_t pid, uint64_t pidns)
{
	if (pid > INT32_MAX)
		return PW_DAMAGED;
	/* 0: not said yet, or it was killed before it could. */
	if (pidns && pw_shared_pidns() != pidns)
		return PW_ELSEWHERE;
	return kill((pid_t)pid, 0) && errno == ESRCH ? PW_GONE : PW_ALIVE;
}

/* Damaged words must not make a sum look small. */
static void add_to(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void take_process(struct pw_picture *p, struct pw_shm_slot *slot)
{
	uint32_t pid = pw_load_relaxed(&slot->owner);
	struct pw_process *to = &p->process[p->processes];

	if (!pid)
		return;
	p->processes++;
	to->pid = pid;
	to->state = state_of(pid, pw_load_relaxed(&slot->pidns));
	pw_clean(to->comm, sizeof(to->comm), slot->comm, sizeof(slot->comm));
	for (int i = 0; i < PW_S_COUNT; i++) {
		to->n[i] = pw_load_relaxed(&pw_stat_of(slot)[i]);
		if (to->state == PW_ALIVE || to->state == PW_ELSEWHERE)
			add_to(&p->all[i], to->n[i]);
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct pw_process *x = a;
	const struct pw_process *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void take(struct pw_picture *p, const struct pw_segment *s)
{
	p->costs.call = pw_load_relaxed(&s->head->cost_call);
	p->costs.touch = pw_load_relaxed(&s->head->cost_touch);
	p->costs.map = pw_load_relaxed(&s->head->cost_map);
	for (uint32_t i = 0; i < PW_FILES; i++)
		p->files += pw_load_relaxed(&s->files[i].key) != 0;
	for (uint32_t i = 0; i < PW_WORDS; i++) {
		uint32_t w = pw_load_relaxed(&s->words[i]);

		p->uptodate += (w & PW_W_UPTODATE) != 0;
		p->locked += (w & PW_W_LOCKED) != 0;
		p->waiters += (w & PW_W_WAITERS) != 0;
	}
	/* What is mapped now is no matter of the past. */
	for (int i = PW_S_HITS; i < PW_S_COUNT; i++)
		p->all[i] = p->past[i] = pw_load_relaxed(&s->head->past[i]);
	for (uint32_t i = 0; i < PW_SLOTS; i++)
		take_process(p, &s->slots[i]);
	qsort(p->process, p->processes, sizeof(p->process[0]), by_pid);
}

int pw_stat(int argc, char **argv)
{
	struct pw_segment segment;
	const char *path = NULL;
	bool json = false;
	const struct pw_option options[] = {
		{"segment", &path, NULL},
		{"json", NULL, &json},
		{0},
	};
	int status;
	int at = pw_options_begin(argc, argv, options, help, &status);

	if (at < 0)
		return status;
	if (at < argc) {
		pw_say("stat: unexpected argument %s; see pagewell stat --help",
		       argv[at]);
		return PW_USAGE;
	}
	path = pw_shared_path(path);
	if (!pw_shared_must(path, PW_SHARED_LOOK, &segment))
		return PW_FAILED;
	picture.path = path;
	take(&picture, &segment);
	if (json)
		pw_stat_json(&picture);
	else
		pw_stat_text(&picture);
	return pw_flushed() ? 0 : PW_FAILED;
}
