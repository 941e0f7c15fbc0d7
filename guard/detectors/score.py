"""The stuck score: how sure the attempts of a run make it that nothing moves, in [0, 1].

A sequential test over attempts, in the manner of a CUSUM chart (Page, 1954): an attempt
that is like an earlier one, in what it asks and in what comes back, adds to the score;
what brings something new takes away from it. The weights in `score.json` are fitted to
recorded runs of all sources; how they hold elsewhere is told by fits that leave one
source out at a time (`guard fit` does both).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import NamedTuple

from guard.policy import DEFAULT_POLICY, FITTED_AT, Policy
from guard.reading.normalize import NEAR
from guard.reading.step import Step
from guard.reading.terms import ALIKE, BRIEF, FEW, MANY, likeness

# What an attempt can repeat, and so add to the score.
GAINS = ("same", "again", "near", "still_failing", "reworded", "other_question")
# What it can bring, and so leave of the score.
KEEPS = ("news", "some_news", "new_failure", "better")

# Of these the first counts for two: what it repeats was in vain as well.
_BEGINS = frozenset({"same", "near"})

SCORE_FILE = Path(__file__).with_name("score.json")  # the fitted weights, and how they were found

_USUAL_CALLS = 3  # `repeat.calls` that the weights were fitted beside
_RELATED = 0.3
_SIMILAR = 0.5
# Side by side agents begin alike, each by itself: what a newcomer repeats counts less.
_NEWCOMER = 1
# What each of `GAINS` counts as there.
_ELSEWHERE = ("again", "near", "other_question", "near", "other_question", "")
_ACKNOWLEDGEMENT = 200
_LONG_NAME = 8


class Weight(NamedTuple):
    """What one attempt does to the score: it is first multiplied, then added to."""

    gain: float  # what it adds
    keep: float  # what it leaves of the score before, in [0, 1]
    repeats: str = ""  # which of `GAINS` it is, "" for none
    brings: str = ""  # which of `KEEPS` it is, "" for none
    begins: bool = False  # it is the first to repeat an attempt, at once or nearly


def weight_of(weights: Mapping[str, float], repeats: str, brings: str, *, begins: bool) -> Weight:
    """Return what an attempt does to the score that repeats this and brings that."""
    gain = weights[repeats] if repeats else 0.0
    # The attempt that is repeated was vain as well.
    gain *= 1 + weights["first"] if begins else 1.0
    return Weight(gain, weights[brings] if brings else 1.0, repeats, brings, begins)


@functools.cache
def _fitted(repeats: str, brings: str, *, begins: bool = False) -> Weight:
    return weight_of(fitted_weights(), repeats, brings, begins=begins)


@functools.cache
def fitted_weights() -> Mapping[str, float]:
    """Return the weights that `guard fit` wrote."""
    weights: Mapping[str, float] = json.loads(SCORE_FILE.read_text(encoding="utf-8"))["weights"]
    return weights


def evidence_limit(policy: Policy) -> float:
    """Return the evidence at which this policy asks, where the score reaches its sensitivity.

    Whoever lets a call be repeated more often lets a mixture of repeats as well.
    """
    patience = max(1.0, policy.repeat.calls / _USUAL_CALLS)
    return patience * (math.log(1.0 - policy.sensitivity) / math.log(1.0 - FITTED_AT))


def weighs_tries(policy: Policy) -> bool:
    """Return whether tries that fail alike are weighed alone: no limit for them was raised."""
    mine, usual = astuple(policy.errors), astuple(DEFAULT_POLICY.errors)
    is_raised = any(limit > least for limit, least in zip(mine, usual, strict=True))
    return policy.repeat.calls <= _USUAL_CALLS and not is_raised


def weigh(step: Step, before: Sequence[Step], done: Sequence[Weight]) -> Weight:
    """Weigh the newest attempt beside those `before`, whoever made them, and what they did."""
    # Of plans and ledgers between actions only what comes of the actions counts.
    if not step.is_call or step.nudged or step.proposed or step.thinks:
        return _fitted("", "")
    repeats, earlier = _find_earlier(step, before, done)
    begins = repeats in _BEGINS and earlier is not None and not done[earlier].repeats
    return _fitted(repeats, _find_news(step, before, repeats), begins=begins)


def add_up(weights: Iterable[Weight]) -> float:
    """Return the evidence after the last attempt, from 0; 1 is what weights are fitted to."""
    evidence = 0.0
    for weight in weights:
        evidence = evidence * weight.keep + weight.gain
    return round(evidence, 9)


def stuck_score(evidence: float) -> float:
    """Give evidence as a score in [0, 1): each more of it halves the doubt, and more."""
    return 1.0 - math.pow(1.0 - FITTED_AT, evidence)


def _find_earlier(
    step: Step, before: Sequence[Step], done: Sequence[Weight]
) -> tuple[str, int | None]:
    """Return what a call repeats most closely, and the place of what it repeats."""
    waits = step.patient or (step.stays_patient and not step.failed)
    hands_over = step.hands_over and _is_brief(step)
    # `repeat` counts calls of which nobody knows what came back.
    if step.outcome is None or step.improved or waits or hands_over:
        return "", None
    found: list[tuple[int, int]] = []
    # An action that shows another page moved something; an order in words asks.
    moves = not (step.failed or step.asks or step.runs) and bool(_targets(step))
    places = _places_to_look_at(step, before, moves=moves)
    if not places or step.outcome.has_more or _checks_its_own_edit(step, before):
        return "", None
    for place in reversed(places):
        old = before[place]
        is_again = step.request == old.request
        is_comparable = old.failed is step.failed or step.refers_back
        if is_comparable and (not is_again or _answers_again(step, old, moves=moves)):
            gain = _relate(step, old)
            if gain == "same":
                was_repeated = bool(done[place].repeats)
                gain = _say_same(step, before[place + 1 :], was_repeated=was_repeated)
            if gain and old.agent != step.agent and step.looks_around:
                own = sum(one.agent == step.agent and one.is_call for one in before)
                gain = _ELSEWHERE[GAINS.index(gain)] if own <= _NEWCOMER else gain
            if gain:
                found.append((GAINS.index(gain), -place))
            if is_again and old.agent == step.agent:
                break
        elif is_again and step.failed and not old.failed:
            break  # it worked meanwhile
    rank, place = min(found, default=(None, 0))  # of equals the latest
    return ("", None) if rank is None else (GAINS[rank], -place)


def _places_to_look_at(step: Step, before: Sequence[Step], *, moves: bool) -> list[int]:
    """Return where calls stand that were answered alike, or asked for the same."""
    request, key, failure, size = step.request, step.outcome_key, step.failure, len(step.told)
    # What only says that it was asked before stands for an answer of the same command.
    verb = step.verb if step.refers_back else None
    # Most attempts bring much: for them only the very same answer counts. And of two that are
    # alike neither tells much more than the other; of few words, not one more.
    least = ALIKE if step.news >= FEW else _SIMILAR
    least = 1.0 if _is_brief(step) else 0.0 if step.news >= MANY else least
    least = 0.0 if moves or not size else least
    return [
        place
        for place, old in enumerate(before)
        if old.is_answered
        and (
            old.request == request
            or old.outcome_key == key
            or (failure is not None and old.failure == failure)
            or old.verb == verb
            or (
                least
                and least * size <= len(old.told)
                and least * len(old.told) <= size
                and _is_as_like(step, old, least)
            )
        )
    ]


def _is_as_like(step: Step, old: Step, least: float) -> bool:
    """What came back is at least so like: most often its bits alone rule that out."""
    both = len(step.told) + len(old.told)
    apart = (step.bitmap ^ old.bitmap).bit_count()  # as many terms are, or more
    return (both - apart) / (both + apart) >= least and likeness(step.told, old.told) >= least


def _say_same(step: Step, between: Sequence[Step], *, was_repeated: bool) -> str:
    """Say what the same call with the same answer is, after what stands between them."""
    answered = [old for old in between if old.is_answered]
    if any(old.patient for old in answered):
        return ""
    if any(old.edits and old.acted for old in answered):
        # A check of a new state: green is as it should be, red is one more try.
        return "still_failing" if step.failed else ""
    looked = any(old.fresh or old.request == step.request for old in answered)
    return "again" if looked or (answered and not was_repeated) else "same"


def _checks_its_own_edit(step: Step, before: Sequence[Step]) -> bool:
    """Its agent changed something since it last asked for the same, and all is well."""
    own = (old for old in reversed(before) if old.agent == step.agent and old.is_call)
    for old in own if not step.failed else ():
        if old.request == step.request or (old.edits and old.acted):
            return old.request != step.request
    return False


def _answers_again(step: Step, old: Step, *, moves: bool) -> bool:
    """The same request had the same answer, or nearly: of a failure the same reason."""
    is_same = step.outcome_key == old.outcome_key or (step.failed and step.failure == old.failure)
    is_same = is_same or (step.refers_back and step.verb == old.verb)
    if is_same or moves:
        return is_same
    if _is_brief(step):
        return step.told == old.told and bool(step.told)
    # "… You have one step left": the same answer and a remark.
    return len(step.told & old.told) >= ALIKE * min(len(step.told), len(old.told))


def _relate(step: Step, old: Step) -> str:
    """Say how near what is asked for is to what was asked for before."""
    if step.request == old.request:
        return "same"
    is_short = step.outcome is not None and len(step.outcome.text) <= _ACKNOWLEDGEMENT
    is_batch = step.edits or (is_short and not step.asks and not step.runs)
    if step.runs and step.acted:  # the answer names what this one alone asked for
        is_batch = is_batch or not step.told.isdisjoint(step.names - old.names)
    if is_batch and not step.failed:
        return ""  # equal acknowledgements of different actions
    # Other targets (a page, a path, an id) are told from other words for the same thing.
    if not _is_apart(_targets(step), _targets(old)):
        elsewhere = _is_apart(step.names, old.names)
        if not elsewhere and step.nearness(old) >= NEAR:
            return "near"
        related = bool(step.names) and likeness(step.names, old.names) >= _RELATED
        if related and not (elsewhere and _is_brief(step)):
            return "reworded"
    sought = step.names & old.names if step.is_in_vain and not step.failed else ()
    if any(len(name) >= _LONG_NAME for name in sought):
        return "reworded"  # one thing is looked for by many means, and is not there
    return "other_question" if step.failed or not _is_brief(step) else ""


def _is_brief(step: Step) -> bool:
    """So few words come back that many different questions have them as an answer."""
    return len(step.told) < BRIEF


def _targets(step: Step) -> frozenset[str]:
    """Return the names in arguments that are no prose: what a call is aimed at."""
    return step.arguments.targets if step.runs else step.arguments.aims


def _is_apart(names: frozenset[str], others: frozenset[str]) -> bool:
    """Each names something that the other does not."""
    return not names <= others and not others <= names


def _find_news(step: Step, before: Sequence[Step], repeats: str) -> str:
    """Return what an attempt brings, "" for nothing."""
    if step.improved:
        return "better"
    if repeats or step.outcome is None or step.refers_back:
        return ""
    if step.failed:
        return "" if any(step.failure == old.failure for old in before) else "new_failure"
    if step.news >= MANY:
        return "news"
    last = next((old for old in reversed(before) if old.verb == step.verb), None)
    if last is not None and last.failed:
        return "better"
    return "some_news" if step.news >= FEW else ""
