#!/bin/bash
# Where libc's table of stream functions is not what it should be, or can't be changed: streams
# are libc's alone and right, all else is served, and PAGEWELL_LOG says so in one line.
# shellcheck source=tests/system/_probe.sh
. "$(dirname "$0")/_probe.sh"

tests=${PAGEWELL_TESTS:-$root/build/tests}
seeker=$tests/system/seeker
taken=$tests/system/libtaken.so
data "$place/file" 200000
"$seeker" "$place/file" 3000 0 >"$work/plain"

# logged FILE: how many lines there say that streams are left alone
logged() {
	local n
	n=$(grep -c '^pagewell.*: streams stay with libc' "$1" 2>/dev/null) || :
	echo "${n:-0}"
}

# seek LINES COMMAND...: the seeker by way of COMMAND is right, and not served; the log has
# so many lines on streams
seek() {
	local lines=$1
	shift
	rm -f "$work/log" "$work/report"
	env PAGEWELL_LOG="$work/log" PAGEWELL_REPORT="$work/report" "$@" \
		"$seeker" "$place/file" 3000 0 >"$work/out" 2>"$work/err" || why="it ended with $?"
	cmp -s "$work/plain" "$work/out" || why="$why the output is wrong"
	want stderr '' "$(cat "$work/err")"
	want 'lines in the log' "$lines" "$(logged "$work/log")"
	hits=$(count "$work/report" hits)
}

why=
seek 0 LD_PRELOAD="$lib"
want_served
verdict 'as it should be' "$why"

for how in names tables; do
	why=
	seek 1 LD_PRELOAD="$lib:$taken" TAKEN=$how TAKEN_READS="$work/reads"
	want_unserved
	# Another's function stays in the table and is called.
	[ $how = names ] || [ "$(<"$work/reads")" -gt 100 ] || why="$why it was not called"
	lib=$lib:$taken read_it "$place/file" TAKEN=$how
	want_right "$place/file"
	want_served
	verdict "another library was there first, by its $how" "$why"
done

why=
seek 1 "$tests/system/denied" EPERM mprotect -- env LD_PRELOAD="$lib"
want_unserved
grep -q EPERM "$work/log" || why="$why no reason given"
verdict 'the table cannot be written' "$why"

why=$("$tests/diff/diff" --beside "$taken" --streams --shrink 2 --seeds 1-60 2>&1) && why=
verdict 'programs about streams are as without the library' "$why"

exit "$failed"
