"""The stuck score: how sure the attempts of a run make it that nothing moves, in [0, 1).

It is a sequential test over attempts, like a CUSUM chart (Page, 1954): an attempt that resembles an
earlier one, in its request and its outcome, adds to the score; an attempt that brings something new
reduces it. The weights in `score.json` are fitted to recorded runs of all sources; fits that leave
out one source at a time show how they generalise (`guard fit` does both).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from guard.policy import DEFAULT_POLICY, FITTED_AT, Policy
from guard.reading.normalize import NEAR_EQUAL
from guard.reading.outcome import Outcome
from guard.reading.step import Step
from guard.reading.terms import BRIEF_ANSWER, FEW_NEW, MANY_NEW, SIMILAR, jaccard

# What an attempt can repeat; it adds to the score.
GAINS = ("same", "again", "near", "still_failing", "reworded", "other_question")
# What an attempt can bring; it reduces the score.
KEEPS = ("news", "some_news", "new_failure", "better")

# The first of these counts double: the attempt that it repeats was in vain as well.
_FIRST_REPEATS = frozenset({"same", "near"})

SCORE_FILE = Path(__file__).with_name("score.json")  # the fitted weights, and how they were found

_FITTED_CALLS = 3  # the `repeat.calls` for which the weights were fitted
_MIN_RELATED, _LOOSELY_SIMILAR = 0.3, 0.5
# Agents that work side by side begin alike: what a newcomer repeats of others counts less.
_NEWCOMER_CALLS = 1
# What each of `GAINS` counts as in that case.
_NEWCOMER_GAINS = ("again", "near", "other_question", "near", "other_question", "")
_MAX_ACKNOWLEDGEMENT = 200
_MIN_LONG_NAME = 8


@dataclass(frozen=True, slots=True)
class Weight:
    """What one attempt does to the score, which is first multiplied and then added to."""

    gain: float  # what it adds
    keep: float  # the share of the score that it leaves, in [0, 1]
    repeats: str = ""  # one of `GAINS`, or ""
    brings: str = ""  # one of `KEEPS`, or ""
    begins: bool = False  # it is the first to repeat an attempt, exactly or nearly


def weight_of(weights: Mapping[str, float], repeats: str, brings: str, *, begins: bool) -> Weight:
    """Return the weight of an attempt that repeats and brings these."""
    gain = weights[repeats] if repeats else 0.0
    # The attempt that it repeats was in vain as well.
    gain *= 1 + weights["first"] if begins else 1.0
    return Weight(gain, weights[brings] if brings else 1.0, repeats, brings, begins)


@functools.cache
def _fitted_weight(repeats: str, brings: str, *, begins: bool = False) -> Weight:
    return weight_of(fitted_weights(), repeats, brings, begins=begins)


@functools.cache
def fitted_weights() -> Mapping[str, float]:
    """Return the weights that `guard fit` wrote."""
    weights: Mapping[str, float] = json.loads(SCORE_FILE.read_text(encoding="utf-8"))["weights"]
    return weights


def evidence_limit(policy: Policy) -> float:
    """Return the evidence at which the score reaches this policy's sensitivity.

    A policy that allows more repeats of a call allows more of a mixture, too.
    """
    patience = max(1.0, policy.repeat.calls / _FITTED_CALLS)
    return patience * (math.log(1.0 - policy.sensitivity) / math.log(1.0 - FITTED_AT))


def weighs_tries(policy: Policy) -> bool:
    """Return whether tries that fail alike are weighed alone: only if no limit was raised."""
    mine, usual = astuple(policy.errors), astuple(DEFAULT_POLICY.errors)
    is_raised = any(limit > least for limit, least in zip(mine, usual, strict=True))
    return policy.repeat.calls <= _FITTED_CALLS and not is_raised


def weigh_step(step: Step, before: Sequence[Step], done: Sequence[Weight]) -> Weight:
    """Weigh the newest attempt against those `before`, by any agent, with their weights `done`."""
    # Plans and notes between actions do not count, only the outcomes of the actions.
    if not step.is_call or step.after_nudge or step.proposed or step.thinks:
        return _fitted_weight("", "")
    repeats, earlier = _find_repeated(step, before, done)
    begins = repeats in _FIRST_REPEATS and earlier is not None and not done[earlier].repeats
    return _fitted_weight(repeats, _find_news(step, before, repeats), begins=begins)


def sum_evidence(weights: Iterable[Weight]) -> float:
    """Return the evidence after the last attempt; it starts at 0, and weights are fitted to 1."""
    evidence = 0.0
    for weight in weights:
        evidence = evidence * weight.keep + weight.gain
    return round(evidence, 9)


def stuck_score(evidence: float) -> float:
    """Return evidence as a score in [0, 1): each unit leaves a fifth of the doubt."""
    return 1.0 - math.pow(1.0 - FITTED_AT, evidence)


def _find_repeated(
    step: Step, before: Sequence[Step], done: Sequence[Weight]
) -> tuple[str, int | None]:
    """Return what a call repeats most closely, and the place of the repeated call."""
    waits = step.needs_time or (step.may_repeat and not step.failed)
    hands_over = step.hands_over and _is_brief(step)
    # Calls with an unknown outcome are counted by `repeat`.
    if step.outcome is None or step.improved or waits or hands_over:
        return "", None
    found = _find_gains(step, step.outcome, before, done)
    if not found or step.outcome.has_more or _checks_its_own_edit(step, before):
        return "", None
    rank, place = min(found)  # among equals, the latest
    return GAINS[rank], -place


def _find_gains(
    step: Step, outcome: Outcome, before: Sequence[Step], done: Sequence[Weight]
) -> list[tuple[int, int]]:
    """Return the ranks in `GAINS` of all that a call repeats, each with its place, negated."""
    found: list[tuple[int, int]] = []
    # An action that shows another page moved something; an instruction in words only asks.
    moves = not (step.failed or step.is_question or step.runs_code) and bool(_targets(step))
    # Equal acknowledgements of different actions are a batch.
    is_short = len(outcome.text) <= _MAX_ACKNOWLEDGEMENT
    is_act = step.is_edit or (is_short and not step.is_question and not step.runs_code)
    is_batch, least = is_act and not step.failed, 0.0 if moves else _least_similarity(step)
    request, failed, refers_back = step.request, step.failed, step.refers_back
    for place in range(len(before) - 1, -1, -1):
        old = before[place]
        if not old.is_answered:
            continue
        is_again = old.request == request
        is_alike = old.failed is failed or refers_back
        if is_alike and is_again:
            is_alike = _has_same_answer(step, old, moves=moves)
        elif is_alike:
            is_alike = not is_batch and _has_similar_answer(step, old, least)
        if is_alike:
            if gain := _compare(step, place, before, done):
                found.append((GAINS.index(gain), -place))
            if is_again and old.agent == step.agent:
                break
        elif is_again and failed and not old.failed:
            break  # it worked in between
    return found


def _compare(step: Step, place: int, before: Sequence[Step], done: Sequence[Weight]) -> str:
    """Return what a call is to the one at this place, which had the same or a similar answer."""
    old, was_repeated = before[place], bool(done[place].repeats)
    if (gain := _compare_requests(step, old)) == "same":
        gain = _classify_same(step, before[place + 1 :], was_repeated=was_repeated)
    if gain and old.agent != step.agent and step.explores:
        own = sum(one.agent == step.agent and one.is_call for one in before)
        gain = _NEWCOMER_GAINS[GAINS.index(gain)] if own <= _NEWCOMER_CALLS else gain
    return gain


def _least_similarity(step: Step) -> float:
    """Return how alike the answer to another request must be; 0: only an equal one counts."""
    # Most attempts bring much: for those, only an equal answer counts.
    if not step.answer_terms or (step.news >= MANY_NEW and not _is_brief(step)):
        return 0.0
    return 1.0 if _is_brief(step) else SIMILAR if step.news >= FEW_NEW else _LOOSELY_SIMILAR


def _has_similar_answer(step: Step, old: Step, least: float) -> bool:
    """Return whether another request had the same answer, or one that is at least this alike."""
    is_same_failure = step.failure is not None and step.failure == old.failure
    if step.outcome_key == old.outcome_key or is_same_failure:
        return True
    # An answer that only says the call was made before stands for an answer of the same command.
    if step.refers_back and step.verb == old.verb:
        return True
    terms, others = step.answer_terms, old.answer_terms
    # Of two similar answers, neither has many more terms than the other.
    if not least or least * len(terms) > len(others) or least * len(others) > len(terms):
        return False
    return jaccard(terms, others) >= least


def _classify_same(step: Step, between: Sequence[Step], *, was_repeated: bool) -> str:
    """Return what an equal call with an equal answer counts as, given the steps in between."""
    answered = [old for old in between if old.is_answered]
    if any(old.needs_time for old in answered):
        return ""
    if any(old.is_edit and old.had_effect for old in answered):
        # A check of a new state: success is expected, and failure is one more try.
        return "still_failing" if step.failed else ""
    looked = any(old.is_new or old.request == step.request for old in answered)
    return "again" if looked or (answered and not was_repeated) else "same"


def _checks_its_own_edit(step: Step, before: Sequence[Step]) -> bool:
    """Return whether its agent changed something since the last equal request, with success."""
    for old in reversed(before) if not step.failed else ():
        is_own = old.agent == step.agent and old.is_call
        if is_own and (old.request == step.request or (old.is_edit and old.had_effect)):
            return old.request != step.request
    return False


def _has_same_answer(step: Step, old: Step, *, moves: bool) -> bool:
    """Return whether an equal request had nearly the same answer, or failed for the same reason."""
    is_same = step.outcome_key == old.outcome_key or (step.failed and step.failure == old.failure)
    is_same = is_same or (step.refers_back and step.verb == old.verb)
    if is_same or moves:
        return is_same
    terms, old_terms = step.answer_terms, old.answer_terms
    if _is_brief(step):
        return terms == old_terms and bool(terms)
    # "… You have one step left": the same answer with a remark.
    return len(terms & old_terms) >= SIMILAR * min(len(terms), len(old_terms))


def _compare_requests(step: Step, old: Step) -> str:
    """Return how the request relates to an earlier one."""
    if step.request == old.request:
        return "same"
    if step.runs_code and step.had_effect and step.answer_terms & (step.names - old.names):
        return ""  # the answer names what only this call asked for
    # Other targets (a page, a path, an id) differ from other words for the same target.
    if not _differ(_targets(step), _targets(old)):
        elsewhere = _differ(step.names, old.names)
        if not elsewhere and step.similarity(old) >= NEAR_EQUAL:
            return "near"
        related = bool(step.names) and jaccard(step.names, old.names) >= _MIN_RELATED
        if related and not (elsewhere and _is_brief(step)):
            return "reworded"
    sought = step.names & old.names if step.is_in_vain and not step.failed else ()
    if any(len(name) >= _MIN_LONG_NAME for name in sought):
        return "reworded"  # one thing is searched for in many ways, and is not there
    return "other_question" if step.failed or not _is_brief(step) else ""


def _is_brief(step: Step) -> bool:
    """Return whether the answer is so short that many different questions could have it."""
    return len(step.answer_terms) < BRIEF_ANSWER


def _targets(step: Step) -> frozenset[str]:
    """Return the names in arguments that are not prose: what a call is aimed at."""
    return step.arguments.targets if step.runs_code else step.arguments.terse_targets


def _differ(names: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether each set has a name that the other does not."""
    return not names <= others and not others <= names


def _find_news(step: Step, before: Sequence[Step], repeats: str) -> str:
    """Return what an attempt brings; "" for nothing."""
    if step.improved:
        return "better"
    if repeats or step.outcome is None or step.refers_back:
        return ""
    if step.failed:
        return "" if any(step.failure == old.failure for old in before) else "new_failure"
    if step.news >= MANY_NEW:
        return "news"
    last = next((old for old in reversed(before) if old.verb == step.verb), None)
    if last is not None and last.failed:
        return "better"
    return "some_news" if step.news >= FEW_NEW else ""
