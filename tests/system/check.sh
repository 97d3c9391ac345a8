#!/bin/bash
# pagewell check: a good segment, one damaged in each way, and one that others are using.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

usual check
fails 'an argument' 2 'check: unexpected argument x' check x
fails 'no segment' 2 "$seg: no segment" check
fails 'no segment to repair' 2 "$seg: no segment" check --repair
data=$place/data
data "$data" 300000
fails 'what can'\''t be looked at' 2 "$data/x: Not a directory" check --segment="$data/x"
why=
[ ! -e "$seg" ] || why='it was made'
verdict 'it makes no segment' "$why"
"$bin" run "$probe" "$data" >"$work/out"
good=$work/good
cp "$seg" "$good"

gives 'a good one' 0 "$seg: nothing is wrong" check
gives 'a good one, to be repaired' 0 "$seg: nothing is wrong" check --repair
why=
cmp -s "$seg" "$good" || why='it is another one now'
verdict 'which stays as it was' "$why"

# put FILE: a private copy of FILE as the segment, without holes
put() {
	rm -f "$seg"
	(umask 077 && cat "$1" >"$seg")
}

# poke: what stands in the segment, by python statements: head, words, files and slots are where
# these begin, u32(AT, VALUE) and u64(AT, VALUE) write (cache/layout.h)
cat >"$work/poke.py" <<'END'
import os, struct, sys
f = open(sys.argv[1], 'r+b')
def u32(at, v):
    f.seek(at)
    f.write(struct.pack('<I', v))
def u64(at, v):
    f.seek(at)
    f.write(struct.pack('<Q', v))
def get(at):
    f.seek(at)
    return struct.unpack('<I', f.read(4))[0]
head, words, files, slots = 0, get(16), get(24), get(32)
slot = lambda n: slots + 128 * n
entry = lambda n: files + 64 * n
ns = os.stat('/proc/self/ns/pid').st_ino
exec(sys.argv[2])
END
poke() {
	python3 -I "$work/poke.py" "$seg" "$1"
}

# finds NAME LINE: both ways; the first changes nothing, and after the second all is well
finds() {
	local name=$1 line=$2
	why=
	cp "$seg" "$work/before"
	stat -c '%a %s %b' "$seg" >"$work/before.stat"
	pw check
	want status 1 "$status"
	want stderr '' "$err"
	want stdout "$seg: $things; --repair puts right what can be|  $line" "$(tr '\n' '|' <"$work/out" | sed 's/|$//')"
	cmp -s "$seg" "$work/before" || why="$why${why:+; }plain check changed something"
	want stat "$(cat "$work/before.stat")" "$(stat -c '%a %s %b' "$seg")"
	pw check --repair
	want status 0 "$status"
	want stderr '' "$err"
	want stdout "$seg: $things|  $line: repaired" "$(tr '\n' '|' <"$work/out" | sed 's/|$//')"
	pw check
	want 'status after all' 0 "$status"
	want 'at last' "$seg: nothing is wrong" "$out"
	verdict "$name" "$why"
	put "$good"
	things='1 thing is wrong'
}
things='1 thing is wrong'

# ---- the file and its head -------------------------------------------------------------

chmod 644 "$seg"
finds 'mode 644' 'its mode is not 0600'
chmod 400 "$seg"
finds 'mode 400' 'its mode is not 0600'
truncate -s 100000 "$seg"
finds 'too short' 'it has the wrong size'
echo more >>"$seg"
finds 'too long' 'it has the wrong size'
rm "$seg"
(umask 077 && cp --sparse=always "$good" "$seg")
[ "$(($(stat -c '%b * 512' "$seg")))" -ge "$(stat -c %s "$seg")" ] ||
	finds 'with holes' 'it has holes'
poke 'u64(0, 0)'
finds 'magic' 'it does not say that it is a pagewell segment'
for at in 12 28; do
	python3 -I -c "
import struct
with open('$seg', 'r+b') as f:
    f.seek($at)
    f.write(struct.pack('<I', 0xfffffff0))"
	finds "the head's word at $at" 'sizes and offsets in its head are wrong'
done
for at in 40 44 48; do
	poke "u32($at, 2000000000)"
	finds "cost at $at" "what it says of this machine's costs can't be"
	poke "u32($at, 0)"
	finds "no cost at $at" "what it says of this machine's costs can't be"
