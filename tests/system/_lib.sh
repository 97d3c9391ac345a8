# shellcheck shell=bash
# _lib.sh - real programs, once without and once with the library, each time in a fresh folder
# of the same name: what they print, their exit status and the files that they leave must be
# the same. A case is a function, run by a bash of its own that has the library too; it is to
# end with status 0 without the library, so that it can't pass by failing twice. Cases that
# `served` runs must moreover have had hits, and those that `stored` runs stores; they use one
# spot thousands of times, which pays whatever a mapping costs on this machine.
#
# A script's arguments are the names of the cases to run, if not all; KEEP=1 prints what
# differed at length.
#
# shellcheck source=tests/system/_probe.sh
. "$(dirname "${BASH_SOURCE[0]}")/_probe.sh"

parts=$root/tests/system/_programs
only=" $* "
IN=$place/in    # the input files; left as they are
now=$place/run  # the folder that a case runs in
chain=%         # LD_PRELOAD of both runs, with the library, if at all, at the %
must_hit=
helpers=(refused) # functions that cases call
export IN parts

# As little as possible that differs from machine to machine.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=$place/home TZ=UTC0 PYTHONDONTWRITEBYTECODE=1
unset LANG LANGUAGE GREP_OPTIONS POSIXLY_CORRECT TAR_OPTIONS GZIP XZ_OPT MAKEFLAGS MFLAGS \
	MAKELEVEL CDPATH BASH_ENV ENV SOURCE_DATE_EPOCH JAVA_TOOL_OPTIONS NODE_OPTIONS \
	http_proxy HTTP_PROXY ALL_PROXY all_proxy
umask 022
mkdir "$IN" "$HOME" "$place/reports"

python3 -I "$parts/inputs.py" "$IN"
sums() { (cd "$IN" && find . -type f -exec cksum {} + | sort); }
sums >"$work/sums"

# once SIDE FUNCTION VARIABLE=VALUE...: runs the function in a fresh folder, which becomes
# $place/SIDE/tree beside the files out, err, status and list (what `find` says of it)
once() {
	local side=$place/$1 body status=0
	body="set -eu; $(declare -f "$2" "${helpers[@]}"); $2"
	shift 2
	mkdir "$now" "$side"
	(
		cd "$now"
		exec env "$@" timeout -k 5 60 bash -c "$body"
	) </dev/null >"$side/out" 2>"$side/err" || status=$?
	echo "$status" >"$side/status"
	(
		cd "$now"
		find . '(' -type d -printf '%y %m %p\n' ')' -o -printf '%y %m %n %s %p %l\n' | sort
	) >"$side/list"
	mv "$now" "$side/tree"
}

# sees what differs, in $why
compare() {
	local status part
	status=$(<"$place/plain/status")
	if [ "$status" != 0 ]; then
		why="the plain run ended with $status: $(tail -n 3 "$place/plain/err")"
		return
	fi
	diff -rq --no-dereference "$place/plain" "$place/with" >"$work/differ" 2>&1 && return
	for part in status out err list; do
		cmp -s "$place/plain/$part" "$place/with/$part" || why="$why${why:+; }$part: $(
			diff "$place/plain/$part" "$place/with/$part" | sed '1d' | head -n 4
		)"
	done
	why="$why; $(grep -F /tree "$work/differ" || :)"
}

# try FUNCTION PROGRAM...: the case FUNCTION, which needs these programs
try() {
	local function=$1 name=${1//_/ } program report=
	shift
	[ "$only" = '  ' ] || case $only in *" $function "*) ;; *) return 0 ;; esac
	for program; do
		if ! command -v "$program" >/dev/null; then
			echo "skip $name - there is no $program here"
			return 0
		fi
	done
	why=
	once plain "$function" LD_PRELOAD="${chain/\%/}"
	[ -z "$must_hit" ] || report=PAGEWELL_REPORT=$place/reports/%p
	once with "$function" LD_PRELOAD="${chain/\%/$lib}" ${report:+"$report"}
	compare
	if [ -n "$must_hit" ]; then
		hits=$(cat "$place"/reports/* 2>/dev/null |
			awk -v what="$must_hit" '$1 == what { n += $2 } END { print n + 0 }')
		[ "$hits" -gt 1000 ] || why="$why${why:+; }$hits $must_hit"
		rm -rf "$place/reports"
		mkdir "$place/reports"
	fi
	verdict "$name" "$why"
	if [ -n "$why" ] && [ "${KEEP:-0}" = 1 ]; then
		(
			cd "$place"
			diff -r -U2 --no-dereference plain with
		) >&2 || :
	fi
	rm -rf --one-file-system "$place/plain" "$place/with"
}
served() {
	must_hit=hits
	try "$@"
	must_hit=
}
stored() {
	must_hit=stores
	try "$@"
	must_hit=
}

# refused COMMAND...: it is to fail; how is compared
refused() {
	local status=0
	"$@" || status=$?
	echo "status $status"
	[ "$status" != 0 ]
}

# the last case of a script
inputs_are_as_they_were() {
	[ "$only" = '  ' ] || return 0
	why=
	sums | cmp -s - "$work/sums" || why='some are not what they were'
	verdict 'the inputs are as they were' "$why"
}
