"""What the cases share: the programs made for them, their input files (each made when the
first case asks for it), and how a command becomes a measurement."""

import os
import shutil
import subprocess

import files
from pairs import Failed, Missing, Runner, Side, Took, program

TOOLS = ("percall", "costs", "startup", "visit", "bigread", "echo", "flat", "neighbour",
         "turns")
MIB = 1 << 20


def compile_tools(here, out):
    """Small C programs and a library with nothing in it; rebuilt when older than their
    source."""
    os.makedirs(out, exist_ok=True)
    cc = [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
    for name in TOOLS:
        source, made = os.path.join(here, name + ".c"), os.path.join(out, name)
        if not os.path.exists(made) or os.path.getmtime(made) < os.path.getmtime(source):
            subprocess.run([*cc, "-o", made, source, "-pthread", "-lm", "-ldl"], check=True)
    empty = os.path.join(out, "empty.so")
    if not os.path.exists(empty):
        subprocess.run([*cc, "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", empty],
                       check=True)


class Bench:
    """Mode is quick, default or full; how much a case reads goes by it."""

    def __init__(self, here, top, built, work, mode, limit_s, drop_caches):
        self.here, self.top, self.built, self.work = here, top, built, work
        self.mode, self.full, self.drop_caches = mode, mode == "full", drop_caches
        self.shm = f"/dev/shm/pagewell-bench-{os.getpid()}.d"
        self.segment = f"/dev/shm/pagewell-bench-{os.getpid()}"
        self.runner = Runner(os.path.join(work, "out"), limit_s)
        self.spawn = self.runner.spawn
        self.fixtures, self.at_end = {}, []
        self.now = None     # the name of the case that is running

    def tool(self, name):
        return os.path.join(self.built, name)

    def script(self, name):
        return os.path.join(self.here, "programs", name)

    def by_mode(self, quick, default, full):
        return {"quick": quick, "default": default, "full": full}[self.mode]

    # ---- input files ----

    def made(self, name, make, mib=0, where=None):
        """The path of an input, which make(path) makes when it is asked for first; mib is
        the room it takes."""
        if name not in self.fixtures:
            where = where or self.work
            os.makedirs(where, exist_ok=True)
            if shutil.disk_usage(where).free < (mib + 256) * MIB:
                raise Missing(f"no room for {mib} MiB in {where}")
            path = os.path.join(where, name)
            make(path)
            self.fixtures[name] = path
        return self.fixtures[name]

    def drop(self, name):
        path = self.fixtures.pop(name, None)
        if path:
            os.unlink(path)

    def data(self, mib):
        return self.made(f"data{mib}", lambda path: files.make_data(
            path, mib, self.mode != "quick"), mib)

    def lines(self):
        n = self.by_mode(10000, 100000, 100000)
        return self.made("lines", lambda path: files.make_lines(path, n))

    def tree(self, count, size):
        """A folder of so many files of so many bytes, a hundred in a folder."""
        return self.made(f"tree-{count}-{size}",
                         lambda path: files.make_tree(path, count, size),
                         count * max(size, 4096) // MIB)

    def tmpfs(self):
        os.makedirs(self.shm, exist_ok=True)
        return self.shm

    def close(self):
        """Ends the servers, removes what is left."""
        for end in self.at_end:
            end()
        for path in (self.work, self.shm):
            shutil.rmtree(path, ignore_errors=True)
        files.remove_like(self.segment)

    # ---- measuring ----

    def command(self, *argv, stdin=None, quiet=False, before=None, knobs=None, ok=None):
        """A function that runs a command and takes its time. Arguments, stdin and knobs may
        be functions, called before the clock runs; so is `before`. `ok` looks at the output,
        and says what to compare of it."""
        def run(side):
            words = [str(x() if callable(x) else x) for x in argv]
            if before:
                before()
            path = stdin() if callable(stdin) else stdin or "/dev/null"
            wall, cpu, out = self.spawn([[program(words[0]), *words[1:]]],
                                        self.knobbed(side, knobs), path, quiet)
            return Took(wall * 1000, cpu, ok(out) if ok else out)
        return run

    def knobbed(self, side, knobs):
        """With the library's settings; in a segment of the case's own, for what is learned
        under a bound is no business of other cases."""
        if not knobs or not side.lib:
            return side
        return side.but(PAGEWELL_SEGMENT=self.own_segment(), **knobs)

    def own_segment(self):
        return f"{self.segment}-{self.now}"

    def said(self, name, *argv, side=None):
        """The figure that a program of ours prints, last of all."""
        return self.figures(1, name, *argv, side=side)[0]

    def figures(self, n, name, *argv, side=None):
        """The last n of them."""
        _, _, out = self.spawn([[self.tool(name), *map(str, argv)]], side or Side())
        words = out.split()
        try:
            return [float(word) for word in (words[-n:] if len(words) >= n else [""])]
        except ValueError:
            raise Failed(f"{name} printed {out[:100]!r}") from None
