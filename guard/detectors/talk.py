"""Talk that adds nothing: by one agent, between several, or within one message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import combinations
from typing import ClassVar

from guard.detectors.base import Detector, History, View, signal_of, tail_of
from guard.policy import Policy
from guard.quoting import name_or_quote, quoted
from guard.reading.messages import are_numbered, find_empty_tail, only_announces, trailing_talk
from guard.reading.step import TOOL_AGENT
from guard.signals import Kind, Signal

# Returns the cosine of two texts, in [0, 1]; always the same for the same texts.
Similarity = Callable[[str, str], float]
# From this cosine on, two messages say the same in other words: LoopGuard's threshold.
_MIN_SIMILARITY = 0.86
_EXTRA_MESSAGES = 3
_ANNOUNCING_FACTOR = 3
_MIN_REWORDED = 3
_MIN_ROUND, _MAX_ROUND = 3, 8


class Talk(Detector):
    """Trip when what is said tells nothing new, by one agent or round after round.

    The content of a message counts, not the wording: names, numbers and things, without function
    words. A call between the messages that brings something ends the talk. Three messages in a row
    that are alike pair by pair are enough, and so is one message that mostly repeats one sentence.

    Source: OpenHands' monologue rule (three messages in a row, whatever they say), with new terms
    as a veto; LoopGuard's three alike; gemini-cli's chanting.
    """

    name: ClassVar[str] = "talk"

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.talk
        vectors = import_module("guard.contrib.embedding")
        self._similarity: Similarity = vectors.similarity_by(policy.talk.embedding)

    def examine(self, view: View) -> Signal | None:
        """Look only if the newest step says something."""
        newest = view.history.last
        says = not newest.is_call or newest.thinks or newest.hands_over
        return super().examine(view) if says else None

    def chant(self, history: History) -> Iterator[Signal]:
        """Find a message that mostly repeats one sentence."""
        if (chanted := history.last.chant) is not None:
            summary = f"It said {quoted(chanted[:80])} again and again in one message."
            yield signal_of(self.name, Kind.MONOLOGUE, [history.last], summary, limit=1)

    def monologue(self, history: History) -> Iterator[Signal]:
        """Look for something new in an agent's last messages."""
        newest = history.last
        if newest.is_call and not newest.thinks:
            return
        own = tail_of(trailing_talk(history.steps), lambda step: step.agent == newest.agent)
        fresh, share, messages = self._rule.fresh, self._rule.new_terms, self._rule.messages
        if not history.calls:
            # Only the messages of this run are known, so more evidence is needed.
            fresh, messages = fresh / 2, messages + _EXTRA_MESSAGES
            terms = [len(step.terms) for step in own[-messages:]]
            # "Let me run the tests" names something, "let me correct that" does not.
            if only_announces(history.steps) and sum(terms) > len(terms):
                fresh, share = fresh / 2, share / 3
                messages = _ANNOUNCING_FACTOR * self._rule.messages
        empty = find_empty_tail(own, max_new=fresh, max_share=share, min_length=messages - 1)
        if not empty or are_numbered(own[-empty:]):
            return
        summary = f"It sent {empty} messages in a row and said nothing new in them."
        yield signal_of(self.name, Kind.MONOLOGUE, own[-empty:], summary, limit=messages)

    def reworded(self, history: History) -> Iterator[Signal]:
        """Compare an agent's last messages, if nothing was learned or done in between."""
        newest = history.last
        if newest.is_call or newest.after_nudge:
            return
        count = max(_MIN_REWORDED, self._rule.messages - 1) + only_announces(history.steps)
        messages = (one for one in history.steps if one.agent == newest.agent and not one.is_call)
        last = list(messages)[-count:]
        if len(last) < count or len({step.request for step in last}) == 1:
            return
        for step in history.since(last[0]):
            if step.is_call and (step.made_progress or step.news > 0 or not step.outcome_known):
                return
            is_others = not step.is_call and step.agent != newest.agent
            if is_others and (step.made_progress or step.says_new):
                return
        similarity = 1.0
        for one, other in combinations(last, 2):
            similarity = min(similarity, self._similarity(one.text, other.text))
            if similarity < _MIN_SIMILARITY:
                return  # usually for the first pair
        if are_numbered(last):
            return
        summary = f"It said the same {count} times in other words."
        alike = (round(similarity, 3), _MIN_SIMILARITY)
        yield signal_of(self.name, Kind.MONOLOGUE, last, summary, limit=count, alike=alike)

    def circle(self, history: History) -> Iterator[Signal]:
        """Look for a circle of speakers at the end of the run."""
        newest = history.last
        if newest.is_call and not newest.hands_over:
            return
        # A tool answers, but it does not converse.
        talk = [step for step in trailing_talk(history.steps) if step.agent != TOOL_AGENT]
        agents = len({step.agent for step in talk[-_MAX_ROUND:]})
        if agents < 2:  # noqa: PLR2004 - one alone
            return
        fresh, share, rounds = self._rule.fresh, self._rule.new_terms, self._rule.rounds
        round_size = max(agents, _MIN_ROUND)
        last = talk[-rounds * round_size :]
        if all(step.hands_over for step in last):
            round_size = agents
        least = (rounds - 1) * round_size
        empty = find_empty_tail(talk, max_new=fresh, max_share=share, min_length=least)
        if not empty:
            return
        circle = talk[-empty:]
        whose = dict.fromkeys(step.agent for step in circle)
        names = ", ".join(name_or_quote(one) if one else "one without a name" for one in whose)
        summary = f"{names} said {empty} things to each other and added nothing."
        repeats = empty // round_size
        yield signal_of(self.name, Kind.HAND_OFFS, circle, summary, limit=rounds, repeats=repeats)

    checks = (chant, monologue, reworded, circle)
