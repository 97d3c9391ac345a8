"""What is measured, and what it has to reach."""

import glob
import os
import re

from files import evict
from pairs import Failed, Side, Took, program, spawn

# The targets of issue 2, and the further goals of issue 7 where there are any.
# speed: at least so many times as fast; cost: at most so many times the time;
# ms: at most so many milliseconds later.
TARGETS = {
    # case              kind     target  goal
    "lseek-set":        ("speed", 40.0, 50.0),
    "lseek-end":        ("cost", None, 1.03),
    "read-1":           ("speed", 9.0, 12.0),
    "pread-512-hot":    ("speed", 8.0, 12.0),
    "pread-4096-hot":   ("speed", 3.5, 4.5),
    "pread-512-rand":   ("speed", 6.5, 9.0),
    "pread-4096-rand":  ("speed", 2.6, 3.3),
    "pread-16k-seq":    ("speed", 1.5, 1.8),
    "pread-64k-seq":    ("speed", None, 1.4),
    "pread-1m-seq":     ("speed", None, 1.15),
    "nowitness-64":     ("cost", None, 1.03),
    "write-512-null":   ("cost", 1.10, 1.015),
    "write-512-file":   ("cost", None, 1.015),
    "pwrite-512-file":  ("cost", None, 1.015),
    "open-read-close":  ("cost", 1.05, None),
    "open-10reads-close": ("cost", None, None),
    "startup":          ("ms", 0.15, 0.10),
    "startup-cpu":      ("ms", 0.15, 0.10),
    "startup-empty*":   ("ms", None, None),
    "dd-1":             ("speed", 2.0, None),
    "dd-512":           ("speed", 1.8, 2.1),
    "dd-4096":          ("speed", 1.1, 1.25),
    "dd-64k":           ("speed", 1.2, 1.4),
    "dd-1m":            ("cost", 1.03, None),
    "dash-loop":        ("speed", 2.4, 3.0),
    "bash-loop":        ("speed", 1.1, 1.2),
    "php-seek":         ("speed", 2.0, 2.5),
    "php-unbuffered":   ("speed", None, 2.8),
    "par-512-hot-*":    ("speed", None, 1.0),
    "par-4k-hot-*":     ("speed", None, 1.0),
    "par-64k-hot-*":    ("speed", None, None),
    "par-*-cold-*":     ("cost", None, 1.03),
    "words-*":          ("cost", 1.0, None),
}

GROUPS = {
    "calls": ("Single calls", "A loop of one call on a file in the page cache, in one "
              "process. The floor is memcpy of the same bytes from a mapping."),
    "harm": ("What it costs where there is nothing to gain",
             "Calls that the library must look at but cannot make faster."),
    "start": ("Start-up", "Starting /bin/true and waiting for it, many times. An "
              "empty library in the same place shows the loader's own share."),
    "commands": ("Whole programs", "The elapsed time of unmodified programs from start "
                 "to end, on files in the page cache; their outputs are compared."),
    "parallel": ("Many readers of one file", "n dd processes read the same 256 MiB at once "
                 "(64 MiB at 512 bytes); hot: in the page cache, cold: dropped from it."),
    "words": ("Page words", "n dd processes read one cold file (64 MiB at 512 bytes, "
              "256 MiB at 64 KiB) with the library, without and with its shared segment: "
              "what the page words cost or save, and how often a page was filled."),
}

HARM = ("lseek-end", "nowitness-64", "write-512-null", "write-512-file",
        "pwrite-512-file", "open-read-close", "open-10reads-close")
FLOORS = {"read-1": "memcpy-1-hot", "read-64": "memcpy-64-hot",
          "pread-1-hot": "memcpy-1-hot", "pread-64-hot": "memcpy-64-hot",
          "pread-512-hot": "memcpy-512-hot", "pread-4096-hot": "memcpy-4096-hot",
          "pread-512-rand": "memcpy-512-rand", "pread-4096-rand": "memcpy-4096-rand",
          "pread-16k-seq": "memcpy-16k-seq", "pread-64k-seq": "memcpy-64k-seq",
          "pread-1m-seq": "memcpy-1m-seq"}
