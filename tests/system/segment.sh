#!/bin/bash
# Segment files that are not ours, or damaged, or cannot be made: the program runs on with
# the right output and is served all the same, the file stays as it was, and the reason is
# one line in PAGEWELL_LOG, or nowhere.
# shellcheck source=tests/system/_probe.sh
. "$(dirname "$0")/_probe.sh"

data=$place/data
data "$data" 300000
log=$work/log
mkdir "$work/cwd"
cd "$work/cwd"

# The layout of the head (cache/layout.h), as byte offsets of 32-bit words.
# shellcheck disable=SC2034 # used by name
ABI=8 BYTES=12 WORDS_AT=16 WORDS=20 FILES_AT=24 FILES=28 SLOTS_AT=32 SLOTS=36 COSTS=40

# peek FILE OFFSET, poke FILE OFFSET VALUE: a 32-bit word
peek() {
	od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '
}
poke() {
	local v=$3 bytes
	# The bytes are the format, in octal.
	bytes=$(printf '\\%03o\\%03o\\%03o\\%03o' $((v & 255)) $((v >> 8 & 255)) \
		$((v >> 16 & 255)) $((v >> 24 & 255)))
	# shellcheck disable=SC2059
	printf "$bytes" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# All that can be seen of a file but the time of the last access.
look_at() {
	if [ ! -e "$1" ] && [ ! -L "$1" ]; then
		echo "$1 is not there"
		return
	fi
	stat -c '%n %F %a %u %g %h %s %b %i %y %z' "$1"
	if [ -L "$1" ]; then
		readlink "$1"
		look_at "$(readlink "$1")"
	elif [ -f "$1" ]; then
		sha256sum <"$1"
	elif [ -d "$1" ]; then
		ls -la "$1"
	fi
}

# everything: what lies in the folders that a run could leave something in
everything() {
	(cd "$shm" && find . -exec stat -c '%n %i %s' {} +) | sort
	ls -A .
}

# want_logged REASON: exactly one line in the log, with the reason and the path in it
want_logged() {
	local lines=
	[ ! -f "$log" ] || lines=$(cat "$log")
	want 'lines in the log' 1 "$(printf %s "$lines" | grep -c '')"
	case $lines in
	*"$1"*"$PAGEWELL_SEGMENT"* | *"$PAGEWELL_SEGMENT"*"$1"*) ;;
	*) why="$why${why:+; }logged: $lines" ;;
	esac
}

# runs_without NAME REASON: the segment in place is refused for that reason
runs_without() {
	local name=$1 reason=$2 before all
	why=
	rm -f "$log"
	before=$(look_at "$PAGEWELL_SEGMENT")
	read_it "$data" PAGEWELL_LOG="$log"
	want_right "$data"
	want_served
	want_logged "$reason"
	want 'the file' "$before" "$(look_at "$PAGEWELL_SEGMENT")"

	all=$(everything)
	read_it "$data"
	want_right "$data"
	want_served
	want 'what lies around without a log' "$all" "$(everything)"
	want 'the file without a log' "$before" "$(look_at "$PAGEWELL_SEGMENT")"
	verdict "$name" "$why"
}

# refused NAME REASON [REASON]: the same; and `pagewell stat`, which only opens for reading,
# refuses it too, for this or the other reason
refused() {
	local name=$1 reason=${3:-$2} before
	runs_without "$1" "$2"

	why=
	before=$(look_at "$PAGEWELL_SEGMENT")
	status=0
	"$bin" stat >"$work/out" 2>"$work/err" || status=$?
	want status 1 "$status"
	want stdout '' "$(cat "$work/out")"
	want 'lines on stderr' 1 "$(grep -c '' "$work/err")"
	grep -qF -- "$reason" "$work/err" || why="$why${why:+; }said: $(cat "$work/err")"
	want 'the file' "$before" "$(look_at "$PAGEWELL_SEGMENT")"
	verdict "$name: stat" "$why"
	rm -rf "$PAGEWELL_SEGMENT"
}

# served_with NAME [VARIABLE=VALUE]...: the segment in place is accepted
read_with() {
	rm -f "$log"
	read_it "$data" PAGEWELL_LOG="$log" "$@"
	want_right "$data"
	[ ! -e "$log" ] || why="$why${why:+; }logged: $(cat "$log")"
}
right_with() {
	local name=$1
	shift
	why=
	read_with "$@"
	verdict "$name" "$why"
}
served_with() {
	local name=$1
	shift
	why=
	read_with "$@"
	want_served
	verdict "$name" "$why"
}

# ---- a good one ------------------------------------------------------------------------

