"""Logs of unknown format, whose structure is learnt from the log itself.

Recurring beginnings of lines are its labels. Their order shows which are calls and which are
answers: an answer follows its call, again and again. A label's words, and text that looks like a
call, are only the starting point. If nothing recurs in this way, the text is not an agent's log.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from guard.formats.actions import begins_with_name, is_code_call, read_action
from guard.formats.fragments import unfenced
from guard.formats.labels import ARGUMENTS, CALL, FRAME, RESULT, THOUGHT, USER, Entry, entries_of
from guard.formats.recording import Recording
from guard.turn import Role, Turn

# How many answered calls make a log, and shares of its calls and answers.
_MIN_PAIRS, _MIN_SHARE, _MAX_SHARE, _REGULAR = 3, 0.6, 1.4, 0.9
# The end of a line of code, the largest share of such lines in a log, and the length searched.
_CODE = re.compile(r"(?:[;{(,\\]|\):|[\])}][;,])\s{0,9}\Z")
_MAX_CODE_SHARE, _TAIL = 0.25, 12
_COLOURS = re.compile(r"\x1b\[[\d;?]{0,20}[A-Za-z]")
# A numbered step on one line: "[01] look(at='sky') -> fog"
_MAX_STEP_LENGTH = 4000
_STEP = re.compile(
    r"[^\w\n]{0,4}(?:[a-z]{4,9} )?#?(\d{1,5})[^\w\n]{1,4}([^\n]+?\)?) ?(?:->|=>|→|⇒|➜) (.*)"
)
# Signs that make a label, unlike those of ordinary text; and words that only tests have.
_MARKED, _EXPECTS = re.compile(r"[^\w\s:\uff1a@$*#.-]"), re.compile(r"\b(?:expect|erwart)")


def read_labelled_log(text: str, *, stem: str) -> Recording | None:
    r"""Read a log by its structure; None if no calls and answers recur in it.

    >>> log = "".join(f"[DO] look at={n}\n[SEE] fog {n}\n" for n in range(3))
    >>> [(turn.tool, turn.args, turn.result) for turn in read_labelled_log(log, stem="a").turns][0]
    ('look', {'at': '0'}, 'fog 0')
    """
    lines = _COLOURS.sub("", text).splitlines()
    filled = [line for line in lines if line.strip()]
    code = (line for line in filled if line.lstrip()[0] != '"')  # those are fields in JSON
    code_lines = sum(_CODE.search(line[-_TAIL:]) is not None for line in code)
    if code_lines > _MAX_CODE_SHARE * len(filled):
        return None
    entries = entries_of(lines)
    turns = (
        map(_read_round, _group_rounds(entries))
        if _assign_parts(entries)
        else _read_numbered_steps(filled)
    )
    told = (turn for turn in turns if turn.tool or turn.content)
    if in_order := tuple(replace(turn, seq=seq) for seq, turn in enumerate(told)):
        return Recording(run=stem, turns=in_order, form="shape")
    return None


def _assign_parts(entries: list[Entry]) -> bool:
    """Assign each entry's part of a step by the order of entries; False: this is not a run."""
    told = [entry for entry in entries if entry.part in (CALL, RESULT)]
    good, total = Counter[str](), Counter(entry.form for entry in told)
    for before, after in pairwise(told):
        if (before.part, after.part) == (CALL, RESULT):
            good.update([before.form, after.form])
    for entry in told:  # labels that are mostly calls without answers, or answers without calls
        if 2 * good[entry.form] < total[entry.form]:
            entry.part = None
    calls = [entry for entry in entries if entry.part == CALL]
    # A label that occurs about once per call belongs to the frame; others continue the entry above.
    counts = Counter(entry.form for entry in entries if entry.label)
    least, most = _MIN_SHARE * len(calls), _MAX_SHARE * len(calls)
    rounds = {form for form, count in counts.items() if least <= count <= most}
    for entry in entries:
        if entry.part is None and entry.form in rounds:
            entry.part = FRAME
    beside = {entry.part for entry in entries if entry.form in rounds}
    return not any(map(_EXPECTS.search, rounds)) and _is_run(entries, beside)


