"""A day's cost report in words: for a letter, a chat, a program, a spreadsheet. Pure.

The letter is the Costs page's left panel and table, in light: its styles stand inline, and
nothing is fetched to show it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.template.loader import render_to_string
from pydantic import TypeAdapter

from missioncontrol.notify.content import Told, bounded
from missioncontrol.notify.links import link
from missioncontrol.notify.wording import money
from missioncontrol.oversight.cost_csv import COLUMNS, group_lines, lines_of, sum_line, total_of
from missioncontrol.wire.costs import CostGroup, CostSum, Saving
from missioncontrol.wire.reports import Report

STEEP = Decimal("0.25")
SMALL = Decimal("0.005")
NAME = 28
_report: TypeAdapter[Report] = TypeAdapter(Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
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


def told_of(report: Report, *, path: str) -> Told:
    """Return what people and programs are told of a report."""
    return Told(
        title=title_of(report),
        body=body_of(report),
        detail=text_of(report),
        html=html_of(report, path=path),
        path=path,
        data=_report.dump_python(report, mode="json"),
    )


def title_of(report: Report) -> str:
    """Say the day and what it cost: "Saturday cost $27.64"."""
    weekday = date.fromisoformat(report.row.day).strftime("%A")
    title = f"{weekday} cost {cost_words(report.row.spent)}"
    return f"Corrected: {title}" if report.row.version > 1 else title


def body_of(report: Report) -> str:
    """Say the budget, the loops, and what a correction corrects, in a line."""
    row = report.row
    said = [bounded(row.project_name, 60) + ":"]
    if row.was_usd is not None:
        said.append(f"it was told as {money(row.was_usd)}; {row.reason}.")
    if row.budget and row.budget.ceiling_usd:
        said.append(f"{_share(row.spent.total_usd, row.budget.ceiling_usd)} of the day budget.")
    change = change_words(row.spent.total_usd, row.before_usd)
    if change:
        said.append(f"{change} on the week before.")
    if row.spent.stops:
        said.append(f"{counted(row.spent.stops, 'loop')} stopped, {_saved_words(row.saved)}.")
    return " ".join(said)


def text_of(report: Report) -> str:
    """Write the whole report as plain lines."""
    row, account = report.row, report.account
    lines = [f"{bounded(row.project_name, 60)}, {_day_words(row.day)} ({row.time_zone})", ""]
    if row.was_usd is not None:
        lines += [f"Corrected: told as {money(row.was_usd)} before; {row.reason}.", ""]
    lines += [f"{name}: {value}" for name, value in facts_of(report)]
    for title, groups in (("Agent", account.groups), ("Model", report.models),
                          ("Project", report.projects)):  # fmt: skip
        lines += ["", *_table(title, groups)]
    return "\n".join([*lines, "", method_of(row.saved)])


def html_of(report: Report, *, path: str) -> str:
    """Write the report as a page for a letter."""
    row, account = report.row, report.account
    part = 0
    if row.budget and row.budget.ceiling_usd > 0:
        part = min(100, int(100 * row.spent.total_usd / row.budget.ceiling_usd))
    tables = [
        (title, [line_of(one, groups) for one in groups])
        for title, groups in (("Agent", account.groups), ("Model", report.models),
                              ("Project", report.projects))
    ]  # fmt: skip
    return render_to_string(
        "oversight/cost_report.html",
        {
            "row": row, "day": _day_words(row.day), "total": cost_words(row.spent), "part": part,
            "was": None if row.was_usd is None else money(row.was_usd),
            "facts": facts_of(report)[1:],
            "tables": tables, "method": method_of(row.saved), "link": link(path),
            "sums": _parts(row.spent),
        },
    )  # fmt: skip


def csv_of(report: Report) -> str:
    """Write the report for a spreadsheet: a line an agent, model and project, then the sum."""
    account = report.account
    parts = (("agent", account.groups), ("model", report.models), ("project", report.projects))
    lines = [line for by, groups in parts for line in group_lines(account, by, groups)]
    return lines_of([COLUMNS, *lines, sum_line(account)])


def facts_of(report: Report) -> list[tuple[str, str]]:
    """Return the figures of the page's left panel, with their names."""
    row, spent = report.row, report.row.spent
    facts = [("Spent", cost_words(spent)), *_budget_facts(report)]
    before = money(row.before_usd) if row.before_usd else "nothing"
    if change := change_words(spent.total_usd, row.before_usd):
        before = f"{before} (this day {change})"
    facts += [
        ("The same day a week before", before),
        ("Judge, in the total", money(spent.judge_usd)),
    ]
    if spent.unpriced_calls:
        facts.append(("Unpriced, on top", counted(spent.unpriced_calls, "call")))
    facts.append(("Loops", f"{spent.loops}, {spent.stops} stopped"))
    if spent.stops:
        facts.append(("Saved by stops", _saved_words(row.saved)))
    return facts


