"""Logs in a form that nobody has described: how one is built is learnt from the log itself.

Lines that begin alike and recur are its labels. Which of them calls and which answers is told by
their order: an answer follows its call, again and again. The words of a label, and what looks like
a call, only say where to begin. Where nothing recurs so, the text is none of an agent's.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from guard.formats.deeds import begins_named, read_deed
from guard.formats.given import unfenced
from guard.formats.labels import ASKED, CAME, FRAME, GIVEN, THOUGHT, USER, Entry, entries_of
from guard.formats.recording import Recording
from guard.turn import Role, Turn

# Of so many calls with answers a log is one, and of so many of its calls and answers.
_LEAST_PAIRS, _LEAST_OF, _MOST_OF, _MOSTLY, _REGULAR = 3, 0.6, 1.4, 0.7, 0.9
_BESIDE = frozenset({THOUGHT, GIVEN, FRAME})
# How a line of code ends; a text of which so many do is no log.
_CODE, _MOST_CODE, _TAIL = re.compile(r"(?:[;{(,\\]|\):|[\])}][;,])\s{0,9}\Z"), 0.25, 12
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")
_CLOSING = re.compile(r"\s{0,9}</[\w.:-]{1,60}>\s{0,9}\Z")
_RULE = re.compile(r"[ \t]{0,8}[-=_*~#─━═]{3,}[ \t]{0,8}|[ \t]{0,80}")
# What only tests have.
_EXPECTS = re.compile(r"\b(?:expect|erwart)")


def read_shaped(text: str, *, stem: str) -> Recording | None:
    r"""Read a log by how it is built; None where nothing in it recurs as calls and answers do.

    >>> log = "".join(f"[DO] look at={n}\n[SEE] fog {n}\n" for n in range(3))
    >>> [(turn.tool, turn.args, turn.result) for turn in read_shaped(log, stem="a").turns][0]
    ('look', {'at': '0'}, 'fog 0')
    """
    lines = _COLOURS.sub("", text).splitlines()
    filled = [line for line in lines if line.strip()]
    code = (line for line in filled if line.lstrip()[0] != '"')  # else a field in JSON
    if sum(_CODE.search(line[-_TAIL:]) is not None for line in code) > _MOST_CODE * len(filled):
        return None
    entries = entries_of(lines)
    if not _assign(entries):
        return None
    writer = _Writer()
    for entry in entries:
        writer.take(entry)
    writer.flush()
    return Recording(run=stem, turns=tuple(writer.turns), form="shape")


def _assign(entries: list[Entry]) -> bool:
    """Tell each entry's part by the order in which they stand; False: nothing calls here."""
    told = [entry for entry in entries if entry.part in (ASKED, CAME)]
    good, total = Counter[str](), Counter(entry.form for entry in told)
    for before, after in pairwise(told):
        if (before.part, after.part) == (ASKED, CAME):
            good.update([before.form, after.form])
    for entry in told:  # labels that mostly call without an answer, or answer without a call
        if 2 * good[entry.form] < total[entry.form]:
            entry.part = None
    calls = [entry for entry in entries if entry.part == ASKED]
    # What stands once in each round is of its frame, all else of what came back.
    counts = Counter(entry.form for entry in entries if entry.label)
    least, most = _LEAST_OF * len(calls), _MOST_OF * len(calls)
    rounds = {form for form, count in counts.items() if least <= count <= most}
    for entry in entries:
        if entry.part is None and entry.form in rounds:
            entry.part = FRAME
    beside = {entry.part for entry in entries if entry.form in rounds}
    return not any(map(_EXPECTS.search, rounds)) and _is_run(entries, beside)


def _is_run(entries: Sequence[Entry], beside: set[str | None]) -> bool:
    """Tell whether calls and answers alternate, and look as an agent's do."""
    told = [entry for entry in entries if entry.part in (ASKED, CAME)]
    calls, parts = [entry for entry in told if entry.part == ASKED], [entry.part for entry in told]
    pairs = sum(one == (ASKED, CAME) for one in pairwise(parts))
    answers = sum(one != CAME for one, after in pairwise([None, *parts]) if after == CAME)
    if 2 * sum(bool(entry.value.strip()) for entry in told if entry.part == CAME) < answers:
        return False  # nothing came back
    if pairs < _LEAST_PAIRS or pairs < _LEAST_OF * max(len(calls), answers):
        return False
    is_named = 2 * sum(begins_named(entry.value) for entry in calls) >= len(calls)
    if not all(entry.label and entry.label.closed for entry in told):
        return is_named and pairs >= _REGULAR * max(len(calls), answers)
    # A word and a colon have minutes and recipes too, whose actions nobody thinks of or is given.
    return is_named or not beside.isdisjoint({THOUGHT, GIVEN})


class _Writer:
    """Takes entries, and writes each call with what was said before and came back."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._begin()

    def _begin(self) -> None:
        self._said, self._asked, self._given = list[str](), list[str](), list[str]()
        self._came: list[str] | None = None
        self._calls = self._fails = False

    def take(self, entry: Entry) -> None:
        """Take the next entry."""
        is_open = self._calls and self._came is None
        if entry.part == ASKED:
            if self._came is not None or self._given:
                self.flush()
            self._asked.append(entry.value)
            self._calls = True
        elif is_open and entry.part in (GIVEN, FRAME):
            self._given.append(entry.value)
        elif is_open and entry.part == CAME:
            self._came = [entry.value]
            self._fails = entry.label is not None and entry.label.fails
        elif entry.part in (THOUGHT, FRAME):
            if not is_open:
                self.flush()
            self._said.append(entry.value if entry.part == THOUGHT else entry.text)
        elif entry.part == USER:
            self.flush()
            self.turns.append(Turn(role=Role.USER, content=entry.value, seq=len(self.turns)))
        else:
            # What is not understood is more of what stands before it.
            into = self._asked if is_open else self._said
            (into if self._came is None else self._came).append(entry.text)

    def flush(self) -> None:
        """End the turn, and begin the next."""
        said = "\n".join(filter(str.strip, self._said)).strip()
        turn = Turn(role=Role.ASSISTANT, content=said or None, seq=len(self.turns))
        if self._calls:
            asked, given = list(filter(None, self._asked)), list(filter(None, self._given))
            tool, args = read_deed("\n".join(asked), "\n".join(given))
            came = None if self._came is None else _unwrapped("\n".join(self._came))
            result, error = (None, came) if self._fails else (came, None)
            self.turns.append(replace(turn, tool=tool, args=args, result=result, error=error))
        elif said:
            self.turns.append(turn)
        self._begin()


def _unwrapped(text: str) -> str:
    """Give what came back without what is drawn around it."""
    lines = text.strip().split("\n")
    ends = [at for at, line in enumerate(lines) if not _RULE.fullmatch(line)] or [0]
    lines = lines[ends[0] : ends[-1] + 1]
    text = unfenced(_CLOSING.sub("", "\n".join(lines)))
    if text[:1] == text[-1:] == '"':
        with suppress(ValueError):
            return str(json.loads(text))
    return text
