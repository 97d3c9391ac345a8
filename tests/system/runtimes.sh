#!/bin/bash
# Java and Node, which have threads, signal handlers and memory management of their own,
# without and with the library.
#
# Each case is a process of its own, called by its name.
# shellcheck disable=SC2317,SC2329
# shellcheck source=tests/system/_lib.sh
. "$(dirname "$0")/_lib.sh"

export CLASSES=$work/classes

# As the machine is shared, without the compilers and collectors of a large one.
java() {
	command java -Xmx256m -cp "$CLASSES" "$@"
}
helpers+=(java)

java_files() { java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 Files "$IN"; }
java_files_interpreted() { java -XX:+UseParallelGC -Xint Files "$IN"; }
node_files() { node "$parts/files.js" "$IN"; }

if command -v javac >/dev/null; then
	javac -J-XX:TieredStopAtLevel=1 -d "$CLASSES" "$parts/Files.java"
fi
served java_files java javac
try java_files_interpreted java javac
# Where the processor has protection keys it uses them, and is not served.
try node_files node

inputs_are_as_they_were
exit "$failed"
