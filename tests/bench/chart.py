"""Charts as inline SVG: bars for the figures of a group, and panels of lines over a number
or a size."""

import html
import math

from kinds import KINDS

WIDTH, LEFT, RIGHT, ROW, TOP = 960, 180, 205, 22, 30
COLOURS = {"good": "#2a7f62", "bad": "#c4473a", "unclear": "#d99a2b", "same": "#98a5b5"}
PLAIN, LOADED, FLOOR = "#8b929c", "#1b7f5c", "#3b5b9a"
INK, FAINT = "#222", "#e4e4e4"
FONT = 'font-family="system-ui,DejaVu Sans,sans-serif" font-size="12"'
POWERS = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def text(x, y, said, anchor="start", colour=INK, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>'
            f'{html.escape(str(said))}</text>')


def line(path, colour=INK, more=""):
    return f'<path d="{path}" stroke="{colour}" fill="none"{more}/>'


def svg(width, height, parts, label):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" {FONT} '
            f'aria-label="{html.escape(label)}">{"".join(parts)}</svg>')


# ---- bars ----

class Scale:
    """From a figure to a place on the x axis."""

    def __init__(self, kind, values):
        self.kind = kind
        low, high = min(values + [kind.none]), max(values + [kind.none])
        if kind.log:
            self.ends = math.log(max(low, 1e-3) * 0.93), math.log(high * 1.1)
        else:
            pad = (high - low) * 0.08 or 0.05
            self.ends = low - pad, high + pad

    def x(self, value):
        v = math.log(max(value, 1e-3)) if self.kind.log else value
        low, high = self.ends
        return LEFT + (v - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def ticks(self):
        low, high = self.ends
        if self.kind.log:
            some = [t for t in POWERS if low <= math.log(t) <= high]
            return [(t, f"{t:g}") for t in some]
        step = 10 ** math.floor(math.log10(high - low))
        step = next(s for s in (step / 10, step / 5, step / 2, step, step * 2)
                    if (high - low) / s <= 9)
        some = (i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1))
        if self.kind.none == 0:
            return [(t, f"{t:+.3g}" if t else "0") for t in some]
        # a share or a ratio, in per cent; for a cost what comes on top
        less = 1 if self.kind is KINDS["cost"] else 0
        return [(t, f"{round((t - less) * 100, 6):{'+' if less and t - less else ''}.3g}")
                for t in some]


def bar(r, scale, y):
    median = r.spread["median"]
    zero, at = scale.x(r.kind.none), scale.x(median)
    low, high = (scale.x(v) for v in r.spread["quartiles"])
    mid = y + ROW / 2
    out = [text(LEFT - 8, mid + 4, r.case.name, "end"),
           f'<rect x="{min(zero, at):.1f}" y="{y + 4}" width="{max(abs(at - zero), 1):.1f}" '
           f'height="{ROW - 8}" fill="{COLOURS[r.look()]}"><title>{html.escape(r.case.what)}'
           f'</title></rect>',
           line(f"M{low:.1f} {mid}H{high:.1f}M{low:.1f} {mid - 3}v6M{high:.1f} {mid - 3}v6")]
    said = r.kind.say(median)
    if r.case.target is not None:
        out.append(line(f"M{scale.x(r.case.target):.1f} {y + 1}v{ROW - 2}", INK,
                        ' stroke-width="2"'))
        said += f"  (target {r.kind.aim(r.case.target)})"
    out.append(text(WIDTH - RIGHT + 8, mid + 4, said))
    return "".join(out)


def bars_of(kind, results):
    values = [v for r in results for v in (r.spread["median"], *r.spread["quartiles"])]
    values += [r.case.target for r in results if r.case.target is not None]
    scale = Scale(kind, values)
    bottom = TOP + ROW * len(results)
    out = []
    for value, label in scale.ticks():
        x, none = scale.x(value), math.isclose(value, kind.none, abs_tol=1e-9)
        out.append(line(f"M{x:.1f} {TOP - 4}V{bottom}", "#666" if none else FAINT))
        out.append(text(x, bottom + 15, label, "middle"))
    out += [bar(r, scale, TOP + ROW * i) for i, r in enumerate(results)]
    out.append(text((LEFT + WIDTH - RIGHT) / 2, bottom + 33, kind.axis, "middle"))
    out.append(text(LEFT, 14, "bar: median; thin line: the middle half of the pairs; "
                    "thick upright: the target", colour="#666"))
    return svg(WIDTH, bottom + 42, out, kind.axis)


