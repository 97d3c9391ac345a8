/* warm.h - `pagewell warm`. */
#ifndef PW_COMMAND_WARM_H
#define PW_COMMAND_WARM_H

/* Returns the exit status. */
int pw_warm(int argc, char **argv);

#endif
