"""Accounts as CSV, and a day's report as text, HTML, JSON and CSV. Pure.

The HTML is the Costs page's left panel and table, in the light theme: its styles are inline, and
nothing is fetched to show it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from operator import attrgetter

from django.template.loader import render_to_string
from django.utils import translation
from django.utils.formats import date_format

from missioncontrol.notify.content import Announcement, full_url, in_every_language, one_line
from missioncontrol.notify.texts import Texts
from missioncontrol.wire.costs import CostAccount, CostGroup, CostSum, Report, Saving
from missioncontrol.wire.rows import to_json

# Characters that make a spreadsheet run a cell instead of showing it; the last four are the wide
# forms of East Asian keyboards, which some programs treat the same.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def total_of(group: CostGroup) -> Decimal | None:
    """Return what a group cost; None, an empty cell, if nothing in it has a price."""
    total = group.cost_usd + group.judge_cost_usd
    return None if total == 0 and group.unpriced_calls else total


# Column -> its value for a group of an account, and for the sum. In English for everybody, so that
# a sheet or an import that knows the columns goes on working.
FIGURES: dict[str, tuple[Callable[[CostGroup], object], Callable[[CostAccount], object]]] = {
    "key": (attrgetter("key"), lambda _: ""),
    "name": (attrgetter("name"), lambda _: "Total with judge"),
    "total_usd": (total_of, attrgetter("spent.total_usd")),
    "agents_usd": (attrgetter("cost_usd"), attrgetter("spent.agents_usd")),
    "judge_usd": (attrgetter("judge_cost_usd"), attrgetter("spent.judge_usd")),
    # Up to the same time of day, so that the column adds up.
    "before_usd": (attrgetter("before_usd"), attrgetter("before_by_then_usd")),
    "calls": (attrgetter("calls"), attrgetter("spent.calls")),
    "judge_calls": (attrgetter("judge_calls"), attrgetter("spent.judge_calls")),
    "unpriced_calls": (attrgetter("unpriced_calls"), attrgetter("spent.unpriced_calls")),
    "unpriced_models": (lambda one: " ".join(one.unpriced_models), lambda _: ""),
    "input_tokens": (attrgetter("usage.input"), lambda _: None),
    "cache_read_tokens": (attrgetter("usage.cache_read"), lambda _: None),
    "cache_write_tokens": (
        lambda one: one.usage.cache_write_5m + one.usage.cache_write_1h,
        lambda _: None,
    ),
    "output_tokens": (attrgetter("usage.output"), lambda _: None),
    "runs": (attrgetter("runs"), attrgetter("spent.runs")),
    "loops": (attrgetter("loops"), attrgetter("spent.loops")),
    "stops": (attrgetter("saved.stops"), attrgetter("spent.stops")),
    "saved_low_usd": (attrgetter("saved.low_usd"), attrgetter("saved.low_usd")),
    "saved_likely_usd": (attrgetter("saved.likely_usd"), attrgetter("saved.likely_usd")),
    "saved_high_usd": (attrgetter("saved.high_usd"), attrgetter("saved.high_usd")),
}
COLUMNS = ("from", "to", "time_zone", "group_by", *FIGURES)


def account_csv(account: CostAccount) -> str:
    """Return an account as CSV: a line per group, then the sum."""
    return _csv_of(account, ((account.group_by, account.groups),))


def csv_text(lines: Iterable[Iterable[object]]) -> str:
    """Return lines as CSV in which no cell is a formula, whatever an agent's name is."""
    out = io.StringIO()
    # RFC 4180: a line ends in CR and LF.
    csv.writer(out, lineterminator="\r\n").writerows(
        [[safe_cell(one) for one in line] for line in lines]
    )
    return out.getvalue()


def safe_cell(value: object) -> str:
    """Return a value that is safe in a spreadsheet: a quote before what looks like a formula.

    >>> safe_cell("=1+1")
    "'=1+1"
    """
    if value is None:
        return ""
    if isinstance(value, Decimal):
        # Never as 1E-7, which a spreadsheet may take for text.
        return format(value, "f")
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _csv_of(account: CostAccount, splits: Iterable[tuple[str, Iterable[CostGroup]]]) -> str:
    period = (account.first_day, account.last_day, account.time_zone)
    lines = [
        [*period, by, *(of_group(one) for of_group, _ in FIGURES.values())]
        for by, groups in splits
        for one in groups
    ]
    total = [*period, "total", *(of_sum(account) for _, of_sum in FIGURES.values())]
    return csv_text([COLUMNS, *lines, total])


STEEP = Decimal("0.25")
SMALL = Decimal("0.005")
# Keeps a line of the table within 80 columns.
NAME = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLine:
    """One line of the table, in words."""

    name: str
    cost: str
    change: str
    is_steep: bool
    share: int
    judge: str
    runs: int
    loops: int
    trend: str
    saved: str
    note: str


def announcement_of(report: Report, *, path: str) -> Announcement:
    """Return what people and programs are told of a report, in every language."""
    # As JSON, so that a webhook gets figures instead of sentences to parse.
    data = to_json(report)
    return in_every_language(
        lambda t: Announcement(
            title=title_of(report, t),
            body=body_of(report, t),
            detail=text_of(report, t),
            html=html_of(report, t, path=path),
            path=path,
            data=data,
        )
    )


