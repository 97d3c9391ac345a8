#!/bin/bash
# pagewell top: as lines, and on a terminal, looked at as a person sees it.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

usual top
fails 'an argument' 2 'top: unexpected argument x' top x
for bad in '-d x' '-d 0' '-d nan' '-d 4000' '-n 0' '-n -1' '-n many'; do
	# shellcheck disable=SC2086
	fails "top $bad" 2 "top: $bad: give a number from" top $bad
done
fails 'an option without its value' 2 'top: -n needs a value' top -n

# Not of this program: what starts others must not load ncurses.
why=
! ldd "$bin" | grep -qi curses || why='pagewell is linked with ncurses'
ldd "$bin-top" | grep -qi curses || why="$why${why:+; }pagewell-top is not"
verdict 'ncurses is linked into top alone' "$why"

mkdir "$work/alone"
cp "$bin" "$work/alone/pagewell"
bin=$work/alone/pagewell fails 'its program is missing' 1 \
	"no readable pagewell-top in $work/alone/ or $work/alone/../libexec/pagewell; run make" top

# ---- lines -----------------------------------------------------------------------------

why=
pw top -n 1
want status 0 "$status"
want stderr '' "$err"
want segment "segment  $seg (no segment: nothing has been served yet)" "$(sed -n 1p "$work/out")"
want head 'PID COMMAND FILES WINDOWS MEMORY HITS/S WAITS RECLAIMS' "$(sed -n 4p "$work/out" | xargs)"
[ ! -e "$seg" ] || why="$why${why:+; }one was made"
verdict 'without a segment' "$why"

file=$place/a-file
data "$file" 3000000
hold "$file" "$bin" run "$probe"
why=
pw top -n 2 -d 0.1
want status 0 "$status"
want stderr '' "$err"
want blocks 2 "$(grep -cx "segment  $seg" "$work/out")"
want between 1 "$(grep -cx '' "$work/out")"
grep -q '^ever     [1-9][0-9]* hits, ' "$work/out" || why="$why${why:+; }no totals"
want rows 2 "$(awk -v pid="$held" '$1 == pid && $2 == "probe" && $3 == 1 && $4 == 1 && $5 == "2.9M"' "$work/out" | wc -l)"
verdict 'lines: a reader' "$why"
why=
status=0
timeout 10 "$bin" top -d 0.1 2>"$work/err" | head -n 20 >"$work/out" || status=$?
want lines 20 "$(wc -l <"$work/out")"
verdict 'lines: without end, until nobody reads them' "$why"
why=
status=0
"$bin" top -n 1 >/dev/full 2>"$work/err" || status=$?
want status 1 "$status"
grep -q 'No space left' "$work/err" || why="$why${why:+; }said: $(cat "$work/err")"
verdict 'lines: a full disk is noticed' "$why"

why=
cp "$seg" "$work/good"
echo nonsense >"$seg"
pw top -n 1
want status 0 "$status"
grep -q "^segment  $seg (segment refused: " "$work/out" || why="$out"
awk -v pid="$held" '$1 == pid && $4 == 1' "$work/out" | grep -q . || why="$why; not in /proc either: $out"
cat "$work/good" >"$seg"
verdict 'lines: a segment that is refused' "$why"

# ---- screen ----------------------------------------------------------------------------

if ! command -v tmux >/dev/null; then
	release
	echo 'skip screen - there is no tmux here'
	exit "$failed"
