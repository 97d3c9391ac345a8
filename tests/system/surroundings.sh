#!/bin/bash
# Programs in places that are narrow or taken: limits, filters of system calls, other
# libraries that are preloaded too.
#
# Each case is a process of its own, called by its name.
# shellcheck disable=SC2317,SC2329
# shellcheck source=tests/system/_lib.sh
. "$(dirname "$0")/_lib.sh"

export probe denied=${PAGEWELL_TESTS:-$root/build/tests}/system/denied

# shellcheck disable=SC2016 # dash's
# some_reading: looks, lines, positions that are shared; every segment has to be made anew
some_reading() {
	rm -f "$PAGEWELL_SEGMENT"
	"$probe" "$IN/nonzero" | cksum
	dash -c 'while read -r a b c d; do n=$((n + d)); last=$c; done; echo "$n $last"' <"$IN/text"
	{
		dd bs=1 count=3000 status=none | cksum
		head -n 3
		cat | cksum
	} <"$IN/text"
}
helpers+=(some_reading)

# ---- limits ----------------------------------------------------------------------------

limited_memory() {
	ulimit -v 200000
	some_reading
	perl "$parts/files.pl" "$IN"
}
limited_memory_later() {
	python3 -I - "$IN" <<-'END'
		import os, resource, sys
		fd = os.open(sys.argv[1] + "/records", os.O_RDONLY)
		def look():
		    seen = 0
		    for i in range(20000):
		        os.lseek(fd, i * 31 % 4096 * 17, 0)
		        seen = hash((seen, os.read(fd, 17)[:9].isdigit()))
		    print(seen, os.lseek(fd, 0, 1))
		look()
		resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
		look()
		big = bytearray(900 << 20)
		look()
	END
}
limited_data() {
	ulimit -d 30000
	some_reading
	perl "$parts/files.pl" "$IN"
}
limited_numbers() {
	ulimit -n 13
	# what a surrounding make or CI may have left open
	exec 10<&- 11<&- 12<&-
	some_reading
	dash "$parts/share.sh"
	exec 3<"$IN/text" 4<"$IN/odd" 5<"$IN/third" 6<"$IN/csv" 7<&3 8<&4 9<&5
	for _ in 1 2 3; do
		read -r a <&3
		read -r b <&4
		read -r c <&9
		echo "$a $b $c"
	done
	# Whatever was inherited, the numbers run out; which file meets it is not the same
	# everywhere.
	perl -e 'while (open(my $file, "<", "/dev/null")) { push @files, $file } print "$!\n"'
	head -n 1 <&7
}
limited_files() {
	ulimit -f 40
	some_reading
	cp "$IN/unended" a
	# The shell's complaint has a process's number in it.
	refused cp "$IN/bytes" b 2>/dev/null
	refused dd if="$IN/bytes" of=c bs=1000 status=none 2>/dev/null
	trap '' XFSZ
	refused dd if="$IN/bytes" of=d bs=1000 status=none
	sort "$IN/odd" >e
}
limited_stack() {
	ulimit -s 160
	some_reading
	gawk '{ n += $NF } END { print n }' "$IN/text"
}
limited_locking_and_pending() {
	ulimit -l 0 -i 0 -q 0
	some_reading
}

try limited_memory dash perl
served limited_memory_later python3
try limited_data dash perl
served limited_numbers dash perl
try limited_files dash
try limited_stack dash gawk
served limited_locking_and_pending dash

# ---- filters ---------------------------------------------------------------------------

# It filters what its own helpers may do.
manual_pages() {
	{
		printf '.TH P 1\n.SH NAME\np \\- a page\n.SH DESCRIPTION\n'
		sed 's/$/ and so on\n.PP/' "$IN/text"
	} >p.1
	gzip -n -k p.1
	xz -k p.1
	for page in p.1 p.1.gz p.1.xz; do
		man -P cat "./$page" | cksum
		man -Tutf8 "./$page" | tail -n 2
	done
	man -P cat -E ascii --no-hyphenation ./p.1.gz | sed 3q
}
try manual_pages man groff xz

# without_CALL: what the library needs is refused, in both of the usual ways
for call in fallocate fchmod fstat fstatfs ftruncate linkat madvise memfd_create mincore \
	munmap prlimit64 process_vm_readv readahead rt_sigaction rt_sigprocmask sysinfo; do
	eval "without_$call() {
		\"\$denied\" EPERM $call -- bash -c \"\$(declare -f some_reading); some_reading\"
		\"\$denied\" ENOSYS $call -- \"\$probe\" \"\$IN/records\" | cksum
	}"
	try without_$call
done
without_most_of_it() {
	"$denied" EPERM fallocate fchmod fstatfs ftruncate linkat madvise memfd_create mincore \
		prlimit64 process_vm_readv readahead sysinfo -- \
		bash -c "$(declare -f some_reading); some_reading"
}
try without_most_of_it dash

# ---- other preloads --------------------------------------------------------------------

allocators_of_others() {
	some_reading
	perl "$parts/files.pl" "$IN"
	python3 -I "$parts/files.py" "$IN"
}
helpers+=(allocators_of_others)
# A jemalloc that is the program's own reads this; it ends one that does not understand it.
MALLOC_CONF=abort_conf:true,narenas:2,junk:true,background_thread:true,dirty_decay_ms:0
export MALLOC_CONF
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libc_malloc_debug.so.0; do
	path=$(ldconfig -p | awk -v name=$allocator '$1 == name { print $NF; exit }')
	for chain in "$path:%" "%:$path"; do
		name=${allocator%%.*}_$([ "${chain%"$path"}" = "$chain" ] && echo above || echo below)
		if [ -z "$path" ]; then
			echo "skip ${name//_/ } - there is no $allocator here"
			continue
		fi
		eval "$name() { allocators_of_others; }"
		served "$name" dash perl python3
	done
done
chain=%

inputs_are_as_they_were
exit "$failed"
