#!/bin/sh
# Runs every example on small inputs, one round each: what a program prints and writes
# must be the same without and with the library. Nothing here looks at the clock.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
PAGEWELL_BIN=${PAGEWELL_BIN:-$root/build/pagewell}
QUICK=1
export PAGEWELL_BIN QUICK

work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
segment=
if [ -z "${PAGEWELL_SEGMENT:-}" ]; then
	segment=/dev/shm/pagewell-test-$$
	PAGEWELL_SEGMENT=$segment
	export PAGEWELL_SEGMENT
fi
trap 'rm -rf "$work" ${segment:+"$segment"}' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

failed=0
for run in "$root"/examples/*/run; do
	name=examples/$(basename "$(dirname "$run")")
	mkdir "$work/tmp"
	status=0
	TMPDIR=$work/tmp "$run" >"$work/out" 2>&1 || status=$?
	cat "$work/out" >&2
	case $status in
	0)
		if [ -n "$(ls -A "$work/tmp")" ]; then
			echo "not ok $name - left files behind"
			failed=1
		elif ! grep -q ' same$' "$work/out"; then
			echo "not ok $name - compared nothing"
			failed=1
		else
			echo "ok $name"
		fi
		;;
	2) echo "skip $name - $(tail -n 1 "$work/out")" ;;
	*)
		echo "not ok $name - $(tail -n 1 "$work/out")"
		failed=1
		;;
	esac
	rm -rf "$work/tmp"
done
exit "$failed"
