#!/bin/bash
# Instructions per call, counted and not timed: the same on a busy machine as on an idle
# one. Two runs of percall with different numbers of calls; the difference of their counts
# by the difference of their calls, so that start-up, warm-up and earning cancel out. The
# loop around the call (some ten instructions) is in the figure.
#
#	instr.sh [--plain] [--perf] [CASE]...
#	instr.sh --record		writes instr.expect, which _instr-gate holds on to
#
# Prints `CASE INSTRUCTIONS`. --plain: without the library, user space only. --perf: by
# the processor's counter instead of callgrind, where there is one; not to be compared
# with callgrind, which counts each step of a string instruction.
set -eu

here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
lib=${PAGEWELL_LIB:-$top/build/libpagewell.so}
by=callgrind
record=
cases=

for arg; do
	case $arg in
	--plain) lib= ;;
	--perf) by=perf ;;
	--record) record=1 ;;
	-*) sed -n 's/^#\t//p' "$0" >&2; exit 2 ;;
	*) cases="$cases $arg" ;;
	esac
done
[ -n "$cases" ] || cases='lseek-set read-64 pread-64-hot pread-512-hot read-64-zero'
if [ -n "$lib" ] && [ ! -e "$lib" ]; then
	echo "instr.sh: $lib is not there" >&2
	exit 1
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-instr-XXXXXX")
export PAGEWELL_SEGMENT=/dev/shm/pagewell-instr-$$
trap 'rm -rf "$dir" "$PAGEWELL_SEGMENT"' EXIT
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -Werror -o "$dir/percall" "$here/percall.c"

# count CASE CALLS: instructions of one whole run
count()
{
	set -- "$dir/percall" --file "$dir/data" --case "$1" --calls "$2"
	case $by in
	callgrind)
		LD_PRELOAD=$lib valgrind --tool=callgrind --callgrind-out-file="$dir/cg" \
			"$@" >"$dir/log" 2>&1 || { cat "$dir/log" >&2; return 1; }
		awk '$1 == "summary:" || $1 == "totals:" { n = $2 } END { print n }' "$dir/cg"
		;;
	perf)
		LD_PRELOAD=$lib perf stat -x, -e instructions:u -o "$dir/perf" "$@"
		awk -F, '$3 ~ /^instructions/ { print $1 }' "$dir/perf"
		;;
	esac
}

per_call()
{
	few=$(count "$1" 65536)
	many=$(count "$1" 196608)
	awk -v a="$few" -v b="$many" -v name="$1" \
		'BEGIN { printf "%s %.1f\n", name, (b - a) / 131072 }'
}

# Made before it counts, for a run that makes its files has more instructions.
"$dir/percall" --file "$dir/data" --case lseek-set --calls 1024

measured=$(for c in $cases; do per_call "$c" || exit 1; done)
if [ -n "$record" ]; then
	{
		echo "# Instructions per call by callgrind: tests/bench/instr.sh --record"
		echo "compiler $("$here/_compiler" "$lib")"
		echo "$measured"
	} >"$here/instr.expect"
fi
echo "$measured"
