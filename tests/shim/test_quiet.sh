#!/bin/bash
# test_quiet.sh - a hit makes no system call (by strace, between two marks), and being served
# leaves no trace on a process but the SIGBUS handler (by /proc/self). See quiet.c.
set -eu
export LC_ALL=C

root=$(cd "$(dirname "$0")/../.." && pwd)
lib=$(realpath "${PAGEWELL_LIB:-$root/build/libpagewell.so}")
quiet=$(realpath "${PAGEWELL_TESTS:-$root/build/tests}")/shim/quiet
given=${PAGEWELL_SEGMENT:-/dev/shm/pagewell-test}
unset LD_PRELOAD

work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
shm=$(mktemp -d /dev/shm/pagewell-test.XXXXXX) # files are served there, whatever TMPDIR is
export PAGEWELL_SEGMENT=$given-$$
trap 'rm -rf --one-file-system "$work" "$shm" "$PAGEWELL_SEGMENT"' EXIT
failed=0

# verdict NAME WHY: a case that failed if there is a WHY
verdict() {
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1 - $(printf %s "$2" | tr '\n' '|' | cut -c1-400)"
		failed=1
	fi
}

head -c 300000 /dev/urandom | tr '\000' '\001' >"$shm/data"
cd "$work"

# calls LOG WHICH: how many calls the log has between the marks, and between which marks;
# calls of the thread that makes the marks, for another may still be on its way to sleep
calls() {
	awk -v from="\"begin $2\"" -v to="\"end $2\"" '
		index($0, to) { ends++; on = 0 }
		on && $1 == thread && !/^[0-9]+ +<\.\.\. write resumed>/ { n++ }
		index($0, from) { begins++; on = 1; thread = $1 }
		END { print n + 0, "calls in", begins + 0, "to", ends + 0 }' "$1"
}

if ! command -v strace >/dev/null; then
	echo 'skip no-calls - strace is missing'
elif ! strace -o log true 2>err; then
	echo "skip no-calls - ptrace is forbidden: $(head -n1 err)"
else
	# Without the library the same marks enclose five calls a round: the count works.
	strace -f -o plain.log "$quiet" loop "$shm/data" 500
	strace -f -o ours.log -E "LD_PRELOAD=$lib" "$quiet" loop "$shm/data" 10000 2>err ||
		echo "status $?" >>err
	for who in one two; do
		why=
		case $(calls plain.log $who) in
		[0-9][0-9][0-9][0-9]*' calls in 1 to 1') ;;
		*) why="plainly $(calls plain.log $who)" ;;
		esac
		ours=$(calls ours.log $who)
		[ "$ours" = '0 calls in 1 to 1' ] ||
			why="$why${why:+; }$ours $(tail -n2 err)"
		verdict "no-calls-$who-thread" "$why"
	done
fi

# ---- what is left on the process -------------------------------------------------------

"$quiet" state "$shm/data" </dev/null 2>err | cat >plain
set -o pipefail
LD_PRELOAD=$lib SELF_TRACE=$work/trace "$quiet" state "$shm/data" </dev/null 2>err |
	cat >ours || echo "status $?" >>trace
sed -i 's/pipe:.*]/a pipe/' plain ours
sed -n 's/^before: //p' plain >plain.before
sed -n 's/^before: //p' ours >ours.before
sed -n 's/^after: //p' ours >ours.after
why=$(diff plain.before ours.before) || :
[ "$(wc -l <plain.before)" -gt 25 ] || why="only $(wc -l <plain.before) lines"
verdict state-at-start "$why"

# What may change: SIGBUS, bit 0x40, is caught.
why=
[ ! -s trace ] || why=$(cat trace)
[ "$(grep -c SigCgt ours.after)" = 1 ] || why="$why no SigCgt"
caught=$(awk '/^SigCgt:/ { print $2 }' ours.before)
want=$(printf '%016x' $((0x$caught | 0x40)))
sed "s/^\\(SigCgt:[[:space:]]*\\).*/\\1$want/" ours.before >wanted
why=$why$(diff wanted ours.after) || :
verdict state-after "$why"
exit $failed
