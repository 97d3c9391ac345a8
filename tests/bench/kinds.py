"""The kinds of figures: what is made of a pair (x without, y with), in words and on an
axis. `more` says whether more is better; `none` is the figure that means no difference."""

import math


class Kind:
    more, log, none = True, False, 1.0

    def __init__(self, axis):
        self.axis = axis


class Speed(Kind):
    log = True

    def of(self, x, y):
        return x / y

    def say(self, v):
        return f"{v:.2f}×" if v < 9.95 else f"{v:.1f}×"

    def aim(self, v):
        return f"≥ {v:g}×"


class Cost(Kind):
    more = False

    def of(self, x, y):
        return y / x

    def say(self, v):
        return f"{(v - 1) * 100:+.1f} %"

    def aim(self, v):
        return f"≤ {(v - 1) * 100:+.3g} %"


class Later(Kind):
    more, none = False, 0.0

    def of(self, x, y):
        return y - x

    def say(self, v):
        return f"{v:+.3f} ms"

    def aim(self, v):
        return f"≤ +{v:g} ms"


class Part(Kind):
    """y as a part of x, where what is measured is not a time."""

    def __init__(self, axis, more):
        super().__init__(axis)
        self.more = more

    def of(self, x, y):
        return y / x if x else 1.0 if not y else math.inf

    def say(self, v):
        return f"{v * 100:.1f} %"

    def aim(self, v):
        return f"{'≥' if self.more else '≤'} {v * 100:g} %"


KINDS = {
    "speed": Speed("times as fast (logarithmic; 1: no difference)"),
    "cost": Cost("additional time, % (below 0: less time)"),
    "ms": Later("milliseconds later"),
    "kept": Part("what is kept, % of what there was", True),
    "within": Part("what is used, % of what is allowed", False),
}


def amount(x, unit):
    if unit == "ms" and x >= 10000:
        x, unit = x / 1000, "s"
    if x and abs(x) < (1 if unit == "ms" else 0.1):
        return f"{x:.3f} {unit}"
    return f"{x:,.1f} {unit}" if abs(x) < 100 else f"{x:,.0f} {unit}"
