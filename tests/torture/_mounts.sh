# For scripts to read in: file systems of their own, most of them on a sparse image in $tmp,
# mounted in a mount namespace that ends with the script. Each function sets $at to the
# directory, or $why to the reason and returns 1.
# shellcheck shell=sh disable=SC2154 # tmp is the script's

mounted=

# why_not [PROGRAM]: sets $why if nothing can be mounted here, or the program is missing.
why_not() {
	why=
	if [ "$(id -u)" != 0 ]; then
		why="needs root to mount"
	elif [ "${EXACT_NAMESPACE:-}" != 1 ]; then
		why="needs a private mount namespace"
	elif [ ! -e /dev/loop-control ]; then
		why="needs loop devices"
	elif [ $# -gt 0 ] && ! command -v "$1" >/dev/null; then
		why="needs $1"
	fi
	[ -n "$why" ]
}

# mount_at NAME ARG...: mount ARG... $tmp/NAME
mount_at() {
	at=$tmp/$1
	shift
	mkdir -p "$at"
	if mount "$@" "$at" 2>"$tmp/said"; then
		mounted="$at $mounted"
	else
		why="can't mount: $(tr '\n' ' ' <"$tmp/said")"
		return 1
	fi
}

# make_image NAME PROGRAM ARG...: runs the program, which makes $tmp/NAME.img.
make_image() {
	image=$tmp/$1.img
	shift
	if ! "$@" >"$tmp/said" 2>&1; then
		why="$1 failed: $(tail -n 1 "$tmp/said")"
		return 1
	fi
}

# fresh NAME OPTIONS MKFS ARG...: an empty file system, by MKFS ARG... IMAGE
fresh() {
	name=$1 options=$2
	shift 2
	! why_not "$1" || return 1
	truncate -s 512M "$tmp/$name.img"
	make_image "$name" "$@" "$tmp/$name.img" &&
		mount_at "$name" -o "loop,$options" "$image"
}

# packed NAME PROGRAM: a read-only file system with files f0 to f5: incompressible, text,
# with a hole, short, of odd length, ending in zeros
packed() {
	! why_not "$2" || return 1
	files=$tmp/packed
	if [ ! -d "$files" ]; then
		mkdir "$files"
		seq 1 400000 | gzip -n9 >"$files/f0"
		seq 1 100000 >"$files/f1"
		truncate -s 300000 "$files/f2"
		seq 1 20000 | dd of="$files/f2" bs=1000 seek=100 conv=notrunc status=none
		seq 1 30 >"$files/f3"
		head -c 70001 "$files/f0" >"$files/f4"
		head -c 131072 "$files/f0" >"$files/f5"
		head -c 5000 /dev/zero >>"$files/f5"
	fi
	case $2 in
	mksquashfs) make_image "$1" mksquashfs "$files" "$tmp/$1.img" -no-progress ;;
	mkfs.erofs) make_image "$1" mkfs.erofs -zlz4 "$tmp/$1.img" "$files" ;;
	esac && mount_at "$1" -o loop,ro "$image"
}

# overlay NAME: one whose layers lie in $tmp
overlay() {
	! why_not || return 1
	mkdir -p "$tmp/lower" "$tmp/upper" "$tmp/work"
	mount_at "$1" -t overlay -o \
		"lowerdir=$tmp/lower,upperdir=$tmp/upper,workdir=$tmp/work" overlay
}

# bound NAME: what lies in another directory
bound() {
	! why_not || return 1
	mkdir "$tmp/$1.from"
	mount_at "$1" --bind "$tmp/$1.from"
}

# idmapped NAME: the same, where root's files are another user's
idmapped() {
	! why_not || return 1
	at=$tmp/$1
	mkdir "$tmp/$1.from" "$at"
	chmod 777 "$tmp/$1.from"
	if "$PAGEWELL_TESTS/torture/idmap" "$tmp/$1.from" "$at" 2>"$tmp/said"; then
		mounted="$at $mounted"
	else
		why="can't mount: $(tr '\n' ' ' <"$tmp/said")"
		return 1
	fi
}

# huge NAME: a tmpfs with huge pages
huge() {
	! why_not || return 1
	mount_at "$1" -t tmpfs -o huge=always tmpfs
}

unmount_all() {
	for at in $mounted; do
		umount "$at" || umount -l "$at" || true
	done
	mounted=
}
