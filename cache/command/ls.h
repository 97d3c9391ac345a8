/* ls.h - `pagewell ls`. */
#ifndef PW_COMMAND_LS_H
#define PW_COMMAND_LS_H

/* Returns the exit status. */
int pw_ls(int argc, char **argv);

#endif
