"""What people read of a notice: short, who did what, what it costs, what happens next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings

from guard.signals import Kind
from missioncontrol.notify.content import MAX_TEXT, Announcement, Card, one_line
from missioncontrol.notify.texts import Texts
from missioncontrol.wire.decisions import PERMISSION
from missioncontrol.wire.rows import row_of

# As much as fits on a lock screen.
MAX_TITLE = 32
MAX_BODY = 200
MAX_INLINE_FIX = 120
# A shorter name says nothing; the title may be a little longer instead.
MIN_NAME = 8
CIRCLING_KINDS = frozenset({Kind.PING_PONG, Kind.K_CYCLE, Kind.HAND_OFFS})


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedNotice:
    """A notice as text. `path`: the page on this site where it is answered."""

    title: str
    body: str
    detail: str
    path: str
    needs_answer: bool


def render_notice(
    content: Card | Announcement, t: Texts, *, step_minutes: int = 0, at: datetime
) -> RenderedNotice:
    """Return the text of a notice at a time; a later step says that nobody answered."""
    # An announcement got its text when it was made: its figures must not change later.
    if isinstance(content, Announcement):
        return row_of(RenderedNotice, content, needs_answer=False)
    body = _card_body(content, t)
    if step_minutes:
        length = t.figures.minutes((at - content.opened_at).total_seconds())
        parts = [t.nobody_answered.format(time=length)]
        # A permission cannot be answered without the call; for others, what happens next matters.
        if content.kind == PERMISSION:
            parts.append(body)
        else:
            parts += [_what_happens_next(content, t, at), card_cost(content, t)]
        body = one_line(" ".join(filter(None, parts)), MAX_BODY)
    detail = [t.sentence(content.what), content.asks or card_cost(content, t)]
    if content.agent:
        detail.append(t.agent.format(agent=content.agent))
    if content.fix:
        detail.append(t.suggested_fix.format(fix=one_line(content.fix, MAX_TEXT)))
    elif content.long_fix:
        detail.append(t.read_fix_there)
    detail.append(_what_happens_next(content, t, at))
    return RenderedNotice(
        title=_card_title(content, t, late=step_minutes > 0),
        body=body,
        detail="\n".join(detail),
        path=f"/decisions/{content.decision}",
        needs_answer=True,
    )


def full_url(path: str) -> str | None:
    """Return a page's full address; None: the public address of this site is not configured."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}" if settings.PUBLIC_URL else None


def near_ceiling_announcement(
    t: Texts, run_name: str, ceiling: Mapping[str, Any], *, burn_usd_per_hour: Decimal, path: str
) -> Announcement:
    """Say that a ceiling is nearly reached: a run's, an agent's, or a shared one."""
    scope, unit = ceiling["scope"], ceiling["unit"]
    spent, limit = ceiling["spent"], ceiling["ceiling"]
    name = {"agent": str(ceiling["whose"])}.get(scope, run_name)
    whose = t.shared.get(scope, "{name}").format(name=name)
    used = (t.used if spent else t.of_all_projects).format(
        spent=spent and t.amount(spent, unit), ceiling=t.amount(limit, unit)
    )
    # One run's rate does not tell when a shared ceiling is reached.
    burns = scope == "run" and bool(burn_usd_per_hour)
    rate = f", {_hourly_rate(burn_usd_per_hour, t)}" if burns else ""
    left = ""
    if unit == "usd" and burns:
        hours = (Decimal(limit) - Decimal(spent)) / burn_usd_per_hour
        left = t.left.format(time=t.figures.minutes(max(float(hours), 0.0) * 3600))
    title = fill_title(t.is_at, whose, share=t.figures.share(ceiling["share"]))
    return Announcement(title=title, body=f"{used}{rate}{left}.", path=path)


def warning_announcement(
    t: Texts, summary: str, *, name: str, kind: str, path: str, cost: str, is_over: bool
) -> Announcement:
    """Say what was seen of a run that has ended, or goes on because its mode only warns."""
    # The rest is room for the surrounding sentence and the cost.
    what = one_line(t.sentence(summary), MAX_BODY - 75)
    title = t.is_over_budget if kind == Kind.BUDGET else _loop_title(kind, t)
    sentence = t.is_over if is_over else t.only_warns
    body = sentence.format(what=what, cost=cost)
    return Announcement(title=fill_title(title, name), body=body, path=path)


