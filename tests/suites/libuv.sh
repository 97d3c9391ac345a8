# libuv's own tests of files, pipes, processes, polling and signals; a unit is one of them.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev autoconf automake libtool"
source=libuv1
user=nobody

build() {
	sh autogen.sh && ./configure -q --disable-shared CFLAGS=-O1 && make -s -j2 &&
		make -s -j2 check TESTS=
}

units() {
	test/run-tests --list |
		grep -E '^(fs_|get_|pipe|spawn|fork|kill|poll|process|open|close|eintr|emfile|signal|stdio|tty|thread|queue|handle|loop|ref|shutdown|watcher|iouring|delayed|active|walk|run_|env|homedir|tmpdir|cwd|random|title|dlerror|mutex|rwlock|semaphore|condvar|barrier|once|ipc)'
}

run() {
	local unit

	for unit; do
		pre timeout -k 5 60 test/run-tests "$unit" >out 2>&1
		sed "s|^|$unit: |" out >&2
		tap "$unit" <out | sed 's/:1 / /'
		grep -qE '^(not )?ok 1 ' out || echo "$unit FAIL"
	done
}
