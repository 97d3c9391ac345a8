"""The report as one HTML page, for somebody who has never seen the project."""

import html

import chart
from cases import GROUPS
from kinds import amount
from report import (LEGEND, aims, asides, beside, figure, percent, range_of, replace, tally)

INTRO = """\
<p>When a program reads a file, each <code>read</code> and each <code>lseek</code> is a call
into the Linux kernel, which takes some hundred nanoseconds before a single byte is copied.
<b>pagewell</b> is a library that an unchanged program can be started with. It keeps the
program's place in the file in memory and answers reads from the file's pages, which it maps
into the program, wherever it can prove that the answer is the kernel's own; everything else
goes to the kernel as before.</p>
<p>This page shows, for one machine, <b>what that gains, where, and what it costs</b>. Each
case was run in pairs, once <i>without</i> and once <i>with</i> the library, in turn
(without, with, without, with ...), so that whatever else the machine was doing met both.
The figure is the median of the pairs' ratios. Programs are measured as a whole, from start
to end, and what they print without and with the library must be the same.</p>"""

COLOURS = (
    ("good", "the target is met; or, where there is none, faster without doubt"),
    ("bad", "the target is not met; or, where there is none, more than 3 % slower"),
    ("unclear", "the target lies within the uncertainty of these runs"),
    ("same", "no target and no difference worth the name"))

WORDS = """\
<p><b>8.1×</b>: so many times as fast. <b>+2.0 %</b>: so much more time (below zero: less).
<b>+0.05 ms</b>: so much later. Two kinds of things are measured: those that should get
faster (with targets such as <i>≥ 12×</i>), and those that cannot and must not get slower
(targets such as <i>≤ +3 %</i>).</p>"""

STYLE = """
body{font:15px/1.5 system-ui,"DejaVu Sans",sans-serif;max-width:64em;margin:2em auto;
padding:0 1em;color:#222;background:#fff}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2.2em;border-top:1px solid #ddd;
padding-top:1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
td,th{padding:.2em .6em;border-bottom:1px solid #ddd;text-align:right;white-space:nowrap}
td:first-child,th:first-child,td.left,th.left{text-align:left}
td.left{white-space:normal;min-width:9em}td:first-child{width:100%;min-width:16em}
.good{color:#0a6b3d}.bad{color:#b3261e;font-weight:bold}.unclear{color:#8a5a00}
.note,.key{color:#555;font-size:13px}svg{max-width:100%;height:auto}
.warn{background:#fff3d6;padding:.6em 1em}
.tiles{display:flex;flex-wrap:wrap;gap:.8em;margin:1em 0}
.tile{border:1px solid #ddd;border-radius:6px;padding:.3em .8em;min-width:4em;font-size:13px}
.tile b{display:block;font-size:1.6em}
.panels{display:flex;flex-wrap:wrap;gap:.5em}
.swatch{display:inline-block;width:1.1em;height:1.1em;vertical-align:-.2em;
border-radius:2px;margin-right:.5em}
ul.plain{list-style:none;padding-left:0}
summary{cursor:pointer;color:#3b5b9a;margin:.6em 0}
pre{white-space:pre-wrap;font-size:12.5px;background:#f6f6f4;padding:1em}"""

# What most want to know first.
GLANCE = ("lseek-set", "read-1", "pread-512-hot", "pread-4096-rand", "pread-64k-seq", "dd-512",
          "dd-4096", "dd-64k", "dash-loop", "bash-loop", "php-seek", "php-country", "php-fpm",
          "sqlite-one-ro", "sqlite-each-rw", "pgbench", "perl-read", "python-raw",
          "python-zip", "tar-create", "git-log", "gcc")
# Groups whose cases lie over a size or a number; the rest is drawn as bars.
AXES = {"sizes": (True, "bytes in one call"), "workers": (False, "how many at once"),
        "seeks": (False, "processes"), "parallel": (False, "dd processes"),
        "small": (True, "size of a file, bytes")}
LONG = 16       # rows; a longer table is folded


def esc(x):
    return html.escape(str(x))


def aim_cell(r):
    parts = []
    for aim, reached in aims(r):
        css = {"met": "good", "not met": "bad", "unclear": "unclear"}.get(reached, "")
        said = f': <span class="{css}">{esc(reached)}</span>' if reached else ""
        parts.append(esc(aim) + said)
    if r.slower() is not None and r.reached != "not met":
        parts.append('<span class="bad">slower</span>' if r.surely_slower()
                     else '<span class="unclear">slower?</span>')
    return ", ".join(parts)


def row(r):
    case = r.case
    if not r.measured:
        return (f'<tr><td class="left"><b>{esc(case.name)}</b><br>{esc(case.what)}</td>'
                f'<td class="left" colspan="7">{r.state}: {esc(r.why)}</td></tr>')
    unit = case.unit
    names = ("", "") if case.names == ("without", "with") else [f"{n}: " for n in case.names]
    cells = [names[0] + amount(r.median_a, unit), names[1] + amount(r.median_b, unit),
             figure(r, r.spread["median"]), range_of(r), beside(r), percent(r.noise)]
    note = "".join(f'<br><span class="note">{esc(x)}</span>' for x in asides(r))
    return (f'<tr><td class="left"><b>{esc(case.name)}</b><br>{esc(case.what)}{note}</td>'
            + "".join(f"<td>{esc(c)}</td>" for c in cells)
            + f'<td class="left">{aim_cell(r)}</td></tr>')


