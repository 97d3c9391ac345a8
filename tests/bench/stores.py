"""Overwrites with PAGEWELL_WRITE=map: calls, and dd from /dev/zero."""

import os

from cases import Case
from pairs import Failed, Took, program

CALLS = (("pwrite", "64", "hot", "pwrite of 64 bytes at random in 1 MiB"),
         ("pwrite", "512", "hot", "pwrite of 512 bytes at random in 1 MiB"),
         ("pwrite", "4k", "hot", "pwrite of 4 KiB at random in 1 MiB"),
         ("write", "64", "seq", "write of 64 bytes, one after the other in 1 MiB"))


class StoreCase(Case):
    needs_library = True

    def sides(self, plain, loaded):
        return plain, loaded.but(PAGEWELL_WRITE="map")


def copying(bench, folder, bs, mib, over):
    """bs in bytes. Before the first pass over a file there is something behind each store that
    proves it (rule W6); then all is zeros."""
    def run(side):
        path = os.path.join(folder(), "stored")
        if over:
            with open(path, "wb") as f:
                for _ in range(mib):
                    f.write(b"o" * (1 << 20))
        if not over and os.path.exists(path):
            os.unlink(path)
        argv = [program("dd"), "if=/dev/zero", f"of={path}", f"bs={bs}",
                f"count={(mib << 20) // bs}", "status=none"]
        wall, cpu, _ = bench.spawn([argv + ["conv=notrunc"] * over], side)
        if os.path.getsize(path) != (mib << 20):
            raise Failed("the file is not as long as it should be")
        return Took(wall * 1000, cpu)
    return run


def cases(bench):
    ms = bench.by_mode(20, 50, 50)
    for call, size, pattern, what in CALLS:
        name = f"{call}-{size}-{pattern}"

        def run(side, name=name):
            return Took(bench.said("percall", "--file", bench.data(64), "--case", name,
                                   "--ms", ms, side=side))
        yield StoreCase(f"store-{name}", "stores", what, run, unit="ns", weight=1, warm=False)
    places = (("tmpfs", bench.tmpfs), ("disk", lambda: bench.work))
    for place, folder in places:
        for bs in (512, 4096, 65536):
            mib = bench.by_mode(16, 256, 256) if bs == 512 else bench.by_mode(16, 256, 1024)
            for over in (True, False):
                if not over and (bs == 512 or place == "disk"):
                    continue
                yield StoreCase(f"store-dd-{bs}-{place}" + "-new" * (not over), "stores",
                                f"dd bs={bs}, {mib} MiB, {place}, "
                                + ("over a file" if over else "a new file"),
                                copying(bench, folder, bs, mib, over), few=3)
