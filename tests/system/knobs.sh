#!/bin/bash
# The PAGEWELL_… variables: a bad value is one line on stderr that names variable, value and
# what is accepted, and the program runs on as if there were no library; a good one does
# what README.md says it does.
# Where it may, in a mount namespace of its own.
if [ "${KNOBS_NAMESPACE:-}" != 1 ] && [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	exec env KNOBS_NAMESPACE=1 unshare -m --propagation private "$0" "$@"
fi
# shellcheck source=tests/system/_probe.sh
. "$(dirname "$0")/_probe.sh"

mkdir "$place/a" "$place/b"
data=$place/a/data
other=$place/b/data
data "$data" 300000
cp "$data" "$other"

# ---- bad values ------------------------------------------------------------------------

# bad VARIABLE VALUE ACCEPTED [SHOWN]: the line has to show VALUE, or SHOWN instead
bad() {
	local name=${2:0:30}
	why=
	read_it "$data" "$1=$2"
	said=$(cat "$work/err")
	want 'lines on stderr' 1 "$(wc -l <"$work/err")"
	case $said in
	"pagewell: $1=${4-$2}"*"$3"*) ;;
	*) why="$why${why:+; }said: $said" ;;
	esac
	: >"$work/err" # looked at
	want_right "$data"
	want_unserved
	[ ! -e "$seg" ] || why="$why${why:+; }a segment was made"
	verdict "$1=${name//[^ -~]/?}" "$why"
	rm -f "$seg"
}

for value in 0 0K -1 +1 1X 12KB '1 M' ' 1M' 1.5M 0x1000 K abc 18446744073709551616 \
	99999999999999999999G 17179869184G; do
	bad PAGEWELL_SIZE "$value" 'K, M or G'
done
for value in segment ./segment dev/shm/x; do
	bad PAGEWELL_SEGMENT "$value" 'absolute path'
done
long=/$(printf '%0300d' 0 | tr 0 x)
bad PAGEWELL_SEGMENT "$long" 'absolute path' "${long:0:20}"
bad PAGEWELL_SEGMENT "$long$long$long" 'absolute path' "${long:0:20}"
for value in ext4 + - +nosuchfs +ext +ext44 '+ext4 -tmpfs' +ext4,zzz +ext4,,-tmpfs ,+ext4; do
	bad PAGEWELL_FS "$value" tmpfs
done
for value in 2 yes true 01 ' '; do
	bad PAGEWELL_DISABLE "$value" '0 or 1'
done
for value in relative/tree /mnt:relative ./here '~/here'; do
	bad PAGEWELL_TRUST "$value" 'absolute names'
done
for value in yes 1 maps Map 'map ' ' '; do
	bad PAGEWELL_WRITE "$value" map
done
for variable in PAGEWELL_INCLUDE PAGEWELL_EXCLUDE PAGEWELL_LOG; do
	bad $variable "$long$long$long$long" 1023 ''
done
# Whatever is in a value, the line stays one line, and none of it works on a terminal.
bad PAGEWELL_SIZE $'1\n2' 'K, M or G' 1
bad PAGEWELL_SIZE $'\033[2J' 'K, M or G' ''
why=
case $said in *[![:print:]]*) why='it was repeated as it is' ;; esac
verdict 'an escape sequence in a value' "$why"

why=
status=0
PAGEWELL_SIZE=abc LD_PRELOAD=$lib sh -c 'exit 3' 2>"$work/err" || status=$?
want status 3 "$status"
status=0
# In a shell of its own, which says on stderr what became of it.
(
	PAGEWELL_SIZE=abc LD_PRELOAD=$lib sh -c 'kill -TERM $$'
	exit $?
) 2>/dev/null || status=$?
want status 143 "$status"
verdict 'exit status under a bad value' "$why"

why=
status=0
PAGEWELL_SIZE=abc LD_PRELOAD=$lib "$probe" "$data" 2>&- >"$work/out" || status=$?
want status 0 "$status"
cmp -s "$data" "$work/out" || why="$why${why:+; }the output is wrong"
verdict 'bad value, and stderr is closed' "$why"

