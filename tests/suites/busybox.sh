# busybox's testsuite, and those of its two shells; a unit is an applet or a folder of shell
# scripts, a test one of their cases.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev bzip2 xz-utils"
source=busybox
user=nobody
limit=1200

build() {
	make -s defconfig && make -s -j2 && find . -name '*.o' -delete
}

# Each file NAME.tests and each folder of scripts is an applet's.
units() {
	local unit

	(cd testsuite && for unit in *; do
		case $unit in
		*.tests) echo "${unit%.tests}" ;;
		*) [ ! -d "$unit" ] || echo "$unit" ;;
		esac
	done | sort -u)
	(cd shell/ash_test && ls -d ash-*)
	(cd shell/hush_test && ls -d hush-*)
}

# `PASS: what it is about`
applet() {
	(cd testsuite && pre timeout -k 5 120 ./runtest -v "$1") >"$1.out" 2>&1
	awk -v unit="$1" '/^(PASS|FAIL|SKIPPED|UNTESTED): / {
		verdict = $1 == "PASS:" ? "PASS" : $1 == "FAIL:" ? "FAIL" : "SKIP"
		sub(/^[A-Z]+: */, "")
		gsub(/[ \t]+/, "_")
		print unit ":" $0, verdict
	}' "$1.out"
}

# `ash-redir/redir1.tests: ok`, or `fail`, `fail (1)`, `skip (feature disabled)`
shell() {
	(cd "shell/${1%%-*}_test" && pre timeout -k 5 300 ./run-all "$1") >"$1.out" 2>&1
	awk -v unit="$1" -F'[/:]' '$1 == unit && /: (ok|fail|skip)( \(.*)?$/ {
		print unit ":" $2, /: ok/ ? "PASS" : /: skip/ ? "SKIP" : "FAIL"
	}' "$1.out"
}

run() {
	local unit

	for unit; do
		case $unit in
		ash-* | hush-*) shell "$unit" ;;
		*) applet "$unit" ;;
		esac
		sed "s|^|$unit: |" "$unit.out" >&2
	done
}
