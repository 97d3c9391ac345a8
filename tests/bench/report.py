"""What the pairs say: verdicts, the table on the terminal, and JSON."""

import json
import os
import statistics

from cases import GROUPS
from kinds import KINDS, amount
from pairs import noise, spread

HARM = 1.03     # nothing may take longer than this times the time without

LEGEND = """\
without, with  medians. The figure is the median of the pairs' ratios, and beside it the
               range that holds the middle half of the pairs. 8.1x: so many times as fast;
               +2.0 %: so much more time; +0.05 ms: so much later.
by cpu         the same figure from processor time, which other programs on the machine
               disturb less; it leaves out waiting. Single calls are timed so throughout.
over memcpy    with the library, beyond a plain memcpy of the same bytes from a mapping.
noise          how far two plain runs, one straight after the other, are apart (median).
unclear        the target lies inside the median's 95 % confidence interval: these pairs
               cannot tell.
"""


def verdict(figures, aim, more_is_better):
    if figures is None or aim is None:
        return None
    good = [x >= aim if more_is_better else x <= aim for x in figures["ci95"]]
    return "unclear" if good[0] != good[1] else "met" if good[0] else "not met"


class Result:
    """A case's figures; the kind says what a pair's figure is."""

    def __init__(self, case, a, b, floors, null):
        self.case, self.state, self.why = case, "measured", None
        self.kind = KINDS[case.kind]
        self.a, self.b = [t.value for t in a], [t.value for t in b]
        self.figures = [self.kind.of(x, y) for x, y in zip(self.a, self.b)]
        self.spread = spread(self.figures)
        self.noise = noise(self.a)
        self.median_a, self.median_b = map(statistics.median, (self.a, self.b))
        self.by_cpu = None
        if case.kind in ("speed", "cost") and all(t.cpu for t in (*a, *b)):
            self.by_cpu = statistics.median(self.kind.of(x.cpu, y.cpu)
                                            for x, y in zip(a, b))
        self.floor = self.over = None
        if floors:
            self.floor = statistics.median(t.value for t in floors)
            self.over = spread([y - t.value for y, t in zip(self.b, floors)])
        self.counts = [t.counts for t in b if t.counts]
        judge = (lambda *_: None) if null else verdict
        self.reached = judge(self.spread, case.target, self.kind.more)
        self.reached_over = judge(self.over, case.over, False)

    @classmethod
    def without_figure(cls, case, state, why):
        result = cls.__new__(cls)
        result.case, result.state, result.why = case, state, why
        result.kind = KINDS[case.kind]
        return result

    @property
    def measured(self):
        return self.state == "measured"

    def look(self):
        """good, bad, unclear or same: the colour. Without a target, what counts is whether
        the difference is one, and whether it is harm."""
        if self.reached:
            return {"met": "good", "not met": "bad", "unclear": "unclear"}[self.reached]
        if self.case.target is not None or self.case.kind not in ("speed", "cost"):
            return "same"
        low, high = sorted(self.time_ratio(x) for x in self.spread["ci95"])
        return "good" if high < 0.99 else "bad" if low > HARM else "same"

    def time_ratio(self, figure):
        return 1 / figure if self.case.kind == "speed" else figure

    def slower(self):
        """How many times the time, if that is more than may be; None if not."""
        if not self.measured or self.case.kind not in ("speed", "cost"):
            return None
        if self.case.group == "limits" or self.case.needs_library:
            return None
        ratio = self.time_ratio(self.spread["median"])
        return ratio if ratio > HARM else None

    def surely_slower(self):
        return min(self.time_ratio(x) for x in self.spread["ci95"]) > HARM

    def as_json(self):
        case = self.case
        out = {"case": case.name, "group": case.group, "what": case.what,
               "kind": case.kind, "target": case.target, "state": self.state,
               "why": self.why}
        if self.measured:
            out.update(unit=case.unit, without=self.a, **{"with": self.b},
                       names=case.names, figures=self.figures, **self.spread,
                       noise=self.noise, by_cpu=self.by_cpu, floor=self.floor,
                       over_floor=self.over, counts=self.counts, reached=self.reached,
                       reached_over=self.reached_over, slower=self.slower())
        return out