# ---- good values -----------------------------------------------------------------------

# served NAME FILE [VARIABLE=VALUE]..., unserved: the probe of FILE is, or isn't
served() {
	local name=$1
	shift
	why=
	read_it "$@"
	want_right "$1"
	want_served
	verdict "$name" "$why"
}
unserved() {
	local name=$1
	shift
	why=
	read_it "$@"
	want_right "$1"
	want_unserved
	verdict "$name" "$why"
}

served 'nothing set' "$data"
served 'empty values are no values' "$data" PAGEWELL_DISABLE= PAGEWELL_SIZE= \
	PAGEWELL_INCLUDE= PAGEWELL_EXCLUDE= PAGEWELL_FS= PAGEWELL_LOG=
rm -f "$seg"

unserved PAGEWELL_DISABLE=1 "$data" PAGEWELL_DISABLE=1
why=
[ ! -e "$seg" ] || why='it was made'
verdict 'PAGEWELL_DISABLE=1: no segment' "$why"
served PAGEWELL_DISABLE=0 "$data" PAGEWELL_DISABLE=0
# Off is off: a bad value elsewhere is nobody's business then.
unserved 'PAGEWELL_DISABLE=1 and a bad value' "$data" PAGEWELL_DISABLE=1 PAGEWELL_SIZE=abc

served 'INCLUDE has it' "$data" PAGEWELL_INCLUDE="$place/a/*"
unserved 'INCLUDE has others' "$data" PAGEWELL_INCLUDE="$place/b/*"
served 'INCLUDE has it second' "$data" PAGEWELL_INCLUDE="$place/b/*:$place/a/d?t[a]"
served 'INCLUDE: * matches slashes' "$data" PAGEWELL_INCLUDE="${place%/*}/*"
unserved 'EXCLUDE has it' "$data" PAGEWELL_EXCLUDE="$place/a/*"
served 'EXCLUDE has others' "$data" PAGEWELL_EXCLUDE="$place/b/*"
unserved 'EXCLUDE wins over INCLUDE' "$data" PAGEWELL_INCLUDE='*' PAGEWELL_EXCLUDE='*/a/*'
served 'INCLUDE less EXCLUDE' "$other" PAGEWELL_INCLUDE='*' PAGEWELL_EXCLUDE='*/a/*'
served 'empty globs match nothing' "$data" PAGEWELL_EXCLUDE=':::'

# by_place NAME TYPE FOLDER: files in FOLDER, of that type, follow PAGEWELL_FS
by_place() {
	local file=$3/by-place
	cp "$data" "$file"
	served "$1: by default" "$file"
	unserved "$1: -$1" "$file" PAGEWELL_FS="-$1"
	served "$1: +$1" "$file" PAGEWELL_FS="+$1"
	unserved "$1: the last word counts" "$file" PAGEWELL_FS="+$1,-$1"
	rm "$file"
}
by_place tmpfs "$shm" "$shm"
case $(stat -f -c %T "$place") in
ext2/ext3) by_place ext4 ext2/ext3 "$place" ;;
*) echo 'skip FS=-ext4 - no ext4 here' ;;
esac
served 'FS: others stay as they are' "$data" PAGEWELL_FS=+xfs,+overlay,+f2fs,-squashfs

