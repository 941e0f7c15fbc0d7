"""Accounts as CSV, for a spreadsheet. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from operator import attrgetter

from missioncontrol.wire.costs import CostAccount, CostGroup

# What makes a spreadsheet run a cell instead of showing it; the last four are the wide signs of
# East Asian keyboards, which some read alike.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def total_of(group: CostGroup) -> Decimal | None:
    """Return what a group cost; None, an empty cell: nothing of it has a price."""
    total = group.cost_usd + group.judge_cost_usd
    return None if total == 0 and group.unpriced_calls else total


# Column -> what a group of an account has there, and what the sum has. In English whoever fetches
# them: a sheet or an import that knows them goes on working.
FIGURES: dict[str, tuple[Callable[[CostGroup], object], Callable[[CostAccount], object]]] = {
    "key": (attrgetter("key"), lambda _: ""),
    "name": (attrgetter("name"), lambda _: "Total with judge"),
    "total_usd": (total_of, attrgetter("spent.total_usd")),
    "agents_usd": (attrgetter("cost_usd"), attrgetter("spent.agents_usd")),
    "judge_usd": (attrgetter("judge_cost_usd"), attrgetter("spent.judge_usd")),
    # Up to the same time of day: the sum of a column must be its sum.
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
    """Write an account: a line a group, then the sum."""
    return lines_of(
        [COLUMNS, *group_lines(account, account.group_by, account.groups), sum_line(account)]
    )


def lines_of(lines: Iterable[Iterable[object]]) -> str:
    """Write lines so that no cell is a formula, whatever an agent calls itself."""
    out = io.StringIO()
    # RFC 4180: a line ends in CR and LF.
    csv.writer(out, lineterminator="\r\n").writerows(
        [[cell(one) for one in line] for line in lines]
    )
    return out.getvalue()


def cell(value: object) -> str:
    """Return a value as a spreadsheet may read it: a quote before what looks like a formula.

    >>> cell("=1+1")
    "'=1+1"
    """
    if value is None:
        return ""
    if isinstance(value, Decimal):
        # Never as 1E-7, which a spreadsheet may take for a text.
        return format(value, "f")
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def group_lines(
    account: CostAccount, by: str, groups: Iterable[CostGroup]
) -> Iterator[list[object]]:
    """Return a line a group of an account."""
    for one in groups:
        yield [*_begun(account), by, *(of_group(one) for of_group, _ in FIGURES.values())]


def sum_line(account: CostAccount) -> list[object]:
    """Return the line of the sum."""
    return [*_begun(account), "total", *(of_sum(account) for _, of_sum in FIGURES.values())]


def _begun(account: CostAccount) -> tuple[str, str, str]:
    return account.first_day, account.last_day, account.time_zone
