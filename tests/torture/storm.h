/* storm.h - what the members of the storm test do. FILE is crew_make_file()'s. */
#ifndef TORTURE_STORM_H
#define TORTURE_STORM_H

#include "crew.h"

#define STORM_PAGES 64 /* of the file */

/* What `go` says. */
enum { STORM_WAIT, STORM_READ, STORM_END };

/*
 * ROLE INDEX FILE [N]. The status is 1 if anything was wrong.
 *
 *	brief	earns a window, and ends: N tells in which way
 *	reader	reads until told to end
 *	threads	N threads, and again as many when those have ended, until told to end
 *	server	N children, each of which reads what it inherited, and what it opens
 *	holder	earns a window; waits to be told to read all; waits to be told to end
 */
int storm_member(char **argv);

#endif
