/* kill.h - what the members of the kill test do. */
#ifndef TORTURE_KILL_H
#define TORTURE_KILL_H

#include "crew.h"

#define KILL_PAGES 64 /* of the file */

/*
 * read INDEX FILE FROM TO PASSES HOW: earns a window on the first page; then PASSES times over
 * pages FROM to TO, each pass with a window of its own but the first, with SEEK_ENDs between.
 * What it then leaves, by closing and ending, is part of it. Letters of HOW: w, before the
 * passes it waits for `go`, reading on the first page; t, it has a second thread; s, it stops
 * itself before it closes. The status is 1 if anything was wrong.
 */
int kill_member(int argc, char **argv);

#endif
