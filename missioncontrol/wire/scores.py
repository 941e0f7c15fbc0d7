"""Why a run's stuck score moved at a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

PartKind = Literal[
    "same",
    "again",
    "near",
    "still_failing",
    "reworded",
    "other_question",
    "news",
    "some_news",
    "new_failure",
    "better",
    "rule",
    "reset",
    "other",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePart:
    """One reason for a move of the score."""

    kind: PartKind
    """What the turn repeats or brings; `rule`: a rule counts it; `reset`: a person stepped
    in; `other`: old turns are no longer looked at."""
    amount: float
    """What it adds to the score; below 0: takes from it."""
    turns: tuple[int, ...]
    """The earlier turns it rests on."""
    rule: str | None
    repeats: int | None
    limit: int | None
    """Of a rule: its kind, and how many repeats it counted of those at which it asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreMove:
    """How the stuck score moved at a turn, in parts that add up."""

    run: UUID
    seq: int
    score: float
    """The stuck score after the turn, in [0, 1]."""
    before: float
    asks_from: float | None
    """From which score the run's policy asks; None: it does not ask by the score."""
    parts: tuple[ScorePart, ...]
    changed_seq: int | None
    """The last turn before it in which something really changed."""
    is_as_recorded: bool
    """The engine says what it said at the time; False: the policy, or what it had seen, differs."""
