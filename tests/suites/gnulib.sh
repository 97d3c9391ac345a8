# gnulib's unit tests of the modules about numbers, positions, streams, processes and signals,
# as gnulib-tool puts them together; a unit is a program or script.
# shellcheck shell=bash disable=SC2034
packages="gnulib gcc g++ make libc6-dev autoconf automake libtool gettext autopoint bison gperf"

build() {
	local -a wanted=(read write pread pwrite lseek open openat creat close dup dup2 dup3 fcntl
		fflush fseek fseeko ftell ftello fpurge freading fwriting freadable fwritable
		freadahead freadptr freadseek fclose fopen fopen-gnu fopen-safer freopen
		freopen-safer fdopen tmpfile tmpfile-safer closein closeout close-stream
		getline getdelim getndelim2 read-file readtokens linebuffer copy-file
		full-read full-write safe-read safe-write unistd-safer stdlib-safer
		fcntl-safer fd-safer-flag dup-safer-flag pipe2 pipe-posix pipe2-safer
		posix_spawn posix_spawnp posix_spawn_file_actions_adddup2
		posix_spawn_file_actions_addopen posix_spawn_file_actions_addclose
		spawn-pipe execute popen popen-safer pclose savewd ftruncate truncate
		mkstemp mkostemp mkostemps ioctl select poll sigprocmask sigaction raise
		sigpipe fatal-signal link linkat symlink rename renameat renameatu stat
		fstat fstatat lstat utimens futimens fdutimensat fdopendir dirfd closedir
		getcwd fts glob areadlink canonicalize exclude fsync fdatasync
		cloexec nonblocking isatty ttyname_r perror dprintf fprintf-posix
		vdprintf obstack-printf sys_uio flock file-has-acl acl qcopy-acl
		supersede copy-file-range binary-io fd-hook pty openpty forkpty
		posix_openpt grantpt unlockpt ptsname ptsname_r
		sha1 sha256 md5 crc stdio sys_stat unistd fcntl-h getdtablesize
		thread lock cond rwlock tls)
	local -a modules=()
	local module

	for module in "${wanted[@]}"; do
		[ ! -e "/usr/share/gnulib/modules/$module" ] || modules+=("$module")
	done
	gnulib-tool --create-testdir --dir=made --with-tests "${modules[@]}" &&
		mv made/* . && rmdir made &&
		FORCE_UNSAFE_CONFIGURE=1 ./configure -q CFLAGS=-O1 &&
		make -s -j2 && make -s -C gltests check TESTS=
}

units() {
	cd gltests && automake_units
}

run() { automake_check gltests "$@"; }
