"""Accounts as CSV, for a spreadsheet. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal

from missioncontrol.wire.costs import CostAccount, CostGroup

# In English whoever fetches them: a sheet or an import that knows them goes on working.
COLUMNS = (
    "from",
    "to",
    "time_zone",
    "group_by",
    "key",
    "name",
    "total_usd",
    "agents_usd",
    "judge_usd",
    "before_usd",
    "calls",
    "judge_calls",
    "unpriced_calls",
    "unpriced_models",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "runs",
    "loops",
    "stops",
    "saved_low_usd",
    "saved_likely_usd",
    "saved_high_usd",
)
# What makes a spreadsheet run a cell instead of showing it; the last four are the wide signs of
# East Asian keyboards, which some read alike.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


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
        used, saved = one.usage, one.saved
        yield [
            account.first_day,
            account.last_day,
            account.time_zone,
            by,
            one.key,
            one.name,
            total_of(one),
            one.cost_usd,
            one.judge_cost_usd,
            one.before_usd,
            one.calls,
            one.judge_calls,
            one.unpriced_calls,
            " ".join(one.unpriced_models),
            used.input,
            used.cache_read,
            used.cache_write_5m + used.cache_write_1h,
            used.output,
            one.runs,
            one.loops,
            saved.stops,
            saved.low_usd,
            saved.likely_usd,
            saved.high_usd,
        ]


def total_of(group: CostGroup) -> Decimal | None:
    """Return what a group cost; None, an empty cell: nothing of it has a price."""
    total = group.cost_usd + group.judge_cost_usd
    return None if total == 0 and group.unpriced_calls else total


def sum_line(account: CostAccount) -> list[object]:
    """Return the line of the sum."""
    spent, saved = account.spent, account.saved
    return [
        account.first_day,
        account.last_day,
        account.time_zone,
        "total",
        "",
        "Total with judge",
        spent.total_usd,
        spent.agents_usd,
        spent.judge_usd,
        # Up to the same time of day, as each group's own: the sum of a column must be its sum.
        account.before_by_then_usd,
        spent.calls,
        spent.judge_calls,
        spent.unpriced_calls,
        "",
        None,
        None,
        None,
        None,
        spent.runs,
        spent.loops,
        spent.stops,
        saved.low_usd,
        saved.likely_usd,
        saved.high_usd,
    ]
