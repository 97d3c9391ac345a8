#!/bin/bash
# pagewell explain from outside: every reason that can be brought about is, and is seen; what
# it counts are the calls that the program made; the program is as it is without; and nothing
# is left behind, or there at all when nobody asked.
# shellcheck source=tests/system/_probe.sh
. "$(dirname "$0")/_probe.sh"

# As little as possible that differs from machine to machine.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin
told=${PAGEWELL_TESTS:-$root/build/tests}/system/told
big=$place/big
data "$big" 4000000
warm=("open=$big" "pread=2000,1,0")
cd "$place"

# The same costs on every machine: what is known need not be measured (cache/layout.h).
"$bin" run "$probe" "$big" >"$work/out"
costs() {
	printf '\x2c\1\0\0\x64\0\0\0\x98\x3a\0\0\4\0\0\0' | # 300, 100, 15000, 4
		dd of="$seg" bs=1 seek=40 conv=notrunc status=none
}

# explained ARG...: pagewell explain --json, which `says` reads; sets status, and the
# program's out and err in $work
explained() {
	costs
	status=0
	"$bin" explain --json --output="$work/json" "$@" >"$work/out" 2>"$work/err" \
		</dev/null || status=$?
}

# says EXPRESSION...: of j, of the totals t, and of file(END OF NAME); and every call is
# accounted for
says() {
	local said
	said=$(python3 - "$work/json" "$@" 2>&1 <<-'END'
		import json, sys
		j = json.load(open(sys.argv[1]))
		t = j['totals']
		def file(end):
		    return next(f for f in j['files'] if f['name'].endswith(end))
		whole = """all(f['calls'] == f['reads'] + f['seeks'] + f['writes'] ==
		    f['served_reads'] + f['served_seeks'] + f['stores'] + sum(f['passed'].values())
		    for f in j['files'] + [t]) and t['calls'] ==
		    sum(f['calls'] for f in j['files'])"""
		for e in sys.argv[2:] + [whole]:
		    e = ' '.join(e.split())
		    if not eval(e, globals()):
		        print(e, 'is false; passed:', t['passed'], 'of', t['calls'])
	END
	) || said="no JSON: $said"
	[ -z "$said" ] || why="$why${why:+; }$said"
}

# reason NAME EXPRESSION ARG...: told with these operations
reason() {
	local name=$1 expression=$2
	shift 2
	why=
	explained "$told" "$@"
	want status 0 "$status"
	says "$expression"
	verdict "reason $name" "$why"
}

# ---- reasons ---------------------------------------------------------------------------

reason served "t['reads'] == 2000 and t['served_reads'] > 1500 and t['windows'] == 1
	and t['saved_ns'] > 0 and j['verdict'] != 'unknown'" "${warm[@]}"
reason not-earned "t['passed'] == {'not-earned': 10}" open="$big" read=10,100
data "$place/small" 20480
# (In a process that has read enough to look at what is known of costs.)
reason read-once "file('small')['passed']['read-once'] >= 23" "${warm[@]}" \
	open="$place/small" read=40,512
reason page-not-earned "t['passed']['page-not-earned'] >= 20" \
	"${warm[@]}" pread=25,1,131072,131072
reason new-memory "t['passed']['new-memory'] == 7" "${warm[@]}" fresh=7
reason past-end "t['passed']['past-end'] == 20" "${warm[@]}" pread=20,4096,3999000
head -c 100000 /dev/zero >"$place/zeros"
reason no-witness "t['passed']['no-witness'] >= 8 and t['passed']['resting'] > 1000
	and t['served_reads'] == 0 and t['saved_ns'] < 0" open="$place/zeros" pread=2000,1,0
cp "$big" "$place/cut"
reason fault "t['passed']['fault'] == 1 and t['passed']['resting'] >= 3" \
	open="$place/cut" pread=2000,1,0 pread=200,1,100000 cut="$place/cut",0 pread=10,1,100000
reason shared "t['passed']['shared'] == 300 and t['calls'] == 600" \
	open="$big" read=300,100 fork read=300,100
cp "$big" "$place/rw"
reason given-back "t['passed']['given-back'] > 200 and t['passed']['write'] == 400" \
	open+="$place/rw" read=600,1 set=1,0 mixed=400