OVER_FLOOR_NS = 25      # goal: no more than this over memcpy, up to 512 bytes
SMALL = re.compile(r"memcpy-(1|64|512)-")
CACHE_PAGE = 64 << 10


class Case:
    floor = over = pairs_itself = None
    warm = same_output = True
    few = 5             # pairs it gets even if they take longer than their time
    full_only = needs_library = False
    unit = "ms"

    def __init__(self, name, group, what, **more):
        self.name, self.group, self.what = name, group, what
        self.__dict__.update(more)
        self.kind, self.target, self.goal = target_of(name)

    def sides(self, plain, loaded):
        return plain, loaded


def target_of(name):
    for pattern, target in TARGETS.items():
        if re.fullmatch(pattern.replace("*", ".*"), name):
            return target
    return "speed", None, None


class Bench:
    """The programs, the input files and the library that the cases are made of."""

    def __init__(self, here, work, percall, startup, empty, drop_caches):
        self.here, self.work = here, work
        self.percall, self.startup, self.empty = percall, startup, empty
        self.drop_caches, self.started = drop_caches, {}
        self.small = os.path.join(work, "data64")
        self.large = os.path.join(work, "data256")
        self.lines = os.path.join(work, "lines")
        self.out = os.path.join(work, "out")

    # ---- single calls ----

    def call_ns(self, name):
        def run(side):
            _, _, out = spawn([[self.percall, "--file", self.small, "--case", name]],
                              side, self.out)
            said, ns = out.split()
            if said.decode() != name:
                raise Failed(f"percall printed {said!r}")
            return Took(float(ns))
        return run

    def calls(self):
        _, _, out = spawn([[self.percall, "--list"]], Side(), self.out)
        for line in out.decode().splitlines():
            name, what = line.split("\t")
            if name.startswith("memcpy-"):
                continue
            floor = FLOORS.get(name, "")
            yield Case(name, "harm" if name in HARM else "calls", what, unit="ns",
                       run=self.call_ns(name), warm=False,
                       floor=floor and self.call_ns(floor),
                       over=OVER_FLOOR_NS if SMALL.match(floor) else None)

    # ---- start-up ----

    def startup_pairs(self, first, lib=None):
        """One run of the program gives the two cases of one library their figures."""
        def pairs(sides, rounds, budget_s):
            if lib not in self.started:
                argv = [self.startup, lib or sides[1].lib or "-", str(70 * rounds),
                        str(budget_s), "/bin/true"]
                knobs = {k: v for k, v in sides[1].env.items() if k.startswith("PAGEWELL_")}
                _, _, out = spawn([argv], sides[0].but(**knobs), self.out)
                self.started[lib] = [[float(us) / 1000 for us in line.split()]
                                     for line in out.splitlines()]
            rows = self.started[lib]
            return [Took(r[first]) for r in rows], [Took(r[first + 1]) for r in rows]
        return pairs

    def starts(self):
        for suffix, what, lib in (("", "", None),
                                  ("-empty", " with an empty library", self.empty)):
            yield Case("startup" + suffix, "start", f"/bin/true{what}, elapsed",
                       pairs_itself=self.startup_pairs(0, lib))
            yield Case(f"startup{suffix}-cpu", "start",
                       f"/bin/true{what}, its processor time",
                       pairs_itself=self.startup_pairs(2, lib))

    # ---- whole programs ----

    def command(self, *argv):
        def run(side):
            wall, cpu, out = spawn([[program(argv[0]), *argv[1:]]], side, self.out)
            return Took(wall * 1000, cpu, out)
        return run

    def dd(self, bs, *more, file=None):
        return ["dd", f"if={file or self.large}", "of=/dev/null", f"bs={bs}",
                "status=none", *more]

    def commands(self):
        loop = ('n=0; while read -r line; do n=$((n+${#line})); last=$line; done <"$1"; '
                'echo "$n $last"')
        php = os.path.join(self.here, "seek.php")
        for name, bs in (("512", "512"), ("4096", "4096"), ("64k", "64K"), ("1m", "1M")):
            yield Case(f"dd-{name}", "commands", f"dd bs={bs} over 256 MiB",
                       run=self.command(*self.dd(bs)))
        yield Case("dd-1", "commands", "dd bs=1, 3 million blocks", few=3, warm=False,
                   run=self.command(*self.dd(1, "count=3000000")))
        for shell in ("dash", "bash"):
            yield Case(f"{shell}-loop", "commands", f"{shell}: while read, 100,000 lines",
                       run=self.command(shell, "-c", loop, shell, self.lines))
        yield Case("php-seek", "commands", "php: 200,000 fseek + fread(8) in 64 MiB",
                   run=self.command("php", php, self.small, "200000", "buffered"))
        yield Case("php-unbuffered", "commands", "the same with a read buffer of 0",
                   run=self.command("php", php, self.small, "200000", "unbuffered"))

    # ---- many readers ----

    def readers(self, n, bs, file, cold):
        def run(side):
            argv = self.dd(bs, file=file)
            argv[0] = program(argv[0])
            if cold:
                evict(file, self.drop_caches)
            wall, cpu, _ = spawn([argv] * n, side, self.out)
            return Took(wall * 1000, cpu)
        return run

    def parallel(self):
        for bs, cold, full in (("4k", False, False), ("64k", False, False),
                               ("64k", True, False), ("512", False, True),
                               ("4k", True, True)):
            for n in (1, 4, 16, 64):
                how = "cold" if cold else "hot"
                file = self.small if bs == "512" else self.large
                yield Case(f"par-{bs}-{how}-{n}", "parallel",
                           f"{n} × dd bs={bs.replace('k', 'K')}, {how}", full_only=full,
                           run=self.readers(n, bs.upper(), file, cold), few=3,
                           warm=n < 64)

    # ---- page words ----

    def words(self):
        for bs, file, many in (("512", self.small, (1, 4, 16)),
                               ("64K", self.large, (1, 4, 16, 64))):
            for n in many:
                yield WordsCase(self, n, bs, file)


