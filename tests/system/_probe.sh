# shellcheck shell=bash
# _probe.sh - what command.sh, segment.sh and knobs.sh share: a scratch folder, a segment
# of their own, verdicts, and the probe: a program that is served wherever anything is.
# The folder and the segment are removed at the end.

set -eu
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lib=${PAGEWELL_LIB:-$root/build/libpagewell.so}
bin=${PAGEWELL_BIN:-$root/build/pagewell}
probe=${PAGEWELL_TESTS:-$root/build/tests}/system/probe
unset LD_PRELOAD PAGEWELL_DISABLE PAGEWELL_SIZE PAGEWELL_INCLUDE PAGEWELL_EXCLUDE \
	PAGEWELL_FS PAGEWELL_TRUST PAGEWELL_WRITE PAGEWELL_REPORT PAGEWELL_LOG

work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
shm=$(mktemp -d /dev/shm/pagewell-test.XXXXXX) # where a segment may be, and files are served
seg=$shm/segment
export PAGEWELL_SEGMENT=$seg
held=
failed=0

# shellcheck disable=SC2329 # called by the trap
cleanup() {
	[ -z "$held" ] || kill -KILL "$held" 2>/dev/null || :
	rm -rf --one-file-system "$work" "$shm"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

for needed in "$lib" "$bin" "$probe"; do
	if [ ! -e "$needed" ]; then
		echo "not ok build - $needed is missing: make all test-programs"
		exit 1
	fi
done

# verdict NAME WHY: a case that failed if there is a WHY
verdict() {
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1 - $(printf %s "$2" | tr '\n' '|' | cut -c1-400)"
		# shellcheck disable=SC2034 # the exit status of who sources this
		failed=1
	fi
}

# want WHAT WANTED GOT: adds to $why if they differ
want() {
	[ "$2" = "$3" ] || why="$why${why:+; }$1: '$3', not '$2'"
}

# data FILE BYTES: a file without a zero byte
data() {
	head -c "$2" /dev/urandom | tr '\000' '\001' >"$1"
}

# count FILE NAME: that count of a report, 0 if there is none
count() {
	local n=
	[ ! -f "$1" ] || n=$(awk -v name="$2" '$1 == name { print $2 }' "$1")
	echo "${n:-0}"
}

# read_it FILE [VARIABLE=VALUE]...: the probe reads FILE under the library; sets status,
# hits, and the files out, err and report in $work
read_it() {
	local file=$1
	shift
	rm -f "$work/report"
	status=0
	env "$@" LD_PRELOAD="$lib" PAGEWELL_REPORT="$work/report" "$probe" "$file" \
		</dev/null >"$work/out" 2>"$work/err" || status=$?
	hits=$(count "$work/report" hits)
}

# want_right FILE: the last read_it read FILE, and nothing was said
want_right() {
	want status 0 "$status"
	want stderr '' "$(cat "$work/err")"
	cmp -s "$1" "$work/out" || why="$why${why:+; }the output is wrong"
}

# want_served, want_unserved: by hits
want_served() {
	[ "$hits" -gt 1000 ] || why="$why${why:+; }$hits hits"
}
want_unserved() {
	[ "$hits" = 0 ] || why="$why${why:+; }$hits hits, not 0"
}

# hold FILE COMMAND...: starts COMMAND, a probe of FILE that holds, as process $held, and
# comes back when it has read FILE; release ends its wait and sets status
hold() {
	local file=$1
	shift
	rm -f "$work/gate" "$work/said"
	mkfifo "$work/gate" "$work/said"
	"$@" "$file" hold <"$work/gate" >"$work/copied" 2>"$work/said" &
	held=$!
	exec 8>"$work/gate" 9<"$work/said"
	read -r line <&9 || line='nothing'
	[ "$line" = holding ] || why="$why${why:+; }the probe said: $line"
}
release() {
	exec 8>&-
	cat <&9 >"$work/err"
	exec 9<&-
	status=0
	wait "$held" || status=$?
	mv "$work/copied" "$work/out"
	held=
}

# Where files are served: the scratch folder if its file system is one of these.
# shellcheck disable=SC2034 # for who sources this
case $(stat -f -c %T "$work") in
ext2/ext3 | btrfs | tmpfs) place=$work ;;
*) place=$shm ;;
esac