reason seek-end "t['passed']['seek-end'] == 20" "${warm[@]}" set=100,5 end=20,0
reason seek-beyond "t['passed']['seek-beyond'] == 1" "${warm[@]}" set=100,5 set=1,99999999
reason vector "t['passed']['vector'] == 7" "${warm[@]}" readv=7
reason no-bytes "t['passed']['no-bytes'] == 9" "${warm[@]}" pread=9,0,0
reason error "t['passed'] == {'error': 3} and j['files'][0]['kind'] == 'rest'" read=3,1
reason sigbus-blocked "t['passed'] == {'sigbus-blocked': 2300}" \
	block open="$big" read=300,10 pread=2000,1,0
reason stepped-aside "t['passed']['stepped-aside'] == 50 and j['stepped_aside'] == 1
	and j['stepped_aside_for'] == 'setuid'" "${warm[@]}" setuid read=50,1
reason o-append "t['passed'] == {'o-append': 2000} and j['verdict'] != 'worth it'" \
	opena="$place/rw" read=2000,100
reason not-readable "t['passed'] == {'not-readable': 20, 'write': 3}" \
	openw="$place/rw" set=20,0 write=3
: >"$place/empty"
reason empty "t['passed']['empty'] >= 30" open="$place/empty" set=50,0 read=30,10
truncate -s 100000 "$shm/holes"
reason holes "t['passed']['holes'] > 300" open="$shm/holes" read=400,10
reason 'file system' "t['passed']['file-system'] > 1900
	and file('/maps')['file_system'] == 'proc' and j['verdict'] == 'not worth it'" \
	open=/proc/self/maps read=2000,1
if dd if="$big" of=/dev/null iflag=direct count=1 2>"$work/err"; then
	reason o-direct "t['passed'] == {'o-direct': 20}" opend="$big" read=20,4096
else
	echo "skip reason o-direct - not on this file system"
fi

why=
explained --exclude='*/big' "$told" open="$big" read=30000,1
says "t['passed'] == {'excluded': 30000}" "'PAGEWELL_EXCLUDE' in j['advice']" \
	"j['verdict'] == 'change something'"
verdict 'reason excluded' "$why"

why=
case $(stat -f -c %T "$place") in
tmpfs) type=tmpfs ;;
btrfs) type=btrfs ;;
*) type=ext4 ;;
esac
explained --fs=-$type "$told" open="$big" read=30000,1
says "t['passed']['file-system'] > 29900" "file('/big')['file_system'] == '$type'" \
	"'-$type' in j['advice']"
verdict 'reason file system, by PAGEWELL_FS' "$why"

why=
explained sh -c "exec '$told' fd=0 read=30000,1 <'$big'"
says "file('/big')['passed'] == {'inherited': 30000}" "j['verdict'] == 'change something'" \
	"'inherit' in j['advice'] and '$big' in j['advice']"
verdict 'reason inherited' "$why"

why=
explained sh -c "cat '$big' | '$told' fd=0 read=50,1"
says "next(f for f in j['files'] if f['kind'] == 'pipe')['passed']['not-regular'] >= 50"
verdict 'reason not a regular file' "$why"

why=
explained sh -c "ulimit -v 1000000; exec '$told' open='$big' pread=30000,1,0"
says "file('/big')['passed']['no-window'] > 29000" "'ulimit' in j['advice']"
verdict 'reason nothing can be mapped' "$why"

why=
PAGEWELL_WRITE=map explained "$told" open+="$place/rw" pread=2000,1,0 pwrite=5000,1,0
says "file('/rw')['stores'] > 0" "t['writes'] == 5000"
verdict 'stores' "$why"

# A pass over a file by large pieces is not looked at for long.
why=
head -c 4000000 "$big" >"$place/pass"
PAGEWELL_WRITE=map explained dd if=/dev/zero of="$place/pass" bs=4000 count=900 \
	conv=notrunc status=none
says "file('/pass')['writes'] == 900" "file('/pass')['stores'] == 0" \
	"file('/pass')['passed']['written-once'] > 300"
verdict 'a pass of writes' "$why"

# Another library has streams of its own (unhooked.sh), and the file is number 0.
why=
LD_PRELOAD=${PAGEWELL_TESTS:-$root/build/tests}/system/libtaken.so TAKEN=names \
	explained sh -c "exec '$told' open='$big' read=30000,1 <&-"
says "file('/big')['passed'] == {'stdio': 30000}" "j['without_streams'] > 0" \
	"'PAGEWELL_LOG' in j['advice']"
verdict 'reason streams stay with libc' "$why"

# ---- what is counted -------------------------------------------------------------------

