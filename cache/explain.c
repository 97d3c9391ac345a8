/* explain.c - see explain.h. */
#include "cache/explain.h"

#include <string.h>

/* So many places a file may have; where they are all taken it is one of the rest. */
#define PROBES 32u

const char *const pw_why_name[PW_WHY_COUNT] = {
	[PW_SERVED] = "served",
	[PW_WHY_EARN] = "not-earned",
	[PW_WHY_ONCE] = "read-once",
	[PW_WHY_TOUCH] = "page-not-earned",
	[PW_WHY_DEST] = "new-memory",
	[PW_WHY_END] = "past-end",
	[PW_WHY_WITNESS] = "no-witness",
	[PW_WHY_FAULT] = "fault",
	[PW_WHY_REST] = "resting",
	[PW_WHY_SHARED] = "shared",
	[PW_WHY_RETURNED] = "given-back",
	[PW_WHY_LIMIT] = "no-window",
	[PW_WHY_SIGBUS] = "sigbus-blocked",
	[PW_WHY_SEEK_END] = "seek-end",
	[PW_WHY_SEEK_FAR] = "seek-beyond",
	[PW_WHY_VECTOR] = "vector",
	[PW_WHY_WRITE] = "write",
	[PW_WHY_UNSEEN] = "inherited",
	[PW_WHY_KIND] = "not-regular",
	[PW_WHY_FS] = "file-system",
	[PW_WHY_EXCLUDED] = "excluded",
	[PW_WHY_DIRECT] = "o-direct",
	[PW_WHY_APPEND] = "o-append",
	[PW_WHY_ACCESS] = "not-readable",
	[PW_WHY_EMPTY] = "empty",
	[PW_WHY_HOLES] = "holes",
	[PW_WHY_STREAMS] = "stdio",
	[PW_WHY_ASIDE] = "stepped-aside",
	[PW_WHY_NOTHING] = "no-bytes",
	[PW_WHY_ERROR] = "error",
	[PW_WHY_OTHER] = "other",
	[PW_WHY_PASS] = "written-once",
	[PW_WHY_TICK] = "tick",
};

void pw_explain_format(struct pw_shm_explain *e)
{
	e->magic = PW_EXPLAIN_MAGIC;
	e->layout = PW_EXPLAIN_LAYOUT;
	e->bytes = (uint32_t)sizeof(*e);
}

bool pw_explain_valid(const struct pw_shm_explain *e, uint64_t bytes)
{
	return bytes == sizeof(*e) && pw_load_relaxed(&e->magic) == PW_EXPLAIN_MAGIC &&
	       pw_load_relaxed(&e->layout) == PW_EXPLAIN_LAYOUT &&
	       pw_load_relaxed(&e->bytes) == sizeof(*e);
}

unsigned pw_explain_record(struct pw_shm_explain *e, uint64_t id, bool *mine)
{
	*mine = false;
	for (unsigned i = 0; i < PROBES; i++) {
		unsigned at = PW_TOLD_FIRST +
			      (unsigned)((id + i) % (PW_EXPLAIN_FILES - PW_TOLD_FIRST));
		uint64_t seen = pw_load_relaxed(&e->file[at].id);

		if (!seen && pw_cas(&e->file[at].id, &seen, id)) {
			*mine = true;
			return at;
		}
		if (seen == id)
			return at;
	}
	return PW_TOLD_REST;
}

void pw_explain_name(struct pw_shm_told *t, const char *path, size_t n, uint32_t magic)
{
	size_t cut = n < sizeof(t->path) ? 0 : n - sizeof(t->path) + 1;

	memcpy(t->path, path + cut, n - cut);
	pw_store_relaxed(&t->magic, magic);
	pw_store_release(&t->named, 1); /* pairs with the command's load */
}
