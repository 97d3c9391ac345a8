# git's own tests; a unit is a script, a test one of its steps.
# shellcheck shell=bash disable=SC2034
packages="gcc make libc6-dev dpkg-dev perl zlib1g-dev libssl-dev libcurl4-openssl-dev
	libexpat1-dev libpcre2-dev"
source=git
user=nobody

build() {
	make -s -j2 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1 CFLAGS=-O1 all t/helper/test-tool &&
		find . -name '*.o' -delete
}

units() {
	local -a numbers=(0005 0008 0020 0021 0024 0030 0040 0061 0062 0066 0070 0090 0095
		1000 1001 1002 1006 1007 1011 1050 1060 1300 1301 1400 1401 1403 1404 1405 1410
		1450 1500 1501 1601 2000 2030 2050 2107 2200 2203 3000 3200 3300 3404 3501 3510
		3600 3700 3903 4000 4010 4014 4100 4103 4150 4200 4201 5000 5001 5003 5300 5301
		5302 5303 5304 5305 5306 5307 5308 5309 5313 5314 5315 5316 5317 5318 5320 5321
		5325 5400 5500 5501 5503 5504 5512 5601 5604 5700 5701 6000 6001 6006 6012 6050
		6120 6500 6501 7001 7004 7006 7007 7101 7201 7300 7500 7501 7502 7508 7600 7700
		7701 7810 8001 8003 9300 9301 9350)
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
