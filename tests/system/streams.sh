#!/bin/bash
# Programs that read by libc's streams, without and with the library; what programs.sh has of
# them is not repeated.
#
# `streams.sh NAME...` runs those cases only; KEEP=1 prints what differed at length.
#
# Each case is a process of its own, called by its name.
# shellcheck disable=SC2317,SC2329
# shellcheck source=tests/system/_lib.sh
. "$(dirname "$0")/_lib.sh"

export SEEKER=${PAGEWELL_TESTS:-$root/build/tests}/system/seeker

# ---- a program of our own --------------------------------------------------------------

seeker_in_small_files() {
	for buffer in 0 1 7 512 4095 100000; do
		"$SEEKER" "$IN/unended" 2000 "$buffer"
		"$SEEKER" "$IN/odd" 2000 "$buffer"
	done
	"$SEEKER" "$IN/bytes" 5000 0
	"$SEEKER" "$IN/holes" 1000 0
}
seeker_in_a_large_file() {
	for _ in {1..15}; do cat "$IN/nonzero" "$IN/text"; done >large
	for buffer in 0 8192; do "$SEEKER" large 20000 "$buffer"; done
	rm large
}

served seeker_in_small_files
served seeker_in_a_large_file

# ---- the toolchain ---------------------------------------------------------------------

elf_readers() {
	cp "$SEEKER" program
	readelf -aW program | cksum
	readelf -w program 2>&1 | cksum
	objdump -dxl program | cksum
	nm -a program | cksum
	size -A program
	strings -n 6 program | cksum
	addr2line -fe program 0x1200 0x1300
	objcopy --only-keep-debug program program.debug
	strip -o stripped program
	objcopy --add-gnu-debuglink=program.debug stripped
}
# Many members, each sought and read by its head.
archive_members() {
	for i in {1..150}; do echo "$i $i $i" >"m$i"; done
	ar rcD all.a m*
	rm m*
	ar t all.a | cksum
	ar pP all.a m77 m149
	ar dD all.a m77 m78
	ar mDa m150 all.a m1
	ar t all.a | tail -n 2
	nm all.a 2>&1 | cksum
}
object_members() {
	for i in {1..40}; do echo ".globl f$i; f$i: ret" | as -o "f$i.o"; done
	ar rcD f.a f*.o
	nm f.a | cksum
	nm -s f.a | cksum
	ranlib -D f.a
	objdump -d f.a | cksum
	ld -r -o all.o --whole-archive f.a
	nm all.o | cksum
}
compiler() {
	{
		for i in {1..200}; do echo "#define M$i(x) ((x) + $i)"; done
	} >macros.h
	printf '#include "macros.h"\n#include <stdio.h>\nint main(void) { return M7(printf("%%d", M9(1))); }\n' >a.c
	for i in {1..4}; do cp a.c "a$i.c" && sed -i "s/main/f$i/" "a$i.c"; done
	gcc -O1 -g -frandom-seed=1 -c a*.c
	gcc -o a a*.o
	./a || [ $? = 9 ]
	gcc -E a.c | cksum
	rm -f a
}

try elf_readers readelf objdump nm size strings addr2line objcopy strip
try archive_members ar nm
try object_members ar as nm ranlib ld
try compiler gcc

# ---- text ------------------------------------------------------------------------------

