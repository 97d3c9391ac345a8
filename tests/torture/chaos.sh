#!/bin/sh
# A dozen processes read and verify while they are killed and stopped at random, their files
# rewritten and truncated, and the segment damaged. See chaos.c.
#
# CHAOS_SECONDS	how long (45)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${PAGEWELL_LIB:=$here/../../build/libpagewell.so}"
: "${PAGEWELL_DEBUG_LIB:=$here/../../build/debug/libpagewell.so}"
: "${PAGEWELL_BIN:=$here/../../build/pagewell}"
: "${PAGEWELL_TESTS:=$here/../../build/tests}"
: "${PAGEWELL_SEGMENT:=/dev/shm/pagewell-test-$$}"
export PAGEWELL_BIN PAGEWELL_SEGMENT

exec "$PAGEWELL_TESTS/torture/chaos" "$PAGEWELL_LIB" "$PAGEWELL_DEBUG_LIB" \
	"${CHAOS_SECONDS:-45}"