def _is_run(entries: Sequence[Entry], beside: set[str | None]) -> bool:
    """Return whether calls and answers alternate and look like an agent's."""
    told = [entry for entry in entries if entry.part in (CALL, RESULT)]
    calls, parts = [entry for entry in told if entry.part == CALL], [entry.part for entry in told]
    pairs = sum(one == (CALL, RESULT) for one in pairwise(parts))
    answers = sum(one != RESULT for one, after in pairwise([None, *parts]) if after == RESULT)
    if 2 * sum(bool(entry.value.strip()) for entry in told if entry.part == RESULT) < answers:
        return False  # most answers are empty
    is_plain = {THOUGHT, ARGUMENTS} <= beside
    if pairs < _MIN_PAIRS - is_plain or pairs < _MIN_SHARE * max(len(calls), answers):
        return False
    if 2 * sum(is_code_call(entry.value) for entry in calls) >= len(calls):
        return True
    is_named = 2 * sum(begins_with_name(entry.value) for entry in calls) >= len(calls)
    is_regular = pairs >= _REGULAR * max(len(calls), answers)
    if not all(entry.label and entry.label.closed for entry in told):
        return is_named and is_regular
    # Minutes and recipes also have words with colons, but neither thoughts nor arguments.
    is_marked = all(_MARKED.search(entry.form) for entry in calls)
    return is_named or not beside.isdisjoint({THOUGHT, ARGUMENTS}) or (is_marked and is_regular)


def _group_rounds(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Group entries into rounds: a message, a call with its arguments, and its result."""
    done, parts = list[Entry](), set[str | None]()
    for entry in entries:
        is_open = CALL in parts and RESULT not in parts
        if done and (entry.part is None or (entry.part == RESULT and not is_open)):
            # An entry without a part continues the one before it.
            done[-1].below += entry.text.splitlines()
            continue
        begins = not parts.isdisjoint({RESULT, ARGUMENTS}) if entry.part == CALL else not is_open
        if begins and done:
            yield done
            done, parts = [], set()
        done.append(entry)
        parts.add(entry.part)
    yield done


def _read_round(entries: Sequence[Entry]) -> Turn:
    """Return the turn of one round."""
    told = defaultdict[str, list[str]](list)
    for entry in entries:
        if entry.part in (FRAME, None):
            told[ARGUMENTS if told[CALL] else THOUGHT].append(entry.text)
        else:
            told[entry.part].append(entry.value)
    texts = {part: "\n".join(filter(str.strip, lines)).strip() for part, lines in told.items()}
    if USER in texts:
        return Turn(role=Role.USER, content="\n".join(texts.values()))
    turn = Turn(role=Role.ASSISTANT, content=texts.get(THOUGHT) or None)
    if not told[CALL]:
        return turn
    tool, args = read_action(texts[CALL], texts.get(ARGUMENTS, ""))
    came = unfenced(texts[RESULT]) if RESULT in texts else None
    has_failed = any(
        entry.part == RESULT and entry.label and entry.label.fails for entry in entries
    )
    result, error = (None, came) if has_failed else (came, None)
    return replace(turn, tool=tool, args=args, result=result, error=error)


def _read_numbered_steps(lines: Sequence[str]) -> list[Turn]:
    """Read a list of steps, each a call with its result after an arrow."""
    turns, last, calls = list[Turn](), 0, 0
    for line in lines:
        found = _STEP.fullmatch(line.rstrip()[:_MAX_STEP_LENGTH])
        if found and int(found[1]) > last:
            last = int(found[1])
            calls += is_code_call(found[2]) or begins_with_name(found[2])
            tool, args = read_action(found[2])
            turns.append(Turn(role=Role.ASSISTANT, tool=tool, args=args, result=found[3]))
    is_list = len(turns) >= _MIN_PAIRS and 2 * len(turns) >= len(lines)
    return turns if is_list and 2 * calls >= len(turns) else []
