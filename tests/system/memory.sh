#!/bin/bash
# In a memory cgroup that is far smaller than what is read: mapped pages are given back like
# those of the page cache, so nobody is killed who would have lived without the library.
# shellcheck source=tests/system/_probe.sh
. "$(dirname "$0")/_probe.sh"

eater=${PAGEWELL_TESTS:-$root/build/tests}/system/eater
group=

# shellcheck disable=SC2317,SC2329 # called by the trap
leave() {
	[ -z "$group" ] || rmdir "$group" 2>/dev/null || :
	cleanup
}
trap leave EXIT

# make_group BYTES: sets $group; version 2 of cgroups, else version 1
make_group() {
	local top v2
	v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.controllers" 2>/dev/null; then
		echo +memory >"$v2/cgroup.subtree_control" 2>/dev/null || :
		top=$v2
	else
		top=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	fi
	[ -n "$top" ] && mkdir "$top/pagewell-test-$$" 2>/dev/null || return 1
	group=$top/pagewell-test-$$
	{ echo "$1" >"$group/memory.max" || echo "$1" >"$group/memory.limit_in_bytes"; } \
		2>/dev/null
}

# killed: how many were killed in the group for want of memory
killed() {
	cat "$group/memory.events" "$group/memory.oom_control" 2>/dev/null |
		awk '$1 == "oom_kill" { print $2 }'
}

# inside COMMAND...
inside() {
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		exec "$@"
	)
}

if [ "$place" != "$work" ] || [ "$(stat -f -c %T "$work")" = tmpfs ]; then
	echo 'skip memory - the scratch folder is not on a disk'
	exit 0
fi
if ! make_group $((20 << 20)); then
	echo 'skip memory - no memory cgroup may be made here'
	exit 0
fi
bytes=$((64 << 20))
"$eater" "$work/big" $bytes make

# eaters NUMBER MIB [VARIABLE=VALUE]...: so many at once; adds to $why
eaters() {
	local n=$1 mib=$2 pids=() pid
	shift 2
	for ((i = 0; i < n; i++)); do
		inside env "$@" PAGEWELL_REPORT="$work/report.$i" "$eater" "$work/big" \
			$bytes "$mib" 2>>"$work/err" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || why="$why${why:+; }status $?: $(tail -n1 "$work/err")"
	done
}

# compared NUMBER MIB: without the library first
compared() {
	why=
	: >"$work/err"
	eaters "$1" "$2"
	if [ -n "$why" ]; then
		echo "skip $1 at once - already without the library: $why"
		return
	fi
	eaters "$1" "$2" LD_PRELOAD="$lib"
	want 'killed' 0 "$(killed)"
	# How much is served is no matter of right or wrong: where pages are taken away as soon
	# as they are there, touching them does not pay.
	verdict "$1 at once" "$why"
}

compared 1 8
compared 3 3
exit "$failed"
