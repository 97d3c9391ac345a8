"""Bars as inline SVG: one chart for each kind of figure, with spread and target."""

import html
import math

WIDTH, LEFT, RIGHT, ROW, TOP = 900, 150, 150, 24, 26
GOOD, BAD, PLAIN, INK = "#2a7f62", "#c4473a", "#5b7aa6", "#222"
WORDS = {"speed": "times as fast (logarithmic; 1: no difference)",
         "cost": "additional time, %", "ms": "milliseconds later"}


class Scale:
    """From a figure to a place on the x axis."""

    def __init__(self, kind, values):
        self.kind = kind
        if kind == "speed":
            low, high = min(0.8, *values) * 0.95, max(2.0, *values) * 1.1
            self.ends = math.log(low), math.log(high)
        else:
            values = [self.linear(v) for v in values]
            pad = (max(values + [0]) - min(values + [0])) * 0.08 or 1
            self.ends = min(values + [0]) - pad, max(values + [0]) + pad

    def linear(self, value):
        return (value - 1) * 100 if self.kind == "cost" else value

    def x(self, value):
        v = math.log(value) if self.kind == "speed" else self.linear(value)
        low, high = self.ends
        return LEFT + (v - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def ticks(self):
        low, high = self.ends
        if self.kind == "speed":
            for t in (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
                if low <= math.log(t) <= high:
                    yield t, f"{t:g}"
            return
        step = 10 ** math.floor(math.log10(high - low))
        step = next(s for s in (step / 5, step / 2, step, step * 2)
                    if (high - low) / s <= 10)
        for i in range(math.ceil(low / step), math.floor(high / step) + 1):
            t = i * step
            yield (1 + t / 100 if self.kind == "cost" else t), f"{t:+g}" if t else "0"


def words(kind, value):
    if kind == "speed":
        return f"{value:.1f}×" if value >= 9.95 else f"{value:.2f}×"
    return f"{(value - 1) * 100:+.1f} %" if kind == "cost" else f"{value:+.3f} ms"


def bar(r, scale, y):
    case, median = r.case, r.spread["median"]
    zero, at = scale.x(0 if case.kind == "ms" else 1), scale.x(median)
    low, high = (scale.x(v) for v in r.spread["quartiles"])
    verdict = r.reached or r.reached_goal
    colour = {"y": GOOD, "n": BAD}.get((verdict or " ")[0], PLAIN)
    mid = y + ROW / 2
    out = [f'<text x="{LEFT - 8}" y="{mid + 4}" text-anchor="end">'
           f'{html.escape(case.name)}</text>',
           f'<rect x="{min(zero, at):.1f}" y="{y + 5}" width="{abs(at - zero):.1f}" '
           f'height="{ROW - 10}" fill="{colour}"><title>{html.escape(case.what)}'
           f'</title></rect>',
           f'<path d="M{low:.1f} {mid}H{high:.1f}M{low:.1f} {mid - 4}v8'
           f'M{high:.1f} {mid - 4}v8" stroke="{INK}" fill="none"/>']
    said = words(case.kind, median)
    for aim, dash in ((case.target, ""), (case.goal, ' stroke-dasharray="3 2"')):
        if aim is not None:
            x = scale.x(aim)
            out.append(f'<path d="M{x:.1f} {y + 1}v{ROW - 2}" stroke="{INK}" '
                       f'stroke-width="2"{dash}/>')
    if verdict:
        said += f" – {'target' if r.reached else 'goal'}: {verdict}"
    out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{mid + 4}">{html.escape(said)}</text>')
    return "".join(out)


def one_kind(kind, results):
    values = [v for r in results for v in (r.spread["median"], *r.spread["quartiles"])]
    values += [v for r in results for v in (r.case.target, r.case.goal) if v is not None]
    scale = Scale(kind, values)
    bottom = TOP + ROW * len(results)
    out = [f'<svg viewBox="0 0 {WIDTH} {bottom + 40}" width="{WIDTH}" role="img" '
           f'font-family="system-ui,sans-serif" font-size="12" fill="{INK}">']
    for value, label in scale.ticks():
        x = scale.x(value)
        none = value == (0 if kind == "ms" else 1)
        out.append(f'<path d="M{x:.1f} {TOP - 4}V{bottom}" '
                   f'stroke="{"#888" if none else "#e4e4e4"}"/>'
                   f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{label}'
                   f'</text>')
    out += [bar(r, scale, TOP + ROW * i) for i, r in enumerate(results)]
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 33}" '
               f'text-anchor="middle">{WORDS[kind]}</text>'
               f'<text x="{LEFT}" y="14" fill="#666">bar: median; thin line: middle half '
               f'of the pairs; upright: target (broken: goal)</text></svg>')
    return "".join(out)


def bars(results):
    out = ""
    for kind in WORDS:
        some = [r for r in results if r.case.kind == kind]
        if some:
            out += one_kind(kind, some)
    return out
