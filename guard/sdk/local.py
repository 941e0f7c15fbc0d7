"""The same engine and local judge as the server's, inside the agent's process."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from guard.budget import Spent
from guard.deciding import Action, AllowPattern, Effect, RunState, decide, is_allowed
from guard.engine import Correction, Engine
from guard.judge.nudge import nudge_text
from guard.judge.run_judge import RunJudge
from guard.sdk.rules import Rules
from guard.signals import Signal
from guard.turn import Role, Turn

logger = logging.getLogger("guard")

# Turns that the judge may see; a trip rests on the newest of them.
MAX_REMEMBERED_TURNS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What must be done about a turn, and why.

    Attributes:
        action: "ask": a person decides. "fix": the call is not run, `text` is its
            result. "stop": the policy ends the run.
        signal: What tripped.
    """

    action: Literal["ask", "fix", "stop"]
    signal: Signal
    text: str = ""

    @property
    def reason(self) -> str:
        """What repeats, as one sentence."""
        return self.signal.evidence.summary

    @property
    def calls(self) -> tuple[str, ...]:
        """The repeated calls, which an answer may allow."""
        return self.signal.evidence.calls


class LocalGuard:
    """Watches one run while the server is away.

    Args:
        rules: The last rules that the server sent.
        recent: Turns that the server has seen, oldest first: the streaks continue.
        workspace: Files that exist, for the judge.
        goal: What the run is for.
    """

    def __init__(
        self,
        rules: Rules,
        *,
        recent: Iterable[Turn] = (),
        workspace: Iterable[str] = (),
        goal: str | None = None,
    ) -> None:
        self.rules = rules
        self._engine = Engine(rules.policy)
        self._judge = RunJudge(rules.policy, workspace=tuple(workspace), goal=goal)
        self._allowed = list(rules.allowed)
        self._turns_by_seq: dict[int, Turn] = {}
        self._pending: Finding | None = None
        self._nudges: list[str] = []
        for turn in recent:
            self._observe(turn)
        self._nudges.clear()  # the server has told those

    def check_turn(self, turn: Turn, *, spent: Spent) -> Finding | None:
        """Look at a turn; return None if nothing stands in its way.

        What a completed turn reveals is returned with the next proposed call.

        Args:
            turn: The turn as observed now.
            spent: What the run has used, including this turn.
        """
        finding = self._judge_turn(turn, spent)
        # A person has spoken: this answers what was found before.
        if turn.role is Role.USER:
            self._pending = None
        if turn.is_proposed:
            finding, self._pending = finding or self._pending, None
        else:
            finding, self._pending = None, finding or self._pending
        return finding

    def take_nudges(self) -> tuple[str, ...]:
        """Return the nudges for the model since the last call; each is returned once."""
        taken, self._nudges = tuple(self._nudges), []
        return taken

    def reset_streaks(self, *, corrected: Iterable[Correction] = ()) -> None:
        """Begin all streaks afresh: somebody answered."""
        self._engine.reset(corrected=corrected)
        self._pending = None

    def allow(self, calls: Iterable[str]) -> None:
        """Never ask about these calls again."""
        self._allowed += [AllowPattern(pattern=call) for call in calls]

    def _observe(self, turn: Turn, spent: Spent | None = None) -> Effect | None:
        """Look at a turn and collect its nudges; return what else must be done."""
        assessment = self._engine.observe(turn, spent=spent)
        self._turns_by_seq[assessment.seq] = turn
        while len(self._turns_by_seq) > MAX_REMEMBERED_TURNS:
            del self._turns_by_seq[next(iter(self._turns_by_seq))]
        # No card: there is no server to open one.
        state = RunState(mode=self.rules.mode, fix_failed=self._engine.is_correcting)
        effects = decide(state, assessment, allows=lambda one: is_allowed(one, self._allowed))
        for action, signal in effects:
            if action is Action.NUDGE:
                turns = [
                    self._turns_by_seq[seq] for seq in signal.turns if seq in self._turns_by_seq
                ]
                self._nudges.append(nudge_text(signal, turns))
        return next((one for one in effects if not one.action.is_quiet), None)

    def _judge_turn(self, turn: Turn, spent: Spent) -> Finding | None:
        effect = self._observe(turn, spent)
        if effect is None:
            return None
        action, trip = effect
        verdict = None if action is Action.ALLOW else self._judge.rule_on(trip, self._turns_by_seq)
        if verdict is not None and not verdict.loop:
            why = f"{trip.evidence.summary} No loop: {verdict.reason}"
            logger.info("while Mission Control is away: %s", why)
            action = Action.ALLOW
        # The streaks begin afresh; otherwise the same trip would return at each call.
        if action is Action.ALLOW:
            self.reset_streaks()
            return None
        fix = verdict.fix if verdict else None
        finding = Finding(action="ask", signal=trip)
        if action is Action.STOP:
            return replace(finding, action="stop")
        if action is Action.FIX and fix and turn.is_proposed:
            return replace(finding, action="fix", text=fix)
        if action in {Action.HOLD, Action.FIX}:
            return finding
        # Once in a streak: otherwise it would be said at every turn of the loop.
        if trip.first:
            logger.warning("while Mission Control is away: %s", trip.evidence.summary)
        return None
