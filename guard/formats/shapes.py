"""Logs in a form that nobody has described: how one is built is learnt from the log itself.

Lines that begin alike and recur are its labels. Which of them calls and which answers is told by
their order: an answer follows its call, again and again. The words of a label, and what looks like
a call, only say where to begin. Where nothing recurs so, the text is none of an agent's.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from guard.formats.deeds import begins_named, is_strong, read_deed
from guard.formats.given import unfenced
from guard.formats.labels import ASKED, CAME, FRAME, GIVEN, THOUGHT, USER, Entry, entries_of
from guard.formats.recording import Recording
from guard.turn import Role, Turn

# Of so many calls with answers a log is one, and of so many of its calls and answers.
_LEAST_PAIRS, _LEAST_OF, _MOST_OF, _REGULAR = 3, 0.6, 1.4, 0.9
# How a line of code ends; a text of which so many do is no log.
_CODE, _MOST_CODE, _TAIL = re.compile(r"(?:[;{(,\\]|\):|[\])}][;,])\s{0,9}\Z"), 0.25, 12
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")
# A numbered step in a line. "[01] look(at='sky') -> fog"
_LONGEST_STEP = 4000
_STEP = re.compile(
    r"[^\w\n]{0,4}(?:[a-z]{4,9} )?#?(\d{1,5})[^\w\n]{1,4}([^\n]+?\)?) ?(?:->|=>|→|⇒|➜) (.*)"
)
# Signs of a label beside those that words have in any text; and what only tests have.
_MARKED, _EXPECTS = re.compile(r"[^\w\s:\uff1a@$*#.-]"), re.compile(r"\b(?:expect|erwart)")


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
    turns = map(_turn, _rounds(entries)) if _assign(entries) else _numbered(filled)
    told = (turn for turn in turns if turn.tool or turn.content)
    if in_order := tuple(replace(turn, seq=seq) for seq, turn in enumerate(told)):
        return Recording(run=stem, turns=in_order, form="shape")
    return None


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
    """Return whether calls and answers alternate, and look as an agent's do."""
    told = [entry for entry in entries if entry.part in (ASKED, CAME)]
    calls, parts = [entry for entry in told if entry.part == ASKED], [entry.part for entry in told]
    pairs = sum(one == (ASKED, CAME) for one in pairwise(parts))
    answers = sum(one != CAME for one, after in pairwise([None, *parts]) if after == CAME)
    if 2 * sum(bool(entry.value.strip()) for entry in told if entry.part == CAME) < answers:
        return False  # nothing came back
    is_plain = {THOUGHT, GIVEN} <= beside
    if pairs < _LEAST_PAIRS - is_plain or pairs < _LEAST_OF * max(len(calls), answers):
        return False
    if 2 * sum(is_strong(entry.value) for entry in calls) >= len(calls):
        return True
    is_named = 2 * sum(begins_named(entry.value) for entry in calls) >= len(calls)
    is_regular = pairs >= _REGULAR * max(len(calls), answers)
    if not all(entry.label and entry.label.closed for entry in told):
        return is_named and is_regular
    # A word and a colon have minutes and recipes too, whose actions nobody thinks of or is given.
    is_marked = all(_MARKED.search(entry.form) for entry in calls)
    return is_named or not beside.isdisjoint({THOUGHT, GIVEN}) or (is_marked and is_regular)


def _rounds(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Part entries into rounds: what is said, a call with what it is given, and what came back."""
    done, parts = list[Entry](), set[str | None]()
    for entry in entries:
        is_open = ASKED in parts and CAME not in parts
        if done and (entry.part is None or (entry.part == CAME and not is_open)):
            # What is not understood is more of what stands before it.
            done[-1].below += entry.text.splitlines()
            continue
        begins = not parts.isdisjoint({CAME, GIVEN}) if entry.part == ASKED else not is_open
        if begins and done:
            yield done
            done, parts = [], set()
        done.append(entry)
        parts.add(entry.part)
    yield done


def _turn(entries: Sequence[Entry]) -> Turn:
    """Return what one round tells."""
    told = defaultdict[str, list[str]](list)
    for entry in entries:
        if entry.part in (FRAME, None):
            told[GIVEN if told[ASKED] else THOUGHT].append(entry.text)
        else:
            told[entry.part].append(entry.value)
    texts = {part: "\n".join(filter(str.strip, lines)).strip() for part, lines in told.items()}
    if USER in texts:
        return Turn(role=Role.USER, content="\n".join(texts.values()))
    turn = Turn(role=Role.ASSISTANT, content=texts.get(THOUGHT) or None)
    if not told[ASKED]:
        return turn
    tool, args = read_deed(texts[ASKED], texts.get(GIVEN, ""))
    came = unfenced(texts[CAME]) if CAME in texts else None
    has_failed = any(entry.part == CAME and entry.label and entry.label.fails for entry in entries)
    result, error = (None, came) if has_failed else (came, None)
    return replace(turn, tool=tool, args=args, result=result, error=error)


def _numbered(lines: Sequence[str]) -> list[Turn]:
    """Read a list of steps, each a call and what came of it behind an arrow."""
    turns, last, calls = list[Turn](), 0, 0
    for line in lines:
        found = _STEP.fullmatch(line.rstrip()[:_LONGEST_STEP])
        if found and int(found[1]) > last:
            last = int(found[1])
            calls += is_strong(found[2]) or begins_named(found[2])
            tool, args = read_deed(found[2])
            turns.append(Turn(role=Role.ASSISTANT, tool=tool, args=args, result=found[3]))
    is_list = len(turns) >= _LEAST_PAIRS and 2 * len(turns) >= len(lines)
    return turns if is_list and 2 * calls >= len(turns) else []
