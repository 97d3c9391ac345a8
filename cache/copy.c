/* copy.c - which program counters are ours, for the guard. The routines are in assembly. */
#include "cache/copy.h"

extern const char pw_copy_witnessed_end[] __attribute__((visibility("hidden")));
extern const char pw_copy_witnessed_fixup[] __attribute__((visibility("hidden")));
extern const char pw_copy_stored_end[] __attribute__((visibility("hidden")));
extern const char pw_copy_stored_fixup[] __attribute__((visibility("hidden")));
extern const char pw_copy_look_ahead_end[] __attribute__((visibility("hidden")));
extern const char pw_copy_look_ahead_fixup[] __attribute__((visibility("hidden")));

uintptr_t pw_copy_fixup(uintptr_t pc)
{
	if (pc >= (uintptr_t)pw_copy_witnessed && pc < (uintptr_t)pw_copy_witnessed_end)
		return (uintptr_t)pw_copy_witnessed_fixup;
	if (pc >= (uintptr_t)pw_copy_stored && pc < (uintptr_t)pw_copy_stored_end)
		return (uintptr_t)pw_copy_stored_fixup;
	if (pc >= (uintptr_t)pw_copy_look_ahead && pc < (uintptr_t)pw_copy_look_ahead_end)
		return (uintptr_t)pw_copy_look_ahead_fixup;
	return 0;
}
