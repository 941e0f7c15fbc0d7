"""What a person said lately: is it said again, as an automatic "continue" is?"""

from __future__ import annotations

from collections import deque

from guard.talk import terms_of

_MESSAGES = 4
_LONGEST = 4000
_SHORT = 200


class Heard:
    """The last messages of a person, to tell a new one from one sent by a machine.

    A loop around an agent that only talks sends "continue" for ever. Whoever
    asks again for a deed that was done is a person.

    >>> heard = Heard(88)
    >>> said = ("Continue.", "Now the tests.", "continue")
    >>> [heard.is_nudge(text, at=place) for place, text in enumerate(said)]
    [False, False, True]
    >>> heard.saw_deed()
    >>> heard.is_nudge("continue", at=3)
    False
    """

    def __init__(self, span: int) -> None:
        """Remember for so many turns."""
        self._span = span
        self._said: deque[tuple[int, str]] = deque(maxlen=_MESSAGES)
        self._deed = False

    def saw_deed(self) -> None:
        """The agent did something, and did not only talk."""
        self._deed = True

    def is_nudge(self, text: str, *, at: int) -> bool:
        """Remember a message; tell whether it only repeats one to an agent that talks.

        Args:
            text: What was said.
            at: The number of the turn; what was said long ago is forgotten.
        """
        plain = " ".join(text[:_LONGEST].lower().split()).rstrip(".!? ")
        said = any(_is_again(plain, told) and at - when <= self._span for when, told in self._said)
        nudge = said and not self._deed
        self._said.append((at, plain))
        self._deed = False
        return nudge


def _is_again(plain: str, told: str) -> bool:
    """The same words, or other words for the same few things."""
    if plain == told:
        return True
    terms, before = terms_of(plain[:_SHORT]), terms_of(told[:_SHORT])
    return len(terms) > 1 and terms <= before and max(len(plain), len(told)) <= _SHORT
