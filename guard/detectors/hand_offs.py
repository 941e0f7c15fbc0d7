"""A matter passed round between agents, and nobody adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from guard.detectors.base import Detector, View, once_each, turns_of
from guard.policy import Policy
from guard.signals import Evidence, Kind, Signal
from guard.step import Step
from guard.talk import empty_tail, last_talk

_SHORTEST_ROUND = 3
_LONGEST_ROUND = 8


class HandOffs(Detector):
    """Trip when agents talk round after round and, together, tell nothing new.

    Only what is said counts here, and a call between that brought nothing is
    passed over: a page read, a file changed, a number found ends the circle.

    Source: openclaw #37842, paperclip #10642, multica #8753: no peer keys on it.
    """

    name: ClassVar[str] = "hand_offs"
    kind: ClassVar[Kind] = Kind.HAND_OFFS

    def __init__(self, policy: Policy) -> None:
        self._rule = policy.hand_offs

    def examine(self, view: View) -> Signal | None:
        """Look for a circle of speakers at the end of the run."""
        newest = view.trail.last
        if newest.is_call and not newest.hands_over:
            return None
        talk = last_talk(view.trail.steps)
        agents = len({step.agent for step in talk[-_LONGEST_ROUND:]})
        if agents < 2:  # noqa: PLR2004 - a monologue's
            return None
        fresh, rounds = self._rule.fresh, self._rule.rounds
        round_of = max(agents, _SHORTEST_ROUND)
        last = talk[-rounds * round_of :]
        if all(step.hands_over for step in last):
            round_of = agents
        elif not view.trail.has_calls and not _names_nothing(last):
            # Only what is said is known of this run: it needs more evidence.
            fresh, rounds = fresh / 2, rounds + 1
        least = (rounds - 1) * round_of
        empty = empty_tail(talk, fresh=fresh, share=self._rule.new_terms, least=least)
        return self._signal(talk[-empty:], empty // round_of, rounds) if empty else None

    def _signal(self, talk: Sequence[Step], rounds: int, limit: int) -> Signal:
        return Signal(
            detector=self.name,
            kind=self.kind,
            score=min(1.0, rounds / limit),
            turns=turns_of(talk),
            evidence=Evidence(
                summary=_summarise(talk),
                calls=once_each(talk),
                repeats=rounds,
                limit=limit,
            ),
        )


def _names_nothing(talk: Sequence[Step]) -> bool:
    """Thanks and farewells: hardly a thing is named in any of them."""
    return 2 * sum(len(step.terms) for step in talk) <= len(talk)


def _summarise(talk: Sequence[Step]) -> str:
    names = dict.fromkeys(step.agent or "one without a name" for step in talk)
    return f"{', '.join(names)} said {len(talk)} things to each other and added nothing."
