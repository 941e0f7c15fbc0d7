"""An agent that talks and talks, and says nothing new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, tail_of, turns_of
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step
from guard.talk import count_on, empty_tail, last_talk, only_announces
from guard.trail import Trail

_MORE = 3
_MANY = 3
_MACHINE = 4
"""Who says the same so often to an agent that does nothing is a machine."""


class Monologue(Detector):
    """Trip when an agent only talks and tells nothing new, or chants in one message.

    What a message tells counts, not how: names, numbers and things, without
    function words. Whatever a call brings between the messages ends the monologue.

    Source: OpenHands' monologue rule (three messages in a row, whatever they say),
    with new terms as a veto; chanting: gemini-cli, Claude Code #84568.
    """

    name: ClassVar[str] = "monologue"
    kind: ClassVar[Kind] = Kind.MONOLOGUE

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.monologue

    def examine(self, view: View) -> Signal | None:
        """Look at what was said last."""
        newest = view.trail.last
        if newest.is_call and not newest.thinks:
            return None
        if newest.chant is not None:
            return self._chants(newest, newest.chant)
        talk = tail_of(last_talk(view.trail.steps), lambda step: step.agent == newest.agent)
        fresh, share, messages = self._limits(view.trail, talk)
        empty = empty_tail(talk, fresh=fresh, share=share, least=messages - 1)
        if not empty or count_on(talk[-empty:]):
            return None
        return self._talks(talk[-empty:], messages)

    def _limits(self, trail: Trail, talk: Sequence[Step]) -> tuple[float, float, int]:
        """Give what still counts as nothing new, and in how many messages."""
        fresh, share, messages = self._rule.fresh, self._rule.new_terms, self._rule.messages
        if not trail.has_calls:
            # Only what is said is known of this run: it needs more evidence.
            fresh, messages = fresh / 2, messages + _MORE
            if only_announces(trail.steps) and _names_something(talk[-messages:]):
                fresh, share, messages = fresh / 2, share / 3, _MANY * self._rule.messages
        if 0 < sum(step.nudged for step in talk) < _MACHINE:
            messages *= 2  # whoever is asked the same may answer the same
        return fresh, share, messages

    def _talks(self, talk: Sequence[Step], limit: int) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, len(talk) / limit),
            turns=turns_of(talk),
            evidence=Evidence(
                summary=f"It sent {len(talk)} messages in a row and said nothing new in them.",
                calls=once_each(talk),
                repeats=len(talk),
                limit=limit,
            ),
        )

    def _chants(self, step: Step, chant: str) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=1.0,
            turns=(step.seq,),
            evidence=Evidence(
                summary=f'It said "{chant[:80]}" again and again in one message.',
                calls=(step.call,),
                repeats=1,
                limit=1,
            ),
        )


def _names_something(talk: Sequence[Step]) -> bool:
    """Tell "let me run the tests" from "let me correct that"."""
    return sum(len(step.terms) for step in talk) > len(talk)
