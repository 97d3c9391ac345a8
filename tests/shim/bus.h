/* bus.h - what the tests of SIGBUS share: a served file, a mapping whose second page faults,
 * a handler that counts. */
#ifndef TESTS_SHIM_BUS_H
#define TESTS_SHIM_BUS_H

#include <signal.h>

#include "_self.h"

#define SIZE 300000

extern int served;	   /* windowed, its position ours */
extern char *beyond;	   /* touching it is SIGBUS */
extern volatile int count; /* of the handler's calls */
extern volatile pid_t by;  /* the thread that had the last one */
extern sigset_t bus;	   /* SIGBUS alone */

/* The handler. */
void counting(int sig);
void bus_ready(void);
/* Mask, pending signals, count. */
void say_mask(const char *when);
/*
 * The kernel's idea and the library's must agree in this: where a hit may happen SIGBUS is
 * not blocked, or a file that gets shorter would kill.
 */
void need_survival(void);

#endif
