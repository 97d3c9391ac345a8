"""Single calls, by name, by size and by how many do them at once; start-up."""

import re

from cases import Case
from pairs import Side, Took
from targets import OVER_FLOOR_NS

# Calls that are looked at but cannot be made faster.
COSTS = ("lseek-end", "nowitness-64", "write-512-null", "write-512-file",
         "pwrite-512-file", "open-read-close", "open-10reads-close")
# What issues and README name; the sizes below have the rest.
NAMED = ("pread-1-hot", "pread-64-hot", "pread-512-hot", "pread-4096-hot",
         "pread-512-rand", "pread-4096-rand", "pread-64-chain", "pread-512-chain",
         "pread-16k-seq", "pread-64k-seq", "pread-1m-seq", "read-64-zeros")
NOT_SERVED = ("readv-512-seq", "preadv-512-hot", "preadv2-512-hot")
PATTERNS = {"seq": "one after the other", "hot": "at random in 1 MiB",
            "rand": "at random in 64 MiB",
            "chain": "in 64 MiB, each place from the bytes read before",
            "skip": "at random in 1 MiB, each after a seek",
            "zeros": "at random, each ending in 16 zero bytes"}
SIZES = ("1", "16", "64", "256", "512", "1k", "4k", "16k", "64k", "256k", "1m")
SOME_SIZES = ("1", "64", "512", "4k", "16k", "64k", "1m")
SHAPES = (("read", "seq"), ("read", "skip"), ("read", "zeros"), ("pread", "seq"),
          ("pread", "hot"), ("pread", "rand"), ("pread", "zeros"), ("fread", "seq"),
          ("fread", "skip"))
SHAPES_BY_DEFAULT = (("read", "seq"), ("pread", "hot"), ("pread", "rand"))


def bytes_of(size):
    return int(size.rstrip("km")) << (10 if "k" in size else 20 if "m" in size else 0)


def in_words(size):
    unit = {"k": "KiB", "m": "MiB"}.get(size[-1], "byte" if size == "1" else "bytes")
    return f"{size.rstrip('km')} {unit}"


def shaped(call, size, pattern):
    if call.startswith("f") and pattern == "skip":
        return f"fseek and fread of {in_words(size)} at random in 1 MiB (both calls)"
    return f"{call} of {in_words(size)}, {PATTERNS[pattern]}"


