#!/bin/bash
# Command-line programs, without and with the library.
#
# `programs.sh NAME...` runs those cases only; KEEP=1 prints what differed at length.
#
# Each case is a process of its own, called by its name.
# shellcheck disable=SC2030,SC2031,SC2317,SC2329
# shellcheck source=tests/system/_lib.sh
. "$(dirname "$0")/_lib.sh"

# without the times
dd() {
	command dd status=noxfer "$@"
}
helpers+=(dd)

# ---- dd --------------------------------------------------------------------------------

dd_single_bytes() {
	dd if="$IN/nonzero" of=a bs=1 count=20000 skip=3
	dd if="$IN/bytes" bs=1 count=2000 of=b seek=11
	dd if="$IN/nonzero" bs=3 count=20000 | cksum
}
dd_block_sizes() {
	for bs in 7 512 513 4096 10000 65536 1M; do
		dd if="$IN/bytes" of="all.$bs" bs="$bs" count=400
	done
	dd if="$IN/text" of=ibs ibs=100 obs=333
	dd if="$IN/text" of=obs ibs=4096 obs=17 count=3
	dd if="$IN/holes" of=holes bs=1000
	dd if="$IN/empty" of=empty
	dd if="$IN/bytes" of=none bs=1M count=0
}
dd_skip_and_seek() {
	dd if="$IN/bytes" of=a bs=512 skip=100 seek=30 count=200
	dd if="$IN/bytes" of=a bs=512 skip=1 seek=2 count=3 conv=notrunc
	dd if="$IN/bytes" of=b bs=100 iflag=skip_bytes,count_bytes skip=12345 count=4321
	dd if="$IN/bytes" of=c bs=64 oflag=seek_bytes seek=77 count=100
	dd if="$IN/text" of=d bs=1000 skip=1000
	dd if="$IN/text" of=e bs=4096 skip=21
	dd of=f bs=10 skip=3 count=300 <"$IN/text"
	dd of=f bs=1 seek=20
	dd if="$IN/text" bs=26 iseek=2 count=1
	{
		dd bs=26 count=2
		dd bs=26 skip=100 count=1
		dd bs=1 count=26
		cat | cksum
	} <"$IN/text"
	cat "$IN/text" | {
		dd bs=26 skip=1000 count=2 iflag=fullblock
		cat >/dev/null
	}
}
dd_conversions() {
	dd if="$IN/text" of=upper conv=ucase
	dd if="$IN/text" of=lower conv=lcase ibs=77
	dd if="$IN/bytes" of=swab conv=swab bs=777 count=99
	dd if="$IN/unended" of=block conv=block cbs=20
	dd if=block of=unblock conv=unblock cbs=20
	dd if="$IN/text" of=ebcdic conv=ebcdic
	dd if=ebcdic of=ascii conv=ascii,ucase bs=100
	dd if="$IN/text" of=ibm conv=ibm count=9
	dd if="$IN/unended" of=sync conv=sync bs=4096
	dd if="$IN/unended" of=noerror conv=noerror,sync,fdatasync bs=513
	dd if="$IN/odd" of=fsync conv=fsync bs=100
	dd if="$IN/text" of=both conv=swab,ucase,notrunc bs=99
}
dd_sparse() {
	dd if="$IN/holes" of=a conv=sparse bs=4096
	dd if="$IN/holes" of=b conv=sparse bs=512 seek=3
	dd if="$IN/bytes" of=c bs=10000 count=20
	dd if="$IN/holes" of=c conv=sparse,notrunc bs=4096 seek=1
	sync a b
	stat -c '%n %b' a b
}
dd_append_and_refuse() {
	cp "$IN/odd" a
	dd if="$IN/text" of=a oflag=append conv=notrunc bs=100 count=50
	dd if="$IN/text" of=a oflag=append bs=100 count=1 conv=notrunc
	dd if="$IN/third" bs=1000 >>a
	dd if=a of=b conv=excl
	refused dd if=a of=b conv=excl
	refused dd if=a of=c conv=nocreat
	refused dd if=none of=d
	refused dd if=a iflag=directory
	refused dd if=. of=e
	refused dd if=a of=f bs=0
	refused dd if=a of=f seek=1 oflag=append bs=1000000000000000
	refused dd of=f 0>f
	refused dd if="$IN/text" of=/dev/full bs=10 count=1000
}
dd_one_file() {
	cp "$IN/bytes" a
	dd if=a of=a conv=notrunc bs=512 skip=3
	dd if=a of=a conv=notrunc,swab bs=100 count=3000
	dd if=a of=a conv=notrunc bs=100 seek=1 count=500
	dd if=a of=a bs=1000 seek=100 skip=2 count=7
	dd if=a of=a bs=1 count=0 seek=200000
}
dd_flags() {
	dd if="$IN/bytes" of=a bs=4096 count=40 iflag=nocache,noatime,nonblock,noctty
	dd if="$IN/bytes" of=b bs=4096 count=4 oflag=dsync,nocache
	dd if="$IN/bytes" of=c bs=1000 count=4 iflag=sync oflag=sync,nofollow
	ln -s c link
	refused dd if=link iflag=nofollow
	# Not every file system has O_DIRECT: what matters is that both runs say the same.
	dd if="$IN/bytes" of=d bs=4096 iflag=direct || echo "status $?"
	dd if="$IN/bytes" of=e bs=4096 count=20 oflag=direct || echo "status $?"
}

