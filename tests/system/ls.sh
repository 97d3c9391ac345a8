#!/bin/bash
# pagewell ls: what processes have windows of, as text and as JSON.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

usual ls
fails 'an argument' 2 'ls: unexpected argument x' ls x

# unseen: what may not be looked at is a matter of the machine
unseen() {
	sed -i '/could not be looked at/d' "$work/err"
	err=$(cat "$work/err")
}
# rows PID: of the table
rows() {
	awk -v pid="$1" '$1 == pid' "$work/out"
}

# ---- nobody ----------------------------------------------------------------------------

why=
pw ls
unseen
want status 0 "$status"
want stderr '' "$err"
want head 'PID COMMAND WINDOWS MAPPED RESIDENT FILE' "$(head -n 1 "$work/out" | xargs)"
[ ! -e "$seg" ] || why="$why${why:+; }a segment was made"
verdict 'without a segment' "$why"

# ---- a reader --------------------------------------------------------------------------

# A name with a space, a quote, a letter that is not ASCII, and a newline.
file=$place/$'a "b\303\266\nc'
data "$file" 3000000
why=
hold "$file" "$bin" run "$probe"
pw ls
unseen
want status 0 "$status"
want stderr '' "$err"
row=$(rows "$held")
want row "$held probe 1 3.7M 2.9M" "$(echo "$row" | awk '{ print $1, $2, $3, $4, $5 }')"
want name "$place/"$'a "b\303\266?c' "${row##*  }"
want rows 1 "$(echo "$row" | wc -l)"
verdict 'a reader, and a name for people' "$why"

why=
pw ls --json
unseen
want stderr '' "$err"
json_says \
	"list(j) == ['version', 'processes', 'unseen']" \
	"j['version'] == '$version' and type(j['unseen']) == int" \
	"[list(p) for p in j['processes'] if p['pid'] == $held] == [['pid', 'comm', 'files']]" \
	"[p['comm'] for p in j['processes'] if p['pid'] == $held] == ['probe']" \
	"[p['files'] for p in j['processes'] if p['pid'] == $held] == [[{
		'path': '$place/a \"b\u00f6\\nc', 'deleted': False, 'writable': False,
		'windows': 1, 'mapped': 3866624, 'resident': 3002368}]]"
verdict 'the same as JSON' "$why"

# The segment says who has a slot, but the library alone will do.
why=
pw ls --segment="$seg.2"
unseen
want rows 1 "$(rows "$held" | wc -l)"
want stderr '' "$err"
verdict 'without its segment' "$why"

why=
mv "$seg" "$seg.2"
echo nonsense >"$seg"
pw ls
want rows 1 "$(rows "$held" | wc -l)"
grep -q 'segment refused' "$work/err" || why="$why${why:+; }nothing was said of the segment"
verdict 'with a segment that is refused' "$why"
rm "$seg"

why=
rm "$file"
pw ls
rows "$held" | grep -q 'c (deleted)$' || why="$(rows "$held")"
pw ls --json
json_says "[p['files'][0]['deleted'] for p in j['processes'] if p['pid'] == $held] == [True]" \
	"[p['files'][0]['path'] for p in j['processes'] if p['pid'] == $held] == ['$place/a \"b\u00f6\\nc']"
verdict 'a deleted file' "$why"
release # it does not find its file again
why=
pw ls
want rows 0 "$(grep -c probe "$work/out")"
verdict 'when it has ended' "$why"

# ---- what is no window -----------------------------------------------------------------

# Two windows of one file, one from a number that may be written; then mappings of its own:
# read-only, and not to be copied by fork, but from the middle, or writable and private.
data "$place/data" 300000
cat >"$work/maps.py" <<'END'
import mmap, os, sys
path = sys.argv[1]
def spot(fd):
    for i in range(16000):
        os.pread(fd, 512, i % 64 * 512)
for mode in os.O_RDONLY, os.O_RDWR:
    spot(os.open(path, mode))
own = os.open(path, os.O_RDWR)
kept = []
for prot, flags in (mmap.PROT_READ, mmap.MAP_SHARED), (mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE):
    kept.append(mmap.mmap(own, 65536, flags=flags, prot=prot))
kept[1].madvise(mmap.MADV_DONTFORK)
kept.append(mmap.mmap(-1, 65536))
kept[2].madvise(mmap.MADV_DONTFORK)
print('holding', file=sys.stderr, flush=True)
sys.stdin.read()
END
why=
hold "$place/data" "$bin" run python3 "$work/maps.py"
pw ls --json
json_says "[(f['path'], f['windows']) for p in j['processes'] if p['pid'] == $held
	for f in p['files']] == [('$place/data', 2)]"
verdict 'mappings of the program itself are none' "$why"
release

# A window that writes are stored into (PAGEWELL_WRITE=map).
cat >"$work/writes.py" <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
for i in range(30000):
    os.pwrite(fd, b'x' * 64, i % 64 * 512)
print('holding', file=sys.stderr, flush=True)
sys.stdin.read()
END
case $(stat -f -c %T "$place") in
ext2/ext3 | tmpfs)
	why=
	hold "$place/data" env PAGEWELL_WRITE=map "$bin" run python3 -I "$work/writes.py"
	pw ls --json
	json_says "[f['writable'] for p in j['processes'] if p['pid'] == $held for f in p['files']
		if f['path'] == '$place/data'] == [True]"
	verdict 'a window for stores' "$why"
	release
	;;
*) echo 'skip a window for stores - there are none on this file system' ;;
esac

# ---- who may not be looked at ----------------------------------------------------------

as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
public=$(mktemp -d /tmp/pagewell-test.XXXXXX)
trap 'rm -rf "$public"; cleanup' EXIT
chmod 755 "$public"
cp "$bin" "$public/pagewell"
if [ "$(id -u)" = 0 ] && "${as_nobody[@]}" "$public/pagewell" --version >/dev/null 2>&1; then
	why=
	hold "$place/data" "$bin" run "$probe"
	status=0
	PAGEWELL_SEGMENT='' "${as_nobody[@]}" "$public/pagewell" ls >"$work/out" 2>"$work/err" ||
		status=$?
	want status 0 "$status"
	want rows 0 "$(rows "$held" | wc -l)"
	grep -q '^pagewell: [1-9][0-9]* process.* could not be looked at; root may' "$work/err" ||
		why="$why${why:+; }said: $(cat "$work/err")"
	verdict 'those of others are counted' "$why"
	release
else
	echo 'skip those of others are counted - needs root, setpriv, and a /tmp that programs may run from'
fi

why=
status=0
"$bin" ls >/dev/full 2>"$work/err" || status=$?
want status 1 "$status"
verdict 'a full disk is noticed' "$why"

exit "$failed"