served_with 'made where there is none'
good=$work/good
cp "$seg" "$good"
size=$(stat -c %s "$seg")

why=
want 'kind, mode, links' 'regular file 600 1' "$(stat -c '%F %a %h' "$seg")"
want 'size as its head says' "$size" "$(peek "$seg" $BYTES)"
[ $(($(stat -c '%b * %B' "$seg"))) -ge "$size" ] || why="$why${why:+; }it has holes"
verdict 'it is whole' "$why"

before=$(stat -c %i "$seg")
served_with 'found by the next process'
why=
want inode "$before" "$(stat -c %i "$seg")"
verdict 'which does not make another' "$why"

rm "$seg"
why=
status=0
: >"$work/report"
(
	umask 0777
	LD_PRELOAD=$lib PAGEWELL_REPORT=$work/report exec "$probe" "$data"
) </dev/null >"$work/out" 2>"$work/err" || status=$?
hits=$(count "$work/report" hits)
want_right "$data"
want_served
want mode 600 "$(stat -c %a "$seg")"
verdict 'made under any umask' "$why"

why=
for round in 1 2; do
	rm -f "$seg" "$log"
	pids=
	for i in 1 2 3 4 5 6; do
		PAGEWELL_LOG=$log PAGEWELL_REPORT=$work/report.$i LD_PRELOAD=$lib \
			"$probe" "$data" >"$work/out.$i" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || why="$why${why:+; }status $?"
	done
	mapped=0
	for i in 1 2 3 4 5 6; do
		cmp -s "$data" "$work/out.$i" || why="$why${why:+; }wrong output of $i"
		hits=$(count "$work/report.$i" hits)
		want_served
		mapped=$((mapped + $(count "$work/report.$i" mapped)))
	done
	[ ! -e "$log" ] || why="$why${why:+; }logged: $(cat "$log")"
	want "what was made in round $round" ./segment \
		"$(cd "$shm" && find . -type f ! -name data)"
	# Who was not the first uses the first one's.
	want "windows counted in round $round" "$mapped" \
		"$("$bin" stat | awk '$1 == "past" { print $(NF - 1) }')"
done
verdict 'six processes at once make one' "$why"
rm -f "$seg" "$work"/out.? "$work"/report.?

# ---- not ours --------------------------------------------------------------------------

# put FILE: a private copy of FILE as the segment, without holes
put() {
	rm -f "$seg"
	(umask 077 && cat "$1" >"$seg")
}

: >"$work/empty"
head -c "$size" /dev/urandom >"$work/random"
head -c $((size / 2)) "$good" >"$work/half"
cat "$good" "$work/empty" <(head -c 4096 /dev/zero) >"$work/long"

put "$work/random"
refused 'random bytes' 'not a pagewell segment'
put "$work/half"
refused 'too short' 'wrong size'
put "$work/long"
refused 'too long' 'wrong size'
put "$work/empty"
refused 'empty' 'wrong size'

put "$good"
poke "$seg" 0 0x12345678
refused 'magic changed' 'not a pagewell segment'
put "$good"
poke "$seg" $ABI $(($(peek "$good" $ABI) + 1))
refused 'another version' 'another version'

for word in BYTES WORDS_AT WORDS FILES_AT FILES SLOTS_AT SLOTS; do
	put "$good"
	poke "$seg" "${!word}" $(($(peek "$good" "${!word}") + 64))
	refused "$word of the head a little off" 'wild offsets'
	put "$good"
	poke "$seg" "${!word}" 0xffffffff
	refused "$word of the head far off" 'wild offsets'
done

put "$good"
chmod 644 "$seg"
refused 'mode 644' 'mode is not 0600'
put "$good"
chmod 400 "$seg"
if [ "$(id -u)" = 0 ]; then
	refused 'mode 400' 'mode is not 0600'
else
	refused 'mode 400' 'cannot be opened' 'mode is not 0600'
fi

put "$good"
mv "$seg" "$shm/real"
ln -s "$shm/real" "$seg"
refused 'symbolic link' 'symbolic link'
ln -s "$shm/nothing" "$seg"
refused 'dangling symbolic link' 'symbolic link'
rm "$shm/real"

put "$good"
ln "$seg" "$shm/other"
refused 'second name' 'other names'
rm "$shm/other"

mkfifo -m 600 "$seg"
refused 'FIFO' 'not a regular file'
mkdir -m 700 "$seg"
refused 'directory' 'cannot be opened' 'not a regular file'

(umask 077 && truncate -s "$size" "$seg")
dd if="$good" of="$seg" bs=4096 count=1 conv=notrunc status=none
refused 'sparse' 'has holes'

