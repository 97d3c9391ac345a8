"""Running one thing without and with the library, in turn, and what the pairs say.

A *side* is an environment: plain, or with LD_PRELOAD. A measurement on a shared machine
is worth something only beside another taken a moment before, so everything here is a
pair, and the figure is the median of the pairs' ratios, never a ratio of two medians.
"""

import contextlib
import math
import os
import re
import shutil
import signal
import statistics
import time


class Failed(Exception):
    """A program did not do what it should: no figure, and the report says so."""


class Missing(Exception):
    """Something this case needs is not on this machine: skipped, with the reason."""


# Debian's programs, not what somebody has put before them.
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
# Settings of the library, and what a make that started the benchmark tells its children.
NOT_PASSED_ON = re.compile(r"LD_PRELOAD|PAGEWELL_.*|MAKE.*|MFLAGS|B|CC")


class Side:
    def __init__(self, lib=None, **extra):
        self.lib = lib
        self.env = {k: v for k, v in os.environ.items() if not NOT_PASSED_ON.fullmatch(k)}
        self.env.update(LC_ALL="C", PATH=PATH)
        if lib:
            self.env["LD_PRELOAD"] = lib
        self.env.update(extra)

    def but(self, **extra):
        other = Side(self.lib)
        other.env = {**self.env, **extra}
        return other

    def without(self):
        """The same surroundings, but not the library: for clients of what is measured."""
        return Side()


class Took:
    """One measurement: the figure itself, the processor time in s where it is another
    figure, what was written to stdout, and what else the case has picked up."""

    def __init__(self, value, cpu=None, out=b"", counts=None):
        self.value, self.cpu, self.out, self.counts = value, cpu, out, counts


def program(name):
    path = shutil.which(name, path=PATH)
    if not path:
        raise Missing(f"{name} is not installed")
    return path


# ---- nothing takes for ever ----

def _too_long(signum, frame):
    raise Failed("not done in its time")


@contextlib.contextmanager
def within(seconds):
    """Failed is raised in here after so many seconds, or when an outer limit is over."""
    signal.signal(signal.SIGALRM, _too_long)
    began = time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    if outer and outer < seconds:
        signal.setitimer(signal.ITIMER_REAL, outer)
    try:
        yield
    finally:
        left = max(outer - (time.monotonic() - began), 0.01) if outer else 0
        signal.setitimer(signal.ITIMER_REAL, left)


def kill_group(pid):
    """The process and what it has started; each command has a group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


# ---- running ----

class Runner:
    """Starts commands. `limit_s`: a command that takes longer has hung."""

    def __init__(self, out_path, limit_s):
        self.out_path, self.limit_s = out_path, limit_s

    def spawn(self, commands, side, stdin="/dev/null", quiet=False):
        """Start all commands at once, wait for all; wall and processor seconds, stdout of
        the first (quiet: nobody's). Any status but 0 is a failure."""
        out, err = self.out_path, self.out_path + ".err"
        both = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, err, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)]
        kept = [(os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)]
        lost = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        left, cpu, bad = {}, 0.0, None
        open(err, "w").close()
        try:
            with within(self.limit_s):
                began = time.monotonic()
                for i, argv in enumerate(commands):
                    pid = os.posix_spawn(argv[0], argv, side.env, setpgroup=0,
                                         file_actions=both + (lost if i or quiet else kept))
                    left[pid] = argv[0]
                for pid in list(left):
                    _, status, use = os.wait4(pid, 0)
                    name = left.pop(pid)
                    cpu += use.ru_utime + use.ru_stime
                    if status and bad is None:
                        bad = name, os.waitstatus_to_exitcode(status)
                wall = time.monotonic() - began
        finally:
            for pid in left:
                kill_group(pid)
        if bad:
            raise Failed(self.complaint(*bad, side))
        if quiet:
            return wall, cpu, b""
        with open(out, "rb") as f:
            return wall, cpu, f.read()

    def complaint(self, name, status, side):
        with open(self.out_path + ".err", "rb") as f:
            said = f.read(300).decode("utf-8", "replace").strip()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        whose = " with the library" if side.lib else ""
        return (f"{os.path.basename(name)} ended with {how}{whose}"
                + (f": {said}" if said else ""))


# ---- what the pairs say ----

def interval(values):
    """The median's 95 % confidence interval, from ranks alone: no assumption about how
    the noise is distributed. With fewer than six values it is the whole range."""
    ordered, n = sorted(values), len(values)
    below, k = 0.0, 0
    while k < n // 2:
        below += math.comb(n, k) / 2 ** n
        if below > 0.025:
            break
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    q = statistics.quantiles(values, n=4, method="inclusive")
    return q[0], q[2]


def noise(plain):
    """How far two plain runs, one after the other, are apart: the yardstick for any
    difference this report claims."""
    steps = [abs(x / y - 1) for x, y in zip(plain, plain[1:]) if y]
    return statistics.median(steps) if steps else None


def spread(values):
    return {"median": statistics.median(values), "quartiles": quartiles(values),
            "ci95": interval(values), "range": (min(values), max(values))}


def measure(case, plain, loaded, at_least, at_most, budget_s):
    """Pairs until there are enough of them or the time is used up."""
    sides = case.sides(plain, loaded)
    a, b, floors, outs = [], [], [], set()

    if case.pairs_itself:
        a, b = case.pairs_itself(sides, at_most, budget_s)
        return a, b, floors
    began = time.monotonic()
    if case.warm:
        for side in sides:
            outs.add(case.run(side).out)
    while len(a) < at_most:
        if len(a) >= min(at_least, case.few) and time.monotonic() - began > budget_s:
            break
        a.append(case.run(sides[0]))
        b.append(case.run(sides[1]))
        if case.floor:
            floors.append(case.floor(sides[0]))
        outs.update((a[-1].out, b[-1].out))
        if case.same_output and len(outs) > 1:
            raise Failed("the answers differ without and with the library")
    return a, b, floors
