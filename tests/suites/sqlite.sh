# SQLite's testfixture; a unit is one of its .test files, a test one of the cases in it.
# Chosen: pager, journals, locks, mappings, errors, backups, the shell.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev tcl tcl-dev xz-utils libreadline-dev zlib1g-dev"
source=sqlite3
user=nobody
limit=1200

build() {
	./configure -q CFLAGS=-O1 && make -s -j2 testfixture sqlite3
}

units() {
	local -a names=(aggerror attach attach2 attach3 autovacuum autovacuum_ioerr2 backup
		backup2 backup4 badutf bigfile bind blob capi3 cksumvfs conflict corrupt
		corrupt2 corrupt3 corrupt4 corruptA crash2 crash3 crash5 createtab cursorhint
		dbpage delete descidx1 diskfull e_vacuum e_wal enc exclusive exclusive2
		filefmt fallocate hook in incrblob incrblob2 incrvacuum incrvacuum2
		incrvacuum_ioerr index insert interrupt io ioerr2 ioerr3 ioerr5 journal1
		journal2 journal3 jrnlmode jrnlmode2 jrnlmode3 lock lock2 lock3 lock4 lock5
		lock6 lock7 memdb misc1 mmap1 mmap2 mmap3 mmap4 mmapcorrupt multiplex nolock
		notify1 nockpt openv2 oserror pager1 pager2 pager3 pager4 pageropt pagesize
		pcache pragma pragma2 quota rdonly readonly recover rollback rollback2
		rollbackfault savepoint savepoint2 select1 shared shared2 shell1 shell2 shell3
		shell4 shell5 shell6 shortread1 stmt subquery superlock symlink sync sync2
		syscall tempdb tempdb2 temptable temptrigger thread001 thread002 tkt2409
		trans trans2 trigger1 unixexcl update uri vacuum vacuum2 vacuum3 vacuum4
		vacuum5 wal wal2 wal3 wal4 wal5 wal6 wal7 wal8 wal9 walbak walblock walcksum
		walhook walmode walnoshm waloverwrite walpersist walprotocol walro walro2
		walrofault walshared walslow walthread where zerodamage zipfile)
	local name

	for name in "${names[@]}"; do
		[ ! -e "test/$name.test" ] || echo "$name"
	done
}

run() {
	local unit status

	for unit; do
		rm -rf cell
		mkdir cell
		(cd cell && pre timeout -k 5 120 ../testfixture "../test/$unit.test") \
			>"$unit.out" 2>&1
		status=$?
		# `NAME... Ok`, or `! NAME expected: ...` after `NAME...`. Threads that wait print
		# dots, any number of them, before a name.
		awk -v unit="$unit" '
		/\.\.\. Ok$/ { name = $0; sub(/\.\.\. Ok$/, "", name)
			sub(/^\.+/, "", name); gsub(/ /, "_", name)
			print unit ":" name, "PASS" }
		/^! .* expected:/ { print unit ":" $2, "FAIL" }
		/\.\.\. Omitted$/ { name = $0; sub(/\.\.\. Omitted$/, "", name)
			gsub(/ /, "_", name); print unit ":" name, "SKIP" }' "$unit.out"
		verdict "$unit" "$status"
		if [ "$status" != 0 ]; then
			grep -vE '\.\.\. Ok$' "$unit.out" | sed "s|^|$unit: |" >&2
		fi
	done
}