disk=
for dir in "$work" /var/tmp "$root/build"; do
	case $(stat -f -c %T "$dir" 2>/dev/null || :) in
	tmpfs | '') ;;
	*)
		disk=$dir/pagewell-test.$$
		break
		;;
	esac
done
if [ -n "$disk" ]; then
	PAGEWELL_SEGMENT=$disk
	(umask 077 && cp "$good" "$disk")
	refused 'not on tmpfs' 'not on tmpfs'
	runs_without 'not made elsewhere than on tmpfs' 'segment not made'
	rm -f "$disk"
	PAGEWELL_SEGMENT=$seg
else
	echo 'skip not on tmpfs - no other file system here that may be written'
fi

PAGEWELL_SEGMENT=$shm/missing/segment
runs_without 'folder is missing' 'segment not made'
PAGEWELL_SEGMENT=$data/segment
runs_without 'folder is a file' 'segment cannot be opened'
PAGEWELL_SEGMENT=$seg

if [ "$(id -u)" = 0 ]; then
	put "$good"
	chown nobody "$seg"
	refused 'owned by another' 'owned by another user'
else
	echo 'skip owned by another - only root can give files away'
fi

# ---- no room, no right -----------------------------------------------------------------

# In a mount namespace of its own, so that nothing stays mounted.
if unshare -m sh -c "mount -t tmpfs -o size=64k none '$shm'" 2>/dev/null; then
	why=
	cp "$data" "$work/copy"
	rm -f "$log" "$work/report"
	status=0
	# shellcheck disable=SC2016
	PROBE=$probe LIB=$lib DATA=$work/copy LOG=$log REPORT=$work/report SHM=$shm \
		unshare -m sh -c '
		mount -t tmpfs -o size=64k none "$SHM" || exit 9
		LD_PRELOAD=$LIB PAGEWELL_LOG=$LOG PAGEWELL_REPORT=$REPORT "$PROBE" "$DATA"
		status=$?
		[ -z "$(ls -A "$SHM")" ] || status=8
		exit $status' >"$work/out" 2>"$work/err" || status=$?
	hits=$(count "$work/report" hits)
	want_right "$data"
	[ "$place" = "$shm" ] || want_served # else the copy is where nothing is served
	want_logged 'segment not made'
	verdict 'tmpfs is full' "$why"
else
	echo 'skip tmpfs is full - mounting is not allowed here'
fi

