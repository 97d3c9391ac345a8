"""What is mapped, when and for how long: small files, large ones, little memory."""

import glob
import os
import re
import resource

from cases import Case
from files import evict, remove_like
from harm import figure
from pairs import Failed, Missing, Took, program

MIB = 1 << 20


class Reports:
    """The reports at exit of all processes of a run, added up."""

    def __init__(self, bench):
        self.prefix = os.path.join(bench.work, "report.")

    def knobs(self):
        return {"PAGEWELL_REPORT": self.prefix + "%p"}

    def take(self):
        total = {}
        for path in glob.glob(glob.escape(self.prefix) + "*"):
            with open(path) as f:
                for name, n in re.findall(r"(?m)^(\w+) (\d+)$", f.read()):
                    total[name] = total.get(name, 0) + int(n)
            total["reports"] = total.get("reports", 0) + 1
            os.unlink(path)
        return total


# ---- small files ----

def small(bench):
    n = bench.by_mode(100, 1000, 1000)
    for kib in (1, 4, 16, 64, 256):
        for block in (64, 512, 4096):
            if block > kib << 10:
                continue
            for times in (1, 10):
                for each in (False, True):
                    by_default = (kib, block, times) in ((4, 512, 1), (16, 4096, 1),
                                                         (64, 512, 10)) or (
                                     (kib, block, times) == (16, 512, 10) and not each)
                    run = bench.command(bench.tool("visit"),
                                        lambda kib=kib: bench.tree(n, kib << 10), n, block,
                                        times, *["each"] * each)
                    yield Case(f"small-{kib}k-{block}-x{times}-{'each' if each else 'one'}",
                               "small", f"{n:,} files of {kib} KiB by {block} bytes, "
                               f"{'once' if times == 1 else 'ten times'}, "
                               f"{'a process for each file' if each else 'one process'}",
                               run, few=3, weight=1 if times == 1 else 2,
                               full_only=not by_default,
                               plot=("small", f"{block} bytes, {times} ×, "
                                     + ("a process each" if each else "one process"),
                                     kib << 10))


# ---- large files ----

def counted(bench, *argv, bound):
    """What bigread says, and what the library did meanwhile."""
    reports = Reports(bench)
    run = figure(bench, "bigread", *argv,
                 knobs={"PAGEWELL_SIZE": f"{bound}M", **reports.knobs()})

    def counting(side):
        reports.take()
        took, counts = run(side), reports.take()
        took.counts = {name: counts[name] for name in ("hits", "fills", "reclaims", "mapped")
                       if name in counts}
        return took
    return counting


