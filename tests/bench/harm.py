"""Programs with nothing to gain: none may take more than 3 % longer."""

import os
import shutil

from cases import Case
from files import evict
from pairs import Took


def copy_of_project(bench):
    def make(path):
        shutil.copytree(bench.top, path, symlinks=True,
                        ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    return bench.made("project", make, 20)


def figure(bench, name, *argv, before=None, knobs=None):
    """What a program of ours says, in nanoseconds."""
    def run(side):
        words = [str(x() if callable(x) else x) for x in argv]
        if before:
            before()
        return Took(bench.said(name, *words, side=bench.knobbed(side, knobs)))
    return run


def turns(bench, what, path, n, **knobs):
    """The same calls by libc and by the library, in one process that takes turns: the pair is
    made in one run, and the side that comes second says what the first one found."""
    found = {}

    def sides(_, loaded):
        return loaded.but(PW_BENCH="libc", **knobs), loaded.but(PW_BENCH="library", **knobs)

    def run(side):
        which = side.env["PW_BENCH"]
        if which not in found:
            found["libc"], found["library"], _ = bench.figures(
                3, "turns", what, path(), n, bench.by_mode(100, 1000, 2000), side=side)
        return Took(found.pop(which))
    return {"sides": sides, "run": run, "needs_library": True, "warm": False, "few": 3,
            "names": ("by libc", "by the library"), "unit": "ns"}


def cases(bench):
    mib = bench.by_mode(64, 256, 4096)
    yield Case("harm-turn-read", "harm", "a read of 4 KiB in sequence, with and without in "
               "one process that takes turns",
               **turns(bench, "read", lambda: bench.data(64), 4096))
    yield Case("harm-turn-pread", "harm", f"a pread of 512 bytes at random in {mib} MiB, the "
               "same way", **turns(bench, "pread", lambda: bench.data(mib), 512,
                                   PAGEWELL_SIZE="4M"))
    for n in (0, 512):
        yield Case(f"harm-turn-open-{n}", "harm", f"open, {'a read of 512 bytes, ' * bool(n)}"
                   "close, the same way",
                   **turns(bench, "open", lambda: bench.data(1), n))
    n = bench.by_mode(1000, 10000, 100000)
    yield Case("harm-find", "harm", f"find over {n:,} files by size",
               bench.command("find", lambda: bench.tree(n, 16), "-type", "f", "-size", "+1"))

    mib = bench.by_mode(16, 256, 1024)
    copy = lambda: os.path.join(bench.tmpfs(), "copy")              # noqa: E731
    yield Case("harm-cp", "harm", f"cp of {mib} MiB to tmpfs",
               bench.command("cp", lambda: bench.data(mib), copy, before=lambda:
                             os.path.exists(copy()) and os.unlink(copy())))

    yield Case("harm-echo", "harm", "a socket echo server and its client: a round of 64 bytes",
               figure(bench, "echo", bench.by_mode(1000, 20000, 50000)), unit="ns")

    project = lambda: copy_of_project(bench)                        # noqa: E731
    build = lambda: os.path.join(project(), "build")                # noqa: E731
    goals = bench.by_mode(["build/release/cache/page.o"], ["build/release/libpagewell-cache.a"],
                          ["all", "test-programs"])
    yield Case("harm-make", "harm", f"make -j2 {' '.join(goals)} of this project",
               bench.command("make", "-C", project, "-j2", *goals, quiet=True, before=lambda:
                             shutil.rmtree(build(), ignore_errors=True)), few=3, weight=6)

    n = bench.by_mode(500, 10000, 10000)
    yield Case("harm-once", "harm", f"{n:,} files of 6 KB, each read once by 4 KiB",
               bench.command(bench.tool("visit"), lambda: bench.tree(n, 6000), n, 4096, 1))

    mib, reads = bench.by_mode((64, 500), (256, 5000), (4096, 50000))
    bound = mib // 16

    def cold():
        evict(bench.data(mib), bench.drop_caches)
    yield Case("harm-cold", "harm", f"{reads:,} preads of 4 KiB at random in {mib} MiB, cold, "
               f"at a bound of {bound} MiB",
               figure(bench, "bigread", "rand", lambda: bench.data(mib), 4096, reads,
                      before=cold, knobs={"PAGEWELL_SIZE": f"{bound}M"}), unit="ns", few=3,
               warm=False, weight=3)
