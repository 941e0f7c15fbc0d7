"""The report as one HTML file with inline charts, which loads nothing. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from html import escape

from guard.report.totals import Totals, counted, dollars

# Two months of days: more bars could not be distinguished.
MAX_BARS = 62
WIDTH, HEIGHT = 880, 130
# Labels below the bars: more would touch on a phone.
MAX_LABELS = 5
SEEN_AS = {
    "budget": "Budget used up",
    "repeat": "The same calls again",
    "errors": "The same failure again",
    "stagnation": "Questions that taught nothing",
    "talk": "Messages without anything new",
    "stall": "No progress, by the stuck score",
}
STYLE = """
:root {
  color-scheme: light dark;
  --bg: #fff; --panel: #f6f7f8; --line: #dfe2e6; --ink: #16181c; --ink-2: #575d68;
  --bar: #b9c0ca; --wasted: #a35400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #0c0d0f; --panel: #131417; --line: #24262b; --ink: #f2f3f5; --ink-2: #b0b4bd;
    --bar: #4a505b; --wasted: #ffad33;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 60rem;
  background: var(--bg); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums;
}
h1 { font-size: 1.375rem; margin: 0 0 0.25rem; }
h2 { font-size: 1.0625rem; margin: 2.5rem 0 0.75rem; }
p { margin: 0.25rem 0; }
.quiet { color: var(--ink-2); font-size: 0.8125rem; }
td .quiet { overflow-wrap: anywhere; }
dl {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr));
  gap: 0.75rem; margin: 1.5rem 0 0;
}
dl div {
  padding: 0.75rem 1rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: 0.625rem;
}
dt { color: var(--ink-2); font-size: 0.8125rem; }
dd { margin: 0; font-size: 1.75rem; font-weight: 600; line-height: 1.3; }
svg { display: block; width: 100%; }
.axes { position: relative; height: 1.25rem; }
.axes span { position: absolute; transform: translateX(-50%); white-space: nowrap; }
.all { fill: var(--bar); } .wasted { fill: var(--wasted); } .axis { stroke: var(--line); }
.key { display: inline-block; width: 0.75rem; height: 0.75rem; margin: 0 0.375rem 0 0; }
.key.all { background: var(--bar); margin-left: 0.75rem; }
.key.wasted { background: var(--wasted); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--ink-2); font-size: 0.75rem; font-weight: 500; }
th, td { padding: 0.5rem 0.75rem 0.5rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; }
td.n, th.n { text-align: right; white-space: nowrap; padding-right: 0; padding-left: 0.75rem; }
td.part { width: 45%; vertical-align: middle; }
code {
  color: var(--ink-2); font: 0.8125rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere;
}
"""


def as_page(totals: Totals) -> str:
    """Return the totals as an HTML page."""
    share = f"{totals.wasted_share:.1%} of all turns"
    figures = [
        ("Sessions", f"{totals.sessions:,}", f"{counted(totals.turns, 'turn')}"),
        ("Loops", f"{totals.loops:,}", f"in {counted(totals.looping, 'session')}"),
        ("Wasted turns", f"{totals.wasted_turns:,}", share),
    ]
    if totals.priced:
        spent = f"of {dollars(totals.usd)}"
        figures.append(("Wasted dollars", dollars(totals.wasted_usd), spent))
    shown = "".join(
        f"<div><dt>{name}</dt><dd>{figure}</dd><small class=quiet>{beside}</small></div>"
        for name, figure, beside in figures
    )
    scope = ""
    if totals.days:
        first, last = (f"{day.day} {day:%B %Y}" for day in (min(totals.days), max(totals.days)))
        scope = f"Sessions of {first}." if first == last else f"Sessions from {first} to {last}."
    left_out = "".join(f"<li>{escape(line)}</li>" for line in totals.left_out())
    body = [
        "<h1>Loops in recorded sessions</h1>",
        f'<p class="quiet">{scope}</p>',
        f"<dl>{shown}</dl>",
        _over_time(totals),
        _by_detector(totals),
        _worst(totals),
        f'<h2>Left out</h2><ul class="quiet">{left_out}</ul>' if left_out else "",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Loops in recorded sessions</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + "\n</body>\n</html>\n"
    )


@dataclass(frozen=True, slots=True)
class _Bar:
    label: str
    all: Decimal
    wasted: Decimal


def _over_time(totals: Totals) -> str:
    if not totals.days:
        return ""
    # Dollars only if most sessions have a price: the others would look free.
    in_dollars = totals.priced > totals.unpriced
    unit = "Dollars" if in_dollars else "Turns"
    # Days are grouped into weeks, then months, until few enough bars remain.
    steps: dict[str, Callable[[date], date]] = {
        "day": lambda day: day,
        "week": lambda day: day - timedelta(day.weekday()),
        "month": lambda day: day.replace(day=1),
    }
    first, last = min(totals.days), max(totals.days)
    for step, begins in steps.items():
        every = sorted({begins(first + timedelta(n)) for n in range((last - first).days + 1)})
        if len(every) <= MAX_BARS or step == "month":
            break
    # Periods without sessions too: a gap in the work shows as a gap in the chart.
    added = {moment: [Decimal(0), Decimal(0)] for moment in every}
    for moment, day in totals.days.items():
        of_it = added[begins(moment)]
        of_it[0] += day.usd if in_dollars else day.turns
        of_it[1] += day.wasted_usd if in_dollars else day.wasted_turns
    bars = [
        _Bar(f"{at:%b %Y}" if step == "month" else f"{at.day} {at:%b}", *sums)
        for at, sums in added.items()
    ]
    key = (
        '<p class="quiet"><span class="key wasted"></span>wasted in loops'
        '<span class="key all"></span>everything else</p>'
    )
    return f"<h2>{unit} a {step}</h2>{key}{_columns(bars, in_dollars=in_dollars)}"


def _columns(bars: Sequence[_Bar], *, in_dollars: bool) -> str:
    # If every bar is 0, the divisor must not be.
    most = max((bar.all for bar in bars), default=Decimal(0)) or Decimal(1)
    pitch = WIDTH / len(bars)
    # A single bar would otherwise fill the page.
    wide = min(pitch * 0.75, 40)
    drawn = []
    for place, bar in enumerate(bars):
        left = place * pitch + (pitch - wide) / 2
        whole, wasted = (float(part / most) * HEIGHT for part in (bar.all, bar.wasted))
        amounts = [_amount(part, in_dollars) for part in (bar.wasted, bar.all)]
        drawn.append(
            f"<g><title>{bar.label}: {amounts[0]} wasted of {amounts[1]}</title>"
            # On top of the wasted part, so that both heights add up to the whole.
            + _column("all", left, HEIGHT - whole, wide, whole - wasted)
            + _column("wasted", left, HEIGHT - wasted, wide, wasted)
            + "</g>"
        )
    shown = min(len(bars), MAX_LABELS)
    labelled = (round(one * (len(bars) - 1) / max(1, shown - 1)) for one in range(shown))
    labels = [
        f'<span style="left:{100 * (place + 0.5) / len(bars):.1f}%">{bars[place].label}</span>'
        for place in labelled
    ]
    return (
        f'<p class="quiet">{_amount(most, in_dollars)}</p>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" height="{HEIGHT}" preserveAspectRatio="none" '
        'role="img" aria-label="Wasted, and the rest">'
        f'<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/>'
        f'{"".join(drawn)}</svg><p class="quiet axes">{"".join(labels)}</p>'
    )


def _column(kind: str, x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{width:.1f}" height="{max(0.0, height):.1f}"/>'
    )


def _amount(amount: Decimal, in_dollars: bool) -> str:
    return dollars(amount) if in_dollars else counted(int(amount), "turn")


def _by_detector(totals: Totals) -> str:
    if not totals.by_detector:
        return "<h2>No loops found</h2>" if totals.sessions else ""
    # Ties are sorted by name: the same sessions give the same page.
    ranked = sorted(totals.by_detector.items(), key=lambda one: (-one[1], one[0]))
    most = ranked[0][1]
    rows = "".join(
        f"<tr><td>{escape(SEEN_AS.get(name, name))}</td>"
        '<td class="part"><svg viewBox="0 0 100 8" preserveAspectRatio="none" height="8" '
        f'aria-hidden="true">{_column("wasted", 0, 0, 100 * (number / most), 8)}</svg></td>'
        f'<td class="n">{number:,}</td></tr>'
        for name, number in ranked
    )
    return f"<h2>How they were noticed</h2><table>{rows}</table>"


def _worst(totals: Totals) -> str:
    if not totals.worst:
        return ""
    cost = '<th class="n">Dollars</th>' if totals.priced else ""
    rows = []
    for found in totals.worst:
        loop = found.loop
        # A call may write a whole file. Cut it before escaping, so that no entity is split.
        call = f"<br><code>{escape(loop.call[:400])}</code>" if loop.call else ""
        when = f"{loop.at.day} {loop.at:%b %Y, %H:%M}, " if loop.at else ""
        spent = "unpriced" if loop.usd is None else dollars(loop.usd)
        rows.append(
            f"<tr><td>{escape(loop.summary)}{call}<br>"
            f'<span class="quiet">{escape(found.path.name)}, '
            f"{when}turns {loop.first} to {loop.alarm}</span></td>"
            f'<td class="n">{loop.turns:,}</td>'
            + (f'<td class="n">{spent}</td>' if totals.priced else "")
            + "</tr>"
        )
    return (
        "<h2>What wasted most</h2><div class=scroll><table><thead><tr><th>What repeated</th>"
        f'<th class="n">Turns</th>{cost}</tr></thead>{"".join(rows)}</table></div>'
    )