class Calls:
    def __init__(self, bench):
        self.bench = bench
        self.ms = bench.by_mode(20, 50, 50)

    def ns(self, *argv):
        def run(side):
            return Took(self.bench.said("percall", "--file", self.bench.data(64), *argv,
                                        side=side))
        return run

    def case(self, name, group, what, floor=None, small=False, **more):
        return Case(name, group, what, self.ns("--case", name, "--ms", self.ms), unit="ns",
                    weight=1, warm=False,
                    floor=floor and self.ns("--case", floor, "--ms", self.ms),
                    over=OVER_FLOOR_NS if small else None, **more)

    def floor_of(self, call, size, pattern):
        """memcpy in the same pattern; whether the difference has a target. A seek besides,
        or the second look at zeros, is part of what is to be paid."""
        plain = {"skip": "hot", "zeros": "hot"}.get(pattern, pattern)
        return f"memcpy-{size}-{plain}", bytes_of(size) <= 512 and call == "pread"

    def single(self):
        _, _, out = self.bench.spawn([[self.bench.tool("percall"), "--list"]], Side())
        for line in out.decode().splitlines():
            name, what = line.split("\t")
            if not what:
                continue
            floor = re.fullmatch(r"read-(\d+)", name)
            floor = floor and f"memcpy-{floor[1]}-seq"
            yield self.case(name, "calls", what, floor, bool(floor))
        for name in NAMED:
            shape = name.split("-")
            floor, small = self.floor_of(*shape)
            yield self.case(name, "calls", shaped(*shape), floor, small,
                            plot=self.plot(*shape))
        for name in NOT_SERVED:
            yield self.case(name, "calls", shaped(*name.split("-")) + " (not served)")

    def sizes(self):
        named = {name.replace("-4096-", "-4k-") for name in NAMED}
        for call, pattern in SHAPES:
            for size in SIZES:
                name = f"{call}-{size}-{pattern}"
                if name in named or pattern == "zeros" and bytes_of(size) < 64:
                    continue
                floor, small = self.floor_of(call, size, pattern)
                by_default = ((call, pattern) in SHAPES_BY_DEFAULT and size in SOME_SIZES)
                yield self.case(name, "sizes", shaped(call, size, pattern), floor, small,
                                full_only=not by_default, plot=self.plot(call, size, pattern))

    def plot(self, call, size, pattern):
        panel = f"{call}, {pattern}" + " (fseek + fread)" * (call + pattern == "freadskip")
        return "sizes", panel, bytes_of(size)

    def workers(self):
        for name, what in (("lseek-set", "lseek"), ("read-64", "read of 64 bytes"),
                           ("pread-512-hot", "pread of 512 bytes"),
                           ("pread-4k-rand", "pread of 4 KiB at random")):
            for kind, option in (("threads", ()), ("processes", ("--processes",))):
                for n in (1, 2, 4, 8):
                    argv = ("--ms", 100, "--workers", n, *option)
                    floor = None
                    if name == "pread-512-hot":
                        floor = self.ns("--case", "memcpy-512-hot", *argv)
                    yield Case(f"{name}-{n}-{kind}", "workers", f"{n} {kind}: {what}",
                               self.ns("--case", name, *argv), unit="ns", weight=1,
                               warm=False, floor=floor, plot=("workers", f"{what}, {kind}", n),
                               full_only=n in (1, 4) or name in ("read-64", "pread-4k-rand"))

    def seeks(self):
        kinds = {"set": "SEEK_SET to random places", "cur": "SEEK_CUR", "end": "SEEK_END"}
        for whence, what in kinds.items():
            for files, option in (("one", ()), ("many", ("--many",))):
                for n in (1, 2, 4, 8, 16, 32, 64):
                    run = self.ns("--case", f"lseek-{whence}", "--ms", 100, "--workers", n,
                                  "--processes", *option)
                    yield Case(f"seeks-{files}-{whence}-{n}", "seeks",
                               f"{n} processes: {what}, {files} file{'s'[:files == 'many']}",
                               run, unit="ns", weight=1, warm=False, few=3,
                               plot=("seeks", f"SEEK_{whence.upper()}, {files} file{'s'[:files == 'many']}", n),
                               full_only=n not in (1, 4, 16, 64) or whence == "cur")


class Starts:
    """One run of startup.c gives the two cases of one library their figures."""

    def __init__(self, bench):
        self.bench, self.started = bench, {}

    def pairs(self, first, lib=None):
        def pairs(sides, rounds, budget_s):
            if lib not in self.started:
                knobs = {k: v for k, v in sides[1].env.items() if k.startswith("PAGEWELL_")}
                argv = [self.bench.tool("startup"), lib or sides[1].lib or "-",
                        str(70 * rounds), str(max(1, round(budget_s * 2))), "/bin/true"]
                _, _, out = self.bench.spawn([argv], sides[0].but(**knobs))
                self.started[lib] = [[float(us) / 1000 for us in line.split()]
                                     for line in out.splitlines()]
            rows = self.started[lib]
            return [Took(r[first]) for r in rows], [Took(r[first + 1]) for r in rows]
        return pairs

    def cases(self):
        for suffix, what, lib in (("", "", None), ("-empty", " with an empty library",
                                                   self.bench.tool("empty.so"))):
            yield Case("startup" + suffix, "start", f"/bin/true{what}, elapsed",
                       pairs_itself=self.pairs(0, lib))
            yield Case(f"startup{suffix}-cpu", "start",
                       f"/bin/true{what}, its processor time",
                       pairs_itself=self.pairs(2, lib))


def cases(bench):
    calls = Calls(bench)
    return [*calls.single(), *calls.sizes(), *calls.workers(), *calls.seeks(),
            *Starts(bench).cases()]
