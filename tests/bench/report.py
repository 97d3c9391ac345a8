"""What the pairs say, as a table on the terminal, as JSON and as one HTML page."""

import html
import json
import statistics

import chart
from cases import GROUPS
from pairs import noise, spread

LEGEND = """\
without, with  medians. The figure is the median of the pairs' ratios, and beside it the
               range that holds the middle half of the pairs. 8.1x: so many times as fast;
               +2.0 %: so much more time; +0.05 ms: so much later.
by cpu         the same figure from processor time, which other programs on the machine
               disturb less; it leaves out waiting. Single calls are timed so throughout.
over memcpy    with the library, beyond a plain memcpy of the same bytes from a mapping.
noise          how far two plain runs, one straight after the other, are apart (median).
reached        the target, by the median. With a question mark the target lies inside the
               95 % confidence interval: these pairs cannot tell. "goal" is the further
               aim of the later benchmark issue.
"""


def verdict(figures, aim, more_is_better):
    """yes or no by the median; with a question mark if the aim lies in its interval."""
    if figures is None or aim is None:
        return None
    good = [x >= aim if more_is_better else x <= aim
            for x in (figures["median"], *figures["ci95"])]
    return ("yes" if good[0] else "no") + ("" if good[1] == good[2] else "?")


class Result:
    """A case's figures. A pair's figure is, by the case's kind, how many times as fast
    (speed), how many times the time (cost), or how many ms later (ms) it was with the
    library."""

    def __init__(self, case, a, b, floors, null):
        self.case, self.state, self.why = case, "measured", None
        self.a, self.b = [t.value for t in a], [t.value for t in b]
        pair = {"speed": lambda x, y: x / y, "cost": lambda x, y: y / x,
                "ms": lambda x, y: y - x}[case.kind]
        self.figures = [pair(x, y) for x, y in zip(self.a, self.b)]
        self.spread = spread(self.figures)
        self.noise = noise(self.a)
        self.median_a, self.median_b = map(statistics.median, (self.a, self.b))
        self.by_cpu = None
        if a[0].cpu is not None and case.kind != "ms":
            self.by_cpu = statistics.median(pair(x.cpu, y.cpu) for x, y in zip(a, b))
        self.floor = self.over = None
        if floors:
            self.floor = statistics.median(t.value for t in floors)
            self.over = spread([y - t.value for y, t in zip(self.b, floors)])
        self.counts = [t.counts for t in b if t.counts]
        more = case.kind == "speed"
        judge = (lambda *_: None) if null else verdict
        self.reached = judge(self.spread, case.target, more)
        self.reached_goal = judge(self.spread, case.goal, more)
        self.reached_over = judge(self.over, case.over, False)

    @classmethod
    def without_figure(cls, case, state, why):
        result = cls.__new__(cls)
        result.case, result.state, result.why = case, state, why
        return result

    def as_json(self):
        case = self.case
        out = {"case": case.name, "group": case.group, "what": case.what,
               "kind": case.kind, "target": case.target, "goal": case.goal,
               "state": self.state, "why": self.why}
        if self.state == "measured":
            out.update(unit=case.unit, without=self.a, **{"with": self.b},
                       figures=self.figures, **self.spread, noise=self.noise,
                       by_cpu=self.by_cpu, floor=self.floor, over_floor=self.over,
                       counts=self.counts, reached=self.reached,
                       reached_goal=self.reached_goal, reached_over=self.reached_over)
        return out


# ---- words for figures ----

def figure(kind, x):
    if kind == "speed":
        return f"{x:.2f}x" if x < 9.95 else f"{x:.1f}x"
    return f"{(x - 1) * 100:+.1f} %" if kind == "cost" else f"{x:+.3f} ms"


def target(kind, x):
    if x is None:
        return ""
    if kind == "speed":
        return f"≥ {x:g}x"
    return f"≤ {(x - 1) * 100:+.3g} %" if kind == "cost" else f"≤ +{x:g} ms"


def amount(x, unit):
    return f"{x:,.1f} {unit}" if x < 100 else f"{x:,.0f} {unit}"


def range_of(r):
    return " … ".join(figure(r.case.kind, x) for x in r.spread["quartiles"])


def percent(x):
    return "" if x is None else f"{x * 100:.1f} %"


def aims(r):
    out = []
    for word, aim, reached in (("target", r.case.target, r.reached),
                               ("goal", r.case.goal, r.reached_goal)):
        if aim is not None:
            out.append((word, target(r.case.kind, aim), reached))
    if r.over and r.case.over is not None:
        out.append(("over memcpy", f"≤ {r.case.over:g} ns", r.reached_over))
    return out


def beside(r):
    """The column whose meaning goes with the group."""
    if r.over:
        return amount(r.over["median"], "ns")
    return "" if r.by_cpu is None else figure(r.case.kind, r.by_cpu)


def beside_name(group):
    return {"calls": "over memcpy", "commands": "by cpu", "parallel": "by cpu",
            "words": "by cpu"}.get(group, "")


def asides(r):
    """What else the case has found out, a line each."""
    if r.counts:
        fills = [c.get("fills", 0) for c in r.counts]
        waits = [c.get("waits", 0) for c in r.counts]
        late = sum(c.get("timeouts", 0) for c in r.counts)
        pages = r.counts[0]["pages"]
        once = ("none was read through a window" if not max(fills) else
                "each once at most" if max(fills) <= pages else "SOME MORE THAN ONCE")
        yield (f"{pages} cache pages: fills {min(fills)} to {max(fills)}, {once};"
               f" waits {min(waits)} to {max(waits)}, {late} of them in all timed out")
    elif r.case.needs_library:
        yield "no report was written: fills and waits unknown"


# ---- the terminal ----

def print_head(about):
    for key, value in about.items():
        print(f"{key:16} {value}")


