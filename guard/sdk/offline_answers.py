"""Who answers a call in place of the server while it is away."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from guard.errors import Stopped
from guard.sdk.exchange import Do, Flow
from guard.sdk.forking import importing
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
        asks: Whether a person at the terminal may be asked.
    """

    offline: Offline
    name: str
    fail: Fail
    asks: bool

    def propose(self, turn: Turn) -> Flow[Go | None]:
        """Decide what becomes of a call; return None if the server is back: ask it instead.

        Raises:
            Stopped: The run is over.
        """
        if self.fail == "closed":
            return Go(turn=turn, run=False, text=UNREACHABLE)
        yield from self._watch(turn)
        found = self.offline.look(turn)
        # The server came back in the meantime: it is asked, nothing is kept.
        if not self.offline.keep_turn(turn):
            return None
        if found is None:
            return Go(turn=turn, messages=self.offline.take_nudges())
        return (yield from self._answer(turn, found))

    def report(self, turn: Turn) -> Flow[tuple[str, ...] | None]:
        """Keep a turn for later and return messages for the model; None: the server is back."""
        if self.fail == "open":
            yield from self._watch(turn)
            self.offline.look(turn)
        return self.offline.take_nudges() if self.offline.keep_turn(turn) else None

    def _watch(self, turn: Turn) -> Flow[None]:
        if not self.offline.is_watching:
            yield Do(work=lambda: self.offline.watch(turn))

    def _answer(self, turn: Turn, found: Finding) -> Flow[Go | None]:
        # Imported here: an agent whose server is never away does not load it.
        with importing:
            from guard.describe import headline
            from guard.sdk.terminal import Choice, Question, ask

        if found.action == "stop":
            return self._obey(turn, found, Choice(action="terminate"), by="policy")
        # No person is asked: in mode auto the policy itself would have sent the fix.
        if found.action == "fix":
            fix = Choice(action="inject", message=found.text)
            return self._obey(turn, found, fix, by="guard")
        if self.asks:
            question = Question(
                run=self.name,
                reason=found.reason,
                call=headline(turn),
                limit_s=self.offline.rules.hold_limit_s,
            )
            # Abandoned as soon as the server is back: then people answer there.
            asking = partial(ask, question, unless=lambda: not self.offline.away)
            chosen: Choice | None = yield Do(work=asking)
            if chosen is not None:
                return self._obey(turn, found, chosen, by="terminal")
        if not self.offline.away:
            return None
        proceeds = self.offline.rules.unanswered == "proceed"
        silence = Choice(action="continue" if proceeds else "terminate")
        return self._obey(turn, found, silence, by="policy")

    def _obey(self, turn: Turn, found: Finding, choice: Choice, *, by: str) -> Go:
        """Do what was chosen, and keep the choice for the server."""
        row = {
            "key": new_key(),
            "action": choice.action,
            "turn": turn.key,
            "by": by,
            "message": choice.message,
            "reason": found.reason,
            "calls": list(found.calls),
        }
        # Reported later like a tap: the record must say who let it continue, or ended it.
        self.offline.keep({"choice": row})
        with importing:
            from guard.engine import Correction

        corrected = Correction(call=turn, turns=found.signal.turns)
        self.offline.settle(
            allowed=found.calls if choice.action == "allowlist" else (),
            corrected=[corrected] if choice.action == "inject" else (),
        )
        if choice.action == "terminate":
            raise Stopped(f"{found.reason} {ENDED_BY[by]}")
        if choice.action == "inject":
            return Go(turn=turn, run=False, text=choice.message or "")
        return Go(turn=turn)


def new_key() -> str:
    """Return a key that no other turn or run has."""
    return uuid.uuid4().hex
