# git's own tests; a unit is a script, a test one of its steps.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev perl zlib1g-dev libssl-dev libcurl4-openssl-dev
	libexpat1-dev libpcre2-dev"
source=git
user=nobody
limit=1200

build() {
	make -s -j2 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 CFLAGS=-O1 all t/helper/test-tool &&
		find . -name '*.o' -delete
}

units() {
	local -a numbers=(0005 0020 0021 0024 0040 0061 0062 0090 0095 1001 1006 1007 1050 1300
		1400 1404 1450 1501 2030 2107 3200 3300 3404 3600 3700 3903 4010 4100 4150 4200
		5000 5003 5300 5301 5302 5303 5304 5306 5307 5308 5309 5313 5314 5315 5316 5317
		5318 5321 5325 5400 5500 5503 5504 5601 5700 6120 6500 6501 7004 7006 7500 7700
		8001 9300 9301 9350)
	local number

	cd t && for number in "${numbers[@]}"; do
		ls t"$number"-*.sh
	done
}

run() {
	local unit

	cd t || exit
	# Without this, a preload is taken out of the tests' environment.
	export TEST_NO_MALLOC_CHECK=1
	for unit; do
		pre timeout -k 5 200 "./$unit" --no-color >"$unit.out" 2>&1
		tap "${unit%.sh}" <"$unit.out"
		grep -q '^1\.\.' "$unit.out" || echo "${unit%.sh}:ended FAIL"
		sed "s|^|$unit: |" "$unit.out" >&2
	done
}
