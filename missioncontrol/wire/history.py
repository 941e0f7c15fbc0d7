"""Runs as History finds and lists them, and links that show one thing to whoever has them."""

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
    """Of the card: `exact_repeat`, `budget`, …; empty: no card was opened."""
    summary: str
    resolution: Resolution | None
    """None: the card is open, or there was none."""
    by: str | None
    """Who closed it, or ended the run without a card."""
    message: str | None
    """What was said to the agent."""
    recovered: bool | None
    """Of an autofix: whether the agent went on; None: not known, or there was none."""
    turns_after: int | None
    """Of an autofix: turns until that was known."""
    turn: int | None = None
    """`seq` of the last turn its card rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchRow:
    """An excerpt that matches a search, and which parts of it match."""

    turn: int | None
    """`seq` of the turn; None: it is the run's own text."""
    field: str
    text: str
    marks: tuple[tuple[int, int], ...]
    """From where to where, in characters (code points) of `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow(RunRow):
    """A run as History lists it."""

    why: WhyRow
    loop_cost_usd: Decimal | None
    """What the turns of its loops cost; None: there was none, or they are unpriced."""
    # Only for a search for words: it reads turns, which a list otherwise does not.
    match: MatchRow | None
    """Set where words were searched for."""


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
    """Of those, the runs whose card somebody answered as a loop, not as fine."""
    loop_cost_usd: Decimal
    autofixes: int
    recovered: int
    imported: int = 0
    """Recordings among the runs."""
    imported_cost_usd: Decimal = Decimal(0)
    """What they cost where they were recorded; it is in no other sum."""
    unpriced_loops: int = 0
    """Cards about a loop whose cost nobody told; `loop_cost_usd` is that of the others."""


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
    """The turn that says it; None: the run was opened with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """How many calls of one kind were made."""

    kind: str
    """An action class: `file_edit`, `test_run`, …"""
    count: int
    failed: int
    """Those that told an error of their own."""
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
    """How many tests failed in the last run; None: it does not tell."""
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
    """When its first turn was."""
    calls: tuple[CallCount, ...]
    """Most first; calls that ran."""
    cost_usd: Decimal
    details_from_seq: int
    """Files, tests and commits are told from this turn on: above `from_seq` in a long run."""
    files: tuple[FileChange, ...]
    """The latest changed first, the first of `file_count`."""
    file_count: int
    tests: RanTests | None
    commits: tuple[CommitRow, ...]
    """Newest first, the first of `commit_count`."""
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
    """What was said last; None: nothing since `asked`."""
    whole: Work | None
    """None: there is no turn yet."""
    last_hour: Work | None
    """Up to its last turn; None: the run is younger."""
    last_ten_minutes: Work | None
    """Of a run that is younger than an hour, and not than these."""
    why: WhyRow
    paused: PauseRow | None
    """None: it waits for nobody, or its card says for whom."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedStep:
    """A turn of a run that is compared with another run."""

    seq: int
    text: str
    """In one line: "Bash pytest -q"."""
    role: str
    failed: bool
    """It told an error of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Consecutive turns that both runs have, or only one of them."""

    same: bool
    a: tuple[ComparedStep, ...]
    b: tuple[ComparedStep, ...]
    """As many as `a` where they are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """The turns of two runs side by side, in their order."""

    a: UUID
    b: UUID
    same: int
    """Steps that both made in the same order."""
    same_from_start: int
    """Steps before they part for the first time."""
    stretches: tuple[Stretch, ...]
    read_a: int
    """How many turns of it were compared, from its first."""
    read_b: int
    more: bool
    """One of them has turns beyond those."""


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
    """Of the run; empty: a week's costs."""
    made_by: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeShare(ShareRow):
    url: str
    """Readable in this answer and never again. `image.png` behind it is the picture alone."""
    is_local: bool
    """That address can only be reached from this machine."""
