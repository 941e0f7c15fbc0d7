"""The last events are equal, alternating or alike: three rules in turn."""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Annotated, ClassVar
from zlib import crc32

from guard.contrib.embedding import Vector, cosine
from guard.detectors.base import Detector, View, signal_of
from guard.policy import Policy
from guard.policy.fields import SHARE, Table, within
from guard.reading.step import Step
from guard.signals import Kind, Signal

# LoopGuard's own numbers, so that the preset does what LoopGuard does.
_ALTERNATION = 4
_MAX_LENGTH = 2000
_BUCKETS = 1024
_GRAM_SIZES = (3, 4, 5)

_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_DIGEST = re.compile(r"\b[0-9a-f]{32,}\b", re.IGNORECASE)
_TIMESTAMP = re.compile(r"\b\d{4}-\d\d-\d\d[Tt ][\d:.+-]+Z?\b")
_PATH_PREFIX = re.compile(r"(?<!\w)(?:\./|/app/|/workspace/[^\s']+/|[A-Za-z]:\\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Table):
    """When the last events are equal, alike or alternating."""

    repeats: Annotated[int, within(2, 20), "events in a row that are the same, or alike"] = 3
    threshold: Annotated[float, SHARE, "lowest pairwise cosine of events that are alike"] = 0.86


class LoopGuard(Detector):
    """Trip on 3 equal events, on A-B-A-B, or on 3 events with a cosine of 0.86.

    An event is agent, tool, arguments and what came back, or a message. Ids, digests
    and times are masked. Alternation is checked over the last four events of all
    agents, whose equality may be a similarity too. For a proposed call, which has no
    answer yet, only requests are compared, as where a tool is wrapped. News,
    progress and patience do not count; the judge, who decides, may consider them.
    Preset `loopguard`, with its ceilings of 30 calls and $1.

    Source: LoopGuard's detectors and settings, including its character n-grams.
    """

    name: ClassVar[str] = "loopguard"
    kind: ClassVar[Kind] = Kind.SEMANTIC_REPEAT
    reads_raw: ClassVar[bool] = True

    def __init__(self, policy: Policy) -> None:
        self._rule = Rule.read(policy.contrib.get("loopguard", {}))

    def examine(self, view: View) -> Signal | None:
        """Apply the three rules in turn, the surest first."""
        steps = view.history.steps[-max(_ALTERNATION, self._rule.repeats) :]
        # A proposed call has no answer yet, so only requests are compared.
        answered = not view.history.last.proposed
        texts = [event_text(step, answered=answered) for step in steps]
        count = self._rule.repeats
        newest, tail = texts[-count:], texts[-_ALTERNATION:]
        if len(newest) == count and len(set(newest)) == 1:
            summary = f"The last {count} events are the same."
            return self._signal(steps[-count:], Kind.EXACT_REPEAT, 1.0, summary)
        # Equal events do not alternate.
        if len(tail) == _ALTERNATION and tail[0] != tail[1]:
            similarity = self._lowest_similarity([(tail[1], tail[3]), (tail[0], tail[2])])
            if similarity is not None:
                summary = "The last four events go to and fro between two."
                return self._signal(steps[-_ALTERNATION:], Kind.PING_PONG, similarity, summary)
        if len(newest) == count:
            similarity = self._lowest_similarity(combinations(reversed(newest), 2))
            if similarity is not None:
                summary = f"The last {count} events are alike in their words."
                return self._signal(steps[-count:], self.kind, similarity, summary)
        return None

    def _lowest_similarity(self, pairs: Iterable[tuple[str, str]]) -> float | None:
        """Return the lowest similarity of these pairs; None: one is below the threshold."""
        # Pair by pair, since the first one below the threshold makes other vectors unnecessary.
        lowest = 1.0
        for one, other in pairs:
            lowest = min(lowest, 1.0 if one == other else cosine(embed(one), embed(other)))
            if lowest < self._rule.threshold:
                return None
        return lowest

    def _signal(self, steps: Sequence[Step], kind: Kind, similarity: float, summary: str) -> Signal:
        return signal_of(
            self.name,
            kind,
            steps,
            summary,
            limit=2 if kind is Kind.PING_PONG else len(steps),
            repeats=2 if kind is Kind.PING_PONG else None,
            alike=(
                round(similarity, 3),
                1.0 if kind is Kind.EXACT_REPEAT else self._rule.threshold,
            ),
        )


def event_text(step: Step, *, answered: bool) -> str:
    """Return a step as the single line that is compared.

    Args:
        step: The event.
        answered: Whether what came back counts too.
    """
    if not step.is_call:
        parts = {"agent": step.agent, "kind": "agent_message", "output_text": step.raw.content}
    else:
        parts = {"agent": step.agent, "kind": "tool_call", "tool_args": step.request}
        if answered:
            parts |= {"output_text": step.raw.result, "error": step.raw.error}
    cleaned = {name: _mask_and_trim(text) for name, text in parts.items() if text}
    return json.dumps(cleaned, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@functools.lru_cache(maxsize=512)
def embed(text: str) -> Vector:
    """Return the counts of a text's character 3- to 5-grams within words, as a unit vector.

    >>> round(cosine(embed("read package.json"), embed("read app/package.json")), 2) > 0.7
    True
    """
    words = map(_grams_in, text.lower().split())
    counts = Counter(chain.from_iterable(words))
    length = math.sqrt(sum([count * count for count in counts.values()]))
    return {bucket: count / length for bucket, count in counts.items()}


@functools.lru_cache(maxsize=16384)
def _grams_in(word: str) -> tuple[int, ...]:
    padded = f" {word} "
    grams: list[str] = []
    for size in _GRAM_SIZES:
        if len(padded) <= size:  # a short word is a single gram
            grams.append(padded)
            break
        grams += [padded[start : start + size] for start in range(len(padded) - size + 1)]
    # Not hash(), whose seed differs in each process: verdicts would differ too.
    return tuple(crc32(gram.encode("utf-8", "surrogatepass")) % _BUCKETS for gram in grams)


@functools.lru_cache(maxsize=512)
def _mask_and_trim(text: str) -> str:
    masked = _TIMESTAMP.sub("<time>", _DIGEST.sub("<digest>", _UUID.sub("<id>", text)))
    # Cut after cleaning, so that masked parts do not displace what is compared.
    return " ".join(_PATH_PREFIX.sub("", masked).split()).lower()[:_MAX_LENGTH]


DETECTOR = LoopGuard
