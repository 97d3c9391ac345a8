#!/bin/bash
# pagewell warm: files come into memory and into the words, with a bar on a terminal only.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

usual warm
fails 'nothing given' 2 'warm: no file given' warm
fails 'no such file' 1 'warm: /no/such: No such file' warm /no/such
fails 'a folder' 1 "warm: $place is a directory: give -r" warm "$place"
fails 'a device' 1 'warm: /dev/null is not a regular file' warm /dev/null
why=
[ ! -e "$seg" ] || why='a segment was made'
verdict 'nothing to warm, nothing made' "$why"

tree=$place/tree
mkdir "$tree" "$tree/below"
data "$tree/a" 300000
data "$tree/below/b" 65536
: >"$tree/below/empty"
data "$place/outside" 100000
ln -s "$place/outside" "$tree/link"
mkfifo "$tree/pipe"

# words: how many are up to date
words() {
	"$bin" stat | awk '$1 == "words" { print $2 }'
}
# warms NAME WORDS ARG...: that is said, but for the time, and that many words are up to date
warms() {
	local name=$1 wanted=$2 said=$3
	shift 3
	why=
	rm -f "$seg"
	pw warm "$@"
	want status 0 "$status"
	want stderr '' "$err"
	want stdout "$said" "$(sed 's/, in [0-9.]* s$//' "$work/out")"
	want words "$wanted" "$(words)"
	verdict "$name" "$why"
}
warms 'a file' 5 '1 file, 293K' "$tree/a"
warms 'files' 6 '2 files, 357K' "$tree/a" "$tree/below/b"
warms 'an empty file' 0 '1 file, 0B' "$tree/below/empty"
warms 'a tree' 6 '3 files, 357K' -r "$tree"
warms 'a tree, by its long name, and a file' 8 '4 files, 455K' --recursive -- "$tree" "$tree/link"
warms 'quietly' 5 '' -q "$tree/a"
warms 'options in one' 6 '' -rq "$tree"

why=
rm -f "$seg"
pw warm /no/such "$tree/a"
want status 1 "$status"
want stdout '1 file, 293K' "$(sed 's/, in [0-9.]* s$//' "$work/out")"
want words 5 "$(words)"
verdict 'the next although one is missing' "$why"

# Who is served afterwards finds the pages up to date, and brings none in.
why=
read_it "$tree/a"
want_right "$tree/a"
want_served
want fills 0 "$(count "$work/report" fills)"
verdict 'for those who are served' "$why"
why=
"$bin" drop --all >"$work/out"
read_it "$tree/a"
[ "$(count "$work/report" fills)" -gt 0 ] || why='no fills without'
verdict 'who otherwise do it themselves' "$why"

why=
mv "$seg" "$seg.2"
echo nonsense >"$seg"
pw warm "$tree/a"
want status 0 "$status"
want stdout '1 file, 293K' "$(sed 's/, in [0-9.]* s$//' "$work/out")"
grep -q 'segment refused' "$work/err" || why="$why${why:+; }said: $err"
verdict 'a segment that is refused: said, and the files are warmed' "$why"
rm "$seg"

# In the kernel's cache: where it can be driven out, and asked for.
# resident FILE: pages
resident() {
	fincore -nbo PAGES "$1" | tr -d ' '
}
dd if="$tree/a" iflag=nocache count=0 status=none
if sync "$tree/a" && dd if="$tree/a" iflag=nocache count=0 status=none &&
	[ "$(resident "$tree/a" 2>/dev/null)" = 0 ]; then
	why=
	pw warm "$tree/a"
	want pages 74 "$(resident "$tree/a")"
	verdict 'it is in the kernel'\''s cache' "$why"
else
	echo 'skip it is in the kernel'\''s cache - no fincore, or the cache here is not to be emptied'
fi

if [ "$(id -u)" != 0 ]; then
	chmod 0 "$tree/below/b"
	why=
	pw warm -r "$tree"
	want status 1 "$status"
	grep -q "warm: $tree/below/b: Permission denied" "$work/err" || why="$why${why:+; }$err"
	verdict 'a file that may not be read' "$why"
fi

# ---- on a terminal ---------------------------------------------------------------------

# terminal ARG...: runs it on one of 60 columns; $work/screen is all that came there
terminal() {
	rm -f "$work/screen"
	TERM=${TERM_IS-xterm} script -qec "stty cols 60; $bin $*" "$work/screen" \
		</dev/null >/dev/null 2>&1
}
if command -v script >/dev/null; then
	data "$place/large" 40000000
	why=
	terminal warm "$place/large"
	grep -q '\[#* *\] *[0-9]*%  .* of 38M' "$work/screen" || why='no bar'
	# It is taken away in the end.
	tr '\r' '\n' <"$work/screen" | grep -v '^Script' | grep -v '^$' | tail -n 1 |
		grep -q '1 file, 38M, in ' || why="$why${why:+; }not how much at the end"
	tr '\r' '\n' <"$work/screen" | sed 's/\x1b\[K//' | grep -v '^Script' | awk 'length > 60' |
		grep -q . && why="$why${why:+; }a line does not fit"
	verdict 'a bar on a terminal' "$why"
	why=
	terminal warm -q "$place/large"
	! grep -q '#' "$work/screen" || why='a bar although quiet'
	TERM_IS=dumb terminal warm "$place/large"
	! grep -q '#' "$work/screen" || why="$why${why:+; }a bar on a dumb terminal"
	terminal warm "$place/large" '2>/dev/null'
	! grep -q '#' "$work/screen" || why="$why${why:+; }a bar, although stderr is elsewhere"
	verdict 'no bar where none is wanted' "$why"
else
	echo 'skip a bar on a terminal - there is no script(1) here'
fi

exit "$failed"