def title_of(report: Report, t: Texts) -> str:
    """Return the day and its costs: "Saturday cost $27.64"."""
    weekday = _day_words(report.row.day, t, form="l")
    title = t.report.title.format(weekday=weekday, cost=cost_words(report.row.spent, t))
    # In the title: a reader of the first one would take the second for a copy.
    return t.report.corrected_title.format(title=title) if report.row.version > 1 else title


def body_of(report: Report, t: Texts) -> str:
    """Return a line on the budget, the loops, and what a correction corrects."""
    row, words = report.row, t.report
    parts = [one_line(row.project_name, 60) + ":"]
    if row.was_usd is not None:
        parts.append(
            words.was_reported.format(usd=t.figures.money(row.was_usd), reason=_why(report, t))
        )
    # No share can be given of a budget of zero.
    if row.budget and row.budget.ceiling_usd:
        share = _share(row.spent.total_usd, row.budget.ceiling_usd, t)
        parts.append(words.of_day_budget.format(share=share))
    change = change_words(row.spent.total_usd, row.before_usd, t)
    if change:
        parts.append(words.on_week_before.format(change=change))
    if row.spent.stops:
        loops = words.count(row.spent.stops, "loop")
        parts.append(words.loops_stopped.format(loops=loops, saved=_saved_words(row.saved, t)))
    return " ".join(parts)


def text_of(report: Report, t: Texts) -> str:
    """Return the whole report as plain lines."""
    row = report.row
    lines = [
        f"{one_line(row.project_name, 60)}, {_day_words(row.day, t)} ({row.time_zone})",
        "",
    ]
    if row.was_usd is not None:
        lines += [f"{t.report.corrected} {_corrected_as(report, t)}", ""]
    lines += [f"{name}: {value}" for name, value in facts_of(report, t)]
    cost, before, runs, loops, trend = t.report.columns
    for by, groups in _splits(report):
        title = t.report.groups[by]
        lines += ["", f"{title:<{NAME}} {cost:>10} {before:>12} {runs:>5} {loops:>9}  {trend}"]
        for line in (line_of(one, groups, t) for one in groups):
            figures = f"{line.cost:>10} {line.change:>12} {line.runs:>5} {line.loops:>9}"
            lines.append(f"{line.name[:NAME]:<{NAME}} {figures}  {line.trend}")
            lines += [f"  {line.note}"] if line.note else []
        lines += [] if groups else [t.report.empty]
    # The method last, and never left out: an estimate without it would look like a fact.
    return "\n".join([*lines, "", method_of(row.saved, t)])


def html_of(report: Report, t: Texts, *, path: str) -> str:
    """Return the report as HTML for an e-mail."""
    row = report.row
    part = 0
    # A budget of zero is exceeded by any amount, so there is no share of it.
    if row.budget and row.budget.ceiling_usd > 0:
        # The bar stops at its end, however far a budget was exceeded.
        part = min(100, int(100 * row.spent.total_usd / row.budget.ceiling_usd))
    total = cost_words(row.spent, t)
    tables = [
        (t.report.groups[by], [line_of(one, groups, t) for one in groups])
        for by, groups in _splits(report)
    ]
    money = t.figures.money
    known = row.spent.agents_usd or not row.spent.unpriced_calls
    # As in the sum: $0.00 beside unpriced calls would be wrong.
    agents = money(row.spent.agents_usd) if known else t.report.unpriced
    return render_to_string(
        "reports/cost_report.html",
        {
            "language": t.language,
            "t": t.report,
            "row": row,
            "day": _day_words(row.day, t),
            "total": total,
            "part": part,
            "was": None if row.was_usd is None else _corrected_as(report, t),
            # Without the first: the page shows the sum in large type above them.
            "facts": facts_of(report, t)[1:],
            "tables": tables,
            "method": method_of(row.saved, t),
            "link": full_url(path),
            "sums": t.report.total.format(
                total=total,
                parts=t.report.parts.format(agents=agents, judge=money(row.spent.judge_usd)),
            ),
        },
    )


def csv_of(report: Report) -> str:
    """Return the report as CSV: a line per agent, model and project, then the sum."""
    return _csv_of(report.account, _splits(report))


def facts_of(report: Report, t: Texts) -> list[tuple[str, str]]:
    """Return the figures of the page's left panel, with their names."""
    row, spent, words = report.row, report.row.spent, t.report
    money, facts = t.figures.money, [(words.spent, cost_words(spent, t))]
    if budget := row.budget:
        left = budget.left_usd
        rest = (words.over if left < 0 else words.left).format(usd=money(abs(left)))
        extra = words.extra.format(usd=money(budget.extra_usd)) if budget.extra_usd else ""
        share = _share(spent.total_usd, budget.ceiling_usd, t)
        ceiling = money(budget.ceiling_usd)
        text = words.budget_is.format(share=share, ceiling=ceiling, extra=extra, rest=rest)
        facts.append((words.budget, text))
    before = money(row.before_usd) if row.before_usd else words.nothing
    if change := change_words(spent.total_usd, row.before_usd, t):
        before = words.this_day.format(usd=before, change=change)
    facts += [(words.week_before, before), (words.judge, money(spent.judge_usd))]
    if spent.unpriced_calls:
        facts.append((words.unpriced_on_top, words.count(spent.unpriced_calls, "call")))
    facts.append((words.loops, words.loops_are.format(loops=spent.loops, stops=spent.stops)))
    if spent.stops:
        facts.append((words.saved_by_stops, _saved_words(row.saved, t)))
    return facts


