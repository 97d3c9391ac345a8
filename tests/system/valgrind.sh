#!/bin/bash
# The library under valgrind, in programs as Debian ships them: no error, no leak, the same
# output. dd must be served meanwhile; whether php is depends on what calls cost under valgrind.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(realpath "${PAGEWELL_LIB:-$root/build/libpagewell.so}")
work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
shm=$(mktemp -d /dev/shm/pagewell-test.XXXXXX)
export PAGEWELL_SEGMENT="${PAGEWELL_SEGMENT:-/dev/shm/pagewell-test}-$$"
trap 'rm -rf --one-file-system "$work" "$shm" "$PAGEWELL_SEGMENT"' EXIT
unset LD_PRELOAD
failed=0

# checked NAME PROGRAM ARG...: stdout to $work/ours, plainly to $work/plain
checked() {
	local name=$1 why='' status=0
	shift
	if ! command -v valgrind >/dev/null || ! command -v "$1" >/dev/null; then
		echo "skip $name - valgrind or $1 is missing"
		return
	fi
	"$@" >"$work/plain" 2>/dev/null
	timeout -k 5 120 env LD_PRELOAD="$lib" PAGEWELL_REPORT="$work/report" \
		USE_ZEND_ALLOC=0 valgrind -q \
		--error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
		--log-file="$work/log" "$@" >"$work/ours" 2>/dev/null || status=$?
	[ "$status" = 0 ] || why="status $status: $(head -n 3 "$work/log" | tr '\n' '|')"
	cmp -s "$work/plain" "$work/ours" || why="$why${why:+; }another output"
	[ "$name" != valgrind-dd ] || grep -q '^hits [1-9]' "$work/report" ||
		why="$why${why:+; }not served"
	if [ -z "$why" ]; then
		echo "ok $name"
	else
		echo "not ok $name - $why"
		failed=1
	fi
}

head -c 300000 /dev/urandom | tr '\000' '\001' >"$shm/data"
cat >"$work/seek.php" <<'END'
<?php
$f = fopen($argv[1], "r");
for ($i = $sum = 0; $i < 3000; $i++) {
	fseek($f, $i * 7919 % 290000);
	$sum += ord(fread($f, 8)[0]);
}
echo "$sum\n";
END
checked valgrind-dd dd if="$shm/data" bs=64
# A child that shares memory is none there (cache/reopen.h): no stores, the same bytes.
head -c 300000 /dev/zero >"$shm/over"
PAGEWELL_WRITE=map checked valgrind-stores dd if="$shm/data" of="$shm/over" bs=64 conv=notrunc
if cmp -s "$shm/data" "$shm/over"; then
	echo 'ok valgrind-stores-bytes'
else
	echo 'not ok valgrind-stores-bytes - not what was written'
	failed=1
fi
checked valgrind-php php -n "$work/seek.php" "$shm/data"
exit $failed
