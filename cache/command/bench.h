/* bench.h - `pagewell bench`. */
#ifndef PW_COMMAND_BENCH_H
#define PW_COMMAND_BENCH_H

#include <stdbool.h>

/* Returns the exit status. */
int pw_bench(int argc, char **argv);

enum { PW_BENCH_RANDOM, PW_BENCH_SEEK, PW_BENCH_SEQUENTIAL, PW_BENCH_OPEN, PW_BENCHES };

/* How much of a file is used: what fits into memory almost anywhere. */
#define PW_BENCH_BYTES (64u << 20)

/*
 * The measuring itself: of each kind, for about so many ns, what one operation takes, in ns.
 * False: the file can't be read, which has been said.
 */
bool pw_bench_measure(const char *path, double for_ns, double ns[PW_BENCHES]);

#endif