def table(results, column):
    return (f'<table><tr><th class="left">case</th><th>without</th><th>with</th>'
            f'<th>figure</th><th>half of the pairs in</th><th>{column}</th>'
            f'<th>noise</th><th class="left">target</th></tr>'
            + "\n".join(map(row, results)) + "</table>")


def drawing(group, every):
    if group in AXES:
        drawn = [r for r in every if r.measured and r.case.plot and r.case.plot[0] == group]
        return chart.panels(drawn, *AXES[group])
    return chart.bars([r for r in every if r.measured and r.case.group == group])


def section(group, every):
    title, explanation, column = GROUPS[group]
    results = [r for r in every if r.case.group == group]
    if not results:
        return ""
    said = table(results, column)
    if len(results) > LONG:
        said = f"<details><summary>All {len(results)} figures</summary>{said}</details>"
    return f"""<h2 id="{group}">{esc(title)}</h2>
<p>{esc(explanation)}</p>
{drawing(group, every)}
{said}
"""


def glance(every):
    by_name = {r.case.name: r for r in every if r.measured}
    some = [by_name[name] for name in GLANCE if name in by_name]
    if len(some) < len(GLANCE) / 2:     # a run of some cases only
        return ""
    return f"""<h2>At a glance</h2>
<p>Single calls first, then whole programs: how many times as fast with the library. Longer
is better; at 1 the library makes no difference.</p>
{chart.bars(some)}"""


def tiles(results):
    count = tally(results)
    words = {"met": "targets met", "not met": "not met", "unclear": "unclear",
             "slower": "more than 3 % slower", "skipped": "skipped", "failed": "failed"}
    out = [f'<div class="tile"><b>{len(results)}</b>cases</div>']
    for name, word in words.items():
        css = ("good" if name == "met" else "unclear" if name in ("unclear", "skipped")
               else "bad" if count[name] else "")
        out.append(f'<div class="tile"><b class="{css}">{count[name]}</b>{word}</div>')
    return f'<div class="tiles">{"".join(out)}</div>'


def listed(title, results, say):
    if not results:
        return ""
    items = "".join(f'<li><a href="#{r.case.group}">{esc(r.case.name)}</a>: '
                    f'{esc(r.case.what)}: {say(r)}</li>' for r in results)
    return (f"<details{' open' * (len(results) <= LONG)}><summary>{title} ({len(results)})"
            f"</summary><ul>{items}</ul></details>")


def exceptions(results):
    missed = [r for r in results if r.measured and r.reached == "not met"]
    slower = [r for r in results if r.slower() is not None]
    return (listed("Targets not met", missed, lambda r:
                   f'<b>{esc(figure(r, r.spread["median"]))}</b>, target '
                   f'{esc(r.kind.aim(r.case.target))}')
            + listed("More than 3 % slower", slower, lambda r:
                     f"<b>{(r.slower() - 1) * 100:+.1f} %</b>"
                     + ("" if r.surely_slower() else ", within the uncertainty"))
            + listed("Failed", [r for r in results if r.state == "failed"],
                     lambda r: esc(r.why))
            + listed("Skipped", [r for r in results if r.state == "skipped"],
                     lambda r: esc(r.why)))


def write_html(path, about, results):
    machine = "\n".join(f"<tr><td>{esc(k)}</td><td class='left'>{esc(v)}</td></tr>"
                        for k, v in about.items())
    warn = ('<p class="warn">No library in this run: plain against plain. Every '
            "difference on this page is this machine's noise.</p>"
            if about["library"].startswith("none") else "")
    colours = "".join(f'<li><span class="swatch" style="background:{chart.COLOURS[name]}">'
                      f'</span>{esc(said)}</li>' for name, said in COLOURS)
    replace(path, f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>pagewell: benchmark</title>
<style>{STYLE}</style></head><body>
<h1>pagewell, measured against the kernel alone</h1>
{INTRO}{warn}
{tiles(results)}
<p class="note">{esc(about["date"])}; {esc(about["processors"])} processors,
{esc(about["processor"])}; Linux {esc(about["kernel"])}; {esc(about["file system"])}</p>
<h2>How to read this page</h2>
{WORDS}
<ul class="plain">{colours}</ul>
{glance(results)}
{exceptions(results)}
{"".join(section(g, results) for g in GROUPS)}
<h2>The words in the tables</h2><pre>{esc(LEGEND)}</pre>
<h2>The machine</h2>
<p>How much is gained depends on what a system call and a page's first touch cost, so
compare ratios from two machines only beside these.</p>
<table>{machine}</table>
</body></html>
""")
