#!/bin/bash
# The pagewell command from outside: `run` (what it starts and how, what it refuses, its exit
# statuses) and `stat` (as text and as JSON, with and without a segment).
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

data=$place/data
data "$data" 300000
mkdir "$work/path"

# program NAME LINE...: a script in $work/path
program() {
	local file=$work/path/$1
	shift
	printf '%s\n' "$@" >"$file"
	chmod 755 "$file"
}

# ---- exit status -----------------------------------------------------------------------

gives 'status 0' 0 '' run true
gives 'status 3' 3 '' run -- sh -c 'exit 3'
gives 'status 255' 255 '' run sh -c 'exit 255'
gives 'status 125 of the program' 125 '' run sh -c 'exit 125'
for signal in TERM KILL SEGV; do
	why=
	status=0
	# In a shell of its own, which says on stderr what became of it.
	(
		ulimit -c 0
		"$bin" run sh -c "kill -$signal \$\$"
		exit $?
	) 2>/dev/null || status=$?
	want status $((128 + $(kill -l $signal))) "$status"
	verdict "killed by $signal" "$why"
done
why=
"$bin" run sh -c 'echo $$' >"$work/out" &
pid=$!
wait $pid || why="status $?"
want pid $pid "$(cat "$work/out")"
verdict 'the pid is the program'\''s' "$why"

fails 'no program' 125 'no program' run
fails 'no program after --' 125 'no program' run --
fails 'unknown option' 125 '--sizes*--help' run --sizes=1 true
fails 'part of an option' 125 '--siz' run --siz=1 true
fails 'short option' 125 '-s' run -s 1 true
fails 'option without its value' 125 '--size=' run --size
fails 'option with a value too many' 125 '--verbose' run --verbose=1 true
# A folder that may not be entered would make it "permission denied".
path=$PATH
PATH=/usr/bin:/bin
fails 'not found' 127 'nosuchprogram: No such file' run nosuchprogram
fails 'not found by path' 127 './nosuchprogram: No such file' run ./nosuchprogram
fails 'empty name' 127 'No such file' run ''
echo 'echo hello' >"$work/path/plain"
fails 'not executable' 126 "$work/path/plain: Permission denied" run "$work/path/plain"
fails 'a folder' 126 'Permission denied' run "$work/path"
program lost '#!/no/such/interpreter'
fails 'its interpreter is missing' 127 'lost: the interpreter' run "$work/path/lost"
fails 'a name of two lines' 127 'two?lines' run $'two\nlines'
PATH=$path

# ---- arguments, environment, PATH ------------------------------------------------------

gives 'arguments arrive as they are' 0 $'[a b]\n[]\n[*]\n[x\ny]\n[--]\n[--size=1]\n["\\$HOME"]' \
	run printf '[%s]\n' 'a b' '' '*' $'x\ny' -- --size=1 "\"\\\$HOME\""
gives 'options of the program are its own' 0 '--version --help -n' \
	run -- echo --version --help -n
gives 'a second -- is an argument' 0 '[--]' run -- printf '[%s]' --
program -x '#!/bin/sh' 'echo "dash $*"'
PATH=$work/path:$PATH gives 'a program that starts with a dash' 0 'dash 1 2' run -- -x 1 2

