# shellcheck shell=bash
# _command.sh - what the tests of the command's parts share, beyond _probe.sh: running it from an
# empty folder, and what it says.
#
# shellcheck source=tests/system/_probe.sh
. "$(dirname "${BASH_SOURCE[0]}")/_probe.sh"

# shellcheck disable=SC2034 # for who sources this
version=$(awk '$2 == "PW_VERSION" { gsub(/"/, "", $3); print $3 }' "$root/cache/pagewell.h")
# As little as possible that differs from machine to machine.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin
mkdir "$work/cwd"
cd "$work/cwd"

# pw ARG...: runs the command; sets status, out and err
pw() {
	status=0
	"$bin" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	out=$(cat "$work/out")
	err=$(cat "$work/err")
}

# gives NAME STATUS STDOUT ARG...: the command says nothing on stderr
gives() {
	local name=$1 wanted=$2 text=$3
	shift 3
	why=
	pw "$@"
	want status "$wanted" "$status"
	want stdout "$text" "$out"
	want stderr '' "$err"
	verdict "$name" "$why"
}

# fails NAME STATUS WORDS ARG...: with one line on stderr that has WORDS (a glob) in it
fails() {
	local name=$1 wanted=$2 words=$3
	shift 3
	why=
	pw "$@"
	want status "$wanted" "$status"
	want stdout '' "$out"
	want 'lines on stderr' 1 "$(wc -l <"$work/err")"
	# shellcheck disable=SC2254
	case $err in
	"pagewell: "*$words*) ;;
	*) why="$why${why:+; }said: $err" ;;
	esac
	verdict "$name" "$why"
}

# helps NAME WORDS ARG...: usage on stdout
helps() {
	local name=$1 words=$2
	shift 2
	why=
	pw "$@"
	want status 0 "$status"
	want stderr '' "$err"
	case $out in
	usage:\ pagewell*"$words"*) ;;
	*) why="$why${why:+; }$out" ;;
	esac
	! grep -q '.\{81\}' "$work/out" || why="$why${why:+; }lines of more than 80 columns"
	verdict "$name" "$why"
}
# json_says EXPRESSION...: Python expressions over the object j that the command last printed
json_says() {
	local not
	not=$(python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
print("; ".join(e for e in sys.argv[2:] if not eval(e)))' "$work/out" "$@" 2>&1) ||
		not="no JSON: $not"
	[ -z "$not" ] || why="$why${why:+; }not so: $not"
}
# usual NAME: what each subcommand that is not another program's does alike
usual() {
	local name=$1
	helps "$name --help" "Exit status:" "$name" --help
	gives "$name --version" 0 "pagewell $version" "$name" --version
	fails "$name: unknown option" 2 "$name: unknown option --nosuch; see pagewell $name --help" \
		"$name" --nosuch
	fails "$name: unknown short option" 2 "$name: unknown option -Z;" "$name" -Z
	why=
	status=0
	"$bin" "$name" --help >/dev/full 2>"$work/err" || status=$?
	want status 1 "$status"
	grep -q 'No space left' "$work/err" || why="$why${why:+; }said: $(cat "$work/err")"
	verdict "$name --help: a full disk is noticed" "$why"
	"$bin" --help | grep -q "^  $name  *[a-z]" || why="it is not in pagewell --help"
	verdict "$name is in pagewell --help" "$why"
}