class WordsCase(Case):
    """Both sides have the library. The first can't have a segment; the second gets a new
    one for each run, for in an old one the words still say that pages are there which
    have been dropped since, and nothing would be filled."""

    needs_library = True
    few = 3

    def __init__(self, bench, n, bs, file):
        super().__init__(f"words-{bs.lower()}-{n}", "words", f"{n} × dd bs={bs}, cold")
        self.bench, self.file = bench, file
        self.read = bench.readers(n, bs, file, True)

    def sides(self, plain, loaded):
        self.segment = os.path.join("/dev/shm", f"pagewell-bench-words-{os.getpid()}")
        self.reports = os.path.join(self.bench.work, "report.")
        return (loaded.but(PAGEWELL_SEGMENT="/proc/no/such/place"),
                loaded.but(PAGEWELL_SEGMENT=self.segment,
                           PAGEWELL_REPORT=self.reports + "%p"))

    def run(self, side):
        try:
            took = self.read(side)
            took.counts = self.counts()
        finally:
            for path in glob.glob(self.segment + "*") + glob.glob(self.reports + "*"):
                os.unlink(path)
        return took

    def counts(self):
        total, reports = {}, glob.glob(self.reports + "*")
        for path in reports:
            with open(path) as f:
                said = re.findall(r"(?m)^(fills|waits|timeouts) (\d+)$", f.read())
            for name, n in said:
                total[name] = total.get(name, 0) + int(n)
        if not reports:
            return None
        total["pages"] = os.path.getsize(self.file) // CACHE_PAGE
        total["reports"] = len(reports)
        return total


def all_cases(bench):
    every = [*bench.calls(), *bench.starts(), *bench.commands(), *bench.parallel(),
             *bench.words()]
    return sorted(every, key=lambda case: list(GROUPS).index(case.group))