def bars(results):
    """One chart for each kind of figure."""
    out = ""
    for kind in KINDS.values():
        some = [r for r in results if r.kind is kind]
        if some:
            out += bars_of(kind, some)
    return out


# ---- panels of lines ----

P_WIDTH, P_HEIGHT, P_LEFT, P_RIGHT, P_TOP, P_BOTTOM = 314, 220, 62, 12, 26, 40
FEW = 3         # points; fewer make no line


def size_label(n):
    for unit, shift in (("M", 20), ("K", 10)):
        if n >= 1 << shift:
            return f"{n >> shift}{unit}"
    return str(n)


def time_ticks(low, high):
    """Powers of ten, and between them as many as there is room for."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    steps = (1,) if high - low > 2.5 else (1, 3) if high - low > 1.2 else (1, 2, 5)
    for d in decades:
        for s in steps:
            v = d + math.log10(s)
            if low <= v <= high:
                yield v, s * 10.0 ** d


def time_label(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size * 0.999:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns"


def panel(title, results, sizes, axis):
    """Time (logarithmic) over x (logarithmic): without, with and, where there is one, the
    floor."""
    results = sorted(results, key=lambda r: r.case.plot[2])
    factor = {"ns": 1, "ms": 1e6}[results[0].case.unit]
    lines = [(PLAIN, [(r.case.plot[2], r.median_a * factor) for r in results], ""),
             (LOADED, [(r.case.plot[2], r.median_b * factor) for r in results], ""),
             (FLOOR, [(r.case.plot[2], r.floor * factor) for r in results if r.floor],
              ' stroke-dasharray="4 3"')]
    xs = [math.log2(r.case.plot[2]) for r in results]
    ys = [math.log10(y) for _, points, _ in lines for _, y in points if y > 0]
    low, high = min(ys) - 0.12, max(ys) + 0.12
    if high - low < 0.8:
        low, high = (low + high) / 2 - 0.4, (low + high) / 2 + 0.4
    width, height = P_WIDTH - P_LEFT - P_RIGHT, P_HEIGHT - P_TOP - P_BOTTOM

    def at(x, y):
        across = (math.log2(x) - xs[0]) / ((xs[-1] - xs[0]) or 1)
        up = (math.log10(max(y, 1e-9)) - low) / (high - low)
        return P_LEFT + 8 + across * (width - 16), P_TOP + height - up * height

    out = [text(P_LEFT, 15, title, more=' font-weight="600"')]
    for v, ns in time_ticks(low, high):
        y = P_TOP + height - (v - low) / (high - low) * height
        out.append(line(f"M{P_LEFT} {y:.1f}h{width}", FAINT))
        out.append(text(P_LEFT - 6, y + 4, time_label(ns), "end"))
    last = -99
    for r in results:
        x, _ = at(r.case.plot[2], 1)
        if x - last >= 24:
            label = size_label(r.case.plot[2]) if sizes else r.case.plot[2]
            out.append(text(x, P_TOP + height + 16, label, "middle"))
            last = x
    out.append(text(P_LEFT + width / 2, P_TOP + height + 33, axis, "middle", "#666"))
    out.append(line(f"M{P_LEFT} {P_TOP}v{height}h{width}", "#999"))
    for colour, points, dash in lines:
        places = [at(*p) for p in points]
        if len(places) > 1:
            d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            out.append(line(d, colour, f' stroke-width="2"{dash}'))
        if not dash:
            out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>'
                    for x, y in places]
    return svg(P_WIDTH, P_HEIGHT, out, title)


def panels(results, sizes, axis):
    """One small chart for each panel that the cases name, in their order; bars for those
    that have too few points."""
    titles = list(dict.fromkeys(r.case.plot[1] for r in results))
    points = [r.case.plot[1] for r in results]
    rest = [r for r in results
            if points.count(r.case.plot[1]) < FEW and r.case.group == r.case.plot[0]]
    titles = [t for t in titles if points.count(t) >= FEW]
    if not titles:
        return bars(rest)
    floor = any(r.floor for r in results)
    key = (f'<p class="key"><span style="color:{PLAIN}">●</span> without '
           f'<span style="color:{LOADED}">●</span> with the library'
           + (f' <span style="color:{FLOOR}">┄</span> memcpy, the floor' if floor else "")
           + '. Time: lower is better; both axes are logarithmic.</p>')
    return key + '<div class="panels">' + "".join(
        panel(t, [r for r in results if r.case.plot[1] == t], sizes, axis)
        for t in titles) + "</div>" + bars(rest)
