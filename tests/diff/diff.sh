#!/bin/sh
# The differential tester on programs that are the same every time: those written down in
# cases/, and those of a thousand seeds. SEEDS=FROM-TO runs others.
set -eu
cd "$(dirname "$0")"

diff=${PAGEWELL_TESTS:?}/diff/diff
seeds=${SEEDS:-1-1000}
segment=${PAGEWELL_SEGMENT:-/dev/shm/pagewell-test-$$}
export PAGEWELL_SEGMENT="$segment"
work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
trap 'rm -rf "$work" "$segment"' EXIT

status=0

# The tester's last line: programs=N failed=N late=N hits=N seeks=N.
number() {
	sed -n "s/^programs=.* *$1=\([0-9]*\).*/\1/p;s/^$1=\([0-9]*\).*/\1/p" "$work/out"
}

"$diff" --prog cases/*.prog >"$work/out" || status=1
grep -E '^(ok|not ok) ' "$work/out" || { echo "not ok cases - none was run"; status=1; }

if "$diff" --jobs 2 --shrink 3 --shrink-time 20 --seeds "$seeds" >"$work/out"; then
	echo "ok seeds $seeds: $(cat "$work/out")"
else
	echo "not ok seeds $seeds - $(cat "$work/out"): stderr has the shortened programs"
	status=1
fi
cat "$work/out" >&2

# Two runs that are alike because the library stood aside prove nothing.
hits=$(number hits) seeks=$(number seeks)
if [ "${hits:-0}" -gt 10000 ] && [ "${seeks:-0}" -gt 1000 ]; then
	echo "ok served: $hits hits, $seeks seeks"
else
	echo "not ok served - only ${hits:-0} hits and ${seeks:-0} seeks in all these programs"
	status=1
fi
exit $status
