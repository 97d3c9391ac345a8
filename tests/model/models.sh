#!/bin/sh
# models.sh: spin looks through every state of the models beside this script. It must find
# nothing wrong in the models of the code, and something in each model that was broken on
# purpose: see README.md. How many states there were goes to stderr.
set -eu

# NAME MODEL KIND [DEFINITION]...; kinds: `none`, no error is to be found; `ends`, nor any run
# without an end; `error`, one is.
cases() {
	cat <<-'END'
		page_word page_word none
		page_word-ends page_word ends LTL
		page_word-broken-no-waiters-recheck page_word error NO_WAITERS_RECHECK
		page_word-broken-no-compare page_word error NO_COMPARE
		page_word-broken-no-tag page_word error NO_TAG
		page_word-broken-no-steal page_word error NO_STEAL
		page_word-broken-no-steal-wake page_word error NO_STEAL_WAKE
		page_word-broken-no-deadline page_word error NO_DEADLINE
		hazard hazard none
		hazard-handler hazard none HANDLER
		hazard-alone hazard none ALONE
		hazard-ends hazard ends HANDLER
		hazard-broken-no-fence-fill hazard error NO_FENCE_FILL ONLY=1
		hazard-broken-no-fence-clear hazard error NO_FENCE_CLEAR ONLY=1
		hazard-broken-no-fence-claim hazard error NO_FENCE_CLAIM ONLY=1
		hazard-broken-no-reload hazard error NO_RELOAD ONLY=1
		hazard-broken-no-second-look hazard error NO_SECOND_LOOK ONLY=1
		hazard-broken-one-slot hazard error ONE_SLOT ALONE
		hazard-broken-no-generation hazard error NO_GENERATION ONLY=2
		hazard-broken-dead-at-once hazard error DEAD_AT_ONCE ONLY=3
		hazard-broken-ref-from-zero hazard error REF_FROM_ZERO ONLY=4
		position position none
		position-handler position none HANDLER
		position-alone position none ALONE
		position-ends position ends HANDLER
		position-broken-no-inflight position error NO_INFLIGHT ONLY=1
		position-broken-no-tag position error NO_TAG ALONE
		position-broken-no-shared-tag position error NO_SHARED_TAG ONLY=4
		position-broken-no-sigblock position error NO_SIGBLOCK HANDLER
		position-broken-no-epoch position error NO_EPOCH ONLY=3
		position-broken-no-gate-at-open position error NO_GATE_AT_OPEN ONLY=3
		position-broken-no-gate-at-close position error NO_GATE_AT_CLOSE ONLY=2
		position-broken-no-gate-at-close-alone position error NO_GATE_AT_CLOSE ALONE
		position-broken-no-recheck-give position error NO_RECHECK_GIVE ONLY=2
		position-broken-no-recheck-adopt position error NO_RECHECK_ADOPT ONLY=2
		position-broken-no-recheck-window position error NO_RECHECK_WINDOW ONLY=2
		position-broken-stray-seek position error STRAY_SEEK ONLY=1
		position-broken-stray-end position error STRAY_END ONLY=2
	END
}

# explore MODEL KIND [DEFINITION]...: spin's verifier, in the current folder; its output
# shellcheck disable=SC2046,SC2086 # options
explore() {
	model=$1 kind=$2
	shift 2
	# Where an error is near, compiling would be most of the time.
	case $kind in
	none) build='-O1 -DSAFETY -DNOCLAIM' search= ;;
	ends) build=-O1 search=-a ;;
	*) build='-O0 -DSAFETY -DNOCLAIM' search= ;;
	esac
	if spin $([ $# = 0 ] || printf -- '-D%s ' "$@") -a "$here/$model.pml" >log 2>&1 &&
		gcc -w $build -DMEMLIM=3000 -o pan pan.c >>log 2>&1; then
		./pan -m8000 -w23 $search
	else
		cat log
	fi
}

# clean: spin saw it all, and nothing wrong
clean() {
	grep -q 'State-vector .* errors: 0$' pan.out &&
		! grep -qE 'Search not completed|too small|truncated|out of memory|MEMLIM' pan.out
}

# what spin says it found, or why it did not look
finding() {
	{ grep -m1 '^pan:[0-9]*: ' pan.out || grep -m1 -iE 'error|not completed' pan.out; } |
		cut -c1-200
}

# one NAME MODEL KIND [DEFINITION]...
one() {
	name=$1 kind=$3
	shift
	mkdir "$work/$name" && cd "$work/$name"
	explore "$@" >pan.out 2>&1
	echo "$name:$(grep -m1 'states, stored' pan.out || :)" >&2
	case $kind in
	error)
		if grep -qE '^pan:1: (assertion violated|invalid end state)' pan.out; then
			echo "ok $name"
		else
			echo "not ok $name - spin does not find the error: $(finding)"
		fi
		;;
	*)
		if clean; then
			echo "ok $name"
		else
			echo "not ok $name - $(finding)"
		fi
		;;
	esac
	rm -rf "${work:?}/$name"
}

here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = one ]; then
	work=$2
	shift 2
	one "$@"
	exit
fi
for tool in spin gcc; do
	if ! command -v $tool >/dev/null; then
		echo "skip models - $tool is missing"
		exit 0
	fi
done
work=$(mktemp -d "${TMPDIR:-/tmp}/pagewell-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cases | xargs -P2 -L1 "$here/models.sh" one "$work" | tee "$work/cases"
! grep -q '^not ok' "$work/cases"
