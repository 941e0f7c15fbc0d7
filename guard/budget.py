"""Ceilings on what may be used: money, tokens, calls, turns, time, failures."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from guard.errors import PolicyInvalid
from guard.pricing import price
from guard.turn import PROPOSED, Turn

# What can be counted, in the order in which a crossed ceiling is reported.
UNITS = ("usd", "tokens", "calls", "turns", "seconds", "failures")
# From this share of a ceiling on, it is reported as near.
WARN_AT = 0.8
# The highest share shown for a ceiling that is not reached yet.
MAX_UNREACHED_SHARE = 0.999
# What is counted for a single agent of a run; run time is counted for the run alone.
AGENT_UNITS = ("usd", "tokens", "calls", "turns", "failures")
# In a budget's `agents`: every agent that is not named.
ANY_AGENT = "*"
# The bounds of a ceiling; a number outside them is a mistake or an attack.
MIN_AMOUNT, MAX_AMOUNT = Decimal("1e-6"), Decimal("1e15")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run has used so far.

    Attributes:
        usd: Dollars, including the judge's if there is one.
        tokens: Every token, counted once (`Usage.total`).
        calls: Completed tool calls.
        turns: Completed turns.
        seconds: Run time so far.
        failures: Consecutive failures.
        agents: The same for single agents of the run, by name, where counted.
    """

    usd: Decimal = field(default_factory=Decimal)
    tokens: int = 0
    calls: int = 0
    turns: int = 0
    seconds: float = 0.0
    failures: int = 0
    agents: Mapping[str, Spent] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may use at most; None means no ceiling. Ceilings are above 0.

    `agents` holds ceilings of single agents of the run, by name; `*` means every
    agent that is not named. They count what the agent used in this run, except run
    time.

    >>> budget = Budget.from_mapping({"usd": "2.50", "agents": {"critic": {"calls": 30}}})
    >>> budget.usd, budget.of_agent("critic").calls, budget.of_agent("coder")
    (Decimal('2.50'), 30, None)
    """

    usd: Decimal | None = None
    tokens: int | None = None
    calls: int | None = None
    turns: int | None = None
    seconds: float | None = None
    failures: int | None = None
    agents: Mapping[str, Budget] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for unit in UNITS:
            value = getattr(self, unit)
            if value is not None and not value > 0:
                raise PolicyInvalid(f"budget.{unit}", "a number above 0", value)

    @property
    def needs_prices(self) -> bool:
        """Whether any ceiling, of the run or of an agent, is in dollars."""
        return any(one.usd is not None for one in (self, *self.agents.values()))

    def of_agent(self, name: str) -> Budget | None:
        """Return the ceilings of one agent of the run; None: it has none."""
        return self.agents.get(name) or self.agents.get(ANY_AGENT)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, path: str = "budget") -> Budget:
        """Read a budget from JSON; money may be a number or a decimal string.

        Raises:
            PolicyInvalid: it is no table, or a field is unknown, not a number, or not above 0.
        """
        if not isinstance(mapping, Mapping):
            raise PolicyInvalid(path or "budget", "a table of ceilings", mapping)
        known, start = (*UNITS, "agents"), f"{path}." if path else ""
        for name in mapping:
            # Ignoring it would leave no ceiling at all where its name is misspelt.
            if name not in known:
                raise PolicyInvalid(f"{start}{name}", f"one of {', '.join(sorted(known))}", name)
        amounts: dict[str, Any] = {
            unit: _read_amount(unit, mapping[unit], start) for unit in UNITS if unit in mapping
        }
        return cls(**amounts, agents=_read_agents(mapping.get("agents"), f"{start}agents"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """A ceiling that is reached or near, in words a card can show.

    `share` is the used share, in [0, 1]; 1.0 is reached. `agent` names whose ceiling it
    is; None: the whole run's.
    """

    unit: str
    spent: str
    ceiling: str
    share: float = 1.0
    agent: str | None = None

    @property
    def reached(self) -> bool:
        """Nothing is left below the ceiling."""
        return self.share >= 1.0


def nearest(budget: Budget | None, spent: Spent, *, agent: str = "") -> Crossing | None:
    """Return the ceiling to report: a reached one, else the tightest from 80 % on.

    Args:
        budget: What a run may use.
        spent: What it has used.
        agent: Who acts now; its own ceilings in the run count too.

    >>> nearest(Budget(calls=10, turns=100), Spent(calls=9, turns=9)).share
    0.9
    >>> nearest(Budget(calls=10), Spent(calls=7)) is None
    True
    """
    own = budget.of_agent(agent) if budget is not None and agent else None
    found = [
        *_compare_with_ceilings(budget, spent),
        *_compare_with_ceilings(own, spent.agents.get(agent, Spent()), agent),
    ]
    reached = next((one for one in found if one.reached), None)
    # A reached ceiling comes first, even if another is tighter: it is the reason to stop.
    if reached is not None:
        return reached
    near = max(found, key=lambda one: one.share, default=None)
    return near if near is not None and near.share >= WARN_AT else None


def _compare_with_ceilings(
    budget: Budget | None, spent: Spent, agent: str | None = None
) -> Iterator[Crossing]:
    if budget is None:
        return
    for unit in UNITS:
        limit, used = getattr(budget, unit), getattr(spent, unit)
        if limit is not None:
            # Compared as decimals: a sum just under its ceiling may equal it as a float.
            share = 1.0 if used >= limit else min(float(used) / float(limit), MAX_UNREACHED_SHARE)
            yield Crossing(
                unit=unit,
                spent=amount_text(unit, used),
                ceiling=amount_text(unit, limit),
                share=share,
                agent=agent,
            )


def _read_agents(mapping: object, path: str) -> dict[str, Budget]:
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise PolicyInvalid(path, "a table of agents", mapping)
    budgets = {}
    for name, ceilings in mapping.items():
        own_path = f"{path}.{name}"
        budgets[str(name)] = Budget.from_mapping(ceilings, path=own_path)
        for unit, value in ceilings.items():
            # A unit without a value sets no ceiling, so there is nothing to refuse.
            if value and unit not in AGENT_UNITS:
                units = ", ".join(sorted(AGENT_UNITS))
                raise PolicyInvalid(f"{own_path}.{unit}", f"one of {units}", unit)
    return budgets


def _read_amount(name: str, value: object, start: str) -> Decimal | int | float | None:
    if value is None:
        return None
    # bool is an int, but "usd": true is not an amount.
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise PolicyInvalid(f"{start}{name}", "a number above 0", value)
    try:
        # Converted as text: the float 0.1 is a little more than ten cents.
        number = Decimal(str(value))
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or not MIN_AMOUNT <= number <= MAX_AMOUNT:
        raise PolicyInvalid(f"{start}{name}", "a number above 0, at most 1e15", value)
    if name == "usd":
        return number
    if name == "seconds":
        return float(number)
    if number != int(number):
        raise PolicyInvalid(f"{start}{name}", "a whole number above 0", value)
    return int(number)


def amount_text(unit: str, value: Decimal | float) -> str:
    """Format an amount as cards show it: dollars with cents, other units whole.

    >>> amount_text("usd", Decimal("2.5")), amount_text("seconds", 14_400.371286)
    ('2.50', '14400')
    """
    if unit == "usd":
        # With two places, less than a cent would read 0.00, as if nothing were spent.
        return f"{value:.2f}" if value >= Decimal("0.01") else f"{value}"
    return f"{value:.0f}"


# A run may last for weeks, so what is remembered of it is bounded.
_MAX_CALLS = 4096
_MAX_AGENTS = 256


@dataclass(slots=True)
class _Counts:
    """What one run, or one agent of it, has used."""

    usd: Decimal = field(default_factory=Decimal)
    tokens: int = 0
    calls: int = 0
    turns: int = 0
    failures: int = 0

    def as_spent(self, **more: Any) -> Spent:
        return Spent(
            usd=self.usd,
            tokens=self.tokens,
            calls=self.calls,
            turns=self.turns,
            failures=self.failures,
            **more,
        )


@dataclass(frozen=True, slots=True)
class KnownUsage:
    """A meter with totals that the caller counts."""

    spent: Spent


class UsageMeter:
    """Counts what turns use; usage under one `call_id` counts once.

    Calls, turns and failures count when they are done, tokens and dollars when they
    are first reported: with the proposal that they paid for, before it runs.
    """

    def __init__(self, budget: Budget | None, *, prices_later: bool = False) -> None:
        """Count only what this budget needs: prices cost an import, agents cost memory.

        Args:
            budget: The ceilings that the figures are compared with; None: there are none.
            prices_later: No call is priced before `price_calls`.
        """
        agents = tuple(budget.agents.values()) if budget else ()
        self._prices = not prices_later and budget is not None and budget.needs_prices
        self._unpriced: deque[Turn] | None = deque(maxlen=_MAX_CALLS) if prices_later else None
        self._by_agent = bool(agents)
        self._run = _Counts()
        # Agents named by a ceiling are never forgotten; of the others, the last 256 are kept.
        self._named = frozenset(budget.agents if budget else ()) - {ANY_AGENT}
        self._agents: OrderedDict[str, _Counts] = OrderedDict()
        self._started_at: datetime | None = None
        self._last_at: datetime | None = None
        self._paid: OrderedDict[str, None] = OrderedDict()

    def reset_failures(self) -> None:
        """Count consecutive failures from 0 again: a person stepped in."""
        for meter in (self._run, *self._agents.values()):
            meter.failures = 0

    def price_calls(self) -> None:
        """Price the calls that wait for it, and from now on each call as it comes."""
        waiting, self._unpriced, self._prices = self._unpriced or (), None, True
        for call in waiting:
            cost = _list_price(call)
            self._run.usd += cost
            if (own := self._agents.get(call.agent or "")) is not None:
                own.usd += cost

    def take(self, turn: Turn, *, failed: bool | None) -> None:
        """Count a turn; `failed` is None where the outcome is unknown."""
        # A time without a zone cannot be subtracted from one with a zone.
        if turn.ts is not None and turn.ts.tzinfo is not None:
            self._started_at = self._started_at or turn.ts
            self._last_at = turn.ts
        new_price = self._new_usage(turn)
        if not self._by_agent or not turn.agent:
            meters = [self._run]
        else:
            own = self._agents.setdefault(turn.agent, _Counts())
            self._agents.move_to_end(turn.agent)
            if len(self._agents) > _MAX_AGENTS + len(self._named):
                del self._agents[next(name for name in self._agents if name not in self._named)]
            meters = [self._run, own]
        for meter in meters:
            if new_price is not None:
                meter.tokens += new_price[0]
                meter.usd += new_price[1]
            if turn.phase is not PROPOSED:
                meter.turns += 1
                meter.calls += turn.tool is not None
                # An unknown outcome neither ends nor extends a row of failures.
                if failed is not None:
                    meter.failures = meter.failures + 1 if failed else 0

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        seconds = 0.0
        if self._started_at and self._last_at:
            # The times are the agent's, whose clock may be set back during a run.
            seconds = max(0.0, (self._last_at - self._started_at).total_seconds())
        agents = {name: meter.as_spent() for name, meter in self._agents.items()}
        return self._run.as_spent(seconds=seconds, agents=agents)

    def _new_usage(self, turn: Turn) -> tuple[int, Decimal] | None:
        """Return tokens and dollars of a model call that was not counted before."""
        if turn.usage is None and turn.cost_usd is None:
            return None
        paid_as = turn.call_id or turn.key
        # Without an id, a proposal cannot be matched with its completion, which has the same usage.
        if paid_as in self._paid or (paid_as is None and turn.is_proposed):
            return None
        if paid_as is not None:
            self._paid[paid_as] = None
            if len(self._paid) > _MAX_CALLS:
                self._paid.popitem(last=False)
        if turn.cost_usd is not None:
            cost = turn.cost_usd
        elif self._prices:
            cost = _list_price(turn)
        else:
            cost = Decimal(0)
            if self._unpriced is not None:
                # Only what its price depends on: the texts of the turn may be long.
                self._unpriced.append(
                    Turn(
                        role=turn.role,
                        agent=turn.agent,
                        model=turn.model,
                        provider=turn.provider,
                        usage=turn.usage,
                        ts=turn.ts,
                    )
                )
        return (turn.usage.total if turn.usage else 0), cost


def _list_price(turn: Turn) -> Decimal:
    if turn.usage is None:
        return Decimal(0)
    found = price(turn.usage, model=turn.model, provider=turn.provider, at=turn.ts)
    return found or Decimal(0)
