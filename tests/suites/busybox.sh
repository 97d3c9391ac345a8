# busybox's testsuite; a unit is an applet, a test one of its cases.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev bzip2 xz-utils"
source=busybox

build() {
	make -s defconfig && make -s -j2 && find . -name '*.o' -delete
}

# Each file NAME.tests and each folder of scripts is an applet's.
units() {
	cd testsuite && for unit in *; do
		case $unit in
		*.tests) echo "${unit%.tests}" ;;
		*) [ ! -d "$unit" ] || echo "$unit" ;;
		esac
	done | sort -u
}

run() {
	local unit

	cd testsuite || exit
	for unit; do
		pre timeout -k 5 120 ./runtest -v "$unit" >"../$unit.out" 2>&1
		sed "s|^|$unit: |" "../$unit.out" >&2
		# `PASS: what it is about`
		awk -v unit="$unit" '/^(PASS|FAIL|SKIPPED|UNTESTED): / {
			verdict = $1 == "PASS:" ? "PASS" : $1 == "FAIL:" ? "FAIL" : "SKIP"
			sub(/^[A-Z]+: */, "")
			gsub(/[ \t]+/, "_")
			print unit ":" $0, verdict
		}' "../$unit.out"
	done
}
