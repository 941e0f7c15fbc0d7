"""What a notice is about, as it is stored: a card, or an announcement. Pure.

`rendering` turns it into text when it is sent, so that it says how long the card has waited.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from guard.redact import redact
from missioncontrol.notify.texts import CATALOGUES, Texts
from missioncontrol.runs import rows
from missioncontrol.runs.models import Run
from missioncontrol.translation import SOURCE, language_of
from missioncontrol.wire.decisions import DecisionRow, InterventionAction
from missioncontrol.wire.rows import row_of
from missioncontrol.wire.runs import BudgetScope

MAX_TEXT = 500
MAX_CALL = 120
# Arguments of a command that do not change what it does.
HARMLESS_DETAILS = frozenset({"description", "timeout"})
# Control characters, zero-width characters, and those that change the reading direction. Line
# breaks are not included: they become spaces with other white space.
INVISIBLE = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u206f\ufeff]"
)


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
