# LMDB's test programs, each with a fresh database, and its tools on what they leave.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev"
source=lmdb

build() { make -s -C libraries/liblmdb all CFLAGS='-O1 -pthread -fPIC'; }

units() { printf '%s\n' mtest mtest2 mtest3 mtest4 mtest5; }

run() {
	local unit bin=$PWD/libraries/liblmdb

	for unit; do
		rm -rf testdb loaded compact
		mkdir testdb loaded compact
		pre timeout -k 5 60 "$bin/$unit" >"$unit.out" 2>&1
		verdict "$unit" $?
		sed "s|^|$unit: |" "$unit.out" >&2
		pre "$bin/mdb_stat" -ea testdb >/dev/null
		verdict "$unit:stat" $?
		pre "$bin/mdb_dump" -a testdb >dump && pre "$bin/mdb_load" -f dump loaded &&
			pre "$bin/mdb_dump" -a loaded | sed '/^mapsize\|^maxreaders/d' >dump2 &&
			sed '/^mapsize\|^maxreaders/d' dump | cmp - dump2 >&2
		verdict "$unit:dump-load-dump" $?
		pre "$bin/mdb_copy" -c testdb compact && pre "$bin/mdb_dump" -a compact |
			cmp - dump >&2
		verdict "$unit:copy" $?
	done
}
