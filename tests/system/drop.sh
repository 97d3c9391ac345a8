#!/bin/bash
# pagewell drop: words are forgotten, and processes asked give up their windows, go on reading
# right, and get new ones.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

usual drop
fails 'nothing given' 2 'drop: name files, or give --all' drop
fails 'both given' 2 'drop: --all takes no files' drop --all x
fails 'no segment' 1 "$seg: no segment" drop --all
fails 'no segment, and a file' 1 "$seg: no segment" drop "$root/README.md"

data=$place/data
other=$place/$'o\nther'
data "$data" 300000
data "$other" 200000
"$bin" run "$probe" "$data" >"$work/out"
"$bin" run "$probe" "$other" >"$work/out"

fails 'no such file' 1 'drop: /no/such: No such file' drop /no/such
fails 'a folder' 1 "drop: $place is not a regular file" drop "$place"

# words: how many are up to date
words() {
	"$bin" stat | awk '$1 == "words" { print $2 }'
}
before=$(words)
gives 'a file' 0 "$data: 5 page words cleared, 0 processes asked" drop "$data"
why=
want 'words left' $((before - 5)) "$(words)"
verdict 'its words, and no others' "$why"
gives 'nothing is left of it' 0 "$data: 0 page words cleared, 0 processes asked" drop "$data"
why=
"$bin" run "$probe" "$data" >"$work/out"
ln "$data" "$place/link"
pw drop "$place/link" /no/such "$other"
want status 1 "$status"
want stdout "$place/link: 5 page words cleared, 0 processes asked|$place/o?ther: 4 page words cleared, 0 processes asked|" \
	"$(tr '\n' '|' <"$work/out")"
verdict 'by another name, and the next although one is missing' "$why"
"$bin" run "$probe" "$data" >"$work/out"
gives 'all' 0 "5 page words cleared, 0 processes asked" drop --all

# A word that somebody has locked is his.
why=
python3 - "$seg" <<'END'
import struct, sys
with open(sys.argv[1], 'r+b') as f:
    at, = struct.unpack('<I', f.read(20)[16:])
    f.seek(at)
    f.write(struct.pack('<4I', 0x101, 0x105, 0x102, 0x202))
END
pw drop --all
want stdout '2 page words cleared, 0 processes asked' "$out"
want words '101 105 0 0' "$(python3 - "$seg" <<'END'
import struct, sys
with open(sys.argv[1], 'rb') as f:
    at, = struct.unpack('<I', f.read(20)[16:])
    f.seek(at)
    print(*(f'{w:x}' for w in struct.unpack('<4I', f.read(16))))
END
)"
verdict 'locked words stay' "$why"
"$bin" check --repair >/dev/null

# ---- processes -------------------------------------------------------------------------

# windows: the files that the reader has windows of
windows() {
	"$bin" ls 2>/dev/null | awk -v pid="$held" '$1 == pid { sub(/.*\//, ""); print }' | sort | xargs
}

# A reader that has two files and reads the first again for each line that it gets, beyond its
# end, too, which no window answers.
cat >"$work/reader.py" <<'END'
import os, sys
a, b = sys.argv[1:3]
good = open(a, 'rb').read()
fds = [os.open(f, os.O_RDONLY) for f in (a, b)]
def spot():
    for i in range(16000):
        os.pread(fds[0], 512, i % 64 * 512), os.pread(fds[1], 512, i % 64 * 512)
spot()
print('holding', file=sys.stderr, flush=True)
for line in iter(sys.stdin.readline, ''):
    if line == 'more\n':
        spot()
    os.pread(fds[0], 4096, len(good) - 100)
    if b''.join(os.pread(fds[0], 512, at) for at in range(0, len(good), 512)) != good:
        print('wrong', file=sys.stderr, flush=True)
    print('done', file=sys.stderr, flush=True)
END
# step WORD: it reads on
step() {
	echo "$1" >&8
	read -r line <&9
	want 'the reader' 'done' "$line"
}
why=
big=$place/big
data "$big" 3000000
hold "$big" "$bin" run python3 -I "$work/reader.py" "$data"
want 'windows at first' 'big data' "$(windows)"
pw drop "$data"
grep -qx "$data: [0-9]* page words* cleared, 1 process asked" "$work/out" || why="$why${why:+; }$out"
want 'windows of one who sleeps' 'big data' "$(windows)"
step some
# What it reads may have earned one again.
[[ $(windows) != *big* ]] || why="$why${why:+; }once it has read: $(windows)"
verdict 'a process gives up its windows' "$why"
why=
step more
want windows 'big data' "$(windows)"
verdict 'and gets new ones where they pay' "$why"
why=
pw drop "$other"
want stdout "$place/o?ther: 0 page words cleared, 0 processes asked" "$out"
step some
want windows 'big data' "$(windows)"
verdict 'who does not have the file is not asked' "$why"
why=
pw drop --all
grep -q ' 1 process asked$' "$work/out" || why="$out"
step some
[[ $(windows) != *big* ]] || why="$why${why:+; }$(windows)"
verdict 'all processes' "$why"
release
why=
want status 0 "$status"
want 'what it said' '' "$err"
verdict 'it has read right all the time' "$why"

# Somebody without a slot in this segment can't be asked.
why=
PAGEWELL_SEGMENT=$seg.2 hold "$big" "$bin" run "$probe"
pw drop "$big"
grep -q "process $held has no slot" "$work/err" || why="said: $err"
grep -q ' 0 processes asked$' "$work/out" || why="$why${why:+; }$out"
release
verdict 'one of another segment is named' "$why"

exit "$failed"
