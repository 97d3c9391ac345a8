#!/bin/sh
# A medium that ends early: an image that is cut off under the loop device over it, under a
# reader whose window reaches over pages that can't be brought in any more. The caller gets the
# kernel's own answers, EIO among them.
set -eu
# shellcheck source=tests/torture/_look.sh disable=SC1091
. "$(dirname "$0")/_look.sh"

bytes=400000

# no_zeros FILE
no_zeros() {
	head -c $bytes /dev/urandom | tr '\000' '\001' >"$1"
}

# cut_off NAME OPTIONS LEFT: mounts $image, which holds a file of that name; only its
# beginning has been read when the image is cut to so many bytes
cut_off() {
	name=$1 left=$3
	why=
	# shellcheck disable=SC2154 # at is set by _mounts.sh
	if ! mount_at "$name" -o "loop,$2" "$image"; then
		echo "skip media-$name - $why"
		return
	fi
	look_at "$at/file"
	wants 'warm 65536' warm
	truncate -s "$left" "$image"
	# What readahead brought in and nobody has mapped goes; what the reader has stays.
	dd if="$at/file" iflag=nocache count=0 status=none
	wants walk 'same [1-9]*'
	wants same 'same [1-9]*'
	wants 'warm 65536' warm
	wants walk 'same [1-9]*'
	look_away || why="${why:+$why; }status $code"
	verdict "media-$name"
}

# written NAME OPTIONS MKFS ARG...: a file system that is made, filled and mounted again
written() {
	name=$1 options=$2
	shift 2
	if ! fresh "$name" defaults "$@"; then
		echo "skip media-$name - $why"
		return
	fi
	no_zeros "$at/file"
	umount "$at"
	mounted=${mounted#* }
	cut_off "$name" "$options" 1M
}

# packed_whole NAME PROGRAM
packed_whole() {
	! why_not "$2" || {
		echo "skip media-$1 - $why"
		return
	}
	mkdir -p "$tmp/packed"
	no_zeros "$tmp/packed/file"
	case $2 in
	mksquashfs) make_image "$1" mksquashfs "$tmp/packed" "$tmp/$1.img" -no-progress ;;
	mkfs.erofs) make_image "$1" mkfs.erofs -zlz4 "$tmp/$1.img" "$tmp/packed" ;;
	esac && cut_off "$1" ro "$(($(stat -c %s "$image") / 2))"
}

written ext4 ro mkfs.ext4 -q
written btrfs ro mkfs.btrfs -q
packed_whole squashfs mksquashfs
packed_whole erofs mkfs.erofs
exit "$status"