done
poke 'u32(56, 1)'
finds 'the kernel' 'what it says of the kernel means nothing'
poke 'u64(64, 2**63); u64(88, 2**64 - 1)'
things='2 things are wrong' finds 'past counts' "2 totals of ended processes that can't be"

# ---- slots -----------------------------------------------------------------------------

sh -c 'echo $$' >"$work/pid"
dead=$(cat "$work/pid")
poke "u32(slot(3), $dead); u64(slot(3) + 8, ns)"
finds 'a slot of the dead' '1 slot of a process that is gone (slot 3)'
poke "u32(slot(3), $dead); u64(slot(3) + 8, 0)"
finds 'a slot just taken by the dead' '1 slot of a process that is gone (slot 3)'
poke "u32(slot(3), $$); u64(slot(3) + 8, ns)"
finds 'a slot whose number another program has now' '1 slot of a process that is gone (slot 3)'
poke "u32(slot(0), 2**32 - 1); u32(slot(9), 2**31)"
things='2 things are wrong' finds 'slots of nobody' "2 slots whose owners can't be processes (the first: slot 0)"
poke "u64(slot(511) + 8, ns)"
finds 'a free slot of a namespace' '1 free slot that names a pid namespace (slot 511)'
poke "u32(slot(7), 1); u64(slot(7) + 8, 77); u64(slot(7) + 16, 2**40); u64(slot(7) + 32, 2**63)"
finds 'counts' "1 slot with counts that can't be (slot 7)"
poke "u32(slot(7), 1); u64(slot(7) + 8, 77); u32(slot(7) + 4, 3)"
finds 'a request' '1 slot with a request that means nothing (slot 7)'

# What the dead have counted is not lost, but what nobody can have counted is.
why=
poke "u64(64 + 16, 0); u64(64 + 24, 0)
for n in 1, 2: u32(slot(n), $dead); u64(slot(n) + 8, ns); u64(slot(n) + 32, 1000)
u64(slot(2) + 40, 2**64 - 5)"
pw check --repair
want status 0 "$status"
pw stat --json
json_says "j['past']['hits'] == 2000" "j['past']['hit_bytes'] == 0" "j['processes'] == []"
verdict 'what the dead have counted' "$why"
put "$good"

# ---- words and files -------------------------------------------------------------------

poke 'u32(words + 4 * 5, 0x12345601)'
finds 'a word locked by the dead' '1 page word locked by nobody who is at work (word 5)'
poke 'for n in range(100, 300): u32(words + 4 * n, 0x12345605)'
things='200 things are wrong' finds 'words locked, with waiters' \
	'200 page words locked by nobody who is at work (the first: word 100)'
for bits in 3 4 8; do
	poke "u32(words + 4 * 262143, 0x12345600 + $bits)"
	finds "a word with bits $bits" "1 page word with bits that can't be together (word 262143)"
done
poke 'u32(entry(9) + 20, 5)'
finds 'a free entry' '1 free file entry with content (entry 9)'
poke 'u64(entry(100), 4096 * 77 + 101)'
finds 'a file after its place' '1 file entry where nobody would look for it (entry 100)'
poke 'u64(entry(101), 4096 * 77 + 100)'
finds 'a key that no file has' '1 file entry where nobody would look for it (entry 101)'
for what in 8:2**63:u64 20:2**31:u32 28:40001:u32; do
	IFS=: read -r at value size <<<"$what"
	poke "u64(entry(100), 4096 * 77 + 99); u32(entry(100) + 24, 1); $size(entry(100) + $at, $value)"
	finds "a file's number at $at" "1 file entry with numbers that can't be (entry 100)"
done
poke 'u64(entry(100), 4096 * 77 + 97); u32(entry(100) + 16, 12345)'
finds 'a size lock' '1 file entry whose size lock is held too long (entry 100)'

why=
head -c 4096 "$good" >"$work/head"
head -c $(($(stat -c %s "$good") - 4096)) /dev/urandom | cat "$work/head" - >"$work/damaged"
put "$work/damaged"
pw check
want status 1 "$status"
[ "$(wc -l <"$work/out")" -gt 5 ] || why="said: $out"
pw check --repair
want status 0 "$status"
pw check
want 'status after all' 0 "$status"
read_it "$data"
want_right "$data"
want_served
verdict 'random words, files and slots' "$why"
put "$good"