fi
export TMUX_TMPDIR=$work
unset TMUX
sessions=0
tmux=(tmux -L pagewell -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null || :; cleanup' EXIT

# screen COLUMNS ROWS [VARIABLE=VALUE]... -- ARG...: starts top on one
screen() {
	local columns=$1 rows=$2 settings=()
	shift 2
	while [ "$1" != -- ]; do
		settings+=("$1")
		shift
	done
	shift
	# A server of its own each time: the last one may be on its way out.
	"${tmux[@]}" kill-server 2>/dev/null || :
	tmux[2]=pagewell$((++sessions))
	"${tmux[@]}" new-session -d -x "$columns" -y "$rows" \
		"env ${settings[*]} PAGEWELL_SEGMENT=$seg $bin top $*; echo status \$?; sleep 100"
}
# shows PATTERN: waits until some row of it matches
shows() {
	for _ in $(seq 100); do
		"${tmux[@]}" capture-pane -p >"$work/screen" 2>/dev/null || :
		! grep -qE -- "$1" "$work/screen" || return 0
		sleep 0.1
	done
	why="$why${why:+; }no '$1' on the screen: $(head -n 8 "$work/screen")"
	return 0
}
press() {
	"${tmux[@]}" send-keys "$@"
}
# row N: of the screen that was last looked at
row() {
	sed -n "$1p" "$work/screen"
}

why=
screen 90 30 -- -d 0.3
shows "^ *$held  probe  "
want segment "segment  $seg" "$(row 1)"
[[ $(row 2) = 'now      '*' windows, '* ]] || why="$why${why:+; }row 2: $(row 2)"
[[ $(row 3) = 'ever     '*' hits, '* ]] || why="$why${why:+; }row 3: $(row 3)"
want 'row 4' '' "$(row 4)"
want head 'PID COMMAND FILES WINDOWS MEMORY HITS/S WAITS RECLAIMS' "$(row 5 | xargs)"
want keys 'h hits  w windows  m memory  a waits  r reclaims  p pid  f files  q quit' "$(row 30)"
verdict 'screen: processes' "$why"

why=
"${tmux[@]}" capture-pane -pe >"$work/colours"
grep -q $'\x1b\\[7mh hits' "$work/colours" || why='hits is not marked'
press p
for _ in $(seq 50); do
	"${tmux[@]}" capture-pane -pe >"$work/colours"
	! grep -q $'\x1b\\[7mp pid' "$work/colours" || break
	sleep 0.1
done
grep -q $'\x1b\\[7mp pid' "$work/colours" || why="$why${why:+; }pid is not marked"
verdict 'screen: the order is marked' "$why"

why=
press f
shows "^ *$held  probe  .*  $(printf %.30s "$file")" # the screen is narrower than some names
want head 'PID COMMAND WINDOWS MEMORY FILE' "$(row 5 | xargs)"
shows 'f processes  q quit$'
press f
shows 'HITS/S'
verdict 'screen: files, and back' "$why"

why=
"${tmux[@]}" resize-window -x 50 -y 9
shows '^h hits  w windows  m memory  a waits  r reclaims$'
want 'the last row' 'h hits' "$(row 9 | cut -c1-6)"
want 'the head' 'PID COMMAND FILES' "$(row 5 | xargs | cut -c1-17)"
"${tmux[@]}" resize-window -x 100 -y 20
shows 'q quit$'
want 'the last row' 'q quit' "$(row 20 | grep -o 'q quit$')"
"${tmux[@]}" resize-window -x 3 -y 2
sleep 0.5
"${tmux[@]}" resize-window -x 90 -y 30
shows "^ *$held  probe  "
verdict 'screen: of another size' "$why"

why=
press q
shows '^status 0'
verdict 'screen: q ends it' "$why"

why=
screen 90 30 -- -d 60
shows "^ *$held  probe  "
kill -TERM "$(pgrep -P "$("${tmux[@]}" display-message -p '#{pane_pid}')" pagewell-top)"
shows '^status 0'
want 'the cursor' 1 "$("${tmux[@]}" display-message -p '#{cursor_flag}')"
verdict 'screen: a signal puts the terminal back' "$why"

why=
screen 90 12 -- -d 0.1 -n 3
shows '^status 0'
verdict 'screen: so many looks' "$why"

# coloured: are there colours on the screen?
coloured() {
	"${tmux[@]}" capture-pane -pe >"$work/colours"
	grep -q $'\x1b\\[[0-9;]*3[0-7]' "$work/colours"
}
why=
screen 90 12 -- -d 60 --segment="$seg.2"
shows 'no segment: nothing has been served yet'
coloured || why="$why${why:+; }no colours"
screen 90 12 NO_COLOR=1 -- -d 60 --segment="$seg.2"
shows 'no segment: nothing has been served yet'
! coloured || why="$why${why:+; }colours, although NO_COLOR is set"
verdict 'screen: colours, unless NO_COLOR is set' "$why"

# More than there is room for.
why=
python3 - "$seg" <<'END'
import struct, sys
with open(sys.argv[1], 'r+b') as f:
    at, = struct.unpack('<I', f.read(36)[32:36])
    for i in range(100, 140):
        f.seek(at + 128 * i)
        f.write(struct.pack('<IIQQQ', 9000000 + i, 0, 77, 5, i) + bytes(80) + b'many'.ljust(16, b'\0'))
END
screen 90 12 -- -d 60
shows '^ever'
press w
shows '9000139  many'
press NPage
shows '9000133  many'
! grep -q '9000134  many' "$work/screen" || why="$why${why:+; }the first page is still there"
press End
for _ in $(seq 100); do
	"${tmux[@]}" capture-pane -p >"$work/screen"
	grep -q '9000133  many' "$work/screen" || break
	sleep 0.1
done
! grep -q '9000133  many' "$work/screen" || why="$why${why:+; }not at the end"
press Home
shows '9000139  many'
press Down
sleep 0.3
shows '9000133  many'
! grep -q '9000139' "$work/screen" || why="$why${why:+; }not moved"
verdict 'screen: more lines than rows' "$why"
"${tmux[@]}" kill-server 2>/dev/null || :
release

exit "$failed"
