"""What a step adds to the suspicion that nothing moves, and what it takes away.

The ladder of FINDINGS 3: repetition with nothing gained adds up, news and
success let it fade. Weak evidence alone never trips; a mixture of it does.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from guard.nearness import ALIKE, NEAR
from guard.outcome import Outcome
from guard.similarity import overlap
from guard.step import FEW_TERMS, NEWS, Step
from guard.talk import only_announces

MUCH_NEWS = 0.5
_FAR_BACK = 10
_ACKNOWLEDGEMENT = 200
_HEAD = 400
_SUCCEEDS = re.compile(r"\b(?:success|succeeded|done|saved|applied|ok\b|has been \w+ed)")
_COMPLAINS = re.compile(
    r"please (?:choose|enter|select|provide|specify|use|try|correct|fill)|\b(?:in|not a? ?)valid\b"
    r"|\bmust (?:be|have|contain|match)\b|\b(?:is|are) required\b|\bincorrect\b|\bnot allowed\b"
)
_FAILS = re.compile(r"fail|error")
_SAME_WORDS = 0.8


class Weight(NamedTuple):
    """What one step does to the score: it is first multiplied, then added to."""

    gain: float
    keep: float


NOTHING = Weight(0.0, 1.0)


def weigh(step: Step, before: Sequence[Step], calls: Sequence[Step]) -> Weight:
    """Weigh a step.

    Args:
        step: The newest step.
        before: Those before it, oldest first.
        calls: The calls of its agent among them.
    """
    is_blind = step.is_call and step.outcome is None and step.fresh
    if step.nudged or step.proposed or step.thinks or is_blind:
        return NOTHING
    if not step.is_call:
        return Weight(_weigh_words(step, before), _fade_words(step))
    return Weight(_weigh_call(step, calls), _fade(step, before))


def _fade_words(step: Step) -> float:
    """A page shown in a message is news; an agent's own fresh words hardly are."""
    if step.new_terms > 2 * FEW_TERMS:
        return 0.4 if step.shows else 0.75
    return 0.75 if step.tells_something else 1.0


def _weigh_words(step: Step, before: Sequence[Step]) -> float:
    if only_announces([*before, step]):
        return 0.0
    best = 0.0
    for old in reversed(before):
        answers = old.agent != step.agent and old.tells_something
        if old.progressed if old.is_call else answers:
            break  # whoever hands out work says the same, and something comes of it
        if old.is_call or old.agent != step.agent:
            continue
        if old.request == step.request:
            return 1.0
        if not _tells_anew(step, old) and overlap(old.words, step.words) >= _SAME_WORDS:
            best = 0.7
    return best


def _tells_anew(step: Step, old: Step) -> bool:
    """Tell "file 6 of 14" and a page shown from the same thing said again."""
    anew = step.terms - old.terms
    return step.shows or len(anew) > FEW_TERMS or any(term.isdigit() for term in anew)


def _weigh_call(step: Step, before: Sequence[Step]) -> float:
    """Give the strongest likeness to an earlier call."""
    if step.patient or (step.stays_patient and not step.failed):
        return 0.0
    outcome = step.outcome
    repeats = [] if step.fresh else [old for old in before if old.request == step.request]
    if outcome is None:
        return 0.6 if repeats and not _acted_since(repeats[-1], before) else 0.0
    same = [old for old in repeats if old.outcome_key == outcome.key]
    if same:
        return _weigh_verbatim(step, same, before)
    return _weigh_other(step, outcome, before)


def is_refusal(outcome: Outcome) -> bool:
    """Tell a refusal, in whatever words, by what it is not: brief, or told as a success.

    Only the answer to several deeds can be one: the same for each of them.
    """
    return outcome.is_long and len(outcome.text) > _ACKNOWLEDGEMENT and not _says_done(outcome)


def complains(outcome: Outcome) -> bool:
    """Tell a page or a form that asks for something else: "please enter a valid date"."""
    return _stands_in(_COMPLAINS, outcome.text[:_HEAD])