# A folder that others may enter.
public=$(mktemp -d /tmp/pagewell-test.XXXXXX)
trap 'rm -rf "$public"; cleanup' EXIT
chmod 755 "$public" "$shm"
cp "$lib" "$public/lib.so"
cp "$probe" "$public/probe"
cp "$data" "$shm/public"
chmod 644 "$shm/public" "$public/lib.so"
as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
if [ "$(id -u)" = 0 ] && "${as_nobody[@]}" "$public/probe" "$shm/public" >/dev/null 2>&1; then
	mkdir -m 777 "$public/out"
	# by_nobody NAME REASON: the same for a user that the folder does not belong to
	by_nobody() {
		why=
		rm -f "$public"/out/*
		log=$public/out/log
		local before
		before=$(everything)
		status=0
		env LD_PRELOAD="$public/lib.so" PAGEWELL_LOG="$log" \
			PAGEWELL_REPORT="$public/out/report" "${as_nobody[@]}" \
			"$public/probe" "$shm/public" >"$work/out" 2>"$work/err" || status=$?
		hits=$(count "$public/out/report" hits)
		want_right "$data"
		want_served
		want_logged "$2"
		want 'what lies around' "$before" "$(everything)"
		verdict "$1" "$why"
	}
	rm -f "$seg"
	by_nobody 'folder may not be written' 'segment not made'
	put "$good"
	by_nobody 'file of another user, unreadable' 'segment cannot be opened'
	chmod 666 "$seg"
	by_nobody 'file of another user, open to all' 'owned by another user'
	rm -f "$seg"
	log=$work/log
else
	echo 'skip another user - needs root, setpriv, and a /tmp that programs may run from'
fi
rm -rf "$public" "$shm/public"

why=
status=0
rm -f "$work/report" "$seg"
(
	ulimit -S -f 1
	LD_PRELOAD=$lib PAGEWELL_REPORT=$work/report exec "$probe" "$data" 2>&1
) </dev/null | cmp - "$data" >"$work/err" 2>&1 || status=$?
status=${PIPESTATUS[0]}
hits=$(count "$work/report" hits)
want status 0 "$status"
want 'compared' '' "$(cat "$work/err")"
want hits 0 "$hits" # nor can the kernel be tried out, and so there is no window
[ ! -e "$seg" ] || why="$why${why:+; }a segment was made"
verdict 'file size limit: nothing made, nobody killed' "$why"

# ---- good outside, damaged inside ------------------------------------------------------

# stat_is_clean: whatever the segment holds, stat shows printable text and valid JSON
stat_is_clean() {
	why=
	"$bin" stat >"$work/out" 2>"$work/err" || why="stat: status $?: $(cat "$work/err")"
	! grep -q '[^ -~]' "$work/out" || why="$why${why:+; }unprintable bytes"
	"$bin" stat --json >"$work/out" 2>"$work/err" || why="$why${why:+; }--json: status $?"
	! grep -q '[^ -~]' "$work/out" || why="$why${why:+; }unprintable bytes in JSON"
	python3 -m json.tool <"$work/out" >/dev/null 2>"$work/err" ||
		why="$why${why:+; }not JSON: $(cat "$work/err")"
	verdict "$1: stat" "$why"
}

head -c 4096 "$good" >"$work/head"
head -c $((size - 4096)) /dev/urandom | cat "$work/head" - >"$work/damaged"
put "$work/damaged"
stat_is_clean 'random words, files and slots'
served_with 'random words, files and slots'
served_with 'random words, files and slots: small bound' PAGEWELL_SIZE=256K

head -c $((size - 4096)) /dev/zero | tr '\000' '\377' | cat "$work/head" - >"$work/damaged"
put "$work/damaged"
for i in 0 4 8; do
	poke "$seg" $((COSTS + i)) 0xffffffff
done
stat_is_clean 'all bits set'
served_with 'all bits set'

put "$good"
for i in 0 4 8; do
	poke "$seg" $((COSTS + i)) 1
done
# Calls that cost next to nothing: where pages are dear to touch, nothing is worth mapping.
right_with 'costs of 1 ns'

# Every word that was up to date is locked instead: their owners died.
why=
put "$good"
locked=$(python3 - "$seg" "$(peek "$seg" $WORDS_AT)" "$(peek "$seg" $WORDS)" <<'END'
import struct, sys
path, at, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, 'r+b') as f:
    f.seek(at)
    words = struct.unpack(f'<{n}I', f.read(4 * n))
    f.seek(at)
    f.write(struct.pack(f'<{n}I', *(w & ~7 | 1 if w & 2 else w for w in words)))
    print(sum(w & 2 != 0 for w in words))
END
)
[ "$locked" -gt 0 ] || why='no word was up to date'
rm -f "$log"
read_it "$data" PAGEWELL_LOG="$log"
want_right "$data"
want_served
[ "$(count "$work/report" waits)" -gt 0 ] || why="$why${why:+; }nobody waited"
[ "$(count "$work/report" timeouts)" -gt 0 ] || why="$why${why:+; }no wait ended at its deadline"
verdict 'words locked by the dead' "$why"

# ---- changed under a process that is attached ------------------------------------------

# meanwhile NAME COMMAND...: COMMAND happens while a reader holds the segment mapped
meanwhile() {
	local name=$1
	shift
	why=
	rm -f "$seg" "$log" "$work/report"
	hold "$data" env LD_PRELOAD="$lib" PAGEWELL_LOG="$log" \
		PAGEWELL_REPORT="$work/report" "$probe"
	# By inode: what was linked after it was opened has no name there.
	awk -v inode="$(stat -c %i "$seg")" '$5 == inode { found = 1 } END { exit !found }' \
		"/proc/$held/maps" || why="$why${why:+; }no segment was mapped"
	"$@"
	release
	hits=$(count "$work/report" hits)
	want_right "$data"
	want_served
	verdict "$name" "$why"
}

# stat looks at one that is cut and made whole, over and over, at no matter what moment.
why=
put "$good"
status=0
(
	while :; do
		truncate -s 4096 "$seg"
		put "$good"
	done
) 2>/dev/null &
held=$!
for i in $(seq 40); do
	status=0
	"$bin" stat >"$work/out" 2>"$work/err" || status=$?
	case $status in
	0) want stderr '' "$(cat "$work/err")" ;;
	1) want 'lines on stderr' 1 "$(wc -l <"$work/err")" ;;
	*) why="$why${why:+; }status $status" ;;
	esac
done
kill "$held"
wait "$held" || :
held=
verdict 'cut while stat reads it' "$why"

meanwhile 'removed while in use' rm "$seg"
meanwhile 'cut to nothing while in use' truncate -s 0 "$seg"
meanwhile 'cut in the middle while in use' truncate -s 8192 "$seg"
meanwhile 'overwritten by random bytes while in use' \
	dd if="$work/random" of="$seg" conv=notrunc status=none

exit "$failed"
