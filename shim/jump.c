/* jump.c - see jump.h. */
#include "shim/jump.h"

#include <signal.h>
#include <sys/syscall.h>

#include "shim/thread.h"

#define JB_RSP 6	   /* glibc, x86-64: rbx rbp r12 r13 r14 r15 rsp pc */
#define MANGLE_ROTATION 17 /* 2 * 8 + 1, since glibc 2.5 */
#define MANGLE_GUARD "%%fs:0x30"

uintptr_t pw_jump_target(const void *env)
{
	uintptr_t sp = ((const uintptr_t *)env)[JB_RSP];

	__asm__("rorq %1, %0\n\txorq " MANGLE_GUARD ", %0"
		: "+r"(sp)
		: "i"(MANGLE_ROTATION));
	return sp;
}

struct range {
	uintptr_t from, to;
};

static bool inside(const struct range *r, uintptr_t at)
{
	return at >= r->from && at < r->to;
}

/* The alternate stack, if the thread is running on it; else an empty range. */
static struct range alternate(void)
{
	stack_t st = {0};

	if (pw_syscall2(SYS_sigaltstack, NULL, &st) || !(st.ss_flags & SS_ONSTACK))
		return (struct range){0, 0};
	return (struct range){(uintptr_t)st.ss_sp, (uintptr_t)st.ss_sp + st.ss_size};
}

/*
 * On one stack, the frames given up are those between here and the target. From the
 * alternate stack to another: all of the alternate one's, and on the other those deeper
 * than the target. (A target on a third stack, a coroutine's, gives up nothing that can be
 * told from here, and keeps a window longer than need be.)
 */
void pw_abandon_calls(uintptr_t target)
{
	struct pw_reader *r = pw_me.reader;
	struct range alt;
	uintptr_t here = pw_stack_now();
	bool off;

	if (!r || !pw_reader_busy(r))
		return;
	alt = alternate();
	off = alt.to && !inside(&alt, target);
	for (int i = 0; i < PW_HAZARD_DEPTH; i++) {
		uintptr_t frame = r->slot[i].frame;
		bool gone = off ? inside(&alt, frame) || frame < target
				: frame >= here && frame < target;

		if (gone)
			pw_window_abandon(&r->slot[i]);
	}
}