def _says_done(outcome: Outcome) -> bool:
    return _stands_in(_SUCCEEDS, outcome.text[:_HEAD])


# Asked of the same answers again and again, by the weights and by detectors.
@functools.lru_cache(maxsize=512)
def _stands_in(pattern: re.Pattern[str], head: str) -> bool:
    return pattern.search(head.lower()) is not None


def _is_acknowledged(outcome: Outcome) -> bool:
    """Equal acknowledgements of different deeds are a batch."""
    if len(outcome.text) <= _ACKNOWLEDGEMENT:
        return True
    return _says_done(outcome) and not _stands_in(_FAILS, outcome.text[:_HEAD])


def _weigh_other(step: Step, outcome: Outcome, before: Sequence[Step]) -> float:
    """Weigh a call that was not made before, with this outcome."""
    if outcome.failure is not None:
        return _weigh_failure(step, before)
    if step.news >= NEWS:
        return 0.0
    known = outcome.is_long and outcome.key in [old.outcome_key for old in before]
    if known and (step.asks or not _is_acknowledged(outcome)):
        return 0.7
    if step.asks and _was_asked_alike(step, outcome, before):
        return 0.6
    return 0.3 if outcome.is_long and step.asks else 0.0


def _was_asked_alike(step: Step, outcome: Outcome, before: Sequence[Step]) -> bool:
    """Another question about the same thing, and the same answer."""
    same = [old for old in before if old.outcome_key == outcome.key and old.asks]
    if not same or outcome.has_more:
        return False
    return not all(_is_elsewhere(step, old) for old in same)


def _is_elsewhere(step: Step, old: Step) -> bool:
    """Each names something that the other does not."""
    names, others = step.names, old.names
    return not names <= others and not others <= names


def _weigh_verbatim(step: Step, same: Sequence[Step], before: Sequence[Step]) -> float:
    if _edited_since(same[-1], before):
        # A check of a new state: green is as it should be, red is one more try.
        return 0.8 if step.failed else 0.0
    if len(same) == 1:
        place = next(i for i, old in enumerate(before) if old is same[0])
        if len(before) - place >= _FAR_BACK or (step.asks and not step.failed):
            return 0.5  # looked at again, or tried again after much else
    return 1.0


def _acted_since(old: Step, before: Sequence[Step]) -> bool:
    later = before[next(i for i, step in enumerate(before) if step is old) + 1 :]
    # Nobody knows what came of a new deed: it may be what the repeat looks at.
    return any(step.acted or (step.fresh and not step.asks) for step in later)


def _edited_since(old: Step, before: Sequence[Step]) -> bool:
    for step in reversed(before):
        if step is old:
            return False
        if step.edits and step.acted:
            return True
    return False


def _weigh_failure(step: Step, before: Sequence[Step]) -> float:
    kin = [old for old in before if old.failure == step.failure]
    if kin:
        near = _nearest(step, kin)
        return 0.8 + (0.3 if near >= NEAR else 0.0 if near >= ALIKE else -0.35)
    template = step.outcome.template if step.outcome else None
    same_shape = any(old.outcome and old.outcome.template == template for old in before)
    return 0.4 if template and same_shape else 0.0


def _nearest(step: Step, kin: Sequence[Step]) -> float:
    """Give how near the nearest is to a step; from `NEAR` on, how near one of them is."""
    nearest = 0.0
    for old in reversed(kin):
        if not _is_elsewhere(step, old):
            nearest = max(nearest, step.nearness(old))
        if nearest >= NEAR:
            break
    return nearest


def _fade(step: Step, before: Sequence[Step]) -> float:
    """Give what is left of the score after this step."""
    if step.improved:
        return 0.3
    if step.failed:
        return 1.0 if step.failure in [old.failure for old in before] else 0.8
    if step.news >= MUCH_NEWS:
        return 0.4
    for last in reversed(before):
        if last.verb == step.verb:
            if last.failed:
                return 0.4
            break
    return 0.75 if step.news >= NEWS else 1.0