# ---- what is not repaired --------------------------------------------------------------

# leaves NAME WORDS: neither way changes it, and what to do is said
leaves() {
	local name=$1 words=$2 how
	why=
	[ ! -f "$seg" ] || cp "$seg" "$work/before"
	ls -ln "$seg" >"$work/before.ls"
	for how in '' --repair; do
		# shellcheck disable=SC2086
		pw check $how
		want "status $how" 1 "$status"
		want stderr '' "$err"
		[[ $out = *"$words"* ]] || why="$why${why:+; }said: $out"
	done
	[[ $(tail -n 1 "$work/out") = *': '* ]] || why="$why${why:+; }not what to do: $out"
	[ ! -f "$seg" ] || cmp -s "$seg" "$work/before" || why="$why${why:+; }it was changed"
	want 'what lies there' "$(cat "$work/before.ls")" "$(ls -ln "$seg")"
	verdict "$name is left alone" "$why"
	rm -rf "$seg"
	put "$good"
}
head -c "$(stat -c %s "$good")" /dev/urandom >"$work/random"
put "$work/random"
leaves 'what is no segment' 'not say that it is a pagewell segment'
echo 'a letter' >"$seg"
leaves 'a letter' 'not say that it is'
poke 'u32(8, 1)'
leaves 'one of another version' 'made by another version of pagewell: remove it when'
ln "$seg" "$seg.2"
leaves 'one with two names' 'it has another name, too: remove one'
rm "$seg.2"
mv "$seg" "$seg.2"
ln -s "$seg.2" "$seg"
leaves 'a symbolic link' 'not a regular file: name another'
rm "$seg"
mkdir "$seg"
leaves 'a folder' 'not a regular file: name another'
rm "$seg"
mkfifo "$seg"
leaves 'a FIFO' 'not a regular file: name another'
if [ "$(id -u)" = 0 ]; then
	chown nobody "$seg"
	leaves 'one of another user' 'owned by another user: check it as that user'
else
	echo 'skip one of another user - only root can give files away'
fi

# ---- in use ----------------------------------------------------------------------------

big=$place/big
data "$big" 3000000

why=
hold "$big" "$bin" run "$probe"
pw check
want status 0 "$status"
want stdout "$seg: nothing is wrong" "$out"
poke 'u32(words + 4 * 5, 0x12345601)'
pw check
want 'status, locked' 1 "$status"
kill -STOP "$held"
pw check
want 'status, and its owner may be stopped' 0 "$status"
kill -CONT "$held"
pw check --repair
want 'status, repaired' 0 "$status"
pw ls
grep -q "$held" "$work/out" || why="$why${why:+; }its window is gone"
pw stat --json
json_says "[p['pid'] for p in j['processes']] == [$held]"
release
want_right "$big"
verdict 'a process that lives is left alone' "$why"

why=
hold "$big" "$bin" run "$probe"
kill -KILL "$held"
release 2>/dev/null
pw check --repair
want status 0 "$status"
want stdout "$seg: 1 thing is wrong|  1 slot of a process that is gone" \
	"$(sed 's/ (slot [0-9]*): repaired//' "$work/out" | tr '\n' '|' | sed 's/|$//')"
pw stat --json
json_says "j['processes'] == []" "j['past']['hits'] > 1000"
verdict 'one that was killed is not' "$why"

# Readers come and go, and it is damaged and repaired all the time.
why=
pids=
for _ in 1 2; do
	(
		for _ in 1 2 3 4 5 6; do
			"$bin" run "$probe" "$data" | cmp -s - "$data" || exit 1
		done
	) &
	pids="$pids $!"
done
for _ in $(seq 12); do
	poke 'for n in range(0, 262144, 7): u32(words + 4 * n, 0x12345605)'
	pw check --repair
	[ "$status" = 0 ] || why="$why${why:+; }status $status: $out $err"
done
for pid in $pids; do
	wait "$pid" || why="$why${why:+; }a reader went wrong"
done
pw check
want status 0 "$status"
verdict 'repaired while readers come and go' "$why"

exit "$failed"
