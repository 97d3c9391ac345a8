"""The reference tables: dd in parallel, dd writing, and benchmarks of servers."""

import json
import os
import re
import shutil

from cases import Case
from files import evict
from pairs import Failed, Took, program

EVERY_N = (1, 4, 7, 12, 21, 30, 48, 79, 110, 128)
SOME_N = (1, 4, 16, 64)


def dd(bs, file, *more):
    return [program("dd"), f"if={file}", "of=/dev/null", f"bs={bs}", "status=none", *more]


def readers(bench, n, bs, mib, cold):
    """n dd processes at once."""
    def run(side):
        file = bench.data(mib)
        argv = dd(bs, file)
        if cold:
            evict(file, bench.drop_caches)
        wall, cpu, _ = bench.spawn([argv] * n, side)
        return Took(wall * 1000, cpu)
    return run


def parallel(bench):
    for bs, mib in (("512", bench.by_mode(4, 16, 16)), ("4k", bench.by_mode(16, 64, 64)),
                    ("64k", bench.by_mode(16, 64, 64))):
        for how in ("hot", "cold"):
            for n in EVERY_N if bench.full else SOME_N:
                yield Case(f"par-{bs}-{how}-{n}", "parallel",
                           f"{n} × dd bs={bs.upper()} over {mib} MiB, {how}",
                           readers(bench, n, bs.upper(), mib, how == "cold"),
                           few=3, warm=n < 30, weight=1 if n < 30 else 3,
                           plot=("parallel", f"{how}, {bs.upper()} blocks", n))


def dd_into(bench, path_of, bs, mib, over):
    """dd from /dev/zero by bs bytes into a new file, or over the one that is there."""
    def run(side):
        path = path_of()
        if not over and os.path.exists(path):
            os.unlink(path)
        argv = [program("dd"), "if=/dev/zero", f"of={path}", f"bs={bs}",
                f"count={(mib << 20) // bs}", "status=none"] + ["conv=notrunc"] * over
        wall, cpu, _ = bench.spawn([argv], side)
        if os.path.getsize(path) != mib << 20:
            raise Failed("the file is not as long as it should be")
        return Took(wall * 1000, cpu)
    return run


def writing(bench):
    mib = bench.by_mode(16, 256, 1024)
    for kib in (4, 64):
        for how, over in (("new", False), ("notrunc", True)):
            yield Case(f"dd-write-{kib}k-{how}", "ddwrite",
                       f"dd bs={kib}K, {mib} MiB, {'over a file' if over else 'new'}",
                       dd_into(bench, lambda: os.path.join(bench.tmpfs(), "written"),
                               kib << 10, mib, over), few=3)


def fresh(bench, name):
    """An empty folder on tmpfs, so that the disk has no part in the figure."""
    path = os.path.join(bench.tmpfs(), name)
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    return path


def dbench(bench, n, seconds):
    """The time for a megabyte, from the throughput that it says."""
    def run(side):
        argv = [program("dbench"), "-D", fresh(bench, "dbench"), "-t", str(seconds), str(n)]
        _, _, out = bench.spawn([argv], side)
        said = re.search(rb"Throughput ([\d.]+) MB/sec", out)
        if not said or not float(said[1]):
            raise Failed("dbench gave no throughput")
        return Took(1000 / float(said[1]))
    return run


POSTMARK = """\
set location {where}
set number {files}
set transactions {transactions}
set size 500 {largest}
set seed 42
set buffering false
run
quit
"""


def postmark(bench, mib):
    """Its data are four times what the library may map."""
    def run(side):
        where, largest = fresh(bench, "postmark"), 32000
        files = mib * (1 << 20) // ((500 + largest) // 2)
        script = os.path.join(bench.work, "postmark.in")
        with open(script, "w") as f:
            f.write(POSTMARK.format(where=where, files=files, largest=largest,
                                    transactions=files * 4))
        side = bench.knobbed(side, {"PAGEWELL_SIZE": f"{mib // 4}M"})
        wall, cpu, _ = bench.spawn([[program("postmark"), script]], side)
        return Took(wall * 1000, cpu)
    return run


def mail_mix(bench, hundreds):
    """programs/mail.fio, without the time that fio needs for itself: the sum of what its
    processes needed."""
    counts = {"READS": 90, "APPENDS": 5, "CREATES": 3, "DELETES": 2}
    counts = {name: str(n * hundreds) for name, n in counts.items()}
    counts["APPENDED"] = str(hundreds // 8)

    def run(side):
        where = bench.made("mail", os.mkdir, 64, bench.tmpfs())
        for name in os.listdir(where):
            if not name.startswith("read"):
                os.unlink(os.path.join(where, name))
        argv = [program("fio"), f"--directory={where}", "--output-format=json",
                bench.script("mail.fio")]
        _, _, out = bench.spawn([argv], side.but(**counts))
        jobs = json.loads(out)["jobs"]
        if any(job["error"] for job in jobs) or len(jobs) != 4:
            raise Failed("fio reported an error")
        return Took(sum(job["job_runtime"] for job in jobs))
    return run


def mixes(bench):
    for n in (1, 2, 4, 8, 16):
        yield Case(f"dbench-{n}", "mail", f"dbench, {n} clients: time for a megabyte",
                   dbench(bench, n, bench.by_mode(3, 3, 10)), warm=False, few=3, weight=4,
                   full_only=n not in (1, 8))
    mib = bench.by_mode(4, 32, 64)
    yield Case("postmark", "mail", f"postmark, {mib} MiB at a bound of {mib // 4} MiB",
               postmark(bench, mib), few=3, weight=4)
    yield Case("mail-mix", "mail", "fio: 90 % small random reads over many files, appends, "
               "creations, removals", mail_mix(bench, bench.by_mode(20, 500, 1000)), few=3,
               weight=4)


def cases(bench):
    return [*parallel(bench), *writing(bench), *mixes(bench)]