awk_through_files() {
	for awk in gawk mawk; do
		command -v "$awk" >/dev/null || continue
		for _ in {1..40}; do cat "$IN/text"; done >long
		$awk '{ n++ } END { print n }' long
		# shellcheck disable=SC2016 # awk's
		$awk -F, '{ s[$2] += $4 } END { print s["kelp"], s["lark"] }' "$IN/csv" "$IN/csv"
		# Opened, read and closed again and again, and the same file twice at once.
		$awk -v f="$IN/text" 'BEGIN { for (i = 0; i < 300; i++) {
			for (k = 0; k < i % 40; k++) getline x <f
			sum += length(x); close(f) } print sum, x }'
		# shellcheck disable=SC2016 # awk's
		$awk '{ while ((getline x <FILENAME) > 0) n++; print n, $0; exit }' "$IN/odd"
	done
}
sed_in_place() {
	cp "$IN/text" "$IN/odd" "$IN/third" .
	sed -i 's/fern/FERN/; /kelp/d' text odd third
	sed -i.bak -e '$!N; P; D' odd
	sed -n -e '/FERN/w found' -e '/lark/r third' -e '100q' text
	sed -s -n '$=; 1p' text odd third
	sed 'R odd' third | cksum
}
m4_files() {
	for i in {1..300}; do
		echo "define(\`m$i', \`[\$1 $i]')dnl"
	done >macros
	printf 'include(`macros'"'"')m7(m9(x))\nundivert(`list'"'"')\nsinclude(`none'"'"')\n' >main
	head -n 300 "$IN/text" >list
	m4 main | cksum
	m4 -F frozen macros /dev/null && m4 -R frozen - <<<'m3(m4(y))'
	for _ in {1..50}; do echo 'include(list)'; done | m4 | cksum
}
pairs_and_columns() {
	paste -d: "$IN/text" "$IN/odd" "$IN/third" | cksum
	join -j 1 "$IN/text" "$IN/odd" | cksum
	comm "$IN/text" "$IN/odd" | cksum
	tac "$IN/text" | cksum
	cut -d' ' -f2,4 "$IN/text" | sort -m - "$IN/mixed" | cksum
	wc "$IN/text" "$IN/bytes" "$IN/holes"
	od -A d -t x1z -j 1000 -N 5000 "$IN/bytes" | cksum
	od -c "$IN/holes"
	{ head -c 100 && od -j 50 -N 20 -c && wc -c; } <"$IN/bytes"
	expand -t 3 "$IN/text" | unexpand -a | fold -w 11 | nl -b a | cksum
	pr -2 -l 40 -h title "$IN/odd" | sed 's/^....-..-.. ..:../DATE/' | cksum
	ptx "$IN/unended" | cksum
	tsort <<<'a b c d b c'
	uniq -c -f 1 "$IN/mixed" | cksum
	strings -t d "$IN/bytes" | cksum
}
bc_reads() {
	{
		echo 's=0'
		for i in {1..1000}; do echo "s=s+$i*$i"; done
		echo 's'
	} >sum.bc
	bc -q sum.bc </dev/null
	bc -q <<<'scale=50; a(1)*4'
	! command -v dc >/dev/null || dc -e '[lastx]p 2 100^p'
}
ed_and_patch() {
	cp "$IN/odd" a
	# shellcheck disable=SC2016 # ed's
	printf '%s\n' '1,10d' '$r '"$IN/third" 'g/fern/s//moss/' 'w b' 'e a' '5t0' w q | ed -s a
	diff -u --label a --label b a b >a.patch || :
	cp a c
	! command -v patch >/dev/null || patch -s c a.patch
	cmp b c || :
}

try awk_through_files
try sed_in_place
try m4_files m4
try pairs_and_columns
try bc_reads bc
try ed_and_patch ed diff

# ---- archives --------------------------------------------------------------------------

bzip2_files() {
	cp "$IN/text" "$IN/bytes" "$IN/holes" .
	bzip2 -k text bytes holes
	bzip2 -t ./*.bz2
	bzcat text.bz2 bytes.bz2 | cksum
	bunzip2 -c <holes.bz2 | cmp - holes
	head -c 3000 bytes.bz2 >cut.bz2
	refused bunzip2 -c cut.bz2 >part 2>/dev/null
	{ bzcat && cat; } <text.bz2 | cksum
	bzgrep -c fern text.bz2 || :
	bzip2recover bytes.bz2 2>&1
	bunzip2 -f text.bz2
}
zip_members() {
	mkdir d
	for i in {1..150}; do head -n "$i" "$IN/odd" >"d/$i"; done
	find d -exec touch -d '2020-01-02 03:04:06' {} +
	zip -qX -1 all.zip d/*
	unzip -tq all.zip
	unzip -Z1 all.zip | cksum
	for i in 7 149 12 90; do unzip -p all.zip "d/$i" | cksum; done
	zip -qd all.zip 'd/1*'
	zip -qX all.zip d/1
	unzip -p all.zip | cksum
	unzip -qo all.zip -d to
	zip -qsf all.zip | tail -n 1
	head -c 20000 all.zip >cut.zip
	refused unzip -tq cut.zip 2>&1
}

try bzip2_files bzip2
try zip_members zip unzip

inputs_are_as_they_were
exit "$failed"
