#!/bin/bash
# test_loading.sh - other libraries around ours: constructors that run before it and
# destructors that run after it, interposers of read on either side, libraries bound past
# it, other allocators, the smallest thread stacks.
set -eu
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(realpath "${PAGEWELL_LIB:-$root/build/libpagewell.so}")
at=$(realpath "${PAGEWELL_TESTS:-$root/build/tests}")/shim
given=${PAGEWELL_SEGMENT:-/dev/shm/pagewell-test}
unset LD_PRELOAD MALLOC_CONF

work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
shm=$(mktemp -d /dev/shm/pagewell-test.XXXXXX) # files are served there, whatever TMPDIR is
export PAGEWELL_SEGMENT=$given-$$ LD_LIBRARY_PATH=$at
trap 'rm -rf --one-file-system "$work" "$shm" "$PAGEWELL_SEGMENT"' EXIT
failed=0
export LOADING_FILE=$shm/data
python3 -c '
import sys
sys.stdout.buffer.write(bytes(1 + (o + (o >> 8) * 7 + 5) % 255 for o in range(300000)))
' >"$LOADING_FILE"

# verdict NAME WHY: a case that failed if there is a WHY
verdict() {
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1 - $(printf %s "$2" | tr '\n' '|' | cut -c1-400)"
		failed=1
	fi
}

# run NAME SERVED PRELOAD SAID COMMAND...: first without our library, then with it. SAID is
# what has to be on stderr both times; `%` in PRELOAD and SERVED's meaning: our library is
# put at the %; served, unserved, or any.
run() {
	local name=$1 served=$2 preload=$3 said=$4 who status hits why=
	shift 4
	for who in plain ours; do
		rm -f "$work/report"
		status=0
		timeout 60 env PAGEWELL_REPORT="$work/report" \
			LD_PRELOAD="${preload//%/$([ $who = plain ] || echo "$lib")}" \
			"$@" </dev/null >"$work/out" 2>&1 || status=$?
		[ "$status" = 0 ] || why="$why $who: status $status;"
		[ "$(cat "$work/out")" = "$said" ] || why="$why $who: $(cat "$work/out");"
	done
	hits=none
	[ ! -f "$work/report" ] || hits=$(awk '$1 == "hits" { print $2 }' "$work/report")
	case $served:$hits in
	any:* | served:[0-9][0-9][0-9]*) ;;
	unserved:none | unserved:0) ;;
	*) why="$why $hits hits, should be $served" ;;
	esac
	verdict "$name" "$why"
}

both='constructor 0
main 0
destructor 0'

# What was opened before our constructor ran is the kernel's: right, but not served.
# The loader runs constructors from the last in the list to the first, after those of
# dependencies; destructors the other way round.
run alone served % 'main 0' "$at/loaded" main "$LOADING_FILE"
run constructor-before served "%:$at/libctor.so" "$both" "$at/loaded" main "$LOADING_FILE"
run constructor-after served "$at/libctor.so:%" "$both" "$at/loaded" main "$LOADING_FILE"
run goes-on-before any "%:$at/libctor.so" "$both" "$at/loaded" goes-on "$LOADING_FILE"
run goes-on-after served "$at/libctor.so:%" "$both" "$at/loaded" goes-on "$LOADING_FILE"
run dependency any % "$both" "$at/linked"

# An interposer above us sees every call, and the calls it passes on are served; one below
# us must see every call as well, so nothing may be served.
seen='main 0
reads seen 3001'
run interposer-above served "$at/libreads.so:%" "$seen" "$at/loaded" main "$LOADING_FILE"
run interposer-below unserved "%:$at/libreads.so" "$seen" "$at/loaded" main "$LOADING_FILE"

run deepbind served % 'main 0' "$at/loaded" deep "$LOADING_FILE" "$at/libdeep.so"
run small-stacks served % 'main 0' "$at/loaded" stacks "$LOADING_FILE"
run threads served % 'main 0' "$at/loaded" allocates "$LOADING_FILE"

jemalloc=$(ldconfig -p | awk '/libjemalloc\.so\.2/ { print $NF; exit }')
if [ -z "$jemalloc" ]; then
	echo 'skip jemalloc - libjemalloc2 is missing'
else
	export MALLOC_CONF=abort_conf:true,narenas:2,junk:true,background_thread:true
	run jemalloc-above served "$jemalloc:%" 'main 0' "$at/loaded" allocates \
		"$LOADING_FILE"
	run jemalloc-below served "%:$jemalloc" 'main 0' "$at/loaded" allocates \
		"$LOADING_FILE"
	# Settings that would end a jemalloc that reads them are not for ours.
	export MALLOC_CONF=abort_conf:true,no_such_thing:1
	run malloc-conf served % 'main 0' "$at/loaded" allocates "$LOADING_FILE"
	unset MALLOC_CONF
fi
exit $failed
