/* Entry points of the interpreter, for main.c. */
#ifndef PW_DIFF_RUN_H
#define PW_DIFF_RUN_H

/* Runs the program found in the shared file as the given actor. */
int pw_interpret(const char *program, const char *shared, int actor);
/* Is a small program that reads from an inherited descriptor. */
int pw_help(const char *shared, const char *fd, const char *size);

#endif
