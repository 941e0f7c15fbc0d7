"""What a run has used so far, counted turn by turn."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from guard.budget import ANY_AGENT, Budget, Spent
from guard.pricing import price
from guard.turn import Turn

_REMEMBERED_CALLS = 4096
_REMEMBERED_AGENTS = 256


@dataclass(slots=True)
class _Meter:
    """What one run, or one agent of it, has used."""

    usd: Decimal = field(default_factory=Decimal)
    tokens: int = 0
    calls: int = 0
    turns: int = 0
    failures: int = 0

    def take_outcome(self, turn: Turn, *, failed: bool | None) -> None:
        self.turns += 1
        self.calls += turn.tool is not None
        if failed is not None:
            self.failures = self.failures + 1 if failed else 0

    def take_price(self, tokens: int, usd: Decimal) -> None:
        self.tokens += tokens
        self.usd += usd

    def as_spent(self, **more: Any) -> Spent:
        return Spent(
            usd=self.usd, tokens=self.tokens, calls=self.calls, turns=self.turns,
            failures=self.failures, **more,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A meter that somebody else keeps."""

    spent: Spent


class Tally:
    """Counts what turns used; usage under one `call_id` counts once.

    Calls, turns and failures count when they are done, tokens and dollars when
    they are first told: with the proposal they pay for, before it runs.
    """

    def __init__(self, budget: Budget | None) -> None:
        """Count what this budget looks at: prices cost an import, agents memory."""
        agents = tuple(budget.agents.values()) if budget else ()
        self._prices = any(one is not None and one.usd is not None for one in (budget, *agents))
        self._by_agent = bool(agents)
        self._run = _Meter()
        # Whom a ceiling names is never forgotten; of the others, the last 256 to act.
        self._named = frozenset(budget.agents if budget else ()) - {ANY_AGENT}
        self._agents: OrderedDict[str, _Meter] = OrderedDict()
        self._started_at: datetime | None = None
        self._last_at: datetime | None = None
        self._paid: OrderedDict[str, None] = OrderedDict()

    def forgive_failures(self) -> None:
        """Begin a new row of failures: a person stepped in."""
        for meter in (self._run, *self._agents.values()):
            meter.failures = 0

    def take(self, turn: Turn, *, failed: bool | None) -> None:
        """Count a turn; `failed` is None where the outcome is unknown."""
        if turn.ts is not None:
            self._count_time(turn.ts)
        price_told = self._new_price(turn)
        for meter in self._meters_of(turn):
            if price_told is not None:
                meter.take_price(*price_told)
            if not turn.is_proposed:
                meter.take_outcome(turn, failed=failed)

    @property
    def spent(self) -> Spent:
        """The meter as it stands."""
        seconds = 0.0
        if self._started_at and self._last_at:
            seconds = max(0.0, (self._last_at - self._started_at).total_seconds())
        agents = {name: meter.as_spent() for name, meter in self._agents.items()}
        return self._run.as_spent(seconds=seconds, agents=agents)

    def _meters_of(self, turn: Turn) -> list[_Meter]:
        if not self._by_agent or not turn.agent:
            return [self._run]
        own = self._agents.setdefault(turn.agent, _Meter())
        self._agents.move_to_end(turn.agent)
        if len(self._agents) > _REMEMBERED_AGENTS + len(self._named):
            del self._agents[next(name for name in self._agents if name not in self._named)]
        return [self._run, own]

    def _count_time(self, now: datetime) -> None:
        if now.tzinfo is not None:
            self._started_at = self._started_at or now
            self._last_at = now

    def _new_price(self, turn: Turn) -> tuple[int, Decimal] | None:
        """Give tokens and dollars of a model call that was not counted before."""
        if turn.usage is None and turn.cost_usd is None:
            return None
        paid_as = turn.call_id or turn.key
        if paid_as in self._paid or (paid_as is None and turn.is_proposed):
            return None
        if paid_as is not None:
            self._paid[paid_as] = None
            if len(self._paid) > _REMEMBERED_CALLS:
                self._paid.popitem(last=False)
        return (turn.usage.total if turn.usage else 0), self._cost(turn)

    def _cost(self, turn: Turn) -> Decimal:
        if turn.cost_usd is not None:
            return turn.cost_usd
        if not self._prices or turn.usage is None:
            return Decimal(0)
        found = price(turn.usage, model=turn.model, provider=turn.provider, at=turn.ts)
        return found or Decimal(0)