served dd_single_bytes dd
for function in dd_block_sizes dd_skip_and_seek dd_conversions dd_sparse \
	dd_append_and_refuse dd_one_file dd_flags; do
	try $function dd
done

# ---- shells ----------------------------------------------------------------------------

dash_read_loop() {
	# shellcheck disable=SC2016 # dash's
	dash -c 'n=0; while read -r a b c d; do n=$((n + d)); last=$c; done <"$1"; echo "$n $last"' \
		dash "$IN/text"
}
bash_read_loop() {
	local n=0 a b
	while read -r a b; do n=$((n + 10#$a)) && last=$b; done <"$IN/text"
	echo "$n $last"
	while read -r -u 3 a && read -r -n 5 b; do echo "$a $b"; done 3<"$IN/odd" <"$IN/third" |
		cksum
	exec 3<"$IN/text"
	mapfile -t -n 100 -u 3 lines
	echo "${#lines[@]} ${lines[99]}"
	read -r -N 26 -u 3 a && echo "$a"
	read -r -d e -u 3 a && echo "$a"
	head -n 1 <&3
	echo "$(<"$IN/unended")" | cksum
	echo "$(head -c 5 <&3)$(sed 1q <&3)$(cat <&3 | cksum)"
}
dash_shared_descriptors() { dash "$parts/share.sh"; }
bash_shared_descriptors() { bash "$parts/share.sh"; }
# dash reads ahead, so that the lines for its commands become commands that do not exist.
dash_script_on_stdin() { refused dash <"$parts/stdin.sh"; }
bash_script_on_stdin() { bash <"$parts/stdin.sh"; }
shell_jobs_share() {
	# Who gets which line, and whether it gets it whole, is open even without the library;
	# not that all of it is read.
	exec 3<"$IN/text"
	head -n 5 <&3
	for job in 1 2 3; do
		while read -r line; do echo "$line"; done <&3 >"part.$job" &
	done
	wait
	cat <&3 | wc -c
	[ -s part.1 ] || [ -s part.2 ] || [ -s part.3 ]
	rm part.*
}

served dash_read_loop dash
try bash_read_loop
try dash_shared_descriptors dash
try bash_shared_descriptors
try dash_script_on_stdin dash
try bash_script_on_stdin
try shell_jobs_share

# ---- languages -------------------------------------------------------------------------

php_files() { php -d opcache.enable_cli=0 "$parts/files.php" "$IN"; }
perl_files() { perl "$parts/files.pl" "$IN"; }
python_files() { python3 -I "$parts/files.py" "$IN"; }
python_archives() {
	python3 -I - "$IN" <<-'END'
		import gzip, lzma, os, sys, tarfile, zipfile
		to = os.getcwd()
		os.chdir(sys.argv[1])
		names = ["text", "bytes", "holes", "empty"]
		with zipfile.ZipFile(to + "/a.zip", "w", zipfile.ZIP_DEFLATED) as z:
		    for name in names:
		        z.writestr(zipfile.ZipInfo(name), open(name, "rb").read(), compresslevel=1)
		with zipfile.ZipFile(to + "/a.zip", "a") as z:
		    z.writestr(zipfile.ZipInfo("more"), "more")
		with zipfile.ZipFile(to + "/a.zip") as z:
		    print(z.testzip(), [(i.filename, i.file_size, i.CRC) for i in z.infolist()])
		    with z.open("bytes") as f, z.open("text") as g:
		        for i in range(300):
		            f.seek(i * 977 % 300000); g.seek(i * 331 % 60000)
		            if f.read(50) != open("bytes", "rb").read()[f.tell() - 50:f.tell()]:
		                print("differs", i)
		            print(g.readline())
		def plain(info):
		    info.mtime = info.uid = info.gid = 0; info.uname = info.gname = ""
		    return info
		with tarfile.open(to + "/a.tar", "w") as t:
		    for name in names:
		        t.add(name, filter=plain)
		with tarfile.open(to + "/a.tar", "a") as t:
		    t.add("odd", filter=plain)
		with tarfile.open(to + "/a.tar") as t:
		    print(t.getnames(), [t.extractfile(n).read(9) for n in reversed(t.getnames())])
		with gzip.GzipFile(to + "/a.gz", "wb", 1, mtime=0) as f:
		    f.write(open("text", "rb").read())
		with gzip.open(to + "/a.gz") as f:
		    print([(f.seek(at), f.readline()) for at in (50000, 100, 200, 40000)])
		with lzma.open(to + "/a.xz", "wb", preset=0) as f:
		    f.write(open("text", "rb").read())
		print(lzma.open(to + "/a.xz").read() == open("text", "rb").read())
	END
}
python_databases() {
	python3 -I - <<-'END'
		import dbm.dumb, shelve, sqlite3
		with shelve.Shelf(dbm.dumb.open("shelf", "n")) as s:
		    for i in range(300):
		        s[str(i % 100)] = list(range(i))
		with shelve.Shelf(dbm.dumb.open("shelf", "r")) as s:
		    print(len(s), sum(len(s[k]) for k in s))
		a = sqlite3.connect("db"); b = sqlite3.connect("db")
		a.execute("create table t(k integer primary key, v)")
		for i in range(20):
		    with a:
		        a.executemany("insert into t values(?,?)", [(j, "v%d" % j * 9) for j in range(i * 50, i * 50 + 50)])
		    print(b.execute("select count(*), sum(length(v)) from t").fetchone())
		with open("copy.db", "wb") as f:
		    f.write(a.serialize())
		print(b.execute("pragma integrity_check").fetchall())
	END
}
awk_files() {
	for awk in gawk mawk; do
		command -v $awk >/dev/null || continue
		echo $awk
		$awk '{ n += $NF; w[$2]++ } END { print n, NR, w["fern"] }' "$IN/text" "$IN/odd"
		$awk -v other="$IN/odd" 'NR % 2 { getline line <other; if (line != $0) bad++ }
			NR == 50 { close(other) } END { print NR, bad + 0 }' "$IN/text"
		$awk -v file=log.$awk '{ print $3 >>file; close(file) }
			END { while ((getline x <file) > 0) n++; print n, x
			"wc -l <" file | getline x; print x }' <(head -n 60 "$IN/text")
		{
			$awk 'NR == 3 { print; exit }'
			cat | wc -c
		} <"$IN/odd"
	done
}
gawk_in_place() {
	cp "$IN/odd" "$IN/third" .
	gawk -i inplace '{ print FNR, $2, $1 }' odd third
}
bc_files() {
	printf 'define f(n) {\n if (n < 2) return (1)\n return (n * f(n - 1))\n}\n' >lib.bc
	printf 'scale=30\nf(30)\n4*a(1)\nread()+1\n' >main.bc
	echo 41 >number
	bc -lq lib.bc main.bc <number
	bc -q <<<$'2^200\nobase=16\n255'
}

served php_files php
served perl_files perl
served python_files python3
try python_archives python3
try python_databases python3
try awk_files
try gawk_in_place gawk
try bc_files bc

# ---- sqlite ----------------------------------------------------------------------------

# A table of some 3 MB; a cache of 8 pages must read again and again.
sqlite_look_ups() {
	sqlite3 db <<-'END'
		PRAGMA cache_size=8;
		PRAGMA synchronous=OFF;
		CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, b INTEGER);
		CREATE INDEX i ON t(b);
		BEGIN;
		WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM n WHERE k<15000)
		INSERT INTO t SELECT k, printf('%0150d', k*k), k*7919%15000 FROM n;
		COMMIT;
	END
	sqlite3 db <<-'END'
		PRAGMA cache_size=8;
		WITH RECURSIVE r(i, k) AS (SELECT 1, 1 UNION ALL
			SELECT i+1, (k*1103+12345)%15000 FROM r WHERE i<20000)
		SELECT count(*), sum(t.k), sum(b), sum(substr(a, -9)) FROM r JOIN t ON t.k=r.k;
		WITH RECURSIVE r(i, k) AS (SELECT 1, 1 UNION ALL
			SELECT i+1, (k*1103+12345)%15000 FROM r WHERE i<5000)
		SELECT count(*), sum(t.k), sum(length(a)) FROM r JOIN t ON t.b=r.k;
	END
}
sqlite_changes() {
	sqlite3 db <<-'END'
		PRAGMA cache_size=8;
		PRAGMA synchronous=OFF;
		CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT UNIQUE);
		WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM n WHERE k<4000)
		INSERT INTO t SELECT k, printf('%0100d', k*7919%4000) FROM n;
		BEGIN;
		UPDATE t SET a=a||k WHERE k%3=0;
		SELECT count(*), sum(length(a)) FROM t;
		ROLLBACK;
		SELECT count(*), sum(length(a)) FROM t;
		DELETE FROM t WHERE k%5<3;
		SAVEPOINT one;
		UPDATE t SET a='x'||k;
		ROLLBACK TO one;
		RELEASE one;
		INSERT INTO t SELECT k+100000, a||'more' FROM t;
		VACUUM;
		PRAGMA integrity_check;
		SELECT count(*), sum(k), sum(length(a)) FROM t;
		.backup copy
	END
	sqlite3 db .dump | cksum
	sqlite3 copy .dump | cksum
	cp "$IN/csv" .
	sqlite3 new '.mode csv' 'CREATE TABLE c(n, a, b, v)' '.import csv c' \
		'SELECT count(*), sum(v), max(n) FROM c' '.once out' 'SELECT * FROM c ORDER BY v'
	cksum out
}
# Two that write and one that reads, in each journal mode. The file's bytes depend on who
# came first, so only what it says is kept.
sqlite_three_at_once() {
	for mode in delete wal; do
		sqlite3 db "PRAGMA journal_mode=$mode" 'CREATE TABLE t(w, i, x)'
		for w in 1 2; do
			{
				echo '.timeout 30000'
				echo 'PRAGMA synchronous=OFF; PRAGMA cache_size=4;'
				for i in {1..40}; do
					echo "INSERT INTO t VALUES($w,$i,printf('%0500d',$i));"
				done
			} | sqlite3 db &
		done
		for i in {1..40}; do echo 'SELECT count(*)>=0, min(length(x)) IS NOT 7 FROM t;'; done |
			sqlite3 -cmd '.timeout 30000' db &
		wait
		sqlite3 db 'PRAGMA integrity_check' \
			'SELECT w, count(*), sum(i), sum(x) FROM t GROUP BY w ORDER BY w'
		rm db*
	done
}
# One is killed in a transaction that has spilled into the file already; another one rolls
# it back.
sqlite_killed() {
	for mode in delete wal; do
		sqlite3 db "PRAGMA journal_mode=$mode" 'CREATE TABLE t(k INTEGER PRIMARY KEY, x)'
		mkfifo in out
		sqlite3 db <in >out &
		pid=$!
		exec 3>in 4<out
		cat >&3 <<-'END'
			PRAGMA cache_size=4;
			WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM n WHERE k<500)
			INSERT INTO t SELECT k, printf('%0300d', k) FROM n;
			BEGIN;
			UPDATE t SET x='changed'||x;
			WITH RECURSIVE n(k) AS (SELECT 501 UNION ALL SELECT k+1 FROM n WHERE k<1500)
			INSERT INTO t SELECT k, printf('%0300d', k) FROM n;
			SELECT count(*), 'within' FROM t;
		END
		read -r line <&4
		echo "$line"
		kill -9 $pid
		{ wait $pid; } 2>/dev/null || echo "status $?"
		exec 3>&- 4<&-
		sqlite3 db 'PRAGMA integrity_check' \
			'SELECT count(*), sum(k), sum(x), sum(length(x)) FROM t'
		sqlite3 db 'INSERT INTO t SELECT k+500, x FROM t' 'PRAGMA integrity_check' \
			'SELECT count(*), sum(k), sum(x), sum(length(x)) FROM t'
		rm db* in out
	done
}

