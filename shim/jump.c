/* jump.c - see jump.h. */
#include "shim/jump.h"

#include <signal.h>
#include <sys/syscall.h>

#include "shim/numbers.h"
#include "shim/pos.h"
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
static bool given_up(uintptr_t frame, uintptr_t here, uintptr_t target,
		     const struct range *alt)
{
	if (alt->to && !inside(alt, target))
		return inside(alt, frame) || frame < target;
	return frame >= here && frame < target;
}

void pw_abandon_calls(uintptr_t target)
{
	struct pw_reader *r = pw_me.reader;
	uintptr_t here = pw_stack_now();
	struct range alt;

	pw_me.closing = 0; /* the close() may have been left, too */
	pw_closing_end(0);
	if (!(r && pw_reader_busy(r)) && !pw_me.changing)
		return;
	alt = alternate();
	if (pw_me.changing && given_up(pw_me.changing_frame, here, target, &alt))
		pw_numbers_abandoned();
	for (int i = 0; r && i < PW_HAZARD_DEPTH; i++)
		if (given_up(r->slot[i].frame, here, target, &alt))
			pw_pos_abandon(&r->slot[i]);
}
