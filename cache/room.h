/*
 * room.h - is there room for another window among the mappings that the kernel allows a
 * process (vm.max_map_count)? Where there are few left they are the program's.
 */
#ifndef PW_CACHE_ROOM_H
#define PW_CACHE_ROOM_H

#include "cache/sys.h"

/*
 * `windows`: how many this process has. 0; -EPERM: no more, be it that there are too many of
 * them, or that the process has more than half of the mappings it may have (then for good);
 * -EAGAIN: that could not be seen. Looks only when the windows are twice as many as the last
 * time, for it means to read all of /proc/self/maps.
 */
int pw_room_for_window(uint64_t windows);

#endif
