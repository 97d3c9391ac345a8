#!/bin/bash
# Programs that overwrite, without the library and with stores (PAGEWELL_WRITE=map).
#
# `stores.sh NAME...` runs those cases only; KEEP=1 prints what differed at length.
#
# Each case is a process of its own, called by its name.
# shellcheck disable=SC2030,SC2031,SC2317,SC2329
# shellcheck source=tests/system/_lib.sh
. "$(dirname "$0")/_lib.sh"

export PAGEWELL_WRITE=map

# without the times
dd() {
	command dd status=noxfer "$@"
}
helpers+=(dd)

dd_over_a_file() {
	local bs
	for bs in 1 7 512 4096 65536; do
		cp "$IN/bytes" "over.$bs"
		dd if="$IN/nonzero" of="over.$bs" bs="$bs" count=20000 conv=notrunc
		cp "$IN/bytes" "part.$bs"
		dd if="$IN/nonzero" of="part.$bs" bs="$bs" seek=5 skip=3 count=500 conv=notrunc
		dd if=/dev/zero of="part.$bs" bs="$bs" seek=700 count=90 conv=notrunc,fdatasync
	done
}
dd_open_read_write() {
	# With conv=notrunc and a seek dd opens for writing only; through <> it has both.
	cp "$IN/bytes" a
	dd if="$IN/nonzero" bs=16 count=20000 seek=100 conv=notrunc 1<>a
	dd bs=100 count=50 conv=notrunc oflag=append if="$IN/text" of=a
}
# The last page first: then there is something behind what is written.
dd_same_place() {
	local i
	cp "$IN/bytes" a
	for i in 1 2 3; do
		dd if="$IN/nonzero" bs=1 count=4000 conv=notrunc 1<>a
	done
}

ring_log() {
	python3 - <<-'END'
		import mmap, os, struct, zlib
		SLOTS, SIZE = 64, 128
		with open("ring", "wb") as f:
		    f.write(b"\xff" * SLOTS * SIZE + b"the end")
		fd = os.open("ring", os.O_RDWR)
		seen = mmap.mmap(fd, 0)
		wrong = 0
		for i in range(20000):
		    body = struct.pack("<QQ", i, i * i) * 7
		    record = body + struct.pack("<I", zlib.crc32(body)) + b"\n" * 12
		    at = i % SLOTS * SIZE
		    if i % 3:
		        os.pwrite(fd, record, at)
		    else:
		        os.lseek(fd, at, 0)
		        os.write(fd, record)
		    wrong += seen[at:at + SIZE] != record
		    if i % 7 == 0:
		        wrong += os.pread(fd, SIZE, at) != record
		    if i % 5000 == 0:
		        os.fsync(fd)
		print(wrong, os.lseek(fd, 0, 1))
	END
}

# ---- sqlite --------------------------------------------------------------------------------

sqlite_journals() {
	local mode
	for mode in delete truncate persist memory wal; do
		sqlite3 db <<-END
			pragma journal_mode=$mode;
			pragma synchronous=normal;
			create table t(k integer primary key, n integer, text);
			with recursive c(i) as (select 1 union all select i + 1 from c
				where i < 500) insert into t select i, 0, hex(i * i) from c;
		END
		for _ in 1 2 3; do
			for i in $(seq 1 40); do
				echo "update t set n = n + $i where k % 40 = $i;"
				echo "insert into t(n, text) select n, 'more' from t limit $i;"
				echo "delete from t where k % 97 = $i;"
			done | sqlite3 db
		done
		sqlite3 db 'pragma integrity_check; select count(*), sum(n) from t;'
		sqlite3 db .dump | cksum
		rm -f db db-*
	done
}
sqlite_two_at_once() {
	local mode
	for mode in delete wal; do
		sqlite3 db "pragma journal_mode=$mode; create table t(k, n);
			insert into t values(1, 0); insert into t values(2, 0);"
		for who in 1 2; do
			for _ in $(seq 60); do
				echo "update t set n = n + 1 where k = $who;"
				echo "update t set n = n + 10 where k = 3 - $who;"
			done | sqlite3 -cmd '.timeout 30000' db &
		done
		wait
		sqlite3 db 'pragma integrity_check; select * from t;'
		rm -f db db-*
	done
}
# What was committed before the kill is there: each statement commits, and says so after.
sqlite_killed() {
	local mode pid last has
	for mode in delete wal; do
		sqlite3 db "pragma journal_mode=$mode; create table t(n); insert into t values(0);"
		for _ in 1 2 3; do
			rm -f said
			sqlite3 db >said < <(
				echo 'pragma synchronous=off;'
				while echo 'update t set n = n + 1; select n from t;'; do :; done 2>&-
			) &
			pid=$!
			until [ -s said ]; do sleep 0.02; done
			sleep 0.05
			kill -KILL "$pid"
			{ wait "$pid" || :; } 2>/dev/null
			# The last line may be cut off in the middle.
			last=$(sed '$d' said | tail -n 1)
			has=$(sqlite3 db 'select n from t')
			[ "$has" -ge "$last" ] || echo "$mode: $last was said, $has is there"
			sqlite3 db 'pragma integrity_check'
		done
		rm -f db db-* said
	done
}

lmdb() {
	python3 - <<-'END'
		import lmdb
		env = lmdb.open("db", map_size=8 << 20)
		for i in range(60):
		    with env.begin(write=True) as t:
		        for k in range(50):
		            t.put(b"%d" % (k * i % 997), b"%d" % i * (k + 1))
		with env.begin() as t:
		    print(t.stat()["entries"], sum(len(v) for _, v in t.cursor()))
		env.close()
	END
	rm -r db
}

try dd_over_a_file dd
try dd_open_read_write dd
try dd_same_place dd
stored ring_log python3
try sqlite_journals sqlite3
try sqlite_two_at_once sqlite3
try sqlite_killed sqlite3
if python3 -c 'import lmdb' 2>/dev/null; then
	try lmdb python3
else
	echo 'skip lmdb - python3 has no lmdb here'
fi

inputs_are_as_they_were
exit "$failed"
