#!/bin/sh
# batch.sh COUNT PROGRAM ARGUMENT...: runs the program COUNT times, one after the other, as a
# batch or a makefile does.
count=$1
shift
while [ "$count" -gt 0 ]; do
	"$@" || exit
	count=$((count - 1))
done
