"""Overwrites with PAGEWELL_WRITE=map: calls, and dd from /dev/zero."""

import os

from calls import Calls
from cases import Case
from reference import dd_into

CALLS = (("pwrite", "64", "hot", "pwrite of 64 bytes at random in 1 MiB"),
         ("pwrite", "512", "hot", "pwrite of 512 bytes at random in 1 MiB"),
         ("pwrite", "4k", "hot", "pwrite of 4 KiB at random in 1 MiB"),
         ("write", "64", "seq", "write of 64 bytes, one after the other in 1 MiB"))


class StoreCase(Case):
    needs_library = True

    def sides(self, plain, loaded):
        return plain, loaded.but(PAGEWELL_WRITE="map")


def filled(path_of, mib, run):
    """Before the first pass over a file there is something behind each store that proves it
    (rule W6); then all is zeros."""
    def refilling(side):
        with open(path_of(), "wb") as f:
            for _ in range(mib):
                f.write(b"o" * (1 << 20))
        return run(side)
    return refilling


def passes(bench):
    places = (("tmpfs", bench.tmpfs), ("disk", lambda: bench.work))
    for place, folder in places:
        for bs in (512, 4096, 65536):
            mib = bench.by_mode(16, 256, 256) if bs == 512 else bench.by_mode(16, 256, 1024)
            for over in (True, False):
                if not over and (bs == 512 or place == "disk"):
                    continue

                def path_of(folder=folder):
                    return os.path.join(folder(), "stored")
                run = dd_into(bench, path_of, bs, mib, over)
                yield StoreCase(f"store-dd-{bs}-{place}" + "-new" * (not over), "stores",
                                f"dd bs={bs}, {mib} MiB, {place}, "
                                + ("over a file" if over else "a new file"),
                                filled(path_of, mib, run) if over else run, few=3)


def cases(bench):
    calls = Calls(bench)
    for call, size, pattern, what in CALLS:
        name = f"{call}-{size}-{pattern}"
        yield StoreCase(f"store-{name}", "stores", what,
                        calls.ns("--case", name, "--ms", calls.ms), unit="ns", weight=1,
                        warm=False)
    yield from passes(bench)
