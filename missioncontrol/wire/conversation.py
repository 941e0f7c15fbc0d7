"""What people and an agent said to each other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from missioncontrol.wire.decisions import Resolution

MessageState = Literal["queued", "withdrawn", "delivered", "read", "acted_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A text for the agent, and how far it is known to have come."""

    id: UUID
    text: str
    by: str
    """A person's name; "guard" or "auto" where nobody typed it."""
    agent: str | None
    """The only agent of the run that it is for."""
    state: MessageState
    queued_at: datetime
    delivered_at: datetime | None
    """It left in an answer to the agent."""
    read_at: datetime | None
    read_seq: int | None
    """The first turn the model made with it before its eyes."""
    acted_seq: int | None
    """The first turn that names a file, a command or words of it which none before named."""
    key: str | None
    """Of the answer that sent it; None: no person did."""
    undoable: bool
    """It is queued: undoing that answer takes it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsRow:
    """What the agent said: a turn that calls no tool."""

    seq: int
    at: datetime
    agent: str
    text: str
    """Its beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRow:
    """A permission that the agent asked for, settled."""

    decision: UUID
    seq: int | None
    tool: str
    text: str
    resolution: Resolution | None
    by: str | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A run's messages, the agent's words and settled permissions, each oldest first."""

    run: UUID
    messages: tuple[MessageRow, ...]
    words: tuple[WordsRow, ...]
    permissions: tuple[PermissionRow, ...]
    earlier: int
    """Messages before these."""
