"""What a detector may see: one step of one agent.

The shape is the API's *Turn*. It is a plain standard-library
dataclass, so that `import guard` stays light inside any agent; edges that need
validation build a pydantic ``TypeAdapter`` over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from guard.nature import ToolNature


class Role(StrEnum):
    """The speaker. A `user` turn resets every streak."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


# Read for every turn; looking up a member on its class costs as much as twenty of these.
USER, ASSISTANT, TOOL, SYSTEM = Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM


class Phase(StrEnum):
    """The phase of a call: before the tool runs, or with its outcome."""

    PROPOSED = "proposed"
    DONE = "done"


PROPOSED = Phase.PROPOSED


class ActionClass(StrEnum):
    """What kind of action a turn is, unless the caller names a class of its own."""

    FILE_EDIT = "file_edit"
    TEST_RUN = "test_run"
    SHELL_EXEC = "shell_exec"
    SEARCH = "search"
    READ = "read"
    MESSAGE = "message"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model call, all counts >= 0.

    `input` excludes cached tokens; `reasoning` is part of `output` where a
    vendor bills it so.
    """

    # Separate counts, because each has its own price.
    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            output=self.output + other.output,
            reasoning=self.reasoning + other.reasoning,
        )

    @property
    def total(self) -> int:
        """Every token counted once; reasoning is inside `output`."""
        cached = self.cache_read + self.cache_write_5m + self.cache_write_1h
        return self.input + cached + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One step of one agent: a tool call with its outcome, or a message.

    A `done` turn with the `key` of a proposed one completes it: one turn, one
    `seq`. `seq` is the reader's numbering (the server's, or the position in a
    file), never the client's. `nature` is what the caller declares about the tool's
    repeats; it takes precedence over the policy's. When `session` differs from that
    of the turns before, everything starts afresh.
    """

    role: Role
    # The caller's own id: a turn that is sent twice is recognised by it.
    key: str | None = None
    agent: str | None = None
    phase: Phase = Phase.DONE
    tool: str | None = None
    args: Mapping[str, Any] | None = None
    content: str | None = None
    result: str | None = None
    error: str | None = None
    files: tuple[str, ...] = ()
    state: str | None = None
    action_class: str | None = None
    # The id of the model call, not of the tool call: the turns of one answer share it and its cost.
    call_id: str | None = None
    model: str | None = None
    provider: str | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    ts: datetime | None = None
    seq: int | None = None
    nature: ToolNature | None = None
    session: str | None = None

    @property
    def is_proposed(self) -> bool:
        """The call has not run yet: no result may be read from this turn."""
        return self.phase is PROPOSED
