#!/bin/sh
# The differential tester on programs that are the same every time: those written down in
# cases/, those of a thousand seeds and of some more about streams, and signals at every Nth
# instruction of some calls. SEEDS=FROM-TO and STREAM_SEEDS=FROM-TO run other seeds, STRIDE=1
# interrupts everywhere (which takes minutes).
set -eu
cd "$(dirname "$0")"

diff=${PAGEWELL_TESTS:?}/diff/diff
segment=${PAGEWELL_SEGMENT:-/dev/shm/pagewell-test-$$}
export PAGEWELL_SEGMENT="$segment"
work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
trap 'rm -rf "$work" "$segment"' EXIT

status=0

# A number from the tester's last line: programs=N failed=N ...
number() {
	sed -n "s/^\(programs=.* \)\{0,1\}$1=\([0-9]*\).*/\2/p" "$work/out"
}

# cases NAME OPTION...: the lines for the written programs
cases() {
	name=$1
	shift
	"$diff" "$@" --prog cases/*.prog >"$work/out" || status=1
	grep -E '^(ok|not ok) ' "$work/out" | sed "s/^\(ok\|not ok\) /&$name/" ||
		{ echo "not ok ${name}cases - none was run"; status=1; }
}

cases ''
cases 'at any instruction: ' --sweep --stride "${STRIDE:-29}"
interrupted=$(number interrupted)
if [ "${interrupted:-0}" -gt 0 ]; then
	echo "ok interrupted: $interrupted calls in their middle"
elif [ "$(number untraced)" -gt 0 ]; then
	echo "skip interrupted - ptrace is not permitted here"
else
	echo "not ok interrupted - no call was"
	status=1
fi

# seeds NAME FROM-TO OPTION...
seeds() {
	name="$1 $2" range=$2
	shift 2
	if "$diff" --jobs 2 --shrink 3 --shrink-time 20 "$@" --seeds "$range" >"$work/out"; then
		echo "ok $name: $(cat "$work/out")"
	else
		echo "not ok $name - $(cat "$work/out"): stderr has the shortened programs"
		status=1
	fi
	# Two runs that are alike because the library stood aside prove nothing.
	hits=$(number hits) seeks=$(number seeks)
	if [ "${hits:-0}" -gt 10000 ] && [ "${seeks:-0}" -gt 1000 ]; then
		echo "ok $name: $hits hits, $seeks seeks"
	else
		echo "not ok $name - served only ${hits:-0} hits and ${seeks:-0} seeks"
		status=1
	fi
}

seeds seeds "${SEEDS:-1-1000}"
seeds 'streams, seeds' "${STREAM_SEEDS:-1-250}" --streams
exit $status