why=
explained "$told" "${warm[@]}" read=100,10 set=50,3 cur=7,1 end=3,0 readv=2 stream="$big",300
says "(t['reads'], t['seeks'], t['writes']) == (2000 + 100 + 2 + 300, 60, 0)" \
	"j['processes'] == 1 and j['exit'] == 0 and j['signal'] is None" \
	"t['served_bytes'] + t['passed_bytes'] == 2000 + 1000 + 300" \
	"len(j['files']) == 1 and j['files'][0]['name'] == '$big'"
verdict 'every call once' "$why"

if command -v strace >/dev/null; then
	why=
	calls() {
		strace -f -o "$work/trace" -e trace=read,pread64,lseek,write,readv "$@" \
			>"$work/out" && grep -cv '+++' "$work/trace"
	}
	ops=("open+=$place/rw" "read=40,100" "set=50,5" "end=3,0" mixed=20 readv=2
		"pread=30,1,0")
	explained "$told" "${ops[@]}"
	says "t['calls'] == $(($(calls "$told" "${ops[@]}") - $(calls "$told")))"
	verdict 'as many calls as strace sees without the library' "$why"
else
	echo 'skip as many calls as strace sees without the library - there is no strace'
fi

why=
explained sh -c "'$told' open='$big' read=30,1; '$told' open='$place/small' read=20,1; :"
says "file('/big')['reads'] == 30 and file('/small')['reads'] == 20" "j['processes'] >= 3"
verdict 'children and what they exec' "$why"

why=
explained python3 -c "
import os, threading
def work():
    fd = os.open('$big', os.O_RDONLY)
    for i in range(3000): os.pread(fd, 100, 0)
ts = [threading.Thread(target=work) for i in range(4)]
for t in ts: t.start()
for t in ts: t.join()"
want status 0 "$status"
says "file('/big')['reads'] == 12000 and file('/big')['served_reads'] > 6000"
verdict 'threads' "$why"

# ---- the program is as it is without ---------------------------------------------------

same() {
	local name=$1 plain=0
	shift
	why=
	status=0
	"$@" >"$work/plain" 2>"$work/plain.err" </dev/null || plain=$?
	explained "$@"
	want status $plain "$status"
	cmp -s "$work/plain" "$work/out" || why="$why${why:+; }another output"
	cmp -s "$work/plain.err" "$work/err" || why="$why${why:+; }said something else"
	verdict "same: $name" "$why"
}
same probe "$probe" "$big"
same dd dd if="$big" bs=512 status=none
# shellcheck disable=SC2016
same dash sh -c 'while read -r line; do echo "$line"; done </etc/services; exit 3'
same 'a failing program' sh -c 'cat /nowhere; exit 7'
same 'the open descriptors' sh -c 'ls /proc/self/fd'
for program in perl php; do
	if ! command -v $program >/dev/null; then
		echo "skip same: $program - there is no $program here"
	elif [ $program = perl ]; then
		# shellcheck disable=SC2016
		same perl perl -e 'open F, "<", $ARGV[0]; for (1..3000) { sysseek F,
			($_ * 997) % 1900000, 0; sysread F, $b, 100; print $b }' "$big"
		says "file('/big')['served_reads'] > 1000"
	else
		# shellcheck disable=SC2016
		same php php -n -r '$f = fopen($argv[1], "r"); for ($i = 1; $i < 3000; $i++) {
			fseek($f, $i * 997 % 1900000); echo fread($f, 100); }' "$big"
		says "file('/big')['served_reads'] > 100"
	fi
done

# What is decided does not depend on being explained: both count the same. (Cases in which no
# time that is measured on the way matters.)
alike() {
	local name=$1
	shift
	why=
	rm -f "$work"/report*
	costs
	env LD_PRELOAD="$lib" PAGEWELL_REPORT="$work/report" "$told" "$@"
	costs
	"$bin" explain -o "$work/x" --report="$work/report.told" "$told" "$@"
	diff "$work/report" "$work/report.told" >"$work/out" || why=$(cat "$work/out")
	verdict "decides alike: $name" "$why"
}
alike reads "${warm[@]}" read=300,100 end=2,0 readv=3
alike seeks open="$big" set=50,100 cur=50,1 read=100,7 set=1,99999999 cur=20,0
alike 'reads and writes' open+="$place/rw" read=600,1 set=1,0 mixed=400
alike zeros open="$place/zeros" pread=2000,1,0
alike fork open="$big" set=40,100 pread=1000,1,0 read=40,1 fork read=100,1
alike 'a stream' stream="$big",2000

