"""The scenarios other projects test their own detectors with: do we agree?

A file holds one project's cases, `{"suite", "note", "cases": [...]}`; a case has its
turns, what that project expects of them, and how far the scenario carries:
`core` (any loop detector should agree), `threshold` (it hangs on the suite's own
limits), `args_only` (no results are told), `suite_specific` (a rule of theirs alone).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from guard.errors import UnreadableRecording
from guard.formats import Recording
from guard.formats.fields import read_turn
from guard.policy import DEFAULT_POLICY, Policy
from guard.replay import replay

# Turns after a suite's own verdict within which a loop must be caught.
LATER = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One scenario: turns, and what its project says of them.

    Attributes:
        portability: How far the scenario carries; see the module.
        stuck: What the project expects.
        at_turn: Where it expects its own alarm, first turn 0; None: anywhere.
    """

    id: str
    portability: str
    recording: Recording
    stuck: bool
    at_turn: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a policy does with a scenario."""

    case: Case
    alarm: int | None

    @property
    def agrees(self) -> bool:
        """Quiet where quiet is expected; else alarmed within `LATER` of the verdict."""
        if not self.case.stuck:
            return self.alarm is None
        if self.alarm is None:
            return False
        # Earlier than the suite's own verdict is fine: its limits are its own.
        return self.case.at_turn is None or self.alarm <= self.case.at_turn + LATER

    def __str__(self) -> str:
        wanted = "quiet" if not self.case.stuck else f"stuck at {self.case.at_turn}"
        got = "quiet" if self.alarm is None else f"alarm at {self.alarm}"
        return f"{self.case.id}: expected {wanted}, {got}"


def read_cases(folder: Path) -> list[Case]:
    """Read every suite of a folder, in alphabetical order.

    Raises:
        UnreadableRecording: the folder holds no scenario, or a broken one.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            for row in json.loads(path.read_text())["cases"]:
                # A turn of no known form stays as None: later ones keep the places that
                # `at_turn` counts.
                turns = tuple(read_turn(turn, seq=seq) for seq, turn in enumerate(row["turns"]))
                case = Case(
                    id=str(row["id"]),
                    portability=str(row["portability"]),
                    recording=Recording(run=str(row["id"]), turns=turns),
                    stuck=row["expected"]["verdict"] != "not_stuck",
                    at_turn=row["expected"]["at_turn"],
                )
                found.append(case)
        # Passed over, a broken suite would leave its cases out of the count unseen.
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnreadableRecording(str(path), "is no suite of scenarios") from error
    if not found:
        raise UnreadableRecording(str(folder), "holds no scenario")
    return found


def rule_on(case: Case, policy: Policy = DEFAULT_POLICY) -> Ruling:
    """Replay a scenario."""
    return Ruling(case=case, alarm=replay(case.recording, policy).first_alarm)


def count_agreement(rulings: Iterable[Ruling]) -> dict[str, dict[str, int]]:
    """Count by portability: how many stuck and quiet cases, and how many agree."""
    counts: dict[str, Counter[str]] = {}
    for ruling in rulings:
        sort = "stuck" if ruling.case.stuck else "quiet"
        row = counts.setdefault(ruling.case.portability, Counter())
        row[sort] += 1
        row[f"{sort}_agree"] += ruling.agrees
    columns = ("stuck", "stuck_agree", "quiet", "quiet_agree")
    return {name: {column: counts[name][column] for column in columns} for name in sorted(counts)}