served sqlite_look_ups sqlite3
try sqlite_changes sqlite3
try sqlite_three_at_once sqlite3
try sqlite_killed sqlite3

# ---- copying, cutting, looking ---------------------------------------------------------

cat_and_tee() {
	cat "$IN/text" "$IN/holes" - "$IN/bytes" <"$IN/odd" >all
	cat -n "$IN/third" | tail -n 2
	cat -A "$IN/bytes" | cksum
	cp "$IN/odd" a
	cat "$IN/third" >>a
	refused cat a >>a
	tee one two <"$IN/text" | cksum
	tee -a one <"$IN/odd" >/dev/null
	{
		cat
		cat
		echo end
	} <"$IN/third" | cksum
}
cp_and_friends() {
	cp "$IN/bytes" a
	cp --sparse=always "$IN/holes" b
	cp --sparse=never --reflink=never "$IN/holes" c
	cp --reflink=auto "$IN/text" d
	mkdir e
	cp -a "$IN" e/in
	cp -u "$IN/odd" a
	cp -l a hard
	cp -s a soft
	cp --remove-destination "$IN/third" a
	refused cp a a
	install -m 600 "$IN/text" f
	mv f g
	truncate -s 1000 g
	truncate -s +500 g
	ln -f g h
	cp "$IN/text" victim
	shred -n 1 -z --random-source="$IN/bytes" victim
	cp /dev/stdin i <"$IN/odd"
}
head_and_tail() {
	local n
	for n in 1 -7 2999 -2999 5000; do
		echo "$n"
		head -n "$n" "$IN/text" | cksum
		head -c "$n" "$IN/bytes" | cksum
		tail -n "$n" "$IN/text" | cksum
		tail -n "+${n#-}" "$IN/text" | cksum
		tail -c "$n" "$IN/holes" | cksum
		tail -c "+${n#-}" "$IN/bytes" | cksum
	done
	tail -n 3 "$IN/unended" "$IN/odd" "$IN/empty"
	tail -c +90000 "$IN/text" | cksum
	for n in 'tail -n 1' 'tail -c 30' 'tail -n +2900' 'head -n -2990' 'head -c -80000'; do
		{
			head -n 5 >/dev/null
			$n | cksum
			echo "rest: $(cat | wc -c)"
		} <"$IN/text"
	done
	tac "$IN/text" | sed -n 1,2p
	tac "$IN/unended" | cksum
}
tail_follows() {
	cp "$IN/odd" a
	: >out
	tail -n 2 -f a >>out &
	local pid=$! i wanted lines
	for wanted in 2 22 42; do
		for ((i = 0; i < 200; i++)); do
			mapfile -t lines <out
			if [ ${#lines[@]} -ge $wanted ]; then break; fi
			sleep 0.1
		done
		for i in {1..20}; do echo "line $i of $wanted" >>a; done
	done
	kill $pid
	{ wait $pid; } 2>/dev/null || :
	# The last lines may or may not have been seen.
	head -n 42 out
	rm out
}
split_and_join() {
	split -b 7777 "$IN/bytes" bytes.
	split -l 250 -d "$IN/text" lines.
	split -n 7 "$IN/bytes" seven.
	split -n l/5 "$IN/text" five.
	split -n r/3 "$IN/text" round.
	split -n l/2/4 "$IN/text" | cksum
	split -C 5000 - fit. <"$IN/text"
	split -l 1000 --filter='cksum >$FILE' "$IN/text" filter.
	csplit -s "$IN/text" 100 '/^01000/' '{1}' 2>&1 || echo "status $?"
	cat bytes.* | cmp - "$IN/bytes"
	join "$IN/text" "$IN/odd" | cksum
	join -v 1 "$IN/text" "$IN/third" | cksum
	comm "$IN/text" "$IN/odd" | cksum
	comm -12 "$IN/odd" "$IN/text" | cksum
	paste "$IN/text" "$IN/odd" - <"$IN/third" | cksum
	paste - - <"$IN/odd" | cksum
}
sort_and_filters() {
	sort "$IN/mixed" >a
	sort -k 4n -k 1r "$IN/text" | cksum
	sort -S 20k -T . "$IN/mixed" "$IN/text" "$IN/odd" "$IN/third" >b
	sort -u -o b b
	sort -m "$IN/text" "$IN/odd" "$IN/third" | uniq -c | cksum
	sort -c "$IN/text"
	refused sort -c "$IN/mixed"
	sort -R --random-source="$IN/bytes" "$IN/odd" | sed -n 1,2p
	shuf --random-source="$IN/bytes" "$IN/text" | cksum
	{
		sort | cksum
		wc -c
	} <"$IN/mixed"
	uniq -d <(sort "$IN/text" "$IN/odd") | cksum
	cut -d ' ' -f 2,4 "$IN/text" | tr a-m n-z | cksum
	nl "$IN/odd" | cksum
	fold -w 17 "$IN/unended" | cksum
	pr -3 "$IN/third" | sed 's/^2.*Page/Page/' | cksum
	rev "$IN/text" | cksum
	xargs -a "$IN/third" -n 200 sh -c 'echo $#' sh
}
grep_cases() {
	grep -c fern "$IN/text" "$IN/odd"
	grep -n -m 3 -A 1 kelp "$IN/text"
	grep -b -o 'iris [0-9]*' "$IN/text" | tail -n 2
	grep -r -l 00500 "$IN" | sort
	grep -c . "$IN/bytes" || echo "status $?"
	grep end "$IN/holes"
	grep -a -o end "$IN/holes"
	grep -z -c start "$IN/holes"
	refused grep nothing-like-it "$IN/text"
	grep -f <(cut -d ' ' -f 1 "$IN/third" | head -n 50) "$IN/text" | cksum
	{
		grep -m 2 lark
		grep -q 00100
		cat | cksum
	} <"$IN/text"
	strings -n 8 "$IN/bytes" | cksum
}
sed_cases() {
	cp "$IN/text" "$IN/odd" "$IN/third" .
	sed -i 's/fern/FERN/;5,9d' text
	sed -i.old -n '$p;3p' odd third
	sed -n '$=' "$IN/unended" "$IN/text"
	sed -s -n '1p;$p' "$IN/odd" "$IN/third"
	sed '100q' "$IN/text" | cksum
	sed -n '/kelp/w found' "$IN/text"
	sed "3r $IN/third" "$IN/odd" | cksum
	sed -n "R $IN/third" <"$IN/odd" | cksum
	printf '2d\ns/a/b/g\n' >script
	sed -f script "$IN/odd" | cksum
	{
		sed -n 3p\;3q
		sed -u 1q
		cat | wc -c
	} <"$IN/text"
	printf '3,$-1d\nw\nq\n' | { ! command -v ed >/dev/null || ed -s text; }
}
sums_and_dumps() {
	cd "$IN"
	md5sum text bytes holes empty >"$OLDPWD/md5"
	md5sum -c "$OLDPWD/md5"
	sha256sum <bytes
	cksum text - <odd
	sum -s text
	b2sum holes
	{
		head -c 100 >/dev/null
		md5sum
	} <bytes
	od -A d -t x1 -j 12345 -N 64 bytes
	od -c -j 99995 -N 20 holes
	od -j 10 -N 20 -c text bytes
	{
		od -N 10 -c
		od -N 10 -c -j 16
		wc -c
	} <text
	od holes | cksum
	wc text bytes holes empty unended
	wc -c bytes text
	wc -l <text
}
compare_files() {
	cp "$IN/bytes" a
	printf X | dd of=a bs=1 seek=200000 conv=notrunc
	refused cmp "$IN/bytes" a
	refused cmp -l -i 100:100 "$IN/bytes" a
	cmp -n 200000 "$IN/bytes" a
	cmp -i 5 - "$IN/text" <"$IN/text"
	refused cmp "$IN/text" "$IN/unended"
	refused diff "$IN/bytes" a
	refused diff "$IN/text" "$IN/odd" >ed
	refused diff -u --label a --label b "$IN/odd" "$IN/third" >patch
	refused diff -y "$IN/odd" "$IN/third" >side
	refused diff -rq "$IN" . | sort >tree
	rm tree
	diff --speed-large-files "$IN/holes" "$IN/holes"
}
find_and_file() {
	touch -d '2020-01-01 00:00:00' old
	cp "$IN/text" "$IN/bytes" .
	find . -newer old -size +90k -type f -printf '%p %s\n' | sort
	find . -name 'b*' -exec md5sum {} + -o -name t\* -execdir head -n 1 {} \;
	find "$IN" -type f -empty -printf '%f\n'
	find . -name old -delete
	find . -type f -print0 | sort -z | xargs -0 wc -c
}

for function in cat_and_tee cp_and_friends head_and_tail tail_follows split_and_join \
	sort_and_filters grep_cases sed_cases sums_and_dumps compare_files find_and_file; do
	try $function
done

# ---- archives --------------------------------------------------------------------------

tar_cases() {
	local fixed='--sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner'
	cp -R "$IN" tree
	# shellcheck disable=SC2086 # a list
	tar $fixed -cf a.tar tree
	# shellcheck disable=SC2086
	tar $fixed -S -cf sparse.tar tree/holes tree/odd
	# shellcheck disable=SC2086
	tar $fixed -rf a.tar --transform 's/tree/again/' tree/text
	tar -tf a.tar
	tar -tvRf sparse.tar
	tar --delete -f a.tar tree/bytes
	# shellcheck disable=SC2086
	tar $fixed -Af a.tar sparse.tar
	mkdir out in-order
	tar -C out -xf a.tar
	tar -C in-order -x tree/odd <a.tar
	tar -xOf a.tar tree/csv | cksum
	refused tar -df a.tar --transform 's/again/tree/' 2>&1 | sed 's/.*time.*//' | cksum
	# shellcheck disable=SC2086
	tar $fixed -c -f - tree | tar -t -f - | cksum
	# shellcheck disable=SC2086
	tar $fixed -b 3 -z -cf b.tgz tree
	tar -xzf b.tgz -C in-order
}
gzip_cases() {
	cp "$IN/text" "$IN/bytes" "$IN/holes" .
	gzip -n -1 text
	gzip -n -9 -k holes
	gzip -c -n <bytes >b.gz
	gzip -t text.gz b.gz
	gzip -l b.gz
	gzip -dc text.gz b.gz | cksum
	cat b.gz text.gz >both.gz
	gunzip -k both.gz
	zcat <text.gz | tail -n 1
	zgrep -c fern text.gz
	head -c 1000 b.gz >short.gz
	refused gzip -dc short.gz >short
	refused gzip -t "$IN/odd"
	gunzip text.gz
}
xz_cases() {
	cp "$IN/text" "$IN/bytes" "$IN/holes" .
	xz -0 text
	xz -0 -k -T 2 --block-size=50000 bytes
	xz -0 -k holes
	xz -l text.xz bytes.xz holes.xz
	xz --robot -lvv bytes.xz
	xz -t ./*.xz
	xz -dc bytes.xz text.xz | cksum
	rm holes
	xz -d holes.xz
	{
		xz -dc --single-stream | cksum
		wc -c
	} <bytes.xz
	head -c 5000 bytes.xz >short.xz
	refused xz -dc short.xz >short
	refused xz -l short.xz
}
zip_cases() {
	cp "$IN/text" "$IN/bytes" "$IN/holes" "$IN/odd" .
	touch -d '2020-01-02 03:04:06' text bytes holes odd
	zip -X -q -1 a.zip text bytes
	zip -X -q a.zip holes
	zip -X -q -u a.zip odd text
	zip -X -q -d a.zip bytes
	zip -X -q -0 b.zip bytes
	unzip -l a.zip
	unzip -t a.zip
	unzip -p a.zip text odd | cksum
	mkdir out
	unzip -q a.zip -d out
	unzip -Z1 b.zip
	head -c 20000 a.zip >short.zip
	refused unzip -l short.zip
}
dpkg_cases() {
	mkdir -p p/DEBIAN p/usr/share/p
	cp "$IN/text" "$IN/holes" p/usr/share/p
	printf 'Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@x>\nDescription: p\n' \
		>p/DEBIAN/control
	find p -exec touch -d '2020-01-02 03:04:06' {} +
	SOURCE_DATE_EPOCH=1577934246 dpkg-deb -Zgzip -z1 --root-owner-group -b p p.deb
	dpkg-deb -I p.deb
	dpkg-deb -c p.deb
	dpkg-deb -x p.deb out
	dpkg-deb -e p.deb control
	dpkg-deb --fsys-tarfile p.deb | tar -tf -
	dpkg-deb -f p.deb Package Version
	ar t p.deb
	ar p p.deb data.tar.gz | gzip -dc | cksum
}

try tar_cases tar gzip
try gzip_cases gzip
try xz_cases xz
try zip_cases zip unzip
try dpkg_cases dpkg-deb ar

# ---- building, versions, keys ----------------------------------------------------------

git_cases() {
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@x
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='1600000000 +0000' GIT_COMMITTER_DATE='1600000000 +0000'
	git init -q -b main .
	git config gc.auto 0
	git config pack.threads 1
	git config core.bigFileThreshold 200k
	cp "$IN/text" "$IN/bytes" "$IN/odd" .
	git add .
	git commit -q -m one
	for i in 1 2; do
		sed -i "${i}0d" text
		cp "$IN/third" "third.$i"
		git add -A
		git commit -q -m "step $i"
	done
	git checkout -q -b side HEAD~1
	echo side >>odd
	git commit -q -a -m side
	git merge -q -m merged main
	git log --format='%H %s %an' --stat
	git gc -q
	git fsck --full --strict
	git cat-file --batch-check --batch-all-objects | cksum
	git blame -s text | cksum
	git grep -c fern
	git archive --format=tar HEAD | cksum
	git bundle create -q ../bundle.tmp main && mv ../bundle.tmp bundle
	git clone -q -b main bundle clone
	git -C clone log --oneline
	git status --short
	git ls-files -s | cksum
	# They hold times and inode numbers.
	rm .git/index clone/.git/index
	# They hold the time of the clone.
	rm -r clone/.git/logs
}
make_and_gcc() {
	cat >Makefile <<-'END'
		OBJ = a.o b.o
		prog: $(OBJ); gcc -o $@ $(OBJ)
		%.o: %.c h.h; gcc -frandom-seed=1 -g -O1 -c $<
		lib.a: b.o; ar rcD $@ b.o
		-include none.d
	END
	echo 'int b(int);' >h.h
	printf '#include <stdio.h>\n#include "h.h"\nint main(void) { printf("%%d\\n", b(20)); }\n' >a.c
	printf '#include "h.h"\nint b(int n) { return n < 2 ? n : b(n - 1) + b(n - 2); }\n' >b.c
	make prog lib.a
	./prog
	make
	rm b.o
	make -j2 prog
	gcc -save-temps -frandom-seed=1 -c b.c
	nm a.o
	objdump -d --no-addresses b.o | cksum
	readelf -S prog | cksum
	strip -o stripped prog
	refused gcc -c "$IN/odd" -x c 2>&1 | head -n 1
}
ssh_keys() {
	cp "$HOME/key" "$HOME/key.pub" .
	ssh-keygen -y -f key
	ssh-keygen -l -f key.pub
	ssh-keygen -l -f key
	ssh-keygen -e -f key.pub
	cat key.pub key.pub >list
	ssh-keygen -l -f list
	ssh-keygen -q -p -P '' -N secret -f key
	ssh-keygen -y -P secret -f key
	refused ssh-keygen -y -P wrong -f key
	rm key # it was encrypted with a salt
}
file_types() {
	cd "$IN"
	file text bytes holes empty csv odd "$parts/files.php" "$parts/share.sh" /bin/true .
	file -b --mime - <text
	file -z -b /usr/share/doc/bash/changelog.Debian.gz || :
	ls | file -f - -b | cksum
}

try git_cases git
try make_and_gcc make gcc ar
if command -v ssh-keygen >/dev/null; then
	ssh-keygen -q -t ed25519 -N '' -C key -f "$HOME/key"
fi
try ssh_keys ssh-keygen
try file_types file

inputs_are_as_they_were
exit "$failed"
