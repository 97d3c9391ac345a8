/*
 * thunk.c - see thunk.h. The table is made of numbers, not pointers: in each process that
 * starts the loader would have to add our address to every pointer, three hundred of them,
 * and copy the pages they lie in.
 */
#include "shim/thunk.h"

#include <errno.h>
#include <stddef.h>

#include "shim/explain.h"
#include "shim/hooks.h"
#include "shim/real.h"
#include "shim/thread.h"

#define NODE_GLIBC_2_15 "GLIBC_2.15"
#define NODE_GLIBC_2_2_5 "GLIBC_2.2.5"

/* All the strings. */
struct text {
	char none[1];
	char GLIBC_2_15[sizeof(NODE_GLIBC_2_15)];
	char GLIBC_2_2_5[sizeof(NODE_GLIBC_2_2_5)];
#define PW_THUNK(name, hook) char at_##name[sizeof(#name)];
#define PW_VERSIONED(name, node) char at_##name##__##node[sizeof(#name)];
#define PW_UNDER(name, of) char at_##name[sizeof(#name)], of_##name[sizeof(#of)];
#include "shim/symbols.def"
};

static const struct text text = {
	.GLIBC_2_15 = NODE_GLIBC_2_15,
	.GLIBC_2_2_5 = NODE_GLIBC_2_2_5,
#define PW_THUNK(name, hook) .at_##name = #name,
#define PW_VERSIONED(name, node) .at_##name##__##node = #name,
#define PW_UNDER(name, of) .at_##name = #name, .of_##name = #of,
#include "shim/symbols.def"
};

/* Places in text. */
struct thunk {
	uint16_t name;
	uint16_t version; /* 0: the default */
	uint16_t of;	  /* PW_UNDER: the name it is another one of; else 0 */
};

#define AT(member) offsetof(struct text, member)

static const struct thunk thunks[PW_T_COUNT] = {
#define PW_THUNK(name, hook) {AT(at_##name), 0, 0},
#define PW_VERSIONED(name, node) {AT(at_##name##__##node), AT(node), 0},
#define PW_UNDER(name, of) {AT(at_##name), 0, AT(of_##name)},
#include "shim/symbols.def"
};

/* What a handler may call: dlsym takes a lock that the code it interrupted may hold. */
#define EARLY(X) \
	X(_exit) \
	X(execve) X(execv) X(execle) X(execl) X(longjmp) X(siglongjmp) X(__longjmp_chk)

enum early {
#define NUMBER(name) EARLY_##name,
	EARLY(NUMBER)
#undef NUMBER
		EARLY_COUNT
};

/* Both by resolve(), any thread, always with the same value. */
static PW_HOT_PAGE void *early_to[EARLY_COUNT];
static void *later_to[PW_T_COUNT];

static void **to(unsigned no)
{
	switch (no) {
#define PLACE(name)       \
	case PW_T_##name: \
		return &early_to[EARLY_##name];
		EARLY(PLACE)
#undef PLACE
	default:
		return &later_to[no];
	}
}

static const char *string(uint16_t at)
{
	return (const char *)&text + at;
}

/* Ours of the names that PW_UNDER is about, by hidden names. */
#define PW_UNDER(name, of) \
	extern const char pw_our_##of[] __attribute__((visibility("hidden")));
#include "shim/symbols.def"

static const void *ours(unsigned no)
{
	switch (no) {
#define PW_UNDER(name, of) \
	case PW_T_##name:  \
		return pw_our_##of;
#include "shim/symbols.def"
	default:
		return NULL;
	}
}

/* A name this libc lacks cannot have been called through it. */
static long nowhere(void)
{
	errno = ENOSYS;
	return -1;
}

static void resolve(unsigned no)
{
	const struct thunk *t = &thunks[no];
	void *at;

	if (pw_load_relaxed(to(no)))
		return;
	/* An interposer between us and libc may make `of` of this name (tcmalloc's sbrk calls
	 * __sbrk): were that our `of`, which goes on to the interposer's, nobody would ever
	 * come to libc. */
	if (t->of && pw_real_is_libcs(string(t->of)))
		at = (void *)(uintptr_t)ours(no);
	else
		at = pw_real_lookup(string(t->name),
				    t->version ? string(t->version) : NULL);
	pw_store_relaxed(to(no), at ? at : (void *)nowhere);
}

void pw_thunk_start(void)
{
#define RESOLVE(name) resolve(PW_T_##name);
	EARLY(RESOLVE)
#undef RESOLVE
}

void pw_thunk_rest(void)
{
	for (unsigned no = 0; no < PW_T_COUNT; no++)
		resolve(no);
}

void *pw_thunk_enter(unsigned no, const long *args)
{
	int saved = errno;

	if (pw_unlikely(pw_me.unsettled))
		pw_thread_settle();
	pw_explain_calling(string(thunks[no].name));
	pw_hook(no, args);
	resolve(no);
	errno = saved;
	return pw_load_relaxed(to(no));
}