def large(bench):
    mib = bench.by_mode(64, 256, 4096)
    reads = bench.by_mode(20000, 300000, 2000000)
    little = mib // 64 if not bench.full else 64
    quarter = mib // 4
    file = lambda: bench.data(mib)                                  # noqa: E731
    for pattern in ("rand", "zipf"):
        for name, bound in (("quarter", quarter), ("little", little)):
            yield Case(f"large-{pattern}-{name}", "large", f"{reads:,} preads of 512 bytes, "
                       f"{pattern}, in {mib} MiB at a bound of {bound} MiB",
                       counted(bench, pattern, file, 512, reads, bound=bound), unit="ns",
                       few=3)
    for block in (512, 4096):
        yield Case(f"large-pass-{block}", "large", f"one pass by {block} bytes over {mib} MiB "
                   f"at a bound of {little} MiB: time for a read",
                   counted(bench, "pass", file, block, bound=little), unit="ns", few=3)

    def bounded(run):
        """Both sides have the library; the second one has the bound besides."""
        def sides(plain, loaded):
            segment = bench.own_segment()
            return (loaded.but(PAGEWELL_SEGMENT=segment + ".1"),
                    loaded.but(PAGEWELL_SEGMENT=segment + ".2", PAGEWELL_SIZE=f"{little}M"))
        return {"sides": sides, "run": run, "needs_library": True, "few": 3}

    yield Case("large-bounded-pass", "large", f"one pass by 4 KiB over {mib} MiB, without and "
               f"with a bound of {little} MiB", unit="ns",
               names=("unbounded", "bounded"),
               **bounded(figure(bench, "bigread", "pass", file, 4096)))

    def used(side):
        if "PAGEWELL_SIZE" not in side.env:
            return Took(little)
        _, _, out = bench.spawn([[bench.tool("bigread"), "pass", file(), "512"]], side)
        return Took(int(out.split()[1]) / 1024)
    yield Case("large-pass-memory", "large", f"what a pass by 512 bytes adds at most to the "
               f"process's resident pages and page tables, at a bound of {little} MiB",
               unit="MiB", names=("the bound", "used"), same_output=False, **bounded(used))

    yield Case("large-hot-set", "large", f"hits of 512 bytes at random in {max(1, little // 2)} "
               "MiB, half of the bound: in memory of their own, and after a pass over the rest",
               unit="%", names=("before", "after"), same_output=False,
               **bounded(hot_set(bench, file, max(1, little // 2), reads)))
    yield Case("neighbour", "large", "hits in the page cache of a neighbour in a small memory "
               "cgroup while a program fills it by reading", unit="%",
               run=neighbour(bench), same_output=False, warm=False, few=3, weight=4)


def hot_set(bench, file, span, reads):
    """From the counts of two runs that differ in the last reads alone: what came before is
    the same in both."""
    reports = Reports(bench)

    def hits(side, *argv):
        reports.take()
        side = side.but(**reports.knobs())
        bench.spawn([[bench.tool("bigread"), *map(str, argv)]], side)
        said = reports.take()
        if "hits" not in said:
            raise Failed("no report was written")
        return said["hits"]

    def run(side):
        if "PAGEWELL_SIZE" not in side.env:
            some, more = (hits(side, "rand", span_file(bench, span), 512, n)
                          for n in (reads, 2 * reads))
            return Took(100 * (more - some) / reads)
        alone = hits(side, "hot", file(), 512, 0, span)
        both = hits(side, "hot", file(), 512, reads, span)
        before = hits(side, "rand", span_file(bench, span), 512, reads)
        return Took(100 * (both - alone - before) / reads)
    return run


def span_file(bench, mib):
    return bench.data(mib)


# ---- a neighbour in a memory cgroup ----

class Cgroup:
    """A memory cgroup of our own, version 1 or 2, directly under the root."""

    def __init__(self, limit_mib):
        name = f"pagewell-bench-{os.getpid()}"
        for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                            ("/sys/fs/cgroup", "memory.max")):
            self.path = os.path.join(root, name)
            if not os.path.exists(os.path.join(root, "cgroup.procs")):
                continue
            try:
                os.mkdir(self.path)
            except OSError as e:
                raise Missing(f"no memory cgroup can be made: {e.strerror}") from None
            try:
                with open(os.path.join(self.path, limit), "w") as f:
                    f.write(str(limit_mib * MIB))
                return
            except OSError as e:
                self.remove()
                raise Missing(f"no limit can be put on a cgroup: {e.strerror}") from None
        raise Missing("there are no memory cgroups here")

    def within(self, argv, plain=False):
        script = ('echo $$ >"$0/cgroup.procs" && '
                  + "unset LD_PRELOAD && " * plain + 'exec "$@"')
        return [program("sh"), "-c", script, self.path, *map(str, argv)]

    def remove(self):
        os.rmdir(self.path)


def neighbour(bench):
    seconds = bench.by_mode(1, 2, 10)
    mib, room = bench.by_mode((64, 40), (256, 64), (1024, 128))

    def run(side):
        mine, filler = bench.data(16), bench.data(mib)
        group = Cgroup(room)
        try:
            # What is in the cache already is on somebody else's account.
            evict(mine, bench.drop_caches)
            evict(filler, bench.drop_caches)
            _, _, out = bench.spawn(
                [group.within([bench.tool("neighbour"), mine, seconds], plain=True),
                 group.within([bench.tool("bigread"), "fill", filler, seconds])], side)
        finally:
            group.remove()
        said = out.split()
        return Took(100 * float(said[1]), counts={"read_ns": float(said[0])})
    return run


# ---- many of everything ----

def both_loaded(bench, first, second):
    def sides(plain, loaded):
        return loaded.but(PW_BENCH="first"), loaded.but(PW_BENCH="second")

    def run(side):
        return (first if side.env["PW_BENCH"] == "first" else second)(side)
    return {"sides": sides, "run": run, "needs_library": True, "warm": False, "few": 3}


def deciding(bench, n):
    """Processor time for a cache page by n processes at once that go through a file in
    small steps, touching page after page and giving up others: a decision for each."""
    mib = bench.by_mode(16, 64, 64)
    reports = Reports(bench)

    def run(side):
        argv = [bench.tool("bigread"), "pass", bench.data(mib), "512"]
        reports.take()
        remove_like(bench.own_segment())
        side = bench.knobbed(side, {"PAGEWELL_SIZE": "4M", **reports.knobs()})
        _, cpu, _ = bench.spawn([argv] * n, side)
        counts, pages = reports.take(), mib * 16
        return Took(cpu * 1e9 / n / pages, counts={"pages": pages, **{
            name: counts.get(name, 0) / n for name in ("fills", "reclaims", "timeouts")}})
    return run


def flat(bench, how, n):
    def run(side):
        where = bench.made("flat", os.mkdir, 16)
        hit, memcpy = bench.figures(2, "flat", how, where, n, side=side)
        return Took(hit, counts={"memcpy_there_ns": memcpy})
    return run


def limits(bench):
    yield Case("deciding", "limits", "reads that touch and reclaim, by 2 processes and by 16: "
               "processor time for a cache page of each", unit="ns", names=("2", "16"), same_output=False,
               **both_loaded(bench, deciding(bench, 2), deciding(bench, 16)))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = 100000 if hard == resource.RLIM_INFINITY else min(100000, hard - 200)
    for name, what, few, many in (
            ("open", f"with 1 file open besides and with {files:,}", 1, files),
            ("windows", "over 16 windows and over 1,024", 16, 1024),
            ("length", "in a file of 1 MiB and in one of 64 GiB, sparse", 1, 65536)):
        yield Case(f"flat-{name}", "limits", f"a hit of 512 bytes {what}", unit="ns",
                   names=(f"{few:,}", f"{many:,}"),
                   **both_loaded(bench, flat(bench, name, few), flat(bench, name, many)))


def cases(bench):
    return [*small(bench), *large(bench), *limits(bench)]