# A file system that is not on the list: its files are served in trees that are named.
trusted() {
	local on=$shm/ramfs file=$shm/ramfs/tree/by-trust
	mkdir "$on"
	mount -t ramfs ramfs "$on"
	mkdir "$on/tree" "$on/tree2"
	cp "$data" "$file"
	cp "$data" "$on/tree2/other"
	ln -s "$on/tree" "$shm/link"
	unserved 'TRUST: not set' "$file"
	unserved 'TRUST: another tree' "$file" PAGEWELL_TRUST="$place"
	served 'TRUST: the tree' "$file" PAGEWELL_TRUST="$on/tree"
	served 'TRUST: the second tree' "$file" PAGEWELL_TRUST="$place:/no/such/tree:$on/tree/"
	served 'TRUST: all of the file system' "$file" PAGEWELL_TRUST="$on"
	served 'TRUST: /' "$file" PAGEWELL_TRUST=/
	served 'TRUST: the tree by a symbolic link' "$file" PAGEWELL_TRUST="$shm/link"
	served 'TRUST: the file by a symbolic link' "$shm/link/by-trust" PAGEWELL_TRUST="$on/tree"
	unserved 'TRUST: a tree whose name begins so' "$on/tree2/other" PAGEWELL_TRUST="$on/tree"
	unserved 'TRUST: is not for file systems left out' "$shm/data" \
		PAGEWELL_FS=-tmpfs PAGEWELL_TRUST="$shm"
	rm "$shm/link"
	umount "$on"
}
cp "$data" "$shm/data"
if [ "${KNOBS_NAMESPACE:-}" = 1 ]; then
	trusted
else
	echo 'skip TRUST - a file system of its own cannot be mounted here'
fi

for value in 1 4096 64K 64k 1M 1m 1G 1g 18446744073709551615 17179869183G; do
	served "PAGEWELL_SIZE=$value" "$data" PAGEWELL_SIZE="$value"
done

# What is mapped while a reader of 8 MB holds still. The bound may be passed by what is
# touched between two looks, 2 MiB.
big=$place/big
data "$big" 8000000
# mapped [VARIABLE=VALUE]...: sets pages and reclaims
mapped() {
	rm -f "$work/report"
	hold "$big" env "$@" LD_PRELOAD="$lib" PAGEWELL_REPORT="$work/report" "$probe"
	release
	want_right "$big"
	pages=$(count "$work/report" pages)
	reclaims=$(count "$work/report" reclaims)
}
why=
mapped PAGEWELL_DISABLE=0
[ "$pages" -ge 120 ] || why="$why${why:+; }only $pages pages are mapped without a bound"
want reclaims 0 "$reclaims"
verdict 'SIZE: all is mapped without a bound' "$why"
why=
mapped PAGEWELL_SIZE=1M
[ "$pages" -le $((16 + 32)) ] || why="$why${why:+; }$pages pages are mapped"
[ "$reclaims" -gt 100 ] || why="$why${why:+; }$reclaims reclaims"
verdict 'SIZE: 1M bounds it' "$why"

# ---- files to write --------------------------------------------------------------------

why=
rm -f "$work"/report.*
PAGEWELL_REPORT=$work/report.%p LD_PRELOAD=$lib "$probe" "$data" >"$work/out" &
pid=$!
wait $pid || why="status $?"
hits=$(count "$work/report.$pid" hits)
want_served
want 'the report' 'pages windows hits hit_bytes seeks fills waits timeouts reclaims doubts mapped stores' \
	"$(cut -d' ' -f1 "$work/report.$pid" | xargs)"
! grep -qvE '^[a-z_]+ [0-9]+$' "$work/report.$pid" || why="$why${why:+; }not NAME NUMBER"
verdict 'REPORT: one for each process' "$why"

why=
PAGEWELL_REPORT=$work/report LD_PRELOAD=$lib "$probe" "$data" >"$work/out"
echo more >>"$work/report"
PAGEWELL_REPORT=$work/report LD_PRELOAD=$lib "$probe" "$data" >"$work/out"
want lines 12 "$(wc -l <"$work/report")"
verdict 'REPORT: replaces an old one' "$why"

mkfifo "$work/fifo"
for variable in PAGEWELL_REPORT PAGEWELL_LOG; do
	for path in "$work/missing/file" "$work" "$work/fifo" /dev/full relative/x; do
		why=
		status=0
		# A relative segment path would be a bad value; this one is only refused.
		env "$variable=$path" PAGEWELL_SEGMENT="$work" LD_PRELOAD="$lib" "$probe" \
			"$data" >"$work/out" 2>"$work/err" || status=$?
		want_right "$data"
		verdict "$variable=${path/"$work"/DIR}: done without" "$why"
	done
done

exit "$failed"
