/* bare.c - see bare.h. */
#include "shim/bare.h"

#define LOOK 32 /* bytes of a function in which its system call is looked for */

/*
 * `syscall` in libc's lseek, which does nothing else, and in its read if it is there too (in
 * newer ones that is further down, and shared by all that can be cancelled). Written at start-up.
 */
static PW_HOT_PAGE const unsigned char *call_in_lseek;
static PW_HOT_PAGE const unsigned char *call_in_read;
static PW_HOT_PAGE uint32_t libcs; /* bits: the next definition is libc's own */
PW_HOT_PAGE uint32_t pw_bare;

static bool is_call(const unsigned char *at)
{
	return at[0] == 0x0f && at[1] == 0x05;
}

static const unsigned char *call_in(const void *function)
{
	const unsigned char *at = function;

	for (int i = 0; i < LOOK; i++)
		if (is_call(at + i))
			return at + i;
	return NULL;
}

PW_CODE_PAGE(number) void pw_bare_look(void)
{
	bool whole = call_in_lseek && is_call(call_in_lseek) &&
		     (!call_in_read || is_call(call_in_read));
	uint32_t may = whole ? libcs : 0;

	if (pw_load_relaxed(&pw_bare) != may)
		pw_store_relaxed(&pw_bare, may);
}

void pw_bare_start(void)
{
	libcs = PW_BARE_READ | PW_BARE_LSEEK | PW_BARE_OPEN | PW_BARE_CLOSE |
		(pw_real_in_libc(PW_N_openat) ? PW_BARE_OPENAT : 0) |
		(pw_real_in_libc(PW_N_pread) ? PW_BARE_PREAD : 0) |
		(pw_real_in_libc(PW_N_write) ? PW_BARE_WRITE : 0);
	call_in_lseek = call_in(pw_real_find(PW_N_lseek));
	call_in_read = call_in(pw_real_find(PW_N_read));
	pw_bare_look();
}
