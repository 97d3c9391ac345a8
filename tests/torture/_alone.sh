# For scripts of this folder to read in first: the script runs again in a mount namespace of its
# own where it may, with file systems by _mounts.sh, where the library and the test programs
# are in $PAGEWELL_LIB and $programs, and a directory of its own in $tmp. What it makes under
# /dev/shm it names in $shm. All of it goes at the end.
# shellcheck shell=sh disable=SC2034 # programs, status: of those who read this in

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
programs=$PAGEWELL_TESTS/torture
status=0
tmp=
shm=
looking= # a process to end first

# shellcheck disable=SC2317,SC2329 # called by the trap
cleanup() {
	[ -z "$looking" ] || kill "$looking" 2>/dev/null || :
	unmount_all
	rm -f "$PAGEWELL_SEGMENT" "$PAGEWELL_SEGMENT"[!0-9]*
	[ -z "$tmp" ] || rm -rf --one-file-system "$tmp"
	[ -z "$shm" ] || rm -rf "$shm"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")

# wanted NAME: does the pattern in $only name the case? skip NAME REASON: says so, if it does.
wanted() {
	# shellcheck disable=SC2254 # a pattern
	case $1 in
	${only:-*}) return 0 ;;
	esac
	return 1
}

skip() {
	! wanted "$1" || echo "skip $1 - $2"
}