why=
[ "$(echo through | "$bin" explain -o "$work/x" cat)" = through ] || why='stdin is not its own'
verdict 'stdin' "$why"

# ---- how it ends -----------------------------------------------------------------------

# ends NAME STATUS WORDS ARG...: what is said has WORDS (a glob)
ends() {
	local name=$1 wanted=$2 words=$3
	shift 3
	why=
	status=0
	"$bin" explain "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	want status "$wanted" "$status"
	# shellcheck disable=SC2254
	case $(cat "$work/err") in
	$words) ;;
	*) why="$why${why:+; }said: $(cat "$work/err")" ;;
	esac
	verdict "ends: $name" "$why"
}
ends 'status 3' 3 '*pagewell explain: *calls of 1 process*' sh -c 'exit 3'
ends 'status 125 of the program' 125 '*pagewell explain: *' sh -c 'exit 125'
ends 'not found' 127 'pagewell: nowhere-to-be-found: *' nowhere-to-be-found
ends 'cannot be invoked' 126 'pagewell: */big: Permission denied' -- "$big"
ends 'no program' 125 'pagewell: explain: no program given*'
ends 'unknown option' 125 'pagewell: explain: unknown option --nonsense*' --nonsense true
ends 'cannot write' 125 'pagewell: explain: cannot write /nowhere/x: No such file*' \
	-o /nowhere/x true
ends 'a program after --' 0 '*pagewell explain: *' -- true
ends 'help' 0 '' --help
ends 'version' 0 '' --version
static=${PAGEWELL_TESTS:-$root/build/tests}/shim/static_reader
plain=0
"$static" >"$work/out" 2>&1 </dev/null || plain=$?
ends 'a static program' $plain '*unknown: *is statically linked' "$static"
PAGEWELL_DISABLE=1 ends 'disabled' 0 '*unknown: *PAGEWELL_DISABLE is set' true

for signal in TERM KILL SEGV; do
	why=
	status=0
	(
		ulimit -c 0
		"$bin" explain --json -o "$work/json" "$told" open="$big" read=5,1 \
			exec 2>/dev/null || :
		"$bin" explain --json -o "$work/json" sh -c "kill -$signal \$\$"
		exit $?
	) 2>/dev/null || status=$?
	want status $((128 + $(kill -l $signal))) "$status"
	says "j['signal'] == $(kill -l $signal) and j['exit'] is None"
	verdict "ends: killed by $signal" "$why"
done

why=
explained "$told" open="$big" read=5,1 die 2>/dev/null || :
want status 137 "$status"
says "file('/big')['reads'] == 5 and j['signal'] == 9"
verdict 'ends: what a killed program had done' "$why"

why=
"$bin" explain -o "$work/x" sh -c 'trap "exit 5" TERM; echo up; for i in 1 2 3 4 5; do sleep 1; done' \
	>"$work/up" &
held=$!
until [ -s "$work/up" ]; do sleep 0.05; done
kill -TERM $held
status=0
wait $held || status=$?
held=
want status 5 "$status"
verdict 'ends: SIGTERM is handed on' "$why"

# ---- nothing is left, and nothing is there that nobody asked for -----------------------

why=
mkdir "$work/tmp"
# shellcheck disable=SC2016
TMPDIR=$work/tmp "$bin" explain -o "$work/x" sh -c 'ls -l /proc/$PPID/fd >"$0"' "$work/fds"
want 'left behind' '' "$(ls -A "$work/tmp")"
grep -q 'memfd:pagewell-explain' "$work/fds" || why="$why${why:+; }where is the table?"
verdict 'nothing is left behind' "$why"

# wrong NAME PATH: PAGEWELL_EXPLAIN=PATH; the program is served, and PATH is not even opened
wrong() {
	why=
	read_it "$big" PAGEWELL_EXPLAIN="$2"
	want_right "$big"
	want_served
	if [ -n "$2" ] && command -v strace >/dev/null; then
		strace -o "$work/trace" -E LD_PRELOAD="$lib" -E PAGEWELL_EXPLAIN="$2" \
			"$told" >"$work/out" 2>&1
		! grep 'open' "$work/trace" | grep -qF "$2" || why="$why${why:+; }opened"
	fi
	verdict "not a table: $1" "$why"
}
mkfifo "$work/fifo"
wrong 'nothing' ''
wrong 'no file' "$work/none"
wrong 'a pipe' "$work/fifo"
wrong 'a file' "$big"
wrong 'a device' /dev/tty
wrong 'a link to a file' /proc/self/fd/0

