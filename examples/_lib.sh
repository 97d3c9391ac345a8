# shellcheck shell=bash
# _lib.sh - what the examples share: a scratch folder, runs without and with the
# library in turn, a comparison of everything the runs leave, and the table.
#
# An example sources this file, calls `need`, `begin`, then for each case `measure`
# (or `same`), perhaps `expect`, and `row`; at the end `finish`. What stands before a measured
# program on each side is in the arrays `without` and `with`; `begin` sets them, and an example
# that compares something else than a program with and without the library changes them.
#
# Environment: ROUNDS     runs of each kind per case (default 5)
#              QUICK=1    small inputs and one round: only the outputs matter
#              TMPDIR     where the input goes (default /tmp)
#              PAGEWELL_BIN  the pagewell command (default ../../build/pagewell)

set -eu
export LC_ALL=C # messages are compared, and EPOCHREALTIME needs its point

here=$(cd "$(dirname "$0")" && pwd)
PAGEWELL_BIN=${PAGEWELL_BIN:-$here/../../build/pagewell}
QUICK=${QUICK:-0}
work=
child=
failed=0
filter=

if [ "$QUICK" = 1 ]; then
	rounds=1
else
	rounds=${ROUNDS:-5}
fi
case $rounds in
'' | *[!0-9]* | 0*)
	echo "ROUNDS=$rounds: a whole number from 1 is wanted" >&2
	exit 1
	;;
esac

# Cases of many seconds a run: three rounds, unless the user asked for a number.
slow_rounds=$rounds
if [ -z "${ROUNDS:-}" ] && [ "$rounds" -gt 3 ]; then
	# shellcheck disable=SC2034 # read by the examples
	slow_rounds=3
fi

# What an example has to undo before its folder goes, if anything: it defines this anew.
cleanup_more() { :; }

cleanup() {
	[ -z "$child" ] || kill "$child" 2>/dev/null || :
	cleanup_more
	[ -z "$work" ] || rm -rf "$work"
}

# need PROGRAM PACKAGE
need() {
	command -v "$1" >/dev/null && return
	echo "$1 is missing: it comes with Debian's package $2" >&2
	exit 2
}

# pick FULL QUICK: the size of an input
pick() {
	if [ "$QUICK" = 1 ]; then echo "$2"; else echo "$1"; fi
}

# begin TITLE
begin() {
	if [ ! -x "$PAGEWELL_BIN" ]; then
		echo "$PAGEWELL_BIN is missing: run make first" >&2
		exit 1
	fi
	PAGEWELL_BIN=$(cd "$(dirname "$PAGEWELL_BIN")" && pwd)/$(basename "$PAGEWELL_BIN")
	# Were the library not loaded, all would be the same and prove nothing.
	if ! "$PAGEWELL_BIN" run -- grep -q libpagewell /proc/self/maps; then
		echo "$PAGEWELL_BIN run does not load libpagewell.so" >&2
		exit 1
	fi

	# The plain run starts by way of env, as the other one does by way of pagewell: what it
	# costs to start a program through another one is no part of the comparison.
	without=(env)
	with=("$PAGEWELL_BIN" run --)

	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-example.XXXXXX")

	local fs
	fs=$(stat -f -c %T "$work")
	echo "$1 (files on $fs; medians, ROUNDS=$rounds)"
	case $fs in
	ext2/ext3 | btrfs | tmpfs) ;;
	*) echo "note: pagewell serves $fs only if told to, see PAGEWELL_FS and PAGEWELL_TRUST" ;;
	esac
	printf '%-32s %9s %11s   %-19s %s\n' case 'plain s' 'pagewell s' ratio output
}

# settle FILE...: in the page cache, and no writeback left to disturb the clock
settle() {
	sync "$@"
	cat "$@" >/dev/null
}

# run_once plain|pagewell PROGRAM ARGS...: runs it in an empty folder of its own;
# leaves stdout, stderr, status and files/ under $work/SIDE, and sets `took`.
run_once() {
	local side=$1 dir=$work/$1 began status=0
	shift
	if [ "$side" = plain ]; then
		set -- "${without[@]}" "$@"
	else
		set -- "${with[@]}" "$@"
	fi
	rm -rf "$dir"
	mkdir -p "$dir/files"
	began=${EPOCHREALTIME/./}
	# In the background, so that a signal to this script is acted on at once.
	(cd "$dir/files" && exec "$@") </dev/null >"$dir/stdout" 2>"$dir/stderr" &
	child=$!
	wait "$child" || status=$?
	took=$((${EPOCHREALTIME/./} - began))
	child=
	echo "$status" >"$dir/status"
	[ -z "$filter" ] || sed -i -E "$filter" "$dir/stdout"
	if [ "$side" = plain ] && [ "$status" != 0 ]; then
		echo "the plain run failed with status $status: $*" >&2
		cat "$dir/stdout" "$dir/stderr" >&2
		exit 1
	fi
}

differs() {
	verdict=DIFFERENT
	failed=1
}

compare() {
	diff -r "$work/plain" "$work/pagewell" >"$work/diff" && return
	differs
	{
		echo "DIFFERENT: $case_name"
		head -n 20 "$work/diff"
	} >&2
}

# measure CASE ROUNDS PROGRAM ARGS...
measure() {
	local n=$2 i
	case_name=$1
	shift 2
	verdict=same
	plain_us=()
	pagewell_us=()
	for ((i = 0; i < n; i++)); do
		run_once plain "$@"
		plain_us+=("$took")
		run_once pagewell "$@"
		pagewell_us+=("$took")
		compare
	done
}

# same CASE PROGRAM ARGS...: one run each, outputs only
same() {
	measure "$1" 1 "${@:2}"
	plain_us=()
	pagewell_us=()
}

# expect FILE PROGRAM ARGS...: with the library it must print exactly this file. For
# programs whose measured runs write to /dev/null. Counts for the current case.
expect() {
	run_once pagewell "${@:2}"
	if [ "$(cat "$work/pagewell/status")" = 0 ] &&
		cmp "$1" "$work/pagewell/stdout" >"$work/diff" 2>&1; then
		return
	fi
	differs
	{
		echo "DIFFERENT: $case_name: ${*:2}"
		cat "$work/diff" "$work/pagewell/stderr"
	} >&2
}

median() {
	printf '%s\n' "$@" | sort -n | awk '{ t[NR] = $1 }
		END { print (t[int((NR + 1) / 2)] + t[int((NR + 2) / 2)]) / 2 }'
}

# row: prints the current case
row() {
	if [ ${#plain_us[@]} = 0 ]; then
		printf '%-32s %9s %11s   %-19s %s\n' "$case_name" - - - "$verdict"
		return
	fi
	awk -v name="$case_name" -v a="$(median "${plain_us[@]}")" \
		-v b="$(median "${pagewell_us[@]}")" -v verdict="$verdict" 'BEGIN {
		printf "%-32s %9.3f %11.3f   %5.2f times as fast %s\n",
			name, a / 1e6, b / 1e6, a / b, verdict
	}'
}

finish() {
	echo
	[ "$failed" = 0 ] && exit 0
	echo "OUTPUTS DIFFER: the library changed what the program does (see above)" >&2
	exit 1
}
