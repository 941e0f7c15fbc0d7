"""What a notice is about, as it is stored, and what people read of it. Pure.

It is a card, or an announcement. It becomes text when it is sent, so that it says how long the
card has waited: short, who did what, what it costs, what happens next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from django.conf import settings
from pydantic import Field, TypeAdapter

from guard.redact import redact
from guard.signals import Kind
from missioncontrol.notify.texts import CATALOGUES, Texts
from missioncontrol.runs import rows
from missioncontrol.runs.models import Run
from missioncontrol.translation import SOURCE, language_of
from missioncontrol.wire.decisions import PERMISSION, DecisionRow, InterventionAction
from missioncontrol.wire.rows import row_of
from missioncontrol.wire.runs import BudgetScope

MAX_TEXT = 500
MAX_CALL = 120
# As much as fits on a lock screen.
MAX_TITLE = 32
MAX_BODY = 200
MAX_INLINE_FIX = 120
# A shorter name says nothing; the title may be a little longer instead.
MIN_NAME = 8
# Arguments of a command that do not change what it does.
HARMLESS_DETAILS = frozenset({"description", "timeout"})
# Control characters, zero-width characters, and those that change the reading direction. Line
# breaks are not included: they become spaces with other white space.
INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u206f\ufeff]"
)
CIRCLING_KINDS = frozenset({Kind.PING_PONG, Kind.K_CYCLE, Kind.HAND_OFFS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A decision that people are asked for."""

    form: Literal["card"] = "card"
    decision: UUID
    run: UUID
    run_name: str
    agent: str
    version: int
    """The run's version when the card opened."""
    kind: str
    holds: bool
    what: str
    """What happened, in one sentence."""
    loop_usd: Decimal | None
    """None: unpriced."""
    cost_usd: Decimal
    unpriced_calls: int
    burn_usd_per_hour: Decimal
    fix: str | None
    """The whole fix: it is never cut. None while the judge has not ruled."""
    long_fix: bool = False
    """There is a fix, but it is too long to be included."""
    scope: BudgetScope | None
    spent: str | None
    ceiling: str | None
    unit: str | None
    asks: str = ""
    """For a permission: the command, file or address; one line, cut if it is long."""
    asks_tool: str = ""
    asks_whole: bool = False
    """`asks` contains everything that is asked for."""
    actions: tuple[InterventionAction, ...]
    opened_at: datetime
    expires_at: datetime | None
    unanswered: Literal["proceed", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """An announcement in another language."""

    title: str
    body: str
    detail: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A notice that asks nothing: a ceiling nearly reached, a report, a test."""

    form: Literal["told"] = "told"
    title: str
    body: str
    detail: str = ""
    """More lines, where there is room: e-mail, chat."""
    html: str = ""
    """The same as a page, for e-mail: styles inline, nothing loaded."""
    path: str = "/"
    """The page on this site that shows it."""
    data: dict[str, Any] | None = None
    """For a program to read."""
    others: dict[str, Translation] = field(default_factory=dict)
    """By language; the fields above are English."""


Content = Annotated[Card | Announcement, Field(discriminator="form")]
_contents: TypeAdapter[Card | Announcement] = TypeAdapter(Content)


def card_of(row: DecisionRow, run: Run, *, at: datetime) -> Card:
    """Return what people are told of a card; texts that an agent may have influenced are masked."""
    # A judge quotes what it read, which may hold a secret.
    fix = redact(row.verdict.fix) if row.verdict and row.verdict.fix else None
    asks, line = row.evidence.asks, ""
    is_whole = False
    if asks is not None:
        line = one_line(asks.text, MAX_CALL)
        # Nobody may allow on a lock screen what is not shown there: a missing detail could be
        # what makes the call harmful.
        is_complete = not asks.cut and asks.details.keys() <= HARMLESS_DETAILS
        is_whole = is_complete and bool(line) and line == asks.text
    meters = rows.meters_row(run, new_points=0, at=at)
    return row_of(
        Card,
        row,
        form="card",
        decision=row.id,
        run_name=one_line(run.name, 100),
        agent=one_line(row.agent, 100),
        what=one_line(row.evidence.summary, MAX_TEXT),
        loop_usd=row.evidence.cost_usd,
        cost_usd=meters.cost_usd + meters.judge_cost_usd,
        unpriced_calls=meters.unpriced_calls,
        burn_usd_per_hour=meters.burn_usd_per_hour,
        # Half a fix could say the opposite of the whole.
        fix=fix if fix and len(fix) <= MAX_TEXT else None,
        long_fix=fix is not None and len(fix) > MAX_TEXT,
        scope=row.evidence.scope,
        spent=row.evidence.spent,
        ceiling=row.evidence.ceiling,
        unit=row.evidence.unit,
        asks=line,
        asks_tool=one_line(asks.tool, 40) if asks else "",
        asks_whole=is_whole,
    )


def one_line(text: str, max_length: int) -> str:
    """Return a text masked, on one line, and cut with an ellipsis.

    Characters that change the reading direction, or are invisible, are removed: they could make
    a name say something else on a lock screen.
    """
    line = " ".join(INVISIBLE.sub("", redact(text)).split())
    return line if len(line) <= max_length else line[: max_length - 1].rstrip() + "…"


def dump(content: Card | Announcement) -> dict[str, Any]:
    """Return content as JSON to store."""
    dumped: dict[str, Any] = _contents.dump_python(content, mode="json")
    return dumped


def load(content: dict[str, Any], *, language: str = SOURCE) -> Card | Announcement:
    """Return stored content; an announcement in a language."""
    message = _contents.validate_python(content)
    if not isinstance(message, Announcement):
        return message
    # None: English, or stored before that language was added.
    translation = message.others.get(language_of(language))
    fields = asdict(translation) if translation else {}
    return replace(message, **fields, others={})


def in_every_language(write: Callable[[Texts], Announcement]) -> Announcement:
    """Return an announcement in all languages; `write` makes it in one."""
    # In all of them, because a recipient may change the language before it is sent.
    by_language = {language: write(texts) for language, texts in CATALOGUES.items()}
    english = by_language.pop(SOURCE)
    others = {language: row_of(Translation, message) for language, message in by_language.items()}
    return replace(english, others=others)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedNotice:
    """A notice as text. `path`: the page on this site where it is answered."""

    title: str
    body: str
    detail: str
    path: str
    needs_answer: bool


def render_notice(
    message: Card | Announcement, t: Texts, *, step_minutes: int = 0, at: datetime
) -> RenderedNotice:
    """Return the text of a notice at a time; a later step says that nobody answered."""
    # An announcement got its text when it was made: its figures must not change later.
    if isinstance(message, Announcement):
        return row_of(RenderedNotice, message, needs_answer=False)
    body = _card_body(message, t)
    if step_minutes:
        length = t.figures.minutes((at - message.opened_at).total_seconds())
        parts = [t.nobody_answered.format(time=length)]
        # A permission cannot be answered without the call; for others, what happens next matters.
        if message.kind == PERMISSION:
            parts.append(body)
        else:
            parts += [_what_happens_next(message, t, at), card_cost(message, t)]
        body = one_line(" ".join(filter(None, parts)), MAX_BODY)
    detail = [t.sentence(message.what), message.asks or card_cost(message, t)]
    if message.agent:
        detail.append(t.agent.format(agent=message.agent))
    if message.fix:
        detail.append(t.suggested_fix.format(fix=one_line(message.fix, MAX_TEXT)))
    elif message.long_fix:
        detail.append(t.read_fix_there)
    detail.append(_what_happens_next(message, t, at))
    return RenderedNotice(
        title=_card_title(message, t, late=step_minutes > 0),
        body=body,
        detail="\n".join(detail),
        path=f"/decisions/{message.decision}",
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
