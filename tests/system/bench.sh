#!/bin/bash
# pagewell bench: its table, its advice and what it leaves behind; not how fast anything is.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

usual bench
fails 'no such file' 1 'bench: /no/such: No such file' bench --seconds=0.1 /no/such
fails 'a folder' 1 'bench: / is not a regular file' bench --seconds=0.1 /
: >"$work/empty"
fails 'an empty file' 1 "bench: $work/empty is empty" bench --seconds=0.1 "$work/empty"
for seconds in x 0 -1 1x nan 4000; do
	fails "--seconds=$seconds" 2 "bench: --seconds=$seconds: give a number" bench --seconds=$seconds
done
fails 'two files' 2 'bench: unexpected argument b' bench a b
PAGEWELL_FS=ext4 fails 'a bad knob' 1 'bench: PAGEWELL_FS: ext4 is not' bench --seconds=0.1 "$probe"
TMPDIR=/no/such fails 'nowhere to make a file' 1 'set TMPDIR' bench --seconds=0.1

# left: what it might have left behind
mkdir "$place/tmp"
left() {
	(cd "$place/tmp" && ls -A)
	compgen -G '/dev/shm/pagewell-measure-*' || :
}

why=
TMPDIR=$place/tmp pw bench --seconds=0.8
want status 0 "$status"
want stderr '' "$err"
want 'what is left' '' "$(left)"
[[ $(head -n 1 "$work/out") = "$place/tmp/pagewell-bench."*', 16M' ]] || why="$why${why:+; }$out"
want head 'without with ratio' "$(sed -n 3p "$work/out" | xargs)"
want rows 4 "$(grep -cE '[a-z,]  +[0-9]+ ns  +[0-9]+ ns  +[0-9]+\.[0-9][0-9]$' "$work/out")"
want 'the last line' 'worth it' "$(tail -n 1 "$work/out" | grep -o 'worth it')"
[ ! -e "$seg" ] || why="$why${why:+; }the user's segment was touched"
! grep -q '.\{81\}' <(sed 1d "$work/out" | sed '$d') || why="$why${why:+; }lines of more than 80 columns"
verdict 'a file of its own' "$why"

data "$place/data" 300000
why=
pw bench --seconds=0.8 --json "$place/data"
want status 0 "$status"
want stderr '' "$err"
json_says \
	"list(j) == ['version', 'file', 'bytes', 'hits', 'rows', 'advice']" \
	"j['version'] == '$version' and j['file'] == '$place/data' and j['bytes'] == 300000" \
	"j['hits'] > 0 and 'worth it' in j['advice']" \
	"[r['name'] for r in j['rows']] == ['pread_random_512', 'seek_read_512', 'read_sequential_4096', 'open_read_close']" \
	"all(list(r) == ['name', 'without_ns', 'with_ns', 'ratio'] for r in j['rows'])" \
	"all(r['without_ns'] > 0 and r['with_ns'] > 0 and r['ratio'] > 0 for r in j['rows'])"
verdict 'as JSON' "$why"

# Inside `run` the one side is without the library all the same, and the other has it once.
why=
pw run "$bin" bench --seconds=0.8 --json "$place/data"
want status 0 "$status"
json_says "j['hits'] > 0"
verdict 'run inside run' "$why"

why=
printf 'x' >"$place/tiny"
pw bench --seconds=0.2 "$place/tiny"
want status 0 "$status"
verdict 'a file of one byte' "$why"

why=
PAGEWELL_FS=-ext4,-tmpfs,-btrfs pw bench --seconds=0.2 "$place/data"
want status 0 "$status"
[[ $(tail -n 1 "$work/out") = 'not served: its file system'*PAGEWELL_FS* ]] || why="$why${why:+; }$out"
verdict 'where nothing is served, it says so' "$why"

why=
for signal in INT TERM HUP; do
	TMPDIR=$place/tmp env --default-signal "$bin" bench --seconds=20 >"$work/out" 2>&1 &
	pid=$!
	for _ in $(seq 100); do
		[ ! -e /dev/shm/pagewell-measure-$pid ] || break
		sleep 0.05
	done
	kill -$signal $pid
	status=0
	wait $pid 2>/dev/null || status=$?
	want "status by $signal" $((128 + $(kill -l $signal))) "$status"
	want "left by $signal" '' "$(left)"
done
verdict 'interrupted, it leaves nothing' "$why"

exit "$failed"
