#!/bin/sh
# A file that becomes shorter, or other, in each way that there is, under a reader that is
# served from memory: by a program that has the library, one that hasn't, a static one, and
# another user's. When whoever did it has returned, each answer is the kernel's.
set -eu
# shellcheck source=tests/torture/_look.sh disable=SC1091
. "$(dirname "$0")/_look.sh"

bytes=300000

# do_it WHO WAY BYTES: in the directory of the file, by name, because another user may not
# come there by its path
do_it() {
	who=$1
	shift
	case $who in
	preloaded) LD_PRELOAD=$PAGEWELL_LIB ./shorten "$1" file "$2" ;;
	plain) ./shorten "$1" file "$2" ;;
	static) ./static_shorten "$1" file "$2" ;;
	user) setpriv --reuid 65534 --regid 65534 --clear-groups ./shorten "$1" file "$2" ;;
	esac
}

# ways_of NAME DIRECTORY: a case for each way
ways_of() {
	name=$1
	users="preloaded plain static"
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		users="$users user"
	else
		echo "skip shorter-$name-user - needs root and setpriv"
	fi
	cd "$2"
	cp "$programs/shorten" "$programs/static_shorten" .
	umask 0 # what one user makes the other is to write
	chmod 777 .
	touch file file.other
	./shorten fill file $bytes
	./shorten fill file.other 150000
	look_at file
	for way in o-trunc truncate ftruncate collapse rotate clone clone-range; do
		why=
		able=1
		for who in $users; do
			for to in 100000 4097 $((bytes - 1)); do
				wants warm warm "$who $to before, "
				code=0
				do_it "$who" $way "$to" 2>"$tmp/said" || code=$?
				[ "$code" != 3 ] || able=
				[ "$code" = 0 ] || break
				wants same 'same 0' "$who $to, "
				wants same 'same 0' "$who $to again, "
				./shorten fill file $bytes
				wants same 'same 0' "$who $to filled, "
			done
			[ "$code" = 0 ] || [ "$code" = 3 ] ||
				why="$who: status $code: $(cat "$tmp/said")"
			if [ -n "$why" ] || [ -z "$able" ]; then
				break
			fi
		done
		if [ -n "$able" ]; then
			verdict "shorter-$name-$way"
		else
			echo "skip shorter-$name-$way - the file system can't"
		fi
	done
	why=
	look_away || why="status $code"
	verdict "shorter-$name-reader"
	cd "$here"
}

# mounted_ways NAME CONSENT MKFS ARG...
mounted_ways() {
	name=$1 consent=$2
	shift 2
	# shellcheck disable=SC2154 # at and why are set by _mounts.sh
	if fresh "$name" defaults "$@"; then
		[ -z "$consent" ] || export PAGEWELL_FS="$consent"
		ways_of "$name" "$at"
		unset PAGEWELL_FS
	else
		echo "skip shorter-$name - $why"
	fi
}

ways_of tmpfs "$shm"
mounted_ways ext4 '' mkfs.ext4 -q
mounted_ways btrfs '' mkfs.btrfs -q
mounted_ways xfs +xfs mkfs.xfs -q
exit "$status"
