#!/bin/sh
# The ends of files. SEEK_SET and SEEK_CUR make no system call, whoever holds the size lock;
# SEEK_END makes none where the end can't move, and one elsewhere; and what it answers while a
# hundred processes append is a size that the file had meanwhile.
set -eu
# shellcheck source=tests/torture/_look.sh disable=SC1091
. "$(dirname "$0")/_look.sh"

ends=$programs/ends
count=2000

# calls WHICH: how many calls $tmp/log has between the marks
calls() {
	awk -v from="\"begin $1\"" -v to="\"end $1\"" '
		index($0, to) { on = 0; ends++ }
		on { n++ }
		index($0, from) { on = 1 }
		END { print ends == 1 ? n + 0 : "no end" }' "$tmp/log"
}

# in_calls WHICH LEAST MOST
in_calls() {
	n=$(calls "$1")
	case $n in
	*[!0-9]*) why="${why:+$why; }$1: $n" ;;
	*) [ "$n" -ge "$2" ] && [ "$n" -le "$3" ] || why="${why:+$why; }$1: $n calls" ;;
	esac
}

# marked NAME FILE LEAST MOST: COUNT of each kind of seek in FILE, with so many calls for those
# to its end
marked() {
	why=
	strace -o "$tmp/log" -E "LD_PRELOAD=$PAGEWELL_LIB" "$ends" marks "$2" "$count" \
		2>"$tmp/said" || why="status $?: $(tail -n 1 "$tmp/said")"
	in_calls set 0 0
	in_calls cur 0 0
	in_calls end "$3" "$4"
	verdict "$1"
}

# fixed NAME PROGRAM
fixed() {
	# shellcheck disable=SC2154 # at and why are set by _mounts.sh
	if packed "$1" "$2"; then
		marked "ends-$1" "$at/f1" 0 0
	else
		echo "skip ends-$1 - $why"
	fi
}

# held NAME DIRECTORY: the same while the size lock is held by a process that appends
held() {
	"$ends" lock "$2" <"$tmp/to" >"$tmp/from" &
	holder=$!
	exec 3>"$tmp/to" 4<"$tmp/from"
	read -r answer <&4 || answer=
	# One more call for who gets the lock all the same, because its holder got no turn for so
	# long that it passed for dead.
	marked "$1" "$2/file" "$count" $((2 * count - 1))
	why=
	[ "$answer" = held ] || why="not held"
	exec 3>&- 4<&-
	wait "$holder" || why="${why:+$why; }the holder ended with $?"
	verdict "$1-by-another"
}

mkdir "$tmp/here"
for dir in "$tmp/here" "$shm"; do
	seq 1 50000 >"$dir/file"
	case $dir in
	"$shm") name=tmpfs ;;
	*) name=here ;;
	esac
	if ! strace -o "$tmp/log" true 2>"$tmp/said"; then
		echo "skip ends-$name-calls - no strace: $(head -n 1 "$tmp/said")"
	else
		marked "ends-$name-calls" "$dir/file" "$count" "$count"
		held "ends-$name-locked" "$dir"
	fi
	why=$("$ends" append "$dir" 2)
	[ "$why" != ok ] || why=
	verdict "ends-$name-appended"
done
if strace -o "$tmp/log" true 2>/dev/null; then
	fixed squashfs mksquashfs
	fixed erofs mkfs.erofs
fi
exit "$status"
