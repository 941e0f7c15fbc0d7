"""What a person reads of a notice: short, who did what, what it costs, what comes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from guard.signals import Kind
from missioncontrol.notify.content import Card, Told, bounded

LONGEST_TITLE = 32
LONGEST_BODY = 200
LONGEST_FIX_ON_BUTTON = 120
CIRCLES = frozenset({Kind.PING_PONG, Kind.K_CYCLE, Kind.HAND_OFFS})
FALLBACK = {"proceed": "go on", "stop": "be stopped"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A notice in words. `path`: where it is answered, on this site."""

    title: str
    body: str
    detail: str
    path: str
    needs_answer: bool


def words_of(content: Card | Told, *, step_minutes: int = 0, at: datetime) -> Words:
    """Return what to say at a moment; a later step says that nobody answered."""
    if isinstance(content, Told):
        return Words(
            title=content.title, body=content.body, detail=content.detail, path=content.path,
            needs_answer=False,
        )  # fmt: skip
    body = _late(content, at) if step_minutes else _body(content)
    return Words(
        title=_title(content, late=step_minutes > 0), body=body, detail=_detail(content, at),
        path=f"/decisions/{content.decision}", needs_answer=True,
    )  # fmt: skip


def nearing(
    name: str, *, scope: str, unit: str, spent: str, ceiling: str, share: float,
    burn_usd_per_hour: Decimal, path: str,
) -> Told:  # fmt: skip
    """Say that a ceiling nears its end. `name`: the run's, the agent's, or what it is of."""
    percent = f"{share:.0%}"
    who = bounded(name, LONGEST_TITLE - len(f" is at {percent}"))
    used = f"{amount(spent, unit)} of {amount(ceiling, unit)}"
    rate = f", {money(burn_usd_per_hour)}/h" if scope == "run" and burn_usd_per_hour else ""
    left = _time_left(spent, ceiling, burn_usd_per_hour) if unit == "usd" and rate else ""
    return Told(title=f"{who} is at {percent}", body=f"{used}{rate}{left}.", path=path)


def warned(summary: str, *, name: str, kind: str, path: str, cost: Decimal) -> Told:
    """Say what was seen of a run that goes on: its mode only warns."""
    deed = "is circling" if kind in CIRCLES else "is repeating"
    deed = "is over budget" if kind == Kind.BUDGET else deed
    what = bounded(summary, LONGEST_BODY - 60)
    return Told(
        title=f"{bounded(name, LONGEST_TITLE - len(deed) - 1)} {deed}",
        body=f"It goes on: this run only warns. {what} {money(cost)} in all.", path=path,
    )  # fmt: skip


def amount(text: str, unit: str) -> str:
    """Write an amount of a budget with its unit.

    >>> amount("4.00", "usd"), amount("120000", "tokens")
    ('$4.00', '120,000 tokens')
    """
    value = Decimal(text)
    return money(value) if unit == "usd" else f"{value:,.0f} {unit}"


def _time_left(spent: str, ceiling: str, burn: Decimal) -> str:
    hours = (Decimal(ceiling) - Decimal(spent)) / burn
    return f": about {minutes(max(float(hours), 0.0) * 3600)} left"


def money(amount: Decimal) -> str:
    """Write dollars as the screens do.

    >>> [money(Decimal(text)) for text in ("2.31", "0.004", "1204.4", "0.0001")]
    ['$2.31', '$0.004', '$1,204', '<$0.001']
    """
    if Decimal(0) < amount < Decimal("0.0005"):
        return "<$0.001"
    if Decimal(0) < amount < Decimal("0.01"):
        return f"${amount:.3f}"
    return f"${amount:,.0f}" if amount >= 1000 else f"${amount:.2f}"  # noqa: PLR2004 - LANGUAGE


def cost_of(card: Card) -> str:
    """Say what a run has cost; what has no known price is a word, never $0."""
    if card.unpriced_calls and not card.cost_usd:
        return "Its calls are unpriced."
    unpriced = f", {card.unpriced_calls} calls unpriced" if card.unpriced_calls else ""
    loop = f"{money(card.loop_usd)} in the loop, " if card.loop_usd is not None else ""
    return f"{loop}{money(card.cost_usd)} in all{unpriced}."


def minutes(seconds: float) -> str:
    """Write a length of time in minutes and hours, rounded down.

    >>> [minutes(text) for text in (30, 60, 299, 3600, 5400)]
    ['under a minute', '1 min', '4 min', '1 h', '1 h 30 min']
    """
    whole = int(seconds // 60)
    hours, rest = divmod(whole, 60)
    if whole < 1:
        return "under a minute"
    return " ".join(
        part for part in (f"{hours} h" * bool(hours), f"{rest} min" * bool(rest)) if part
    )


def _title(card: Card, *, late: bool) -> str:
    if late:
        return f"Still {'held' if card.holds else 'open'}: {_name(card, 13)}"
    if card.kind == Kind.BUDGET:
        limit = _limit(card)
        return f"{_name(card, 9 + len(limit))} reached {limit}"
    if card.holds:
        return f"{_name(card, 8)} is held"
    deed = "is circling" if card.kind in CIRCLES else "is repeating"
    return f"{_name(card, len(deed) + 1)} {deed}"


def _name(card: Card, taken: int) -> str:
    return bounded(card.run_name, max(LONGEST_TITLE - taken, 8))


def _limit(card: Card) -> str:
    if card.unit == "usd" and card.ceiling:
        return money(Decimal(card.ceiling))
    return f"{card.ceiling} {card.unit}"


def _body(card: Card) -> str:
    lead = "" if card.holds else f"Still running, {money(card.burn_usd_per_hour)}/h. "
    if card.kind == Kind.BUDGET:
        lead = f"Held at its {card.scope or 'run'} budget. " if card.holds else lead
    cost = cost_of(card)
    fix = f' Fix: "{card.fix}"' if card.fix and len(card.fix) <= LONGEST_FIX_ON_BUTTON else ""
    room = LONGEST_BODY - len(lead) - len(cost) - len(fix) - 1
    if room < len(card.what) and fix and room < 40:  # noqa: PLR2004 - less says nothing
        fix, room = "", room + len(fix)
    return f"{lead}{bounded(card.what, max(room, 20))} {cost}{fix}"


def _late(card: Card, at: datetime) -> str:
    waited = f"Nobody answered for {minutes((at - card.opened_at).total_seconds())}."
    return bounded(
        " ".join(part for part in (waited, _what_comes(card, at), cost_of(card)) if part),
        LONGEST_BODY,
    )


def _what_comes(card: Card, at: datetime) -> str:
    if card.expires_at is None:
        return "It goes on meanwhile."
    left = minutes((card.expires_at - at).total_seconds())
    return f"In {left} it will {FALLBACK[card.unanswered]}."


def _detail(card: Card, at: datetime) -> str:
    lines = [card.what, cost_of(card)]
    if card.agent:
        lines.append(f"Agent: {card.agent}")
    if card.fix:
        lines.append(f"Suggested fix: {card.fix}")
    elif card.long_fix:
        lines.append("There is a suggested fix: read it on the card.")
    lines.append(_what_comes(card, at))
    return "\n".join(lines)