def ended_announcement(t: Texts, summary: str, *, name: str, path: str, cost: str) -> Announcement:
    """Say why a policy ended a run: people are told, not asked."""
    what = one_line(t.sentence(summary), MAX_BODY - 75)
    body = t.ended_by_policy.format(what=what, cost=cost)
    return Announcement(title=fill_title(t.was_ended, name), body=body, path=path)


def fill_title(text: str, name: str, **values: str) -> str:
    """Fill in a title, with the name cut so that the whole fits on a lock screen."""
    used = len(text.format(name="", **values))
    return text.format(name=one_line(name, max(MAX_TITLE - used, MIN_NAME)), **values)


def inline_fix(card: Card, t: Texts) -> str:
    """Return a card's fix for a notification: in full, or empty."""
    if not card.fix or len(card.fix) > MAX_INLINE_FIX:
        return ""
    return " " + t.fix.format(fix=card.fix)


def _hourly_rate(burn: Decimal, t: Texts) -> str:
    return t.an_hour.format(usd=t.figures.money(burn))


def card_cost(card: Card, t: Texts) -> str:
    """Say what a card's run has cost."""
    return cost_sentence(card.cost_usd, card.unpriced_calls, t, loop_usd=card.loop_usd)


def cost_sentence(
    cost: Decimal, unpriced_calls: int, t: Texts, *, loop_usd: Decimal | None = None
) -> str:
    """Say in a sentence what a run has cost; unknown costs are a word, never $0."""
    if not cost:
        return t.calls_unpriced if unpriced_calls else t.no_cost
    unpriced = t.unpriced_too.format(n=unpriced_calls) if unpriced_calls else ""
    loop = "" if loop_usd is None else t.in_the_loop.format(usd=t.figures.money(loop_usd))
    return t.in_all.format(loop=loop, usd=t.figures.money(cost), unpriced=unpriced)


def _card_title(card: Card, t: Texts, *, late: bool) -> str:
    if late:
        return fill_title(t.still_held if card.holds else t.still_open, card.run_name)
    if card.kind == PERMISSION:
        return fill_title(t.is_asking, card.run_name)
    if card.kind == Kind.BUDGET:
        return fill_title(
            t.reached, card.run_name, limit=t.amount(card.ceiling or "0", card.unit or "")
        )
    return fill_title(t.is_held if card.holds else _loop_title(card.kind, t), card.run_name)


def _loop_title(kind: str, t: Texts) -> str:
    return t.is_circling if kind in CIRCLING_KINDS else t.is_repeating


def _card_body(card: Card, t: Texts) -> str:
    if card.kind == PERMISSION:
        return one_line(t.may_it.format(tool=card.asks_tool, call=card.asks), MAX_BODY)
    rate = _hourly_rate(card.burn_usd_per_hour, t)
    lead = "" if card.holds else t.still_running.format(rate=rate)
    if card.kind == Kind.BUDGET and card.holds:
        lead = t.held_at[card.scope or "run"]
    lead = f"{lead} " if lead else ""
    what, cost, fix = t.sentence(card.what), card_cost(card, t), inline_fix(card, t)
    # What happened is cut to make room for the cost; the fix is shown in full or not at all.
    room = MAX_BODY - len(lead) - len(cost) - len(fix) - 1
    if room < len(what) and fix and room < 40:  # noqa: PLR2004 - less says nothing
        fix, room = "", room + len(fix)
    return f"{lead}{one_line(what, max(room, 20))} {cost}{fix}"


def _what_happens_next(card: Card, t: Texts, at: datetime) -> str:
    if card.kind == PERMISSION:
        return t.terminal_asks_too
    if card.expires_at is None:
        return t.meanwhile
    left = t.figures.minutes((card.expires_at - at).total_seconds())
    return t.will[card.unanswered].format(time=left)
