"""An iteration whose output is nearly that of a recent one."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from guard.budget import Budget, Spent, amount_text
from guard.detectors.base import Detector, View, signal_of
from guard.policy import Policy
from guard.policy.fields import SHARE, Table, within
from guard.reading.normalize import call_text
from guard.reading.step import Step
from guard.signals import Evidence, Kind, Severity, Signal
from guard.turn import Role, Turn

logger = logging.getLogger(__name__)

# After this many iterations their average time counts too,
SLOW_AFTER = 75
# and may not exceed this, in seconds.
SLOW_S = 300.0

# A ticked box on a line of its own; in arguments a line ends as "\n", written out.
_TICKED_BOX = re.compile(r'(?:^|\n|\\n|")[ \t]*(?:- )?\[x\] TASK_COMPLETE[ \t]*(?:$|\r|\n|\\n|")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Table):
    """When an iteration's output is nearly that of a recent one."""

    window: Annotated[int, within(1, 20), "with how many outputs it is compared"] = 5
    threshold: Annotated[float, SHARE, "the edit ratio from which they are alike"] = 0.9


class Ralph(Detector):
    """End a run that repeats an output or has used its budget.

    After each successful iteration, its output is compared with the last 5: an edit
    ratio (rapidfuzz) of 0.9 with any of them ends the run. Then the limits for the
    next iteration are checked: turns, run time, dollars, consecutive failures. A
    failed iteration is not compared; everything before `- [x] TASK_COMPLETE` is
    forgotten, and the turn that ticks it never trips. Every turn is an iteration: its
    output is what the agent wrote, else what came back. Without rapidfuzz only the
    limits apply.

    Preset `ralph` (100 turns, 4 hours, $10, 5 failures); no judge is asked.
    Source: the safety guard of the Ralph orchestrator, version 1.
    """

    name: ClassVar[str] = "ralph"
    reads_usage: ClassVar[bool] = True  # for the average time of iterations
    kind: ClassVar[Kind] = Kind.SEMANTIC_REPEAT
    reads_raw: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._rule = Rule.read(policy.contrib.get("ralph", {}))
        self._limits = policy.budget
        try:
            from rapidfuzz import fuzz
        # As in the original: without the library, only the limits are checked.
        except ImportError:
            logger.debug("rapidfuzz not installed, skipping loop detection")
            self._ratio: Callable[[str, str], float] | None = None
        else:
            self._ratio = fuzz.ratio

    def examine(self, view: View) -> Signal | None:
        """Check one iteration: first for a repeated output, then the limits of the next one."""
        # In the order of the original: a repeated output ends the run before a limit does.
        if (loop := self._find_loop(view.history.steps)) is not None:
            return loop
        reached = limit_reached(self._limits or Budget(), view.meter.spent)
        if reached is None:
            return None
        unit, summary = reached
        # A run too slow on average has reached no ceiling, so its usage is shown as the ceiling.
        spent, ceiling = getattr(view.meter.spent, unit), getattr(self._limits, unit, None)
        return Signal(
            detector=self.name,
            kind=Kind.BUDGET,
            score=1.0,
            severity=Severity.STOP,
            turns=(view.seq,),
            evidence=Evidence(
                summary=summary,
                spent=amount_text(unit, spent),
                ceiling=amount_text(unit, ceiling or spent),
                unit=unit,
            ),
        )

    def _find_loop(self, steps: Sequence[Step]) -> Signal | None:
        newest = steps[-1]
        can_loop = _succeeded(newest) and output_of(newest) and not is_complete(newest)
        if self._ratio is None or not can_loop:
            return None
        # The last successful iterations before this one, newest first.
        found: list[Step] = []
        for step in reversed(steps[:-1]):
            if len(found) == self._rule.window or is_complete(step):
                break
            if _succeeded(step) and output_of(step):
                found.append(step)
        for earlier in found:
            ratio = self._ratio(output_of(newest), output_of(earlier)) / 100.0
            if ratio >= self._rule.threshold:
                logger.warning("Loop detected: %.1f%% similarity to previous output", ratio * 100)
                logger.warning("Breaking loop due to repetitive agent outputs")
                return signal_of(
                    self.name,
                    self.kind,
                    (earlier, newest),
                    f"Its output is to {ratio:.1%} one it gave shortly before.",
                    limit=2,
                    alike=(round(ratio, 3), self._rule.threshold),
                    severity=Severity.STOP,
                )
        return None


def limit_reached(limits: Budget, spent: Spent) -> tuple[str, str] | None:
    """Return the unit and the reason that forbid the next iteration, checked in this order.

    >>> limit_reached(Budget(turns=100, failures=5), Spent(turns=100, failures=5))
    ('turns', 'It reached the maximum of 100 iterations.')
    """
    if limits.turns is not None and spent.turns >= limits.turns:
        return "turns", f"It reached the maximum of {limits.turns} iterations."
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return "seconds", f"It reached the maximum run time ({spent.seconds / 3600:.1f} hours)."
    if limits.usd is not None and spent.usd >= limits.usd:
        return "usd", f"It reached the maximum cost (${spent.usd:.2f})."
    if limits.failures is not None and spent.failures >= limits.failures:
        return "failures", f"It failed {spent.failures} times in a row."
    if spent.turns > SLOW_AFTER and spent.seconds / spent.turns > SLOW_S:
        return "seconds", "Its iterations take too long on average."
    return None


def output_of(step: Step) -> str:
    """Return an iteration's output: what the agent wrote, else what came back."""
    return step.raw.content or step.raw.result


def is_complete(step: Step) -> bool:
    """Return whether a turn ticks `- [x] TASK_COMPLETE` on a line of its own."""
    return _has_ticked_box(step.raw.content, step.call, step.raw.result)


def ticks_complete(turn: Turn) -> bool:
    """Return whether a turn that has run ticks the box by the agent's own doing.

    >>> ticks_complete(Turn(role=Role.ASSISTANT, content="- [x] TASK_COMPLETE"))
    True
    """
    # The user's order itself contains the box that it asks for.
    if turn.is_proposed or turn.error or turn.role is Role.USER:
        return False
    return _has_ticked_box(
        turn.content or "", call_text(turn) if turn.tool else "", turn.result or ""
    )


def _has_ticked_box(*texts: str) -> bool:
    # Searched as plain text first: the pattern is by far the most expensive part on long answers.
    return any("TASK_COMPLETE" in text and _TICKED_BOX.search(text) for text in texts)


def _succeeded(step: Step) -> bool:
    return not step.proposed and not step.failed and not step.raw.error


DETECTOR = Ralph
