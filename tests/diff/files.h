/* The directory of a run: making it, telling what is in it, removing it. */
#ifndef PW_DIFF_FILES_H
#define PW_DIFF_FILES_H

#include "prog.h"

/* Makes dir anew with the program's files in it; false with errno set. */
bool pw_files_make(const char *dir, const struct pw_prog *p);
/* One line per name: kind, mode, size, links, hash of the bytes. */
char *pw_files_tell(const char *dir);
void pw_files_remove(const char *dir);

#endif
