#!/bin/sh
# count.sh FILE: reads all lines, and says how many there are and what is in the last.
count=0
while read -r line; do
	count=$((count + 1))
	last=$line
done <"$1"
echo "$count lines, the last: $last"
