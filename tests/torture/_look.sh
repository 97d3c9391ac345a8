# For scripts of this folder to read in: what those need that lead look (look.c) by the hand,
# and a directory of their own in $tmp, with file systems by _mounts.sh. A script that reads
# this in is run again in a mount namespace of its own where it may.
# shellcheck shell=sh disable=SC2034 # status, shorten: of those who read this in

# shellcheck source=tests/torture/_alone.sh disable=SC1091
. "$(dirname "$0")/_alone.sh"
unset LD_PRELOAD PAGEWELL_FS PAGEWELL_TRUST

shm=$(mktemp -d /dev/shm/pagewell-test.XXXXXX)
mkfifo "$tmp/to" "$tmp/from"

# look_at FILE [LIBRARY]: starts it, under the library; only one at a time
look_at() {
	LD_PRELOAD=${2-$PAGEWELL_LIB} "$programs/look" "$1" <"$tmp/to" >"$tmp/from" 2>&1 &
	looking=$!
	exec 3>"$tmp/to" 4<"$tmp/from"
}

# ask LINE: sets $answer
ask() {
	answer=
	echo "$1" >&3
	read -r answer <&4 || answer="look has ended"
}

# look_away: ends it; false if it ended badly
look_away() {
	exec 3>&- 4<&-
	code=0
	wait "$looking" || code=$?
	looking=
	return "$code"
}

# wants WHAT PATTERN: asks; what does not match is a reason, in $why
wants() {
	ask "$1"
	# shellcheck disable=SC2254 # a pattern
	case $answer in
	$2) ;;
	*) why="${why:+$why; }${3:-}$1: $answer" ;;
	esac
}

# verdict NAME: a case that failed if there is a $why
verdict() {
	if [ -z "$why" ]; then
		echo "ok $1"
	else
		echo "not ok $1 - $(printf %s "$why" | tr '\n' '|' | cut -c1-400)"
		status=1
	fi
}
