#!/bin/sh
# Thousands of short processes, threads by the hundred, a server that forks, and more processes
# than the segment has slots. See storm.c.
#
# STORM_PROCESSES, STORM_SECONDS	short processes, or when to do with fewer (10000, 15)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${PAGEWELL_LIB:=$here/../../build/libpagewell.so}"
: "${PAGEWELL_BIN:=$here/../../build/pagewell}"
: "${PAGEWELL_TESTS:=$here/../../build/tests}"
: "${PAGEWELL_SEGMENT:=/dev/shm/pagewell-test-$$}"
export PAGEWELL_BIN PAGEWELL_SEGMENT

exec "$PAGEWELL_TESTS/torture/storm" "$(realpath "$PAGEWELL_LIB")" \
	"${STORM_PROCESSES:-10000}" "${STORM_SECONDS:-15}"
