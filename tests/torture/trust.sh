#!/bin/sh
# FUSE: by default left to the kernel; in a tree that PAGEWELL_TRUST names served close-to-open,
# to two machines, each with a segment of its own, that write and read it by turns. bindfs, and
# sshfs, which here talks to its server through a pipe instead of a net; first with one mount
# that both look at, then, as two machines would, with a mount for each.
set -eu
# shellcheck source=tests/torture/_look.sh disable=SC1091
. "$(dirname "$0")/_look.sh"

rounds=${TRUST_ROUNDS:-60}
mkdir "$tmp/tree"

# serve_bindfs DIRECTORY, serve_sshfs DIRECTORY: show $tmp/tree there. What the kernel keeps of
# sizes for a second would be seen by plain reads too.
# shellcheck disable=SC2317,SC2329 # called by name
serve_bindfs() {
	bindfs -o attr_timeout=0,entry_timeout=0 "$tmp/tree" "$1"
}
# shellcheck disable=SC2317,SC2329
serve_sshfs() {
	printf '#!/bin/sh\nexec %s\n' "$server" >"$tmp/server"
	chmod +x "$tmp/server"
	sshfs -o "ssh_command=$tmp/server,dir_cache=no,attr_timeout=0,entry_timeout=0" \
		"localhost:$tmp/tree" "$1"
}

# can_not PROGRAM: sets $why if its file system can't be had here
can_not() {
	why=
	server=/usr/lib/openssh/sftp-server
	if ! command -v "$1" >/dev/null; then
		why="needs $1"
	elif [ "$1" = sshfs ] && [ ! -x $server ]; then
		why="needs openssh-sftp-server"
	elif [ "${EXACT_NAMESPACE:-}" != 1 ]; then
		why="needs root and a private mount namespace"
	elif [ ! -w /dev/fuse ]; then
		why="needs /dev/fuse"
	fi
	[ -n "$why" ]
}

# shown PROGRAM DIRECTORY
shown() {
	mkdir "$2"
	if "serve_$1" "$2" >"$tmp/said" 2>&1; then
		mounted="$2 $mounted"
	else
		why="can't mount: $(tr '\n' ' ' <"$tmp/said")"
		return 1
	fi
}

# hits: of all reports, which are taken away
hits() {
	cat "$tmp/reports"/* | awk '$1 == "hits" { n += $2 } END { print n + 0 }'
	rm -rf "$tmp/reports"
}

# turns NAME DIR1 DIR2
turns() {
	mkdir "$tmp/reports"
	why=$(PAGEWELL_TRUST="$2:$3" PAGEWELL_REPORT="$tmp/reports/%p" \
		"$programs/trust" "$2" "$3" "$rounds") || :
	n=$(hits)
	[ "$why" != ok ] || why=
	[ "$n" -gt $((10 * rounds)) ] || why="${why:+$why; }only $n hits"
	verdict "$1"
}

for program in bindfs sshfs; do
	if can_not $program || ! shown $program "$tmp/$program" ||
		! shown $program "$tmp/$program-2"; then
		echo "skip trust-$program - $why"
		continue
	fi
	why=
	seq 1 30000 >"$tmp/tree/numbers"
	look_at "$tmp/$program/numbers"
	wants warm cold
	wants same 'same 0'
	echo more >>"$tmp/$program/numbers"
	wants same 'same 0'
	look_away || why="${why:+$why; }status $code"
	verdict "trust-$program-by-default"

	turns "trust-$program-one-mount" "$tmp/$program" "$tmp/$program"
	turns "trust-$program-two-mounts" "$tmp/$program" "$tmp/$program-2"
done
exit "$status"