def print_row(results, null):
    r = results[-1]
    group = r.case.group
    if len(results) == 1 or results[-2].case.group != group:
        names = ("plain", "plain") if null else ("without", "with")
        print(f"\n{GROUPS[group][0]}\n{'':19}{names[0]:>12}{names[1]:>12}{'figure':>11}"
              f"  {'half of the pairs in':22}{beside_name(group):>11}{'noise':>8}  reached")
    if r.state != "measured":
        print(f"{r.case.name:19}{r.state}: {r.why}", flush=True)
        return
    said = ", ".join(f"{word} {aim}{': ' + reached if reached else ''}"
                     for word, aim, reached in aims(r))
    print(f"{r.case.name:19}{amount(r.median_a, r.case.unit):>12}"
          f"{amount(r.median_b, r.case.unit):>12}"
          f"{figure(r.case.kind, r.spread['median']):>11}  {range_of(r):22}"
          f"{beside(r):>11}{percent(r.noise):>8}  {said}", flush=True)
    for line in asides(r):
        print(f"{'':19}{line}", flush=True)


def tally(results):
    """Reached, not reached, can't tell; skipped and failed."""
    said = [r.reached for r in results if r.state == "measured" and r.reached]
    return {"reached": said.count("yes"), "not reached": said.count("no"),
            "too close to tell": sum(s.endswith("?") for s in said),
            "skipped": sum(r.state == "skipped" for r in results),
            "failed": sum(r.state == "failed" for r in results)}


def print_foot(about, results):
    print(f"\n{LEGEND}")
    print("targets: " + ", ".join(f"{n} {word}" for word, n in tally(results).items()))
    print(f"load {about['load before']} before, {about['load after']} after;"
          f" {about['seconds']} s")


# ---- JSON ----

def write_json(path, about, results):
    with open(path, "w") as f:
        json.dump({"machine": about, "tally": tally(results),
                   "cases": [r.as_json() for r in results]}, f, indent=1,
                  ensure_ascii=False)
        f.write("\n")
    print(path)


# ---- HTML ----

INTRO = """\
pagewell is a library that a Linux program can be started with, unchanged. It keeps the
program's file positions in memory and answers reads from the file's pages, mapped, where
otherwise each read and seek is a call into the kernel. This page shows what that gains
and what it costs on one machine. Each figure comes from pairs of runs, without and with
the library in turn; it is the median of the pairs' ratios."""

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:76em;margin:2em auto;padding:0 1em;
color:#222;background:#fff}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2.2em}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
td:first-child,th:first-child,td.left,th.left{text-align:left}
td.left{white-space:normal;min-width:11em}
.yes{color:#0a6b3d}.no{color:#b3261e;font-weight:bold}.maybe{color:#8a5a00}
.note{color:#666;font-size:13px}svg{max-width:100%;height:auto}
.warn{background:#fff3d6;padding:.6em 1em}"""


def esc(x):
    return html.escape(str(x))


def aim_cell(r):
    parts = []
    for word, aim, reached in aims(r):
        said = ""
        if reached:
            css = "maybe" if reached.endswith("?") else reached
            said = f': <span class="{css}">{esc(reached)}</span>'
        parts.append(f"{word} {esc(aim)}{said}")
    return ", ".join(parts)


def html_row(r):
    case = r.case
    if r.state != "measured":
        return (f'<tr><td>{esc(case.name)}</td><td class="left">{esc(case.what)}</td>'
                f'<td class="left" colspan="7">{r.state}: {esc(r.why)}</td></tr>')
    cells = [amount(r.median_a, case.unit), amount(r.median_b, case.unit),
             figure(case.kind, r.spread["median"]), range_of(r), beside(r),
             percent(r.noise)]
    note = "".join(f'<br><span class="note">{esc(x)}</span>' for x in asides(r))
    return (f'<tr><td>{esc(case.name)}</td><td class="left">{esc(case.what)}{note}</td>'
            + "".join(f"<td>{esc(c)}</td>" for c in cells)
            + f'<td class="left">{aim_cell(r)}</td></tr>')


def html_group(group, results):
    title, text = GROUPS[group]
    rows = "\n".join(html_row(r) for r in results)
    return f"""<h2>{esc(title)}</h2>
<p>{esc(text)}</p>
{chart.bars([r for r in results if r.state == "measured"])}
<table><tr><th>case</th><th class="left">what</th><th>without</th><th>with</th>
<th>figure</th><th>half of the pairs in</th><th>{beside_name(group)}</th>
<th>noise</th><th class="left">reached</th></tr>
{rows}
</table>
"""


def write_html(path, about, results):
    null = about["library"].startswith("none")
    groups = [(g, [r for r in results if r.case.group == g]) for g in GROUPS]
    machine = "\n".join(f"<tr><td>{esc(k)}</td><td class='left'>{esc(v)}</td></tr>"
                        for k, v in about.items())
    counts = ", ".join(f"{n} {word}" for word, n in tally(results).items())
    warn = ('<p class="warn">No library in this run: plain against plain. Every '
            "difference on this page is this machine's noise.</p>" if null else "")
    with open(path, "w") as f:
        f.write(f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>pagewell: benchmark</title>
<style>{STYLE}</style></head><body>
<h1>pagewell, measured against the kernel alone</h1>
<p>{esc(INTRO)}</p>{warn}
<p>Targets: {counts}.</p>
{"".join(html_group(g, rs) for g, rs in groups if rs)}
<h2>How to read the tables</h2><pre>{esc(LEGEND)}</pre>
<h2>The machine</h2>
<p>How much a window gains depends on what a system call and a page's first touch cost,
so compare ratios from two machines only beside these.</p>
<table>{machine}</table>
</body></html>
""")
    print(path)
