# CPython's own tests of its standard library, as Debian packages them; a unit is a module, a
# test is a method. Chosen: what reads, seeks, duplicates, forks, maps or has streams.
# shellcheck shell=bash disable=SC2034,SC2154
packages="python3.11 libpython3.11-testsuite"
limit=900

build() { :; }

units() {
	local -a modules=(io os file fileio file_eintr mmap posix subprocess tarfile zipfile
		shutil tempfile pathlib bufio largefile univnewlines fileinput glob popen pty
		select selectors fcntl dbm dbm_dumb shelve gzip bz2 lzma mailbox posixpath
		genericpath stat fork1 wait3 wait4 eintr cmd_line zipapp filecmp linecache
		codecs pickle multiprocessing_main_handling source_encoding wave netrc poll
		epoll openpty threadedtempfile memoryview memoryio array mimetypes compileall
		zipimport)

	printf 'test_%s\n' "${modules[@]}"
}

run() {
	local unit status

	unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE
	for unit; do
		echo "== $unit" >&2
		pre timeout -k 5 400 /usr/bin/python3.11 -W ignore "$here/pyrun.py" "$unit" \
			>out
		status=$?
		grep -E ' (PASS|FAIL|SKIP)$' out
		[ "$status" = 0 ] || echo "$unit:status=$status FAIL"
	done
}
