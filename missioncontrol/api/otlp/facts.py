"""What a record tells of an agent's session, in our own words."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from guard.formats.fields import read_money
from guard.turn import Turn, Usage

# Services that have adapters of ours, by the name their runs' keys begin with.
CLIENTS = {
    "claude-code": "claude-code",
    "codex": "codex",
    # One program under the names its releases and its modes give themselves.
    "codex_cli_rs": "codex",
    "codex_exec": "codex",
    "gemini-cli": "gemini",
    "gemini_cli": "gemini",
}
# Who speaks where no service is named.
NAMELESS = "otel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """One model call. `usage` is in our words: `input` excludes what was cached."""

    call_id: str
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    model: str = ""
    provider: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFacts:
    """What one record tells.

    Attributes:
        client: Who speaks; the first half of the run's key.
        session: The second half; empty: whatever else its trace belongs to.
        agent: Who of the session's agents.
        turns: In order.
        use: A model call's tokens and money.
        prompt: What the person asked, which names the run.
        tool_key: The turn whose tool ran in the record's time.
        unpaired: The tool call came without its id: it completes a proposed
            turn of the same tool and arguments, if one waits.
        ends: The session is over.
        failed: It ended badly.
    """

    client: str
    session: str
    agent: str = ""
    turns: tuple[Turn, ...] = ()
    use: ModelUse | None = None
    prompt: str = ""
    # By it a tool's span is shown beside the turn that asked for it.
    tool_key: str | None = None
    unpaired: bool = False
    ends: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """One message of a model's conversation, whichever way it was written down."""

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
    """What a tool call came back with."""

    id: str
    text: str


def client_of(service: str) -> str:
    """Name who speaks, by the service that was instrumented."""
    # Cut: it is the first half of the run's key.
    return CLIENTS.get(service, service)[:60] or NAMELESS


def inclusive(
    *, given: int, output: int, read: int = 0, written: int = 0, reasoning: int = 0
) -> Usage | None:
    """Return usage of a vendor whose input includes what was cached; None: nothing told.

    Where it is less than what was cached, it was told without it.
    """
    cached = read + written
    usage = Usage(
        input=given - cached if given >= cached else given,
        cache_read=read,
        # Cache writes of no stated tier are 5-minute writes.
        cache_write_5m=written,
        output=output,
        reasoning=reasoning,
    )
    return usage if usage.total else None


def dollars(*figures: Any) -> Decimal | None:
    """Return the first figure above 0: an agent that knows no price says 0."""
    amounts = (read_money(one) for one in figures)
    return next((amount for amount in amounts if amount), None)
