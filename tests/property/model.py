"""One run as plain Python: what must follow from each deed, and nothing of how."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.build import NOON

ENDED = {"completed", "failed", "terminated", "lost"}
ON_HOLD = {"holding", "held"}
OFFERED = ("inject", "continue", "allowlist", "terminate")
AT_A_BUDGET = ("allow_budget", "finish", "terminate")
HOLD_LIMIT = timedelta(hours=1)
SILENCE = timedelta(minutes=30)
STILL_WAITING = timedelta(seconds=10)

DIRECTIVES = {
    "running": "proceed",
    "holding": "hold",
    "held": "hold",
    "stopping": "stop",
    "completed": "proceed",
    "failed": "proceed",
    "terminated": "stop",
    "lost": "proceed",
}
"""What the agent is told in each status; every status is named."""


@dataclass
class Card:
    """An open decision. `kind` decides what it offers."""

    id: Any
    kind: str
    holds: bool
    judging: bool


@dataclass
class RunModel:
    """The run a person would describe, told by the deeds alone."""

    unanswered: str = "stop"
    mode: str = "pause"
    status: str = "running"
    version: int = 0
    now: datetime = NOON
    heard_at: datetime = NOON
    waiting_at: datetime | None = None
    hold_expires_at: datetime | None = None
    card: Card | None = None
    phases: dict[str, str] = field(default_factory=dict)
    obs: int = 0
    undelivered: int = 0
    ceiling: int | None = None
    tool_calls: int = 0
    unseen: list[int] = field(default_factory=list)
    last_turn: int | None = None
    """The last turn that is let through, once it was asked to finish."""
    hold_stands: bool = False
    """It ended in a hold, which it comes back to."""
    outlived: Card | None = None
    """The card that closed with the session it was held in."""

    # --- the agent --------------------------------------------------------------------

    def store(self, key: str, phase: str) -> bool:
        """Take a turn; tell whether it was new."""
        self.heard_at = self.now
        known = self.phases.get(key)
        if known in ("done", phase):
            return False
        self.phases[key] = phase
        self.obs += 1
        self.unseen.append(list(self.phases).index(key))
        if self.status in {"completed", "failed", "lost"}:
            self._end_or_come_back("holding" if self.hold_stands else "running")
        return True

    @property
    def directive(self) -> str:
        stands = self.hold_stands and self.status not in {"stopping", "terminated"}
        return "hold" if stands else DIRECTIVES[self.status]

    def report_end(self, status: str) -> None:
        if self.status == "terminated":
            return
        self._end_or_come_back("terminated" if self.status == "stopping" else status)

    def end_session(self) -> None:
        """A goodbye ends what was going on; of a lost run it is the first word since."""
        if self.status not in ENDED or self.status == "lost":
            self.report_end("completed")

    def wait(self) -> None:
        if self.status in ON_HOLD:
            self.status, self.waiting_at = "held", self.now

    # --- detection and judge ----------------------------------------------------------

    def look(self) -> None:
        """A run that was asked to finish is stopped at its third turn since."""
        unseen, self.unseen = self.unseen, []
        if self.hold_stands and self.status in ON_HOLD:
            self.hold_stands = False
            if self.outlived is None:
                self._hold()
        is_over = self.last_turn is not None and max(unseen, default=-1) > self.last_turn
        if is_over and self.status not in ENDED | {"stopping"}:
            self.version += 1
            self._stop()

    def open_card(self, card: Card) -> None:
        self.version += 1
        self.card, self.outlived = card, None
        if card.holds:
            self._hold()

    def close_card(self) -> None:
        self.version += 1
        self.card = None
        self._release()

    # --- a person ---------------------------------------------------------------------

    def refusal(self, action: str, *, version: int | None, decision: Any) -> str | None:
        """Name the error a first tap of this kind must meet."""
        if version is None and action not in {"pause", "terminate"}:
            return "InvalidRequest"
        if version not in (None, self.version):
            return "StaleRun"
        if decision is not None and action not in self._offered():
            return "ActionUnavailable"
        lifts = self.hold_stands and action == "continue"
        if self.status in ENDED and not lifts and action not in {"terminate", "allow_budget"}:
            return "NoSuchMove"
        if action == "allow_budget" and self.ceiling is None:
            return "InvalidRequest"
        names_no_call = self.card is None or self.card.kind == "budget"
        return "InvalidRequest" if action == "allowlist" and names_no_call else None

    def tap(self, action: str) -> None:
        self.version += 1
        if action == "pause":
            self._hold()
            if self.card is not None:
                self.card.holds = True
            return
        self.card = None
        if action == "terminate":
            self._stop()
            return
        if action in {"inject", "finish"}:
            self.undelivered += 1
        if action == "allow_budget" and self.ceiling is not None:
            self.ceiling += 5
        self._release()
        if action == "finish":
            self.last_turn = len(self.phases) + 1

    def set_mode(self, mode: str) -> None:
        if mode != self.mode:
            self.mode = mode
            self.version += 1

    # --- the clock --------------------------------------------------------------------

    def sweep(self) -> None:
        """Give up, expire, lose: in the order of the sweeper."""
        if self.status == "held" and not self._waits():
            self.status = "holding"
        if self.status in ON_HOLD and self._is_over():
            self._expire()
        quiet = self.heard_at < self.now - SILENCE and not self._waits()
        if self.status in {"running", "holding", "stopping"} and quiet:
            self._end_or_come_back("terminated" if self.status == "stopping" else "lost")

    # --- inside -----------------------------------------------------------------------

    def _offered(self) -> tuple[str, ...]:
        budget = self.card is not None and self.card.kind == "budget"
        return (*(AT_A_BUDGET if budget else OFFERED), "pause")

    def _waits(self) -> bool:
        return self.waiting_at is not None and self.waiting_at >= self.now - STILL_WAITING

    def _is_over(self) -> bool:
        return self.hold_expires_at is not None and self.hold_expires_at <= self.now

    def _expire(self) -> None:
        self.version += 1
        self.card = None
        if self.unanswered == "stop":
            self._stop()
        else:
            self._release()

    def _hold(self) -> None:
        if self.status == "running":
            self.status = "holding"
        if self.status in ON_HOLD:
            self.hold_expires_at = self.now + HOLD_LIMIT

    def _release(self) -> None:
        if self.status not in {"stopping", "terminated"}:
            self.hold_stands, self.outlived = False, None
        self.hold_expires_at = self.waiting_at = None
        if self.status not in {"stopping", "terminated"}:
            self.last_turn = None
        if self.status in ON_HOLD:
            self.status = "running"

    def _stop(self) -> None:
        self.hold_expires_at = None
        self.status = "terminated" if self.status in ENDED else "stopping"

    def _end_or_come_back(self, status: str) -> None:
        if status != self.status:
            self.version += 1
        was_on_hold, self.status = self.status in ON_HOLD, status
        if status in ENDED:
            self.hold_stands = self.hold_stands or was_on_hold
            if was_on_hold and self.card is not None:
                self.outlived = self.card if self.card.holds else None
            self.card = self.hold_expires_at = self.waiting_at = None
