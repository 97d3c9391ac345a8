#!/bin/sh
# Is each byte that the library serves the one the kernel would give? A case per file system:
# that of $TMPDIR, tmpfs, and some that this script makes and mounts where it may. First in
# turns, with every answer compared; then with writer and readers running freely (exact.c).
#
# EXACT_STEPS	the writer's steps in turns, spread over the file systems (100000)
# EXACT_EACH	the writer's steps on each file system instead; a fifth where it is slow
# EXACT_FREE	seconds per free-running case (8; 0: none of them)
# EXACT_SEED	of all random choices in the first case; the next has one more (1)
# EXACT_ALL	1: more file systems and variants
# EXACT_ONLY	a shell pattern: the cases to run
# EXACT_NOLIB	1: without a library, to test the tester
set -eu

# shellcheck source=tests/torture/_alone.sh disable=SC1091
. "$(dirname "$0")/_alone.sh"

exact=$programs/exact
steps=${EXACT_STEPS:-100000}
each=${EXACT_EACH:-}
free=${EXACT_FREE:-8}
seed=${EXACT_SEED:-1}
only=${EXACT_ONLY:-}

# run NAME DIR ARG...: one case; the program prints its line itself. Each has a seed of its
# own, for a step that all file systems take in the same way is tested once.
run() {
	name=$1 dir=$2
	shift 2
	wanted "$name" || return 0
	code=0
	line=$("$exact" --name "$name" --dir "$dir" --seed "$seed" "$@") || code=$?
	seed=$((seed + 1))
	case $line in
	"ok $name" | "not ok $name - "*) echo "$line" ;;
	*) echo "not ok $name - exact ended with status $code" && code=1 ;;
	esac
	[ "$code" = 0 ] || status=1
}

# Sets $consent to what PAGEWELL_FS must say for a directory's files to be served; false if
# they never are.
consent_for() {
	type=$(stat -f -c %T "$1")
	case $type in
	ext2/ext3 | btrfs | tmpfs) consent= ;;
	xfs) consent=+xfs ;;
	overlayfs) consent=+overlay ;;
	f2fs) consent=+f2fs ;;
	*) return 1 ;;
	esac
}

# in_turns NAME SHARE DIRECTORY: a case for later; the steps are spread over those that this
# machine can run
turns=$tmp/turns
in_turns() {
	if consent_for "$3"; then
		echo "$1 $2 $3 $consent" >>"$turns"
	else
		skip "$1" "$type is not served"
	fi
}

# mounted_turns NAME SHARE FUNCTION ARG...: the same on what the function mounts
mounted_turns() {
	case_name=$1 share=$2 function=$3
	shift 3
	wanted "$case_name" || return 0
	# shellcheck disable=SC2154 # at and why are set by _mounts.sh
	if "$function" "$case_name" "$@"; then
		in_turns "$case_name" "$share" "$at"
	else
		skip "$case_name" "$why"
	fi
}

mkdir "$tmp/here"
in_turns exact-here 5 "$tmp/here"
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/pagewell-exact.XXXXXX)
	in_turns exact-tmpfs 5 "$shm"
else
	skip exact-tmpfs "/dev/shm is no tmpfs that can be written"
fi
mounted_turns exact-ext4-4k 3 fresh defaults mkfs.ext4 -q -b 4096
mounted_turns exact-ext4-1k 3 fresh defaults mkfs.ext4 -q -b 1024
mounted_turns exact-btrfs 2 fresh defaults mkfs.btrfs -q
mounted_turns exact-xfs 2 fresh defaults mkfs.xfs -q
mounted_turns exact-bind 1 bound
mounted_turns exact-idmap 1 idmapped
if [ "${EXACT_ALL:-}" = 1 ]; then
	mounted_turns exact-ext2 2 fresh defaults mkfs.ext2 -q
	mounted_turns exact-ext4-128 2 fresh defaults mkfs.ext4 -q -I 128
	mounted_turns exact-ext4-inline 2 fresh defaults mkfs.ext4 -q -O inline_data -I 1024
	mounted_turns exact-ext4-nojournal 2 fresh defaults mkfs.ext4 -q -O ^has_journal
	# For a device that has it: /dev/pmem and the like. On others the mount is refused.
	mounted_turns exact-ext4-dax 2 fresh dax mkfs.ext4 -q -b 4096
	mounted_turns exact-btrfs-zstd 1 fresh compress-force=zstd mkfs.btrfs -q
	mounted_turns exact-xfs-1k 2 fresh defaults mkfs.xfs -q -b size=1024
	mounted_turns exact-f2fs 2 fresh defaults mkfs.f2fs -q
	mounted_turns exact-tmpfs-huge 2 huge
	mounted_turns exact-overlay 1 overlay
fi

shares=$(awk '{ n += $2 } END { print n + 0 }' "$turns")
while read -r case_name share dir consent; do
	export PAGEWELL_FS="$consent"
	[ -n "$consent" ] || unset PAGEWELL_FS
	some=$((steps * share / shares))
	if [ -n "$each" ]; then
		some=$each
		[ "$share" != 1 ] || some=$((each / 5))
	fi
	run "$case_name" "$dir" --steps "$some"
done <"$turns"
unset PAGEWELL_FS

# packed_case NAME PROGRAM: the program makes the image
packed_case() {
	wanted "$1" || return 0
	if packed "$1" "$2"; then
		run "$1" "$at" --read-only --steps $((${each:-steps} / 50))
	else
		skip "$1" "$why"
	fi
}

packed_case exact-squashfs mksquashfs
packed_case exact-erofs mkfs.erofs

# free_case NAME DIRECTORY
free_case() {
	if ! consent_for "$2" || [ -n "$consent" ]; then
		skip "$1" "$type is not served by default"
		return
	fi
	run "$1" "$2" --free "$free"
	run "$1-one-way" "$2" --free "$free" --one-way
}

# free_mounted NAME FUNCTION ARG...: on what the function mounts
free_mounted() {
	case_name=$1 function=$2
	shift 2
	wanted "$case_name" || return 0
	if "$function" "$case_name" "$@"; then
		free_case "$case_name" "$at"
	else
		skip "$case_name" "$why"
	fi
}

if [ "$free" != 0 ]; then
	free_case free-here "$tmp/here"
	[ -z "$shm" ] || free_case free-tmpfs "$shm"
	if [ "${EXACT_ALL:-}" = 1 ]; then
		free_mounted free-ext4-1k fresh defaults mkfs.ext4 -q -b 1024
		free_mounted free-btrfs fresh defaults mkfs.btrfs -q
		free_mounted free-btrfs-zstd fresh compress-force=zstd mkfs.btrfs -q
	fi
fi
exit "$status"
