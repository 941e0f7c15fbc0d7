"""Messages between an agent and the server: one declaration for both ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    """What the server does when a run loops."""

    WARN = "warn"
    FLAG = "flag"
    PAUSE = "pause"
    AUTO = "auto"


class DirectiveAction(StrEnum):
    """What the agent must do now."""

    PROCEED = "proceed"
    HOLD = "hold"
    STOP = "stop"


# Separate from the run's action: one call may be skipped while the run goes on.
class CallAction(StrEnum):
    """What to do with the proposed call that a directive answers."""

    RUN = "run"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """A request for another strategy or a stronger model.

    Attributes:
        reason: What repeated, in one sentence.
        detector: The detector that noticed it.
        kind: The kind of loop.
        repeats: How often it was seen.
        first_error: The first error among the repeats; None: nothing failed.
    """

    reason: str
    detector: str
    kind: str
    repeats: int
    first_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A text for the model; `agent` names the agent it is for, None: any.

    With `escalation` it is more than a text: the host may switch to another model.
    """

    id: str
    text: str
    agent: str | None = None
    escalation: Escalation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What the agent must do now, with messages to add to its context."""

    # Increases with each change of the run; an agent asks for a version newer than the one it has.
    version: int
    action: DirectiveAction
    call: CallAction = CallAction.RUN
    reason: str | None = None
    decision: str | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A turn of a batch that was refused, and why."""

    # Position in the batch: a turn that cannot be read may have no key.
    index: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsReply:
    """The server's answer to posted turns; `judged`: detection has seen them.

    `policy_version` changes when the rules of the run change; None: the run has its own rules.
    """

    accepted: int
    duplicates: int
    refused: tuple[Refusal, ...]
    last_seq: int
    judged: bool
    directive: Directive
    policy_version: int | None = None