# A memory file of that name that is as it should be, and ones that are not sealed, too short,
# or of another layout (cache/explain.h).
# shellcheck disable=SC2016
head=$("$bin" explain -o "$work/x" sh -c 'od -An -tx1 -N16 "$PAGEWELL_EXPLAIN"')
for what in right unsealed short other; do
	why=
	python3 - $what "$lib" "$probe" "$big" "$head" >"$work/out" 2>"$work/err" <<-'END' || why="status $?: "
		import fcntl, os, struct, subprocess, sys
		what, lib, probe, big, head = sys.argv[1:]
		fd = os.memfd_create('pagewell-explain', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
		magic, layout, size = struct.unpack('<QII', bytes.fromhex(head))
		os.ftruncate(fd, size - 4096 if what == 'short' else size)
		head = struct.pack('<QII', magic, layout + (what == 'other'), size)
		os.pwrite(fd, head, 0)
		if what != 'unsealed':
		    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 7)
		env = dict(os.environ, LD_PRELOAD=lib,
		           PAGEWELL_EXPLAIN=f'/proc/{os.getpid()}/fd/{fd}')
		subprocess.run([probe, big], env=env, check=True)
		written = os.pread(fd, 1 << 24, len(head)).strip(b'\0') != b''
		assert written == (what == 'right'), written
	END
	cmp -s "$big" "$work/out" || why="$why$(tail -n 1 "$work/err")"
	verdict "a table: $what" "$why"
done

# Whoever has the table may write anything into it.
why=
explained sh -c "'$told' open='$big' read=100,10
	head -c 2621696 /dev/urandom 1<>\"\$PAGEWELL_EXPLAIN\" >&1
	'$told' open='$big' pread=3000,10,0" 2>/dev/null
want status 0 "$status"
python3 -c 'import json, sys; sys.exit(len(json.load(open(sys.argv[1]))["files"]) < 4000)' \
	"$work/json" || why="$why; no JSON of so many files"
"$bin" explain --all -o "$work/x" sh -c "head -c 2621696 /dev/urandom 1<>\"\$PAGEWELL_EXPLAIN\""
! grep -q '[^ -~]' "$work/x" || why="$why${why:+; }unprintable bytes"
verdict 'a damaged table' "$why"

# ---- how it looks ----------------------------------------------------------------------

why=
costs
"$bin" explain -o "$work/x" "$told" "${warm[@]}" open="$place/empty" read=4,1
grep -qx 'pagewell explain: 2 004 calls of 1 process; saved 1 [0-9]*, about [0-9]* us' \
	"$work/x" || why='the head'
grep -Eqx ' +2 000 +9[0-9].[0-9] % +[0-9]+ us  .*/big' "$work/x" || why="$why; a file"
grep -qx ' *to the kernel: 4 not earned yet' "$work/x" || why="$why; reasons"
grep -qx '  not earned yet: So far .*' "$work/x" || why="$why; what they mean"
want 'the last line' 'not worth it: no more than about' \
	"$(tail -n 1 "$work/x" | cut -d' ' -f1-7)"
verdict 'text' "$why"

why=
mkdir "$place/many"
ops=()
for i in $(seq 25); do
	echo "$i" >"$place/many/$i"
	ops+=("open=$place/many/$i" "read=2,1")
done
"$bin" explain "$told" "${ops[@]}" 2>"$work/x"
want 'files shown' 20 "$(grep -c '/many/' "$work/x")"
grep -q 'and 5 more: --all' "$work/x" || why="$why; not said that there are more"
"$bin" explain --all "$told" "${ops[@]}" 2>"$work/x"
want 'all files' 25 "$(grep -c '/many/' "$work/x")"
verdict 'twenty files, or all' "$why"

if command -v script >/dev/null; then
	why=
	on_terminal() {
		TERM=xterm script -qec "$1" /dev/null </dev/null
	}
	on_terminal "'$bin' explain true" | grep -q $'\033\[1m' || why='no colours'
	! on_terminal "NO_COLOR=1 '$bin' explain true" | grep -q $'\033' || why="$why; NO_COLOR"
	! grep -q $'\033' "$work/x" || why="$why; colours off a terminal"
	verdict 'colours on a terminal only' "$why"
else
	echo 'skip colours on a terminal only - there is no script(1)'
fi

exit "$failed"
