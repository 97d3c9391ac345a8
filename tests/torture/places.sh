#!/bin/sh
# What only some file systems have, under a reader that is led by the hand: holes in tmpfs and
# memfds, which are left alone, for a read through a mapping would allocate what it finds
# missing; and a copy-up in an overlay while the file is open there, which by default nothing
# comes between, and of which README says what is seen by consent.
set -eu
# shellcheck source=tests/torture/_look.sh disable=SC1091
. "$(dirname "$0")/_look.sh"

# left_alone NAME FILE: not served, and no block more than before is allocated
left_alone() {
	why=
	look_at "$2"
	ask blocks
	blocks=$answer
	wants warm cold
	wants walk 'same 0'
	wants same 'same 0'
	wants blocks "$blocks"
	look_away || why="${why:+$why; }status $code"
	verdict "$1"
}

seq 1 10000 >"$shm/sparse"
truncate -s 1000000 "$shm/sparse"
truncate -s 1000000 "$shm/empty"
left_alone places-tmpfs-sparse "$shm/sparse"
left_alone places-tmpfs-only-hole "$shm/empty"
left_alone places-memfd memfd:300000:0
left_alone places-memfd-sparse memfd:300000:100000

# A hole that is made under a reader: it is zeros to all, as the kernel has it.
why=
seq 1 100000 >"$shm/punched"
look_at "$shm/punched"
wants warm warm
fallocate -p -o 100000 -l 200000 "$shm/punched"
wants same 'same 0'
wants walk 'same 0'
look_away || why="${why:+$why; }status $code"
verdict places-tmpfs-punched

# lower_file NAME: mounts the overlay, over a lower file of that name
lower_file() {
	mkdir -p "$tmp/lower"
	seq 1 100000 >"$tmp/lower/$1"
	overlay "$1"
}

# change FILE: copies it up, and changes what is up
change() {
	echo 'copied up' | dd of="$1" conv=notrunc status=none
}

if lower_file copy-up; then
	# Nothing is between the program and its answers.
	why=
	# shellcheck disable=SC2154 # at is set by _mounts.sh
	look_at "$at/copy-up"
	wants warm cold
	change "$at/copy-up"
	wants 'head 9' 'copied up'
	wants same 'same 0'
	look_away || why="${why:+$why; }status $code"
	verdict places-overlay-left
else
	echo "skip places-overlay-left - $why"
fi
unmount_all
rm -rf "$tmp/upper" "$tmp/work" "$tmp/lower"
if lower_file consent; then
	why=
	PAGEWELL_FS=+overlay look_at "$at/consent"
	wants warm warm
	change "$at/consent"
	# A mapping made before stays with the file that is below (cache/README.md): what was
	# there, or what is; never anything else.
	ask 'head 9'
	case $answer in
	'1|2|3|4|5' | 'copied up') echo "opened before the copy-up, sees $answer" >&2 ;;
	*) why="head: $answer" ;;
	esac
	wants reopen opened
	wants 'head 9' 'copied up'
	wants 'warm' warm
	wants same 'same 0'
	look_away || why="${why:+$why; }status $code"
	verdict places-overlay-copy-up
fi
exit "$status"
