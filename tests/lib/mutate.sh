# shellcheck shell=sh disable=SC2154
# mutate.sh - for the _mutants scripts: copies of the library with one thing broken. Wants
# $top, the source tree, and $tmp, a folder that goes at the end.

# mutate NAME [FILE FROM TO]...: builds the library with each FROM, which may be several
# lines, replaced in FILE, and makes it $PAGEWELL_LIB. A FROM that is not in its file exactly
# once ends the script: then the mutants are to be brought up to date. With MUTATE_DRY=1 only
# that is looked at, and the answer is no.
mutate() {
	# shellcheck disable=SC2034 # for who sources this
	name=$1
	shift
	if [ "${MUTATE_DRY:-0}" = 1 ]; then
		replace "$top" - "$@" || exit 1
		return 1
	fi
	# What is not broken is compiled once, and copied with its times.
	if [ ! -d "$tmp/whole" ]; then
		mkdir -p "$tmp/whole/tests"
		cp -r "$top/Makefile" "$top/cache" "$top/shim" "$tmp/whole"
		cp -r "$top/tests/lib" "$tmp/whole/tests"
		make_library "$tmp/whole"
	fi
	rm -rf "$tmp/broken"
	cp -a "$tmp/whole" "$tmp/broken"
	replace "$tmp/broken" "$tmp/broken" "$@" || exit 1
	make_library "$tmp/broken" || exit 1
	export PAGEWELL_LIB="$tmp/broken/build/release/libpagewell.so"
}

# replace FROM TO [FILE OLD NEW]...: TO may be -, for nowhere
replace() {
	python3 - "$@" <<-'END'
		import sys
		top, to, args = sys.argv[1], sys.argv[2], sys.argv[3:]
		texts = {}
		for file, old, new in zip(args[0::3], args[1::3], args[2::3]):
		    text = texts.get(file) or open(f"{top}/{file}").read()
		    if text.count(old) != 1:
		        sys.exit(f"_mutants: not once in {file}: {old!r}")
		    texts[file] = text.replace(old, new)
		if to != "-":
		    for file, text in texts.items():
		        open(f"{to}/{file}", "w").write(text)
	END
}

make_library() {
	make -s -C "$1" -j2 B=build build/release/libpagewell.so >&2
}
