"""Which turn a model call led to, where nobody names it: by the teller's clock. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """Something an agent began, and when."""

    name: str
    agent: str
    at: datetime


def led_to(calls: Iterable[Began], tools: Iterable[Began]) -> dict[str, str]:
    """Give each model call the first tool that its answer asked for: call -> tool.

    A tool belongs to the call of its agent that began last before it: an answer is
    not over when its first tool begins. Calls that asked for none are left out.
    """
    begun: dict[str, list[Began]] = defaultdict(list)
    for call in calls:
        begun[call.agent].append(call)
    found: dict[str, str] = {}
    for tool in sorted(tools, key=_when):
        before = [call for call in begun[tool.agent] if call.at <= tool.at]
        if before:
            found.setdefault(max(before, key=_when).name, tool.name)
    return found


def _when(one: Began) -> tuple[datetime, str]:
    return one.at, one.name