mkdir "$work/path/first" "$work/path/first/tool" "$work/path/second"
program second/tool '#!/bin/sh' 'echo second'
program tool '#!/bin/sh' 'echo here'
echo junk >"$work/path/first/other"
program second/other '#!/bin/sh' 'echo second other'
PATH=$work/path/first:/no/such/folder:$work/path/second:$PATH
gives 'PATH: a folder of that name is passed over' 0 second run tool
gives 'PATH: what may not be run is passed over' 0 'second other' run other
PATH=${PATH#"$work/path/first:/no/such/folder:$work/path/second:"}
cp "$work/path/tool" .
why=
pw run env PATH=/nowhere: "$bin" run ./tool
want 'by path' here "$out"
out=$(PATH=:/usr/bin:/bin "$bin" run tool 2>&1) || :
want 'an empty first entry' here "$out"
out=$(PATH=/usr/bin::/bin "$bin" run tool 2>&1) || :
want 'an empty middle entry' here "$out"
out=$(PATH=/usr/bin:/bin: "$bin" run tool 2>&1) || :
want 'an empty last entry' here "$out"
verdict 'PATH: an empty entry is the working folder' "$why"
why=
out=$(env -u PATH "$bin" run sh -c 'echo found' 2>&1) || :
want stdout found "$out"
verdict 'PATH: unset means the standard one' "$why"
# shellcheck disable=SC2016
echo 'echo "no head, $1"' >"$work/path/nohead"
chmod 755 "$work/path/nohead"
gives 'a script without #! is run by sh' 0 'no head, 1' run "$work/path/nohead" 1

# shellcheck disable=SC2016
{
	gives 'the library is alone in LD_PRELOAD' 0 "$(realpath "$lib")" \
		run sh -c 'echo "$LD_PRELOAD"'
	gives 'run inside run does not repeat it' 0 "$(realpath "$lib")" \
		run "$bin" run sh -c 'echo "$LD_PRELOAD"'
}
libm=$(ldconfig -p | awk '/libm\.so\.6.*x86-64/ { print $NF; exit }')
librt=$(ldconfig -p | awk '/librt\.so\.1.*x86-64/ { print $NF; exit }')
for others in "$libm" "$libm:$librt" "$libm $librt"; do
	# shellcheck disable=SC2016
	LD_PRELOAD=$others gives "LD_PRELOAD that is there is kept: ${others//[^ :]*\//}" 0 \
		"$(realpath "$lib"):$others" run sh -c 'echo "$LD_PRELOAD"'
done
why=
LD_PRELOAD="$libm" pw run cat /proc/self/maps
for each in "$libm" "$lib"; do
	grep -qF "$(realpath "$each")" "$work/out" || why="$why${why:+; }$each is not loaded"
done
verdict 'and loaded too' "$why"

gives 'each option sets its variable' 0 "PAGEWELL_EXCLUDE=*/x y/*
PAGEWELL_FS=+xfs
PAGEWELL_INCLUDE=/a/*:/b/*
PAGEWELL_LOG=/tmp/l
PAGEWELL_REPORT=/tmp/r.%p
PAGEWELL_SEGMENT=$seg.2
PAGEWELL_SIZE=64M
PAGEWELL_TRUST=/a:/b" run --trust=/a:/b --size=64M --include '/a/*:/b/*' '--exclude=*/x y/*' --fs=+xfs \
	--segment "$seg.2" --report=/tmp/r.%p --log=/tmp/l -- \
	sh -c 'env | grep ^PAGEWELL_ | grep -v -e _LIB= -e _BIN= -e _TESTS= -e _DEBUG_LIB= \
		-e _JEMALLOC= | sort'
rm -f "$seg.2"
# shellcheck disable=SC2016
gives 'paths are made absolute' 0 "$work/cwd/a/seg $work/cwd/r $work/cwd/./l" run --segment=a/seg \
	--report=r --log=./l sh -c 'cd /; echo "$PAGEWELL_SEGMENT $PAGEWELL_REPORT $PAGEWELL_LOG"'
# shellcheck disable=SC2016
PAGEWELL_SIZE=1M gives 'an option wins over the environment' 0 2M \
	run --size=2M sh -c 'echo "$PAGEWELL_SIZE"'
# shellcheck disable=SC2016
PAGEWELL_SIZE=1M gives 'the environment holds without one' 0 1M run sh -c 'echo "$PAGEWELL_SIZE"'

why=
pw run --report="$work/report" "$probe" "$data"
hits=$(count "$work/report" hits)
cmp -s "$data" "$work/out" || why='the output is wrong'
want_served
verdict 'what it runs is served' "$why"

# ---- what the loader would run without the library -------------------------------------

cp "$(type -P true)" "$work/path/true"
for mode in 4755 2755 6755; do
	chmod $mode "$work/path/true"
	case $mode in 2*) word=set-group-id ;; *) word=set-user-id ;; esac
	fails "mode $mode is refused" 125 "$work/path/true is $word" run "$work/path/true"
done
PATH=$work/path:$PATH fails 'found by PATH, too' 125 "$work/path/true is set-user-id" run true
# Without the group's right to execute, the bit stands for mandatory locking.
chmod 2705 "$work/path/true"
gives 'mode 2705 is not' 0 '' run "$work/path/true"
chmod 755 "$work/path/true"
if setcap cap_net_raw=ep "$work/path/true" 2>/dev/null; then
	fails 'file capabilities are refused' 125 "$work/path/true is given file capabilities" \
		run "$work/path/true"
	setcap -r "$work/path/true"
	gives 'and without them it runs' 0 '' run "$work/path/true"
else
	echo 'skip file capabilities - setcap is missing or may not set them here'
fi
program setid '#!/bin/sh' 'echo a script'
chmod 6755 "$work/path/setid"
gives 'the bits of a script mean nothing' 0 'a script' run "$work/path/setid"

cat >"$work/hello.c" <<'END'
#include <stdio.h>
int main(void)
{
	return puts("hello") < 0;
}
END
for kind in static static-pie; do
	if ${CC:-gcc} -$kind "$work/hello.c" -o "$work/path/hello" 2>/dev/null; then
		gives "$kind: runs, and nothing is said" 0 hello run "$work/path/hello"
		why=
		pw run --verbose "$work/path/hello"
		want status 0 "$status"
		want stdout hello "$out"
		want stderr "pagewell: $work/path/hello is statically linked: it runs without the library" \
			"$err"
		verdict "$kind: --verbose says it is not served" "$why"
	else
		echo "skip $kind - this compiler can't link so"
	fi
done
why=
pw run --verbose "$work/path/tool"
want stderr "pagewell: $work/path/tool runs with $(realpath "$lib")" "$err"
want stdout here "$out"
verdict '--verbose: a program that is served' "$why"

# ---- where it finds the library --------------------------------------------------------

mkdir "$work/alone" "$work/tree" "$work/tree/bin" "$work/tree/lib"
cp "$bin" "$work/alone/pagewell"
bin=$work/alone/pagewell fails 'no library anywhere' 125 \
	"no readable libpagewell.so in $work/alone" run true
for folder in "$work/a b" "$work/a:b" "$work/a\$b"; do
	mkdir -p "$folder"
	cp "$bin" "$lib" "$folder"
	bin=$folder/pagewell fails "a folder named ${folder#"$work/"}" 125 \
		'LD_PRELOAD cannot name' run true
done
cp "$bin" "$work/tree/bin/pagewell"
cp "$lib" "$work/tree/lib"
ln -s "$work/tree/bin/pagewell" "$work/path/pw"
# shellcheck disable=SC2016
bin=$work/path/pw gives 'in ../lib from where a link to it leads' 0 \
	"$work/tree/lib/libpagewell.so" run sh -c 'echo "$LD_PRELOAD"'

# What is built is installed: -o, for the sources may be newer.
if make -s -C "$root" -o all install DESTDIR="$work/root" PREFIX=/usr MAKEFLAGS= \
	>"$work/err" 2>&1; then
	mv "$work/root" "$work/moved"
	why=
	status=0
	"$work/moved/usr/bin/pagewell" run --report="$work/report" -- "$probe" "$data" \
		>"$work/out" 2>"$work/err" || status=$?
	want_right "$data"
	hits=$(count "$work/report" hits)
	want_served
	verdict 'installed, and moved elsewhere' "$why"
else
	echo "not ok installed - $(tail -n 1 "$work/err")"
	failed=1
fi

# ---- help ------------------------------------------------------------------------------

helps '--help' '  stat  ' --help
helps 'run --help' '--exclude=GLOBS' run --help
helps 'run --help: nothing is run' '127' run --help -- false
helps 'stat --help' '--json' stat --help
gives '--version' 0 "pagewell $version" --version
gives 'run --version' 0 "pagewell $version" run --version
gives 'stat --version' 0 "pagewell $version" stat --version
fails 'no subcommand' 2 '-- is not a command*--help' --
fails 'unknown subcommand' 2 'foo is not a command*--help' foo
fails 'unknown option instead' 2 '--foo is not a command' --foo
fails 'stat: unknown option' 2 '--jason' stat --jason
fails 'stat: unknown short option' 2 '-j;' stat -jx
fails 'stat: a lone dash' 2 'unknown option -;' stat -
fails 'stat: an argument' 2 'unexpected argument x' stat x
why=
status=0
"$bin" 2>"$work/err" || status=$?
want status 2 "$status"
want 'lines on stderr' 1 "$(wc -l <"$work/err")"
verdict 'nothing at all' "$why"
rm -f "$seg"
"$bin" run "$probe" "$data" >"$work/out"
for args in --help --version 'run --help' 'stat --help' stat 'stat --json'; do
	why=
	status=0
	# shellcheck disable=SC2086
	"$bin" $args >/dev/full 2>"$work/err" || status=$?
	case $args in run*) want status 125 "$status" ;; *) want status 1 "$status" ;; esac
	case $(cat "$work/err") in
	*'No space left'*) ;;
	*) why="$why${why:+; }said: $(cat "$work/err")" ;;
	esac
	verdict "$args: a full disk is noticed" "$why"
done

# ---- stat ------------------------------------------------------------------------------

rm -f "$seg"
fails 'stat: no segment' 1 "$seg: no segment" stat
fails 'stat --json: no segment' 1 "$seg: no segment" stat --json
why=
[ ! -e "$seg" ] || why='it was made'
verdict 'stat makes none' "$why"
fails 'stat --segment' 1 "$seg.2: no segment" stat --segment="$seg.2"
PAGEWELL_SEGMENT='' fails 'stat: the default place' 1 "/dev/shm/pagewell-$(id -u)-v*" \
	stat --segment="/dev/shm/pagewell-$(id -u)-v"
fails 'stat: an unprintable path' 1 '/no?where: no segment' stat --segment=$'/no\nwhere'
fails 'stat: a segment that is refused' 1 "$data: segment refused: " stat --segment="$data"

counters="('pages', 'windows', 'hits', 'hit_bytes', 'seeks', 'fills', 'waits', 'timeouts', \
'reclaims', 'doubts', 'mapped', 'stores')"

# A reader that is alive, and has read enough to have handed its counts in.
big=$place/big
data "$big" 8000000
why=
hold "$big" "$bin" run --report="$work/report" "$probe"
pw stat
want status 0 "$status"
want stderr '' "$err"
row=$(awk -v pid="$held" '$1 == pid' "$work/out")
want 'pid, command, state' "$held probe alive" "$(echo "$row" | awk '{ print $1, $2, $3 }')"
want head "PID COMMAND STATE PAGES SIZE WINDOWS HITS HIT-BYTES SEEKS FILLS WAITS TIMEOUTS \
RECLAIMS DOUBTS MAPPED STORES" "$(grep PID "$work/out" | xargs)"
want 'rows and columns' '16 16 16 16' \
	"$(sed -n '/PID/,$p' "$work/out" | awk '{ printf "%s%s", (NR > 1 ? " " : ""), NF }')"
want 'widths' 1 "$(sed -n '/PID/,$p' "$work/out" | awk '{ print length }' | sort -u | wc -l)"
want windows 1 "$(echo "$row" | awk '{ print $6 }')"
[ "$(echo "$row" | awk '{ print $4 }')" -gt 90 ] || why="$why${why:+; }pages: $row"
echo "$row" | awk '$5 !~ /^[5-7]\.[0-9]M$/ || $7 < 1000 { exit 1 }' || why="$why${why:+; }$row"
for words in "^segment  $seg, 1\.3M$" '^costs    [0-9]* ns a call' \
	'^words    [1-9][0-9]* up to date, 0 locked, 0 with waiters, of 262144$' \
	'^files    [01] known, of 4096$'; do
	grep -q "$words" "$work/out" || why="$why${why:+; }no line $words"
done
verdict 'stat: a reader that lives' "$why"

why=
pw stat --json
want status 0 "$status"
want stderr '' "$err"
python3 -m json.tool <"$work/out" >/dev/null || why="$why${why:+; }not JSON"
json_says \
	"list(j) == ['version', 'path', 'bytes', 'abi', 'page_bytes', 'costs_ns', 'words', \
'files', 'totals', 'past', 'processes']" \
	"j['version'] == '$version' and j['path'] == '$seg'" \
	"j['bytes'] == $(stat -c %s "$seg") and j['page_bytes'] == 65536" \
	"list(j['costs_ns']) == ['call', 'touch', 'map'] and all(v > 0 for v in j['costs_ns'].values())" \
	"list(j['words']) == ['uptodate', 'locked', 'waiters', 'capacity']" \
	"j['words']['uptodate'] > 90 and j['words']['capacity'] == 262144" \
	"j['files']['entries'] in (0, 1) and j['files']['capacity'] == 4096" \
	"tuple(j['totals']) == tuple(j['past']) == $counters" \
	"len(j['processes']) == 1" \
	"tuple(j['processes'][0]) == ('pid', 'comm', 'state') + $counters" \
	"j['processes'][0]['pid'] == $held and j['processes'][0]['comm'] == 'probe'" \
	"j['processes'][0]['state'] == 'alive' and j['processes'][0]['windows'] == 1" \
	"j['processes'][0]['hits'] > 1000 and j['processes'][0]['pages'] > 90" \
	"j['totals']['pages'] == j['processes'][0]['pages']" \
	"j['totals']['hits'] == j['processes'][0]['hits'] + j['past']['hits']"
verdict 'stat --json: a reader that lives' "$why"

why=
release
want_right "$big"
pw stat --json
json_says \
	"j['processes'] == [] and j['totals'] == j['past']" \
	"j['past']['hits'] == $(count "$work/report" hits)" \
	"j['past']['mapped'] == $(count "$work/report" mapped)" \
	"j['totals']['pages'] == 0 and j['totals']['windows'] == 0"
verdict 'stat: when it has ended' "$why"

why=
hold "$big" "$bin" run "$probe"
kill -KILL "$held"
release 2>/dev/null
want status 137 "$status"
pw stat --json
json_says \
	"[p['state'] for p in j['processes']] == ['gone']" \
	"j['totals'] == j['past']"
pw stat
grep -q ' probe *gone ' "$work/out" || why="$why${why:+; }no row"
verdict 'stat: when it was killed' "$why"

# What a process read before an exec counts, too, and no slot is left behind.
why=
rm -f "$seg"
"$bin" run --report="$work/report" "$probe" "$data" exec "$probe" "$data" exec true >"$work/out"
pw stat --json
json_says "j['processes'] == []" "j['past']['hits'] > 20000" "j['past']['mapped'] == 2" \
	"j['totals']['pages'] == 0"
verdict 'stat: programs that exec' "$why"

if unshare -p -f true 2>/dev/null; then
	why=
	rm -f "$seg"
	hold "$big" "$bin" run unshare -p -f "$probe"
	pw stat --json
	json_says \
		"[(p['pid'], p['state']) for p in j['processes']] == [(1, 'elsewhere')]" \
		"j['totals']['hits'] == j['processes'][0]['hits'] > 1000"
	verdict 'stat: a reader in another pid namespace' "$why"
	release
else
	echo 'skip stat: another pid namespace - not allowed here'
fi

# Slots that hold what no process would write: owner and comm (cache/layout.h).
why=
rm -f "$seg"
"$bin" run "$probe" "$data" >"$work/out"
python3 - "$seg" <<'END'
import struct, sys
with open(sys.argv[1], 'r+b') as f:
    at, = struct.unpack('<I', f.read(36)[32:36])
    for i, (pid, comm) in enumerate([(1, b'\x1b[2Jquo"te\\\n\xff\xfe\x7fx'),
                                     (0xffffffff, b'a' * 16), (2, b'\0' * 16)]):
        f.seek(at + 128 * i)
        f.write(struct.pack('<IIQ', pid, 0, 77) + b'\xff' * 96 + comm)
END
pw stat
! grep -q '[^ -~]' "$work/out" || why='unprintable bytes'
grep -q '?\[2Jquo"te\\????x' "$work/out" || why="$why${why:+; }comm is not shown cleanly"
want 'widths' 1 "$(sed -n '/PID/,$p' "$work/out" | awk '{ print length }' | sort -u | wc -l)"
pw stat --json
! grep -q '[^ -~]' "$work/out" || why="$why${why:+; }unprintable bytes in JSON"
json_says \
	"[p['pid'] for p in j['processes']] == [1, 2, 4294967295]" \
	"[p['state'] for p in j['processes']] == ['elsewhere', 'elsewhere', 'damaged']" \
	"[p['comm'] for p in j['processes']] == ['?[2Jquo\"te\\\\????x', '', 'a' * 16]" \
	"j['totals']['waits'] == 2 ** 64 - 1"
verdict 'stat: damaged slots' "$why"

exit "$failed"