def _budget_facts(report: Report) -> list[tuple[str, str]]:
    budget = report.row.budget
    if budget is None:
        return []
    share = _share(report.row.spent.total_usd, budget.ceiling_usd)
    left = budget.left_usd
    over = f"{money(-left)} over" if left < 0 else f"{money(left)} left"
    extra = f", {money(budget.extra_usd)} of it allowed on top" if budget.extra_usd else ""
    return [("Budget", f"{share} of {money(budget.ceiling_usd)}{extra}; {over}")]


def line_of(one: CostGroup, groups: Iterable[CostGroup]) -> Line:
    """Return one group as a line of the table."""
    total = one.cost_usd + one.judge_cost_usd
    most = max((other.cost_usd + other.judge_cost_usd for other in groups), default=Decimal(0))
    return Line(
        name=bounded(one.name, 60) or "not named", cost=_cost_of(one),
        change=change_words(total, one.before_usd) or "—",
        is_steep=one.before_usd >= SMALL and total / one.before_usd - 1 > STEEP,
        share=int(100 * total / most) if most else 0, judge=money(one.judge_cost_usd),
        runs=one.runs, loops=one.loops, trend=trend_words(one.trend),
        saved=_saved_words(one.saved) if one.saved.stops else "—", note=_note_of(one),
    )  # fmt: skip


def trend_words(trend: tuple[int, ...]) -> str:
    """Say how loops went: this week's sum after the week before's."""
    half = len(trend) // 2
    before, now = sum(trend[:half]), sum(trend[half:])
    sign = "▲" if now > before else "▼" if now < before else "="
    return f"{before} → {now} {sign}" if before or now else "none"


def cost_words(spent: CostSum) -> str:
    """Say what was spent; what has no price is a word, never $0."""
    if spent.total_usd == 0 and spent.unpriced_calls:
        return "unpriced"
    return money(spent.total_usd)


def change_words(total: Decimal, before: Decimal) -> str:
    """Say a change with a true minus; nothing where nothing was spent before.

    >>> change_words(Decimal("11"), Decimal(10))
    '+10%'
    """
    if before < SMALL:
        return ""
    change = round(100 * (total - before) / before)
    return "as much" if change == 0 else f"{'+' if change > 0 else '−'}{abs(change)}%"  # noqa: RUF001


def method_of(saved: Saving) -> str:
    """Say how the saving was estimated, and how sure it is."""
    how = (
        "How “saved” is counted: an estimate. A stop is counted with the turns that loops of its "
        "kind took here when nobody stopped them, less those it had taken, at what a turn of its "
        "own loop cost; never more than its run's ceiling had left."
    )
    if saved.samples < saved.enough:
        return f"{how} No estimate yet: {saved.samples} of {saved.enough} such loops are known."
    known = f" {saved.samples} such loops took {saved.median_turns} turns, in the median."
    likely = ""
    if saved.stops and saved.low_usd is not None and saved.high_usd is not None:
        likely = f" Likely {money(saved.low_usd)} to {money(saved.high_usd)}."
    return how + known + likely


def counted(n: int, word: str) -> str:
    """Write a number with its word."""
    return f"{n} {word if n == 1 else word + 's'}"


def _saved_words(saved: Saving) -> str:
    if saved.likely_usd is None:
        return "no estimate yet" if saved.samples < saved.enough else "unpriced"
    return f"about {money(saved.likely_usd)} saved"


def _cost_of(one: CostGroup) -> str:
    total = total_of(one)
    return "unpriced" if total is None else money(total)


def _note_of(one: CostGroup) -> str:
    if not one.unpriced_calls:
        return ""
    models = f" ({bounded(', '.join(one.unpriced_models), 80)})" if one.unpriced_models else ""
    return f"{counted(one.unpriced_calls, 'call')} unpriced{models}"


def _parts(spent: CostSum) -> str:
    return f"agents {money(spent.agents_usd)} + judge {money(spent.judge_usd)}"


def _table(title: str, groups: Iterable[CostGroup]) -> list[str]:
    groups = list(groups)
    head = (
        f"{title:<{NAME}} {'Cost':>10} {'Week before':>12} {'Runs':>5} {'Loops':>6}  Loops, 7 days"
    )
    lines = [head]
    for line in (line_of(one, groups) for one in groups):
        figures = f"{line.cost:>10} {line.change:>12} {line.runs:>5} {line.loops:>6}"
        row = f"{line.name[:NAME]:<{NAME}} {figures}  {line.trend}"
        lines += [row, *([f"  {line.note}"] if line.note else [])]
    return lines if groups else [head, "nothing"]


def _share(part: Decimal, whole: Decimal) -> str:
    return f"{round(100 * part / whole)}%" if whole > 0 else "all"


def _day_words(day: str) -> str:
    at: Any = date.fromisoformat(day)
    return f"{at:%A} {at.day} {at:%B %Y}"
