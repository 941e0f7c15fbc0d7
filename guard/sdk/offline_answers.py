"""Who answers a call in place of the server while it is away."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from guard.errors import Stopped
from guard.sdk.flow import BlockingCall, Flow
from guard.sdk.forking import import_lock
from guard.sdk.offline import Offline
from guard.turn import Turn

if TYPE_CHECKING:
    from guard.sdk.local import Finding
    from guard.sdk.terminal import Choice

Fail = Literal["open", "closed"]

UNREACHABLE = "Mission Control cannot be reached and this agent may not act without it; not run."
ENDED_BY: Mapping[str, str] = {
    "terminal": "Terminated at the agent's terminal.",
    "policy": "Ended by the policy; Mission Control is away.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """What became of a proposed call.

    Attributes:
        turn: The call as it was proposed.
        run: True: run it. False: do not; `text` is its result.
        text: What the model is told in place of a result, when it did not run.
        messages: Texts to add to the model's context, in order.
    """

    turn: Turn
    run: bool = True
    text: str = ""
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineAnswers:
    """Asks the same engine whether a call may run; reports the decisions later.

    Attributes:
        name: The run's name, as a person at the terminal reads it.
        fail: "closed": no call runs while the server is away.
        asks_person: Whether a person at the terminal may be asked.
    """

    offline: Offline
    name: str
    fail: Fail
    asks_person: bool

    def propose(self, turn: Turn) -> Flow[Go | None]:
        """Decide what becomes of a call; return None if the server is back: ask it instead.

        Raises:
            Stopped: The run is over.
        """
        if self.fail == "closed":
            return Go(turn=turn, run=False, text=UNREACHABLE)
        yield from self._ensure_engine(turn)
        finding = self.offline.check_turn(turn)
        # The server came back in the meantime: it is asked, nothing is kept.
        if not self.offline.queue_turn(turn):
            return None
        if finding is None:
            return Go(turn=turn, messages=self.offline.take_nudges())
        return (yield from self._answer_finding(turn, finding))

    def report(self, turn: Turn) -> Flow[tuple[str, ...] | None]:
        """Keep a turn for later and return messages for the model; None: the server is back."""
        if self.fail == "open":
            yield from self._ensure_engine(turn)
            self.offline.check_turn(turn)
        return self.offline.take_nudges() if self.offline.queue_turn(turn) else None

    def _ensure_engine(self, turn: Turn) -> Flow[None]:
        if not self.offline.is_engine_running:
            yield BlockingCall(function=lambda: self.offline.start_engine(turn))

    def _answer_finding(self, turn: Turn, finding: Finding) -> Flow[Go | None]:
        # Imported here: an agent whose server is never away does not load it.
        with import_lock:
            from guard.describe import headline
            from guard.sdk.terminal import Choice, Question, ask_at_terminal

        if finding.action == "stop":
            return self._apply_choice(turn, finding, Choice(action="terminate"), by="policy")
        # No person is asked: in mode auto the policy itself would have sent the fix.
        if finding.action == "fix":
            fix = Choice(action="inject", message=finding.text)
            return self._apply_choice(turn, finding, fix, by="guard")
        if self.asks_person:
            question = Question(
                run=self.name,
                reason=finding.reason,
                call=headline(turn),
                limit_s=self.offline.rules.hold_limit_s,
            )
            # Abandoned as soon as the server is back: then people answer there.
            asking = partial(ask_at_terminal, question, is_obsolete=lambda: not self.offline.away)
            chosen: Choice | None = yield BlockingCall(function=asking)
            if chosen is not None:
                return self._apply_choice(turn, finding, chosen, by="terminal")
        if not self.offline.away:
            return None
        proceeds = self.offline.rules.unanswered == "proceed"
        silence = Choice(action="continue" if proceeds else "terminate")
        return self._apply_choice(turn, finding, silence, by="policy")

    def _apply_choice(self, turn: Turn, finding: Finding, choice: Choice, *, by: str) -> Go:
        """Do what was chosen, and keep the choice for the server."""
        row = {
            "key": new_key(),
            "action": choice.action,
            "turn": turn.key,
            "by": by,
            "message": choice.message,
            "reason": finding.reason,
            "calls": list(finding.calls),
        }
        # Reported later like a tap: the record must say who let it continue, or ended it.
        self.offline.queue_record({"choice": row})
        with import_lock:
            from guard.engine import Correction

        corrected = Correction(call=turn, turns=finding.signal.turns)
        self.offline.reset_streaks(
            allowed=finding.calls if choice.action == "allowlist" else (),
            corrected=[corrected] if choice.action == "inject" else (),
        )
        if choice.action == "terminate":
            raise Stopped(f"{finding.reason} {ENDED_BY[by]}")
        if choice.action == "inject":
            return Go(turn=turn, run=False, text=choice.message or "")
        return Go(turn=turn)


def new_key() -> str:
    """Return a key that no other turn or run has."""
    return uuid.uuid4().hex
