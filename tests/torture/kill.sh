#!/bin/sh
# Is anybody the worse for a process that is killed, or stopped, anywhere in the library? A
# case for each named point (PW_POINT in the sources) and way to end there. See kill.c.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${PAGEWELL_LIB:=$here/../../build/libpagewell.so}"
: "${PAGEWELL_DEBUG_LIB:=$here/../../build/debug/libpagewell.so}"
: "${PAGEWELL_BIN:=$here/../../build/pagewell}"
: "${PAGEWELL_TESTS:=$here/../../build/tests}"
: "${PAGEWELL_SEGMENT:=/dev/shm/pagewell-test-$$}"
export PAGEWELL_BIN PAGEWELL_SEGMENT

# Points are for test builds only.
status=0
if ! grep -q PAGEWELL_POINT "$PAGEWELL_DEBUG_LIB"; then
	echo "not ok points - the debug library has none"
	status=1
elif grep -q -e PAGEWELL_POINT -e 'page\.locked' "$PAGEWELL_LIB"; then
	echo "not ok points - the library as delivered has some"
	status=1
else
	echo "ok points"
fi
"$PAGEWELL_TESTS/torture/kill" "$PAGEWELL_LIB" "$PAGEWELL_DEBUG_LIB" || status=1
exit "$status"
