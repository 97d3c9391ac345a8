#!/bin/sh
# PAGEWELL_WRITE=map: is each byte that the library stores where a write would have put it? In
# turns with a plain process that looks, and changes the file (stores.c); and after the writer
# was killed (stores_kill.c). A case for each file system: that of $TMPDIR if it takes stores,
# tmpfs, and ext4 with two sizes of blocks, mounted where this may be done.
#
# STORES_STEPS	writes, reads, seeks of the library on each file system (20000)
# STORES_ROUNDS	writers killed on each of two (50)
# STORES_SEED	of all random choices in the first case; the next has one more (1)
# STORES_ONLY	a shell pattern: the cases to run
# STORES_NOLIB	1: without a library, to test the tester
set -eu

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
steps=${STORES_STEPS:-20000}
rounds=${STORES_ROUNDS:-50}
seed=${STORES_SEED:-1}
status=0
tmp=
shm=

# shellcheck disable=SC2317,SC2329 # called by the trap
cleanup() {
	unmount_all
	rm -f "$PAGEWELL_SEGMENT"
	[ -z "$tmp" ] || rm -rf --one-file-system "$tmp"
	[ -z "$shm" ] || rm -rf "$shm"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-stores.XXXXXX")

wanted() {
	# shellcheck disable=SC2254 # a pattern
	case $1 in
	${STORES_ONLY:-*}) return 0 ;;
	esac
	return 1
}

skip() {
	! wanted "$1" || echo "skip $1 - $2"
}

# judge NAME COMMAND ARG...: one case; the command prints its line itself
judge() {
	name=$1
	shift
	wanted "$name" || return 0
	code=0
	line=$("$@") || code=$?
	case $line in
	"ok $name" | "not ok $name - "*) echo "$line" ;;
	*) echo "not ok $name - ended with status $code" && code=1 ;;
	esac
	[ "$code" = 0 ] || status=1
}

turns() {
	judge "stores-$1" "$programs/stores" "stores-$1" "$2" "$seed" "$steps"
	seed=$((seed + 1))
}

killed() {
	judge "stores-killed-$1" "$programs/stores_kill" "stores-killed-$1" "$2/killed" "$rounds"
}

here_dir=$tmp/here
mkdir "$here_dir"
case $(stat -f -c %T "$here_dir") in
ext2/ext3 | tmpfs)
	turns here "$here_dir"
	killed here "$here_dir"
	;;
*)
	skip stores-here "not stored to"
	skip stores-killed-here "not stored to"
	;;
esac
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/pagewell-stores.XXXXXX)
	turns tmpfs "$shm"
	killed tmpfs "$shm"
else
	skip stores-tmpfs "/dev/shm is no tmpfs that can be written"
	skip stores-killed-tmpfs "/dev/shm is no tmpfs that can be written"
fi
for block in 4096 1024; do
	# shellcheck disable=SC2154 # at and why are set by _mounts.sh
	if ! wanted "stores-ext4-$block"; then
		:
	elif fresh "ext4-$block" defaults mkfs.ext4 -q -b "$block"; then
		turns "ext4-$block" "$at"
	else
		skip "stores-ext4-$block" "$why"
	fi
done
exit "$status"
