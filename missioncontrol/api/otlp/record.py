"""Spans and log records, as every dialect reads them, and what one says of an agent's session."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from guard.pricing import read_dollars
from guard.turn import Turn, Usage

Signal = Literal["traces", "logs", "metrics"]
# A 64-bit number has no more.
MAX_DIGITS = 20
# The column has 200 characters: some callers add a word in front.
MAX_KEY_CHARS = 190


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened inside a span."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A span or a log record; a log record begins and ends at the same time.

    `index` is its position in the request; `name` a span's name or a log record's
    event; `failure` a failed span's message; ids are lower-case hex.
    """

    signal: Signal
    index: int
    name: str
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any] = field(default_factory=dict)
    trace: str = ""
    span: str = ""
    parent: str = ""
    time_ns: int = 0
    began_at: datetime | None = None
    ended_at: datetime | None = None
    failure: str | None = None
    events: tuple[Event, ...] = ()

    @property
    def service(self) -> str:
        """The instrumented program's name; an empty text if it has none."""
        name = self.text("service.name", resource=True)
        # The name that SDKs give to a program without one.
        return "" if name.startswith("unknown_service") else name

    @property
    def key(self) -> str:
        """The key of this record, the same however often it is sent.

        The numbering of a session restarts when Claude Code resumes it, with a new
        prompt: so the prompt is part of the key.
        """
        sequence = self.attributes.get("event.sequence")
        if sequence is not None and self.text("session.id"):
            return fit_key(f"{self.text('session.id')}:{sequence}:{self.text('prompt.id')}")
        # With time and name, because a log record has no id of its own.
        return fit_key(f"{self.trace}:{self.span}:{self.time_ns}:{self.name}")

    def text(self, *names: str, resource: bool = False) -> str:
        """Return the first of these attributes that is a non-empty text."""
        attributes = self.resource if resource else self.attributes
        for name in names:
            value = attributes.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def count(self, *names: str) -> int:
        """Return the first of these attributes that is a whole number, or 0."""
        for name in names:
            value = read_integer(self.attributes.get(name))
            if value is not None:
                return value
        return 0

    def has(self, *names: str) -> bool:
        """Whether any of these attributes is present."""
        return any(name in self.attributes for name in names)


@dataclass(slots=True)
class Batch:
    """Records in the order of the request; `refused` says why, by position."""

    signal: Signal
    records: list[Record] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)

    def refuse(self, index: int, why: str) -> None:
        """Leave out a record and say why."""
        self.refused[index] = why

    @property
    def message(self) -> str:
        """Describe what was refused, the first few by position; empty if nothing was."""
        reasons = [f"record {index}: {why}" for index, why in sorted(self.refused.items())[:5]]
        more = len(self.refused) - len(reasons)
        return "; ".join(reasons) + (f"; and {more} more" if more else "")


def read_integer(value: Any) -> int | None:
    """Read a whole number; agents also send it as a text or a decimal."""
    # Python's `True` is an integer, but not an amount.
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        digits = value.strip()
        return (
            int(digits)
            if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS
            else None
        )
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def fit_key(name: str) -> str:
    """Return a name that fits a column; a longer one ends in its digest."""
    if len(name) <= MAX_KEY_CHARS:
        return name
    # The digest keeps two long names with the same beginning apart.
    return f"{name[: MAX_KEY_CHARS - 33]}~{text_digest(name)}"


def text_digest(text: str) -> str:
    """Return 32 hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


# Services that have an adapter here, with the name that their runs' keys begin with.
CLIENTS = {
    "claude-code": "claude-code",
    "codex": "codex",
    # One program under the names of its releases and modes.
    "codex_cli_rs": "codex",
    "codex_exec": "codex",
    "gemini-cli": "gemini",
    "gemini_cli": "gemini",
}
# The client's name if no service is named.
UNNAMED_CLIENT = "otel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """One model call. In `usage`, `input` excludes what was cached."""

    call_id: str
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    model: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """What one record says of an agent's session.

    Attributes:
        record: The record itself.
        client: The client's name; the first half of the run's key.
        session: The second half; if empty, the session of its trace.
        agent: The agent within the session.
        turns: In order.
        use: A model call's tokens and money.
        prompt: What the person asked, which names the run.
        tool_key: The turn whose tool ran during the record.
        is_unpaired: The tool call has no id: it completes a proposed
            turn of the same tool and arguments, if one waits.
        ends: The session is over.
        failed: It ended badly.
    """

    record: Record
    client: str
    session: str
    agent: str = ""
    turns: tuple[Turn, ...] = ()
    use: ModelUse | None = None
    prompt: str = ""
    # With it, a tool's span is shown beside the turn that asked for it.
    tool_key: str | None = None
    is_unpaired: bool = False
    ends: bool = False
    failed: bool = False

    @property
    def run_key(self) -> str:
        """The key of the session's run."""
        return f"{self.client}:{self.session}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a model's conversation, in whatever form it was recorded."""

    role: str
    text: str = ""
    calls: tuple[ToolRequest, ...] = ()
    answers: tuple[ToolAnswer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A tool call that the model proposed."""

    id: str
    name: str
    args: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """A tool call's result."""

    id: str
    text: str


def client_of(service: str) -> str:
    """Return the client's name, from the service that was instrumented."""
    # Cut, because it is the first half of the run's key.
    return CLIENTS.get(service, service)[:60] or UNNAMED_CLIENT


def usage_with_cached_input(
    *, given: int, output: int, read: int = 0, written: int = 0, reasoning: int = 0
) -> Usage | None:
    """Return the usage of a vendor whose input includes what was cached; None if there is none.

    If the input is less than what was cached, it was reported without it.
    """
    cached = read + written
    usage = Usage(
        input=given - cached if given >= cached else given,
        cache_read=read,
        # Cache writes without a stated tier are 5-minute writes.
        cache_write_5m=written,
        output=output,
        reasoning=reasoning,
    )
    return usage if usage.total else None


def read_cost(*figures: Any) -> Decimal | None:
    """Return the first amount above 0: an agent that knows no price reports 0."""
    amounts = (read_dollars(one) for one in figures)
    return next((amount for amount in amounts if amount), None)
