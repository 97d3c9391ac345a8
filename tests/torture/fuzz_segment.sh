#!/bin/sh
# Anything may stand in the segment: libFuzzer over attaching to it and over all that the engine
# does with it, under ASan and UBSan (tests/fuzz/segment.c).
#
# FUZZ_SEGMENT	how many inputs (5000)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-fuzz.XXXXXX")
: "${PAGEWELL_SEGMENT:=/dev/shm/pagewell-test-$$}"
export PAGEWELL_SEGMENT
trap 'rm -rf "$tmp" "$PAGEWELL_SEGMENT"-fuzz-*' EXIT

if ! command -v clang >/dev/null; then
	echo 'skip fuzz-segment - clang is missing'
	exit 0
fi
cd "$top"
if ! clang -std=gnu11 -g -O1 -D_GNU_SOURCE= -I. -Wall -Wextra -Werror -pthread \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	tests/fuzz/segment.c cache/*.c cache/*.S -o "$tmp/fuzz" 2>"$tmp/said"; then
	echo "not ok fuzz-segment - does not build: $(grep -m1 error "$tmp/said" || tail -n1 "$tmp/said")"
	exit 1
fi
# To begin with, a hundred inputs of full length.
mkdir "$tmp/corpus"
python3 -c 'import random, sys
random.seed(1)
for i in range(100):
    open(f"{sys.argv[1]}/{i}", "wb").write(random.randbytes(900))' "$tmp/corpus"
# What tests/run sets for all, made ours: reports are to be found in one place.
if UBSAN_OPTIONS=halt_on_error=1 ASAN_OPTIONS=halt_on_error=1:detect_leaks=0 \
	"$tmp/fuzz" -runs="${FUZZ_SEGMENT:-5000}" -seed=1 -max_len=900 -len_control=0 -timeout=10 \
	-artifact_prefix="$tmp/" "$tmp/corpus" >"$tmp/said" 2>&1; then
	echo 'ok fuzz-segment'
else
	tail -n 40 "$tmp/said" >&2
	echo "not ok fuzz-segment - $(grep -m1 -E 'ERROR|runtime error|segment fuzz' "$tmp/said" || tail -n1 "$tmp/said")"
	exit 1
fi
