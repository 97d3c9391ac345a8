/* run.h - `pagewell run`. */
#ifndef PW_COMMAND_RUN_H
#define PW_COMMAND_RUN_H

/* Returns only if the program could not be run: with the exit status. */
int pw_run(int argc, char **argv);

#endif
