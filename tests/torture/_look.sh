# For scripts of this folder to read in: what those need that lead look (look.c) by the hand,
# and a directory of their own in $tmp, with file systems by _mounts.sh. A script that reads
# this in is run again in a mount namespace of its own where it may.
# shellcheck shell=sh disable=SC2034 # status, shorten: of those who read this in

here=$(cd "$(dirname "$0")" && pwd)
if [ "${EXACT_NAMESPACE:-}" != 1 ] && [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	exec env EXACT_NAMESPACE=1 unshare -m --propagation private "$0" "$@"
fi
# shellcheck source=tests/torture/_mounts.sh disable=SC1091
. "$here/_mounts.sh"

: "${PAGEWELL_LIB:=$here/../../build/libpagewell.so}"
: "${PAGEWELL_TESTS:=$here/../../build/tests}"
: "${PAGEWELL_SEGMENT:=/dev/shm/pagewell-test-$$}"
export PAGEWELL_LIB PAGEWELL_SEGMENT
unset LD_PRELOAD PAGEWELL_FS PAGEWELL_TRUST
programs=$PAGEWELL_TESTS/torture
status=0
tmp=
shm=
looking=

# shellcheck disable=SC2317,SC2329 # called by the trap
cleanup() {
	[ -z "$looking" ] || kill "$looking" 2>/dev/null || :
	unmount_all
	rm -f "$PAGEWELL_SEGMENT"*
	[ -z "$tmp" ] || rm -rf --one-file-system "$tmp"
	[ -z "$shm" ] || rm -rf "$shm"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
shm=$(mktemp -d /dev/shm/pagewell-test.XXXXXX)
mkfifo "$tmp/to" "$tmp/from"

# look_at FILE [LIBRARY]: starts it, under the library; only one at a time
look_at() {
	LD_PRELOAD=${2-$PAGEWELL_LIB} "$programs/look" "$1" <"$tmp/to" >"$tmp/from" 2>&1 &
	looking=$!
	exec 3>"$tmp/to" 4<"$tmp/from"
}

# ask LINE: sets $answer
ask() {
	answer=
	echo "$1" >&3
	read -r answer <&4 || answer="look has ended"
}

# look_away: ends it; false if it ended badly
look_away() {
	exec 3>&- 4<&-
	code=0
	wait "$looking" || code=$?
	looking=
	return "$code"
}

# wants WHAT PATTERN: asks; what does not match is a reason, in $why
wants() {
	ask "$1"
	# shellcheck disable=SC2254 # a pattern
	case $answer in
	$2) ;;
	*) why="${why:+$why; }${3:-}$1: $answer" ;;
	esac
}

# verdict NAME: a case that failed if there is a $why
verdict() {
	if [ -z "$why" ]; then
		echo "ok $1"
	else
		echo "not ok $1 - $(printf %s "$why" | tr '\n' '|' | cut -c1-400)"
		status=1
	fi
}
