#!/bin/bash
# The benchmark's own answers: that it runs and leaves JSON and a page that can be read; that
# a library known to be slow is reported as slow; and that a program that fails or hangs with
# the library costs its own case and no other.
#
# shellcheck source=tests/system/_probe.sh
. "$(dirname "$0")/_probe.sh"

export PATH=/usr/bin:/bin:/usr/sbin:/sbin
bench=$root/tests/bench/run
out=$work/bench
mkdir "$out" "$out/inputs"

# bench_with LIBRARY NAME ARG...: a quick run that leaves its results in $out/NAME
bench_with() {
	local library=$1 to=$out/$2
	shift 2
	mkdir "$to"
	env PAGEWELL_LIB="$library" timeout 120 "$bench" --quick --no-install --seconds 2 \
		--dir "$out/inputs" --out "$to" "$@" >"$to/said" 2>&1
}

# says NAME EXPRESSION: it is true of the run's cases (case, by name)
says() {
	python3 -I - "$out/$1/bench.json" "$2" <<-'END'
		import json, sys
		with open(sys.argv[1]) as f:
		    case = {c["case"]: c for c in json.load(f)["cases"]}
		sys.exit(not eval(sys.argv[2], {"case": case}))
	END
}

# page_is_whole NAME: its tags are closed in order, and there are bars in it
page_is_whole() {
	python3 -I - "$out/$1/bench.html" <<-'END'
		import html.parser, sys
		class Page(html.parser.HTMLParser):
		    inside, bars = [], 0
		    def handle_starttag(self, tag, attrs):
		        self.bars += tag == "rect"
		        if tag not in ("meta", "br"):
		            self.inside.append(tag)
		    def handle_endtag(self, tag):
		        if not self.inside or self.inside.pop() != tag:
		            sys.exit(f"</{tag}> at {self.getpos()}")
		page = Page()
		with open(sys.argv[1]) as f:
		    page.feed(f.read())
		sys.exit(bool(page.inside) or not page.bars)
	END
}

tail_of() { tail -n 2 "$out/$1/said" | tr '\n' ' '; }

# ---- what it says of the library -------------------------------------------------------

why=
bench_with "$lib" plain lseek-set startup dd-64k || why="it ended with $?"
says plain 'len(case) == 3 and all(c["state"] == "measured" for c in case.values())' ||
	why="$why; not all three were measured"
says plain 'all(f == x / y for f, x, y in zip(*(case["lseek-set"][k] for k in
	("figures", "without", "with"))))' || why="$why; the figures are not the pairs' ratios"
page_is_whole plain || why="$why; the page is not whole"
verdict 'a run leaves JSON and a page' "$why${why:+: $(tail_of plain)}"

why=
"$bench" --list >"$work/list" || why="it ended with $?"
grep -q '^  dd-64k ' "$work/list" || why='dd-64k is not in it'
! "$bench" --no-install none-such >/dev/null 2>&1 || why='a case that is not there was run'
verdict 'the list of cases' "$why"

# ---- what it says of others ------------------------------------------------------------

# Each read of 64 KiB or more takes 2 ms longer. With FAKE set, true fails and dd hangs.
cat >"$work/fake.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t (*next)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");

	if (n >= 65536)
		usleep(2000);
	return next(fd, buf, n);
}

__attribute__((constructor)) static void start(void)
{
	if (!getenv("FAKE"))
		return;
	if (strcmp(program_invocation_short_name, "true") == 0)
		_exit(3);
	if (strcmp(program_invocation_short_name, "dd") == 0)
		pause();
}
END
"${CC:-cc}" -shared -fPIC -O1 -o "$out/fake.so" "$work/fake.c" -ldl

# 256 reads of 16 MiB: half a second, be the machine as slow as it likes.
why=
bench_with "$out/fake.so" slow dd-64k || why="it ended with $?"
says slow 'min(case["dd-64k"]["with"]) >= 512 and case["dd-64k"]["slower"] > 1.03' ||
	why="$why; half a second was not seen"
says slow 'case["dd-64k"]["reached"] == "not met"' || why="$why; the target is said to be met"
grep -q 'more than 3 % slower: dd-64k' "$out/slow/said" || why="$why; the summary lacks it"
page_is_whole slow || why="$why; the page is not whole"
verdict 'a slow library is reported as slow' "$why${why:+: $(tail_of slow)}"

why=
status=0
FAKE=1 bench_with "$out/fake.so" broken --limit 1 startup dd-64k lseek-set || status=$?
[ "$status" = 1 ] || why="the status is $status"
says broken '[case[n]["state"] for n in ("startup", "dd-64k", "lseek-set")
	] == ["failed", "failed", "measured"]' || why="$why; not two failures and a figure"
page_is_whole broken || why="$why; the page is not whole"
verdict 'a case that fails or hangs costs no other' "$why${why:+: $(tail_of broken)}"

verdict 'nothing is left behind' "$(ls "$out/inputs")"

exit "$failed"
