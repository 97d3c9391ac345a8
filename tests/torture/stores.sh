#!/bin/sh
# PAGEWELL_WRITE=map: is each byte that the library stores where a write would have put it? In
# turns with a plain process that looks, and changes the file (stores.c); and after the writer
# was killed (stores_kill.c), in a crowd of other writers (stores_crowd.c), after fsync and a power
# cut (stores_sync.c), and where no room is left. A case for each file system: that of $TMPDIR if it takes stores,
# tmpfs, and ext4 with two sizes of blocks, mounted where this may be done.
#
# STORES_STEPS	writes, reads, seeks of the library on each file system (20000)
# STORES_ROUNDS	writers killed on each of two (50)
# STORES_CROWD	writes of each of a crowd (50000)
# STORES_SEED	of all random choices in the first case; the next has one more (1)
# STORES_ONLY	a shell pattern: the cases to run
# STORES_NOLIB	1: without a library, to test the tester
set -eu

# shellcheck source=tests/torture/_alone.sh disable=SC1091
. "$(dirname "$0")/_alone.sh"

steps=${STORES_STEPS:-20000}
rounds=${STORES_ROUNDS:-50}
crowd=${STORES_CROWD:-50000}
seed=${STORES_SEED:-1}
only=${STORES_ONLY:-}

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

crowded() {
	judge "stores-crowd-$1" "$programs/stores_crowd" "stores-crowd-$1" "$2/crowd" "$crowd"
}

# verdict NAME WHY
verdict() {
	if [ -n "$2" ]; then
		echo "not ok $1 - $2"
		status=1
	else
		echo "ok $1"
	fi
}

# The power fails each time that the writer has been told that all is on the disk.
# shellcheck disable=SC2154 # at, image and why are set by _mounts.sh
synced() {
	wanted stores-synced || return 0
	if ! fresh synced defaults mkfs.ext4 -q; then
		skip stores-synced "$why"
		return
	fi
	disk=$image wrong=
	LD_PRELOAD=$PAGEWELL_LIB PAGEWELL_WRITE=map PAGEWELL_REPORT=$tmp/report \
		"$programs/stores_sync" "$at/file" "$disk" 8 || wrong="the writer failed"
	stores=$(awk '$1 == "stores" { print $2 }' "$tmp/report")
	[ "${stores:-0}" -gt 4000 ] || wrong="${stores:-0} stores"
	for round in 0 1 2 3 4 5 6 7; do
		if mount_at "synced.$round" -o loop "$disk.$round"; then
			cmp "$at/file" "$disk.$round.want" >&2 || wrong="$wrong round $round"
		else
			wrong="$wrong $why"
		fi
	done
	verdict stores-synced "$wrong"
}

# What is said of writes into a file in which a hole was made, on a file system that is full
# then, and when there is room again.
full() {
	wanted stores-full || return 0
	if ! mount_at full -t tmpfs -o size=256k tmpfs; then
		skip stores-full "$why"
		return
	fi
	cat >"$tmp/full.py" <<-'END'
		import errno, os, subprocess, sys
		name = sys.argv[1] + "/file"
		fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
		os.write(fd, b"x" * 131072)
		def put(at):
		    try:
		        return os.pwrite(fd, b"y" * 64, at)
		    except OSError as e:
		        return errno.errorcode[e.errno]
		for at in [32768] * 20000 + [40960] * 20000:
		    put(at)
		subprocess.run(["fallocate", "-p", "-o", "32768", "-l", "16384", name], check=True)
		with open(sys.argv[1] + "/rest", "wb", 0) as rest:
		    try:
		        while rest.write(b"z" * 4096):
		            pass
		    except OSError as e:
		        print(errno.errorcode[e.errno])
		print([put(at) for at in (32768, 40960, 0, 32768)])
		os.unlink(sys.argv[1] + "/rest")
		print([put(at) for at in (32768, 40960, 0) * 1000].count(64))
		print(hash(bytes(os.pread(fd, 200000, 0))))
	END
	PYTHONHASHSEED=0 python3 "$tmp/full.py" "$at" >"$tmp/plain" 2>&1 || :
	LD_PRELOAD=$PAGEWELL_LIB PAGEWELL_WRITE=map PAGEWELL_REPORT=$tmp/full.%p PYTHONHASHSEED=0 \
		python3 "$tmp/full.py" "$at" >"$tmp/with" 2>&1 || :
	wrong=$(diff "$tmp/plain" "$tmp/with" | sed 1d | tr '\n' ' ')
	grep -q '^\[.ENOSPC' "$tmp/plain" || wrong="the file system was not full: $(cat "$tmp/plain")"
	stores=$(cat "$tmp"/full.[0-9]* | awk '$1 == "stores" { n += $2 } END { print n + 0 }')
	[ "$stores" -gt 4000 ] || wrong="$wrong $stores stores"
	verdict stores-full "$wrong"
}

here_dir=$tmp/here
mkdir "$here_dir"
case $(stat -f -c %T "$here_dir") in
ext2/ext3 | tmpfs)
	turns here "$here_dir"
	killed here "$here_dir"
	crowded here "$here_dir"
	;;
*)
	skip stores-here "not stored to"
	skip stores-killed-here "not stored to"
	skip stores-crowd-here "not stored to"
	;;
esac
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
	shm=$(mktemp -d /dev/shm/pagewell-stores.XXXXXX)
	turns tmpfs "$shm"
	killed tmpfs "$shm"
	crowded tmpfs "$shm"
else
	skip stores-tmpfs "/dev/shm is no tmpfs that can be written"
	skip stores-killed-tmpfs "/dev/shm is no tmpfs that can be written"
	skip stores-crowd-tmpfs "/dev/shm is no tmpfs that can be written"
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
synced
if ! why_not; then
	full
else
	skip stores-full "$why"
fi
exit "$status"
