"""Runs as History finds and lists them, and shared links, which work for anyone who has one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from missioncontrol.wire.decisions import Resolution
from missioncontrol.wire.runs import RunRow


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRow:
    """Why a run has its status: the last decision about it."""

    kind: str
    """The kind of the card: `exact_repeat`, `budget`, …; empty: no card was opened."""
    summary: str
    resolution: Resolution | None
    """None: the card is open, or there was none."""
    by: str | None
    """Who closed the card, or ended the run without one."""
    message: str | None
    """The message sent to the agent."""
    recovered: bool | None
    """Whether the agent recovered after an autofix; None: not known, or there was no autofix."""
    turns_after: int | None
    """The number of turns after the autofix until that was known."""
    turn: int | None = None
    """`seq` of the last turn that the card is based on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRow:
    """An excerpt that matches a search, and which parts of it match."""

    turn: int | None
    """`seq` of the turn; None: the match is in the run's own texts."""
    field: str
    text: str
    marks: tuple[tuple[int, int], ...]
    """Start and end of each match, in characters (code points) of `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow(RunRow):
    """A run as History lists it."""

    why: WhyRow
    loop_cost_usd: Decimal | None
    """The cost of the turns of its loops; None: no loop, or unpriced."""
    # Only if words are searched for, because finding the excerpt requires reading turns.
    match: MatchRow | None
    """Set if words were searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTotals:
    """Totals over all runs that a search finds."""

    runs: int
    turns: int
    cost_usd: Decimal
    judge_cost_usd: Decimal
    unpriced_runs: int
    flagged: int
    """Runs with a card."""
    loops: int
    """Those of `flagged` whose card somebody answered as a loop."""
    loop_cost_usd: Decimal
    autofixes: int
    recovered: int
    imported: int = 0
    """The number of imported runs."""
    imported_cost_usd: Decimal = Decimal(0)
    """What they cost where they were recorded; no other sum includes it."""
    unpriced_loops: int = 0
    """Cards about a loop of unknown cost; `loop_cost_usd` is the cost of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewRow:
    """A saved search; only the person who saved it sees it."""

    id: UUID
    project: UUID
    name: str
    q: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidRow:
    """The beginning of what a person asked of the agent."""

    text: str
    seq: int | None
    """The turn that contains it; None: it is the goal that the run was opened with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """How many calls of one kind were made."""

    kind: str
    """An action class: `file_edit`, `test_run`, …"""
    count: int
    failed: int
    """Those that reported an error of their own."""
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A file that tool calls changed."""

    path: str
    times: int
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RanTests:
    """How often tests ran, and the result of the last run."""

    runs: int
    failed: int
    last_seq: int
    last_failed: bool
    failures: int | None
    """How many tests failed in the last run; None: its output does not say."""
    last_passed_seq: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """A commit the agent made."""

    seq: int
    text: str
    hash: str
    """Shortened; empty: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a section of a run's turns did."""

    from_seq: int
    to_seq: int
    since: datetime
    """The time of its first turn."""
    calls: tuple[CallCount, ...]
    """Calls that ran, the most frequent kind first."""
    cost_usd: Decimal
    details_from_seq: int
    """The first turn read for files, tests and commits; above `from_seq` in a long run."""
    files: tuple[FileChange, ...]
    """The most recently changed first; may list only some of `file_count`."""
    file_count: int
    tests: RanTests | None
    commits: tuple[CommitRow, ...]
    """Newest first; may list only some of `commit_count`."""
    commit_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRow:
    """A pause by a person: who paused, and when it ends by itself."""

    by: str
    since: datetime
    until: datetime | None
    unanswered: Literal["proceed", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What a run did, derived from its turns without a model. Each statement names a turn."""

    run: UUID
    asked: SaidRow | None
    last_asked: SaidRow | None
    """What was asked last; None: nothing since `asked`."""
    whole: Work | None
    """None: there is no turn yet."""
    last_hour: Work | None
    """The hour before its last turn; None: the run is shorter."""
    last_ten_minutes: Work | None
    """The ten minutes before its last turn; set only if the run is shorter than an hour."""
    why: WhyRow
    paused: PauseRow | None
    """None: the run is not paused, or its open card explains why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStep:
    """A turn of a run that is compared with another run."""

    seq: int
    text: str
    """In one line: "Bash pytest -q"."""
    role: str
    failed: bool
    """Whether it reported an error of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Consecutive turns that both runs have, or only one of them."""

    same: bool
    a: tuple[ComparedStep, ...]
    b: tuple[ComparedStep, ...]
    """As many as in `a` if `same`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The turns of two runs side by side, in their order."""

    a: UUID
    b: UUID
    same: int
    """The number of steps that both runs made in the same order."""
    same_from_start: int
    """The number of steps before they first differ."""
    stretches: tuple[Stretch, ...]
    read_a: int
    """How many turns of `a` were compared, from its first."""
    read_b: int
    more: bool
    """Whether either run has more turns than were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """A shared link; its secret is shown once, to the person who made it."""

    id: UUID
    project: UUID
    kind: Literal["run", "decision", "costs"]
    run: UUID | None
    decision: UUID | None
    week: date | None
    name: str
    """The name of the run; empty for a week's costs."""
    made_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeShare(ShareRow):
    url: str
    """Shown in this answer only. With `image.png` appended, it is the address of the picture."""
    is_local: bool
    """The address can only be reached from this machine."""
