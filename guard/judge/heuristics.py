"""The local judge: free, deterministic, always available.

It reads the evidence and answers two questions: is there progress after all, and
what would help? It proposes only what the evidence shows.
"""

from __future__ import annotations

from itertools import pairwise

from guard.judge.advice import advise
from guard.judge.case import Case, Verdict
from guard.reading.classify import is_waiting
from guard.reading.normalize import command_in
from guard.reading.outcome import Outcome, outcome_of
from guard.reading.terms import NEWS, TermMemory, terms_in
from guard.signals import Kind

JUDGE = "local"
# Kinds that depend on the requests; rules for the others have compared the answers.
_REQUEST_KINDS = frozenset({Kind.EXACT_REPEAT, Kind.SEMANTIC_REPEAT})
# An answer of at least this many characters can bring something new.
_MIN_NEWS_LENGTH = 40


def rule(case: Case) -> Verdict:
    """Rule on a trip from its evidence alone; the same case always gets the same verdict."""
    if case.signal.kind is Kind.BUDGET:
        return _loop_verdict(0.99, case.signal.evidence.summary, None)
    known = [outcome for turn in case.turns if (outcome := outcome_of(turn))]
    if reason := _find_progress(case, known):
        return Verdict(judge=JUDGE, loop=False, confidence=0.8, reason=reason)
    if (advice := advise(case)) is not None:
        return _loop_verdict(*advice)
    return _loop_verdict(0.6, case.signal.evidence.summary, None)


def _loop_verdict(confidence: float, reason: str, fix: str | None) -> Verdict:
    return Verdict(judge=JUDGE, loop=True, confidence=confidence, reason=reason, fix=fix)


def _find_progress(case: Case, known: list[Outcome]) -> str | None:
    """Return what moved between the turns, which is the reason to let the agent go."""
    counts = [outcome.failures for outcome in known if outcome.failures is not None]
    if len(counts) > 1 and all(later < earlier for earlier, later in pairwise(counts)):
        return f"Fewer checks fail each time: {counts[0]}, now {counts[-1]}."
    if len({outcome.template or outcome.key for outcome in known}) < 2:  # noqa: PLR2004 - one answer does not move
        return None
    texts, keys = [outcome.text for outcome in known], {outcome.key for outcome in known}
    came = ((turn, outcome_of(turn)) for turn in case.turns)
    waiting = all(
        is_waiting(turn.tool, command_in(turn.args), one.text if one else "") for turn, one in came
    )
    if waiting and len(keys) == len(known):
        return "It waits for something that is still moving."
    # Only if the signal did not compare the answers itself.
    if case.signal.kind in _REQUEST_KINDS and all(len(text) >= _MIN_NEWS_LENGTH for text in texts):
        memory = TermMemory(len(known) + 1)
        shares = [memory.measure_news(terms_in(text), at)[0] for at, text in enumerate(texts)]
        if all(share >= NEWS for share in shares):
            return "Each answer brings something new."
    return None
