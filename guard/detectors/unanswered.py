"""Calls of which nobody knows what came back: do they ask for anything new?

A log without results still tells what was asked. Whoever gets on names something
it had not named before: a file, a symbol, a date. Whoever is stuck asks for what
it asked for, in any order and any wording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from guard.detectors.targets import name_other_targets
from guard.nearness import ALIKE
from guard.step import Step

_NEW_NAMES = 0.2
"""So many new names a call, on average, are none."""
_NAMES = 3
"""Calls with fewer names than this, on average, tell nothing: a game's moves."""
_AGAIN = 2
_GAIN = 100
_NUMBER = re.compile(r"\d+")


def asked_in_vain(steps: Sequence[Step], calls: int) -> list[Step]:
    """Give the newest agent's last calls if none of them asks for anything new.

    Args:
        steps: Everything remembered, oldest first; never empty.
        calls: How many calls without known results must ask for nothing new.
    """
    newest = steps[-1]
    if not _is_unanswered(newest):
        return []
    own = [step for step in steps if step.is_call and step.agent == newest.agent]
    row = own[-calls:]
    if len(row) < calls or not all(_is_unanswered(step) for step in row):
        return []
    if sum(len(step.names) for step in row) < _NAMES * calls:
        return []
    return row if _asks_again(own, row) or _rewords(row) else []


def _is_unanswered(step: Step) -> bool:
    return step.is_call and not step.outcome_known and not step.proposed and not step.stays_patient


def _asks_again(own: Sequence[Step], row: Sequence[Step]) -> bool:
    """Nothing is named that was not named before, and some calls are old ones."""
    again = sum(not step.fresh for step in row)
    return again >= _AGAIN and _named_anew(own, row) <= _NEW_NAMES * len(row)


def _rewords(row: Sequence[Step]) -> bool:
    """One call in ever other words, for one thing; where numbers move, it goes on."""
    newest = row[-1]
    if any(step.nearness(newest) < ALIKE or _moves_on(step) for step in row):
        return False
    shapes = {_NUMBER.sub("0", step.request) for step in row}
    return 2 * len(shapes) > len(row) and not name_other_targets(row)


def _named_anew(own: Sequence[Step], row: Sequence[Step]) -> int:
    """Count what the calls of the row name that no call before them did."""
    known = frozenset[str]().union(*(step.names for step in own[: -len(row)]))
    anew = 0
    for step in row:
        anew += _gain(step, known)
        known |= step.names
    return anew


def _gain(step: Step, known: frozenset[str]) -> int:
    if step.edits and step.fresh:
        return _GAIN  # another change may do; only what came of it would tell
    return len(step.names - known) or _moves_on(step)


def _moves_on(step: Step) -> bool:
    """Another page, another part of a file."""
    return step.fresh and any(one.is_place for one in step.arguments.values())
