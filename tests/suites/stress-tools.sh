# Debian's packages of I/O stressers that check their own results, bounded by numbers of
# operations; a unit is a line of the table below or one of the functions.
# shellcheck shell=bash disable=SC2034
packages="stress-ng fio bonnie++ sysbench dbench postmark rocksdb-tools"

build() { :; }

# stress-ng's: NAME OPTIONS, where `--NAME 1` and `--NAME-ops N` are written as NAME WORKERS N
stressers='
seek 2 4000 --seek-size 16M
readahead 1 4000 --readahead-bytes 32M
mmap 1 60 --mmap-file --mmap-bytes 16M
mmapmany 1 4000
mmapfork 1 8
mmapfixed 1 2000
mmapaddr 1 2000
mremap 1 40 --mremap-bytes 8M
msync 1 400 --msync-bytes 16M
mincore 1 2000
madvise 1 30
dup 1 40
fork 2 1000
vfork 2 2000
exec 1 200
clone 1 400
file-ioctl 1 2000
fcntl 1 4000
fallocate 1 200 --fallocate-bytes 16M
fpunch 1 100
hdd 2 4000 --hdd-bytes 32M --hdd-opts wr-rnd,rd-rnd,iovec,fsync
aio 1 2000
aiol 1 400
copy-file 1 60 --copy-file-bytes 128M
sendfile 1 4000 --sendfile-size 64K
splice 1 4000
tee 1 2000
vm-splice 1 2000
pipe 1 20000
iomix 1 2000 --iomix-bytes 16M
revio 1 2000 --revio-bytes 16M
dentry 1 4000
open 1 4000
link 1 1000
rename 1 4000
lockf 2 4000
lockofd 2 4000
flock 2 4000
locka 2 4000
lease 1 100
chdir 1 2000
access 1 1000
fstat 1 1000
touch 1 2000
utime 1 2000
fiemap 1 1000
sync-file 1 20 --sync-file-bytes 8M
memfd 1 40 --memfd-bytes 16M
shm 1 20
zombie 1 200
close 1 200'

# fio's: NAME OPTIONS, all with verification
jobs='
psync --ioengine=psync --rw=randwrite
psync-4-processes --ioengine=psync --rw=randwrite --numjobs=4
sync-4-processes --ioengine=sync --rw=randrw --numjobs=4
sync-4-threads --ioengine=sync --rw=randwrite --numjobs=4 --thread
vsync --ioengine=vsync --rw=randwrite
pvsync --ioengine=pvsync --rw=randwrite --numjobs=2
pvsync2 --ioengine=pvsync2 --rw=randwrite
mmap --ioengine=mmap --rw=randwrite --numjobs=2
posixaio --ioengine=posixaio --rw=randwrite --iodepth=8
libaio-direct --ioengine=libaio --direct=1 --rw=randwrite --iodepth=8
io_uring --ioengine=io_uring --rw=randwrite --iodepth=8
splice --ioengine=splice --rw=write
odd-sizes --ioengine=psync --rw=randwrite --bsrange=512-64k --bs_unaligned --norandommap
verify-async --ioengine=psync --rw=randwrite --verify_async=2'

units() {
	sed -n 's/^\([^ ]*\) .*/stress-ng-\1/p' <<<"$stressers"
	sed -n 's/^\([^ ]*\) .*/fio-\1/p' <<<"$jobs"
	printf '%s\n' fio-shared bonnie sysbench postmark dbench rocksdb
}

# one TEST COMMAND...
one() {
	local name=$1 status
	shift
	echo "== $name" >&2
	pre timeout -k 5 120 "$@" >&2
	status=$?
	verdict "$name" "$status" 3
}

stress_ng() {
	local name=$1 workers=$2 ops=$3
	shift 3
	# Time limits are a slow machine's: the numbers of operations come first.
	one "stress-ng-$name" stress-ng --temp-path . --verify --no-rand-seed --timeout 30 \
		"--$name" "$workers" "--$name-ops" "$ops" "$@"
}

fio_job() {
	local name=$1
	shift
	one "fio-$name" fio --name=j --directory=. --size=8M --bs=4k --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --randseed=42 --end_fsync=1 \
		--output-format=terse --unlink=1 "$@"
	rm -f j.*
}

fio_shared() {
	local -a job=(fio --name=s --filename=shared --size=16M --bs=4k --verify=sha1
		--randseed=7 --ioengine=psync)
	one fio-shared:write "${job[@]}" --rw=write --do_verify=0
	one fio-shared:verify-4-processes "${job[@]}" --rw=read --verify_only=0 --numjobs=4
}

sysbench_files() {
	local mode
	local -a files=(sysbench fileio --file-num=8 --file-total-size=64M)
	one sysbench:prepare "${files[@]}" prepare
	for mode in seqrewr seqrd rndrd rndwr rndrw; do
		one "sysbench:$mode" "${files[@]}" --file-test-mode=$mode --threads=4 \
			--events=4000 --time=20 --rand-seed=1 run
	done
	one sysbench:mmap "${files[@]}" --file-test-mode=rndrw --file-io-mode=mmap \
		--threads=2 --events=4000 --time=20 run
	one sysbench:cleanup "${files[@]}" cleanup
}

rocksdb_bench() {
	local -a bench=(db_bench --db="$PWD/rdb" --num=20000 --seed=1 --compression_type=none)
	PATH=$PATH:$(dirname "$(dpkg -L rocksdb-tools | grep 'db_bench$' | head -n 1)")
	one rocksdb:fill-read "${bench[@]}" --threads=2 \
		--benchmarks=fillrandom,readrandom,overwrite,compact,readseq,verifychecksum
	one rocksdb:mmap "${bench[@]}" --use_existing_db=1 --mmap_read=1 \
		--benchmarks=readrandom,readseq,verifychecksum
	one rocksdb:direct "${bench[@]}" --use_existing_db=1 --use_direct_reads=1 \
		--benchmarks=readrandom,verifychecksum
}

run() {
	local unit row client
	local -a words

	for unit; do
		case $unit in
		stress-ng-*)
			row=$(grep "^${unit#stress-ng-} " <<<"$stressers")
			read -ra words <<<"$row"
			stress_ng "${words[@]}"
			;;
		fio-shared) fio_shared ;;
		fio-*)
			row=$(grep "^${unit#fio-} " <<<"$jobs")
			read -ra words <<<"$row"
			fio_job "${words[@]}"
			;;
		bonnie) one bonnie bonnie++ -d . -u root -s 64M -r 16M -n 1 -q -f ;;
		sysbench) sysbench_files ;;
		rocksdb) rocksdb_bench ;;
		dbench)
			client=$(dpkg -L dbench | grep '/client.*txt$' | head -n 1)
			one dbench dbench -c "$client" -D . -t 5 2
			;;
		postmark)
			printf '%s\n' 'set location .' 'set number 500' 'set transactions 5000' \
				'set seed 42' run quit >postmark.in
			one postmark postmark postmark.in
			;;
		esac
	done
}