def line_of(one: CostGroup, groups: Iterable[CostGroup], t: Texts) -> TableLine:
    """Return one group as a line of the table."""
    total, known = one.cost_usd + one.judge_cost_usd, total_of(one)
    most = max((other.cost_usd + other.judge_cost_usd for other in groups), default=Decimal(0))
    note = ""
    if one.unpriced_calls:
        models = f" ({one_line(', '.join(one.unpriced_models), 80)})" if one.unpriced_models else ""
        calls = t.report.count(one.unpriced_calls, "call")
        note = t.report.calls_unpriced.format(calls=calls, models=models)
    return TableLine(
        name=one_line(one.name, 60) or t.report.no_name,
        # Never $0: what has no price may be the most expensive of all.
        cost=t.report.unpriced if known is None else t.figures.money(known),
        change=change_words(total, one.before_usd, t) or "—",
        is_steep=one.before_usd >= SMALL and total / one.before_usd - 1 > STEEP,
        share=int(100 * total / most) if most else 0,
        judge=t.figures.money(one.judge_cost_usd),
        runs=one.runs,
        loops=one.loops,
        trend=trend_words(one.trend, t),
        saved=_saved_words(one.saved, t) if one.saved.stops else "—",
        note=note,
    )


def trend_words(trend: tuple[int, ...], t: Texts) -> str:
    """Return how loops developed: this week's sum after the week before's."""
    # Two weeks: a trend by the day would mostly show weekends.
    half = len(trend) // 2
    before, now = sum(trend[:half]), sum(trend[half:])
    sign = "▲" if now > before else "▼" if now < before else "="
    return f"{before} → {now} {sign}" if before or now else t.report.none


def cost_words(spent: CostSum, t: Texts) -> str:
    """Return what was spent; what has no price is a word, never $0."""
    if spent.total_usd == 0 and spent.unpriced_calls:
        return t.report.unpriced
    return t.figures.money(spent.total_usd)


def change_words(total: Decimal, before: Decimal, t: Texts) -> str:
    """Return a change with a true minus; an empty text if nothing was spent before.

    >>> from missioncontrol.notify.texts import texts_in
    >>> change_words(Decimal("11"), Decimal(10), texts_in("en"))
    '+10%'
    """
    # Less than half a cent shows as $0.00, and a change from it would be thousands of percent.
    if before < SMALL:
        return ""
    change = (total - before) / before
    # Otherwise it would read "+0%", as if something had changed.
    if round(100 * change) == 0:
        return t.report.as_much
    return f"{'+' if change > 0 else '−'}{t.figures.share(abs(change))}"  # noqa: RUF001


def method_of(saved: Saving, t: Texts) -> str:
    """Return how the saving was estimated, and how certain it is."""
    words, money = t.report, t.figures.money
    if saved.samples < saved.enough:
        known = words.no_estimate_yet.format(samples=saved.samples, enough=saved.enough)
        return f"{words.how_saved} {known}"
    parts = [words.how_saved, words.samples.format(samples=saved.samples, turns=saved.median_turns)]
    if saved.stops and saved.low_usd is not None and saved.high_usd is not None:
        parts.append(words.likely.format(low=money(saved.low_usd), high=money(saved.high_usd)))
    return " ".join(parts)


def _saved_words(saved: Saving, t: Texts) -> str:
    # There are two reasons for no figure, and only one of them goes away by itself.
    if saved.likely_usd is None:
        return t.report.no_estimate if saved.samples < saved.enough else t.report.unpriced
    return t.report.saved.format(usd=t.figures.money(saved.likely_usd))


def _splits(report: Report) -> tuple[tuple[str, tuple[CostGroup, ...]], ...]:
    account = report.account
    return (("agent", account.groups), ("model", report.models), ("project", report.projects))


def _corrected_as(report: Report, t: Texts) -> str:
    was = t.figures.money(report.row.was_usd or Decimal(0))
    return t.report.corrected_as.format(usd=was, reason=_why(report, t))


def _why(report: Report, t: Texts) -> str:
    return t.report.reasons.get(report.row.reason, report.row.reason)


def _share(part: Decimal, whole: Decimal, t: Texts) -> str:
    # Any part of zero is all of it.
    return t.figures.share(part / whole) if whole > 0 else t.report.all


def _day_words(day: str, t: Texts, *, form: str = "") -> str:
    with translation.override(t.language):
        return date_format(date.fromisoformat(day), form or t.report.date)
