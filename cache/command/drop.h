/* drop.h - `pagewell drop`. */
#ifndef PW_COMMAND_DROP_H
#define PW_COMMAND_DROP_H

/* Returns the exit status. */
int pw_drop(int argc, char **argv);

#endif
