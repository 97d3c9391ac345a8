#!/bin/sh
# handover.sh FILE - reads two lines itself and leaves the rest of the same open file
# to another program, then reads on where that one stopped. The programs share one
# file position, so cat must begin at the third line exactly.
{
	read -r first
	read -r second
	echo "first: $first, second: $second"
	head -c 1000
	echo
	read -r after
	echo "after head: $after"
	cat
	read -r nothing || echo "at the end: '$nothing'"
} <"$1"