# ---- words for figures ----

def figure(r, x):
    return r.kind.say(x)


def range_of(r):
    return " … ".join(figure(r, x) for x in r.spread["quartiles"])


def percent(x):
    return "" if x is None else f"{x * 100:.1f} %"


def aims(r):
    out = []
    if r.case.target is not None:
        out.append((r.kind.aim(r.case.target), r.reached))
    if r.over and r.case.over is not None:
        out.append((f"≤ {r.case.over:g} ns over memcpy", r.reached_over))
    return out


def beside(r):
    """The column whose meaning goes with the group."""
    if r.over:
        return amount(r.over["median"], "ns")
    return "" if r.by_cpu is None else figure(r, r.by_cpu)


def asides(r):
    """What else the case has found out, a line each."""
    if r.case.group == "words":
        if not r.counts:
            yield "no report was written: fills and waits unknown"
            return
        fills = [c.get("fills", 0) for c in r.counts]
        waits = [c.get("waits", 0) for c in r.counts]
        late = sum(c.get("timeouts", 0) for c in r.counts)
        pages = r.counts[0]["pages"]
        once = ("none was read through a window" if not max(fills) else
                "each once at most" if max(fills) <= pages else "SOME MORE THAN ONCE")
        yield (f"{pages} cache pages: fills {min(fills)} to {max(fills)}, {once};"
               f" waits {min(waits)} to {max(waits)}, {late} of them in all timed out")
    elif r.counts:
        names = sorted({name for c in r.counts for name in c})
        yield "a run with: " + ", ".join(
            f"{name.replace('_', ' ')} {statistics.median(c.get(name, 0) for c in r.counts):,.0f}"
            for name in names)


# ---- the terminal ----

def print_head(about):
    for key, value in about.items():
        print(f"{key:16} {value}")


def print_row(results, null):
    r = results[-1]
    group, names = r.case.group, r.case.names
    if len(results) == 1 or results[-2].case.group != group:
        left, right = ("plain", "plain") if null else names
        print(f"\n{GROUPS[group][0]}\n{'':28}{left:>12}{right:>12}{'figure':>11}"
              f"  {'half of the pairs in':22}{GROUPS[group][2]:>11}{'noise':>8}  target")
    if not r.measured:
        print(f"{r.case.name:28}{r.state}: {r.why}", flush=True)
        return
    said = ", ".join(aim + (f": {reached}" if reached else "") for aim, reached in aims(r))
    flag = "" if r.slower() is None else "  SLOWER" + "" if r.surely_slower() else "  slower?"
    print(f"{r.case.name:28}{amount(r.median_a, r.case.unit):>12}"
          f"{amount(r.median_b, r.case.unit):>12}"
          f"{figure(r, r.spread['median']):>11}  {range_of(r):22}"
          f"{beside(r):>11}{percent(r.noise):>8}  {said}{'' if null else flag}", flush=True)
    for line in asides(r):
        print(f"{'':28}{line}", flush=True)


def tally(results):
    said = [r.reached for r in results if r.measured and r.reached]
    return {"met": said.count("met"), "not met": said.count("not met"),
            "unclear": said.count("unclear"),
            "slower": sum(r.slower() is not None for r in results),
            "skipped": sum(r.state == "skipped" for r in results),
            "failed": sum(r.state == "failed" for r in results)}


def print_foot(about, results):
    print(f"\n{LEGEND}")
    for r in results:
        if r.measured and r.slower() is not None:
            print(f"more than 3 % slower{'' if r.surely_slower() else ', perhaps'}: "
                  f"{r.case.name}: {(r.slower() - 1) * 100:+.1f} %")
    print(f"{len(results)} cases; targets: "
          + ", ".join(f"{n} {word}" for word, n in tally(results).items()))
    print(f"load {about['load before']} before, {about['load after']} after;"
          f" {about['seconds']} s")


# ---- JSON ----

def replace(path, text):
    """In one step: somebody may be looking at the last one."""
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)


def write_json(path, about, results):
    replace(path, json.dumps({"machine": about, "tally": tally(results),
                              "cases": [r.as_json() for r in results]}, indent=1,
                             ensure_ascii=False) + "\n")
