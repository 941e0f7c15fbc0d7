"""The labels of a log: recurring beginnings of its lines, and the text that follows each.

A label is a sign, a word in brackets, some words before a colon, a tag, or a title; none is known
in advance. Numbers in it, times before it and names of tools make no difference. Its words, in
some twenty languages, suggest which part of a step follows it.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from textwrap import dedent

from guard.formats.actions import begins_with_name, is_code_call, is_name
from guard.reading import read_words

_WORDS = read_words("parts")
ARGUMENTS, RESULT, CALL, THOUGHT, USER = PARTS = ("arguments", "result", "call", "thought", "user")
FRAME = "frame"  # lines that occur once in each round and belong to no part
_HINTS = {word.replace("_", " "): part for part in reversed(PARTS) for word in _WORDS[part]}
_SIGNS = {sign: part for part in (CALL, RESULT, THOUGHT) for sign in _WORDS[f"signs_{part}"]}
# Words of languages that are written without spaces.
_UNSPACED_WORDS = [word for word in _HINTS if word[0] > "\u2e80"]
_MODELS = frozenset({"llm", "model", "assistant"})
_FAILS = frozenset({"error", "errors", "stderr", "fehler"})
# Limits of a label in words, tokens and characters; then, how often its form must recur.
_MAX_WORDS, _MAX_TITLE_WORDS, _MAX_TOKENS, _MAX_LENGTH = 6, 5, 21, 120
_MIN_COUNT, _MIN_SHARE = 2, 0.9
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W_][\w.-]*|_+\w*|\s+|[^\w\s]+")
_WORD = re.compile(r"[^\W\d_]+")
_STAMP = re.compile(
    r"(?=[\[(]?\d)[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d)?[T ]?(?:\d\d:\d\d(?::\d\d)?[\d.,]{0,10})?"
    r"(?:Z|[+-]\d\d:?\d\d)?[\])]?[ \t]{1,4}"
)
_TAG = re.compile(r"<([A-Za-z][\w.:-]{0,60})((?:\s[^<>]{0,300})?)>")
_ATTRIBUTE = re.compile(r"[\w:-]{1,40}=\"([^\"]{0,200})\"")
# Signs with which arguments begin, and signs with which a label ends.
_OPENS, _ENDS = "({\"'`", "\uff1a:=|→>]】)»"


@dataclass(frozen=True, slots=True)
class Label:
    """A line's beginning: its form, its part of a step, and where the value after it begins.

    Attributes:
        closed: It ends with a sign, not just a word.
        tool_words: Words in it that may be a tool's name.
    """

    form: str
    part: str | None
    end: int
    closed: bool = True
    tool_words: str = ""
    fails: bool = False


@dataclass(slots=True)
class Entry:
    """The text after and below one label, or the text before the first label."""

    label: Label | None = None
    first: str = ""  # the text after the label
    line: str = ""  # the label's whole line
    part: str | None = None
    below: list[str] = field(default_factory=list)

    @property
    def form(self) -> str:
        """The form of the label; empty: there is none."""
        return self.label.form if self.label else ""

    @property
    def value(self) -> str:
        """The text that the label introduces."""
        value = "\n".join(filter(None, [self.first, dedent("\n".join(self.below)).strip("\n")]))
        tag = self.form.partition("<")[2]
        return value.strip().removesuffix(f"</{tag}").rstrip("\n") if tag else value

    @property
    def text(self) -> str:
        """The lines unchanged, the label included."""
        return "\n".join([self.line, *self.below] if self.label else self.below)


# The same few words begin most lines.
@functools.lru_cache(maxsize=4096)
def part_of(words: str) -> str | None:
    """Return which part of a step a label's words name, the most reliable first; None: no part.

    >>> part_of("Tool result"), part_of("行动输入"), part_of("harbour")
    ('result', 'arguments', None)
    """
    parts = {_HINTS.get(word) for word in _WORD.findall(words.lower())}
    if not words.isascii():
        parts |= {_HINTS[word] for word in _UNSPACED_WORDS if word in words}
    part = next((part for part in PARTS if part in parts), None)
    # A model's answer is a message, not a call's result.
    is_said = part == RESULT and not _MODELS.isdisjoint(_WORD.findall(words.lower()))
    return THOUGHT if is_said else part


def entries_of(lines: Sequence[str]) -> list[Entry]:
    """Split a text at the lines that begin with a recurring label.

    >>> [(one.form, one.first) for one in entries_of(["[do] a", "[see] b", "[do] c", "[see] d"])]
    [('', ''), ('0 [ do ]', 'a'), ('0 [ see ]', 'b'), ('0 [ do ]', 'c'), ('0 [ see ]', 'd')]
    """
    told = [labels_of(line) if line.strip() else [] for line in lines]
    counts = Counter(label.form for labels in told for label in labels)
    entries = [Entry()]
    for line, labels in zip(lines, told, strict=True):
        if label := _choose_label(labels, counts):
            first = f"{label.tool_words} {line[label.end :].strip()}".strip()
            entries.append(Entry(label, first, line, label.part))
        else:
            entries[-1].below.append(line)
    return entries


def labels_of(line: str) -> list[Label]:
    """Return the labels with which a line may begin, the shortest first."""
    bare = line.lstrip()
    indent = len(line) - len(bare)
    if tag := _TAG.match(bare):
        name = tag[1].lower()
        tool_words = " ".join(told for told in _ATTRIBUTE.findall(tag[2]) if not told.isdigit())
        return [
            Label(f"{indent}<{name}>", part_of(name), indent + tag.end(), tool_words=tool_words)
        ]
    return _LabelScanner(line, indent).labels()


class _LabelScanner:
    """Scans the words and signs at the beginning of a line."""

    def __init__(self, line: str, indent: int) -> None:
        self._line, self._indent = line, indent
        self._stamp = _STAMP.match(line, indent)
        self._form = [f"{indent}{'T' * bool(self._stamp)}"]
        self._words, self._lifted = list[str](), list[str]()
        self._sign: str | None = None  # the part named by the first sign before any word
        self._found: list[Label] = []

    def labels(self) -> list[Label]:
        """Return the possible labels of the line, the shortest first."""
        at = self._stamp.end() if self._stamp else self._indent
        before = ""
        for token in islice(_TOKEN.finditer(self._line, at, at + _MAX_LENGTH), _MAX_TOKENS):
            told = token[0]
            # Such a sign after a word begins arguments or code and is not part of a label.
            is_set = told[0] == "=" and (self._indent > 0 or before[:1].isalnum())
            if is_set or (told[0] in _OPENS and self._words) or len(self._words) > _MAX_WORDS:
                return self._found
            if told[0].isalnum() or told[0] == "_":
                self._take_word(told, token.end())
            elif not told.isspace():
                self._take_sign(told, token.end())
            before = told
        first, last = self._line[self._indent], self._line.rstrip()[-1]
        is_title = 0 < len(self._words) <= _MAX_TITLE_WORDS and not first.islower()
        # A title contains at most one tool's name; with several it is a message.
        if is_title and last not in ".,;" and len(self._lifted) <= 1:
            self._form.append("$")
            self._add_label(len(self._line))
        return self._found

    def _take_word(self, told: str, end: int) -> None:
        self._words.append(told)
        part = None if told[0].isdigit() else part_of(told)
        if part is None and is_name(told):
            self._lifted.append(told)
        is_lifted = self._lifted[-1:] == [told]
        self._form.append("0" if told[0].isdigit() else "@" if is_lifted else told.lower())
        behind = self._line[end : end + _MAX_LENGTH].strip()
        calls = part == CALL and (begins_with_name(behind) or is_code_call(behind))
        # A single "return" is a statement in code.
        if calls or (part == RESULT and len(self._words) == 1 and told.lower() != "return"):
            self._add_label(end, closed=False)

    def _take_sign(self, told: str, end: int) -> None:
        part = _SIGNS.get(told if told.isascii() else told.rstrip("\ufe0f:"))
        self._form.append(told[:3])
        if self._words:
            is_end = told[0] in _ENDS or told.startswith(("->", "**", "--"))
        else:
            self._sign = self._sign or part
            is_end = part is not None and self._line[end:].strip() != ""
        if is_end:
            self._add_label(end, closed=told[0] != "=")  # settings have "=" too

    def _add_label(self, end: int, *, closed: bool = True) -> None:
        part = part_of(" ".join(self._words)) or self._sign
        fails = not _FAILS.isdisjoint(self._form)
        tool_words = " ".join(self._lifted) if closed else ""
        self._found.append(Label(" ".join(self._form), part, end, closed, tool_words, fails))


def _choose_label(labels: Sequence[Label], counts: Mapping[str, int]) -> Label | None:
    """Return the recurring label that is most informative; None: the line begins like no other."""
    best: Label | None = None
    for label in labels:
        count = counts[label.form]
        if count >= _MIN_COUNT and (
            best is None or _is_more_informative(label, best, count, counts[best.form])
        ):
            best = label
    return best


def _is_more_informative(label: Label, before: Label, count: int, count_before: int) -> bool:
    """Return whether a longer label of a line is more informative than a shorter one."""
    is_title = label.form.endswith("$")
    if before.part is None and label.part is None:
        return not is_title and _MIN_SHARE * count_before <= count
    if before.part is None or label.part is None:
        return label.part is not None
    if before.part == CALL and label.part in (ARGUMENTS, RESULT):
        return True
    if not before.closed and before.part == label.part:
        return not is_title and _MIN_COUNT * count >= count_before
    # A call or an answer is preferred to a speaker or a place in a program.
    is_more = label.closed and not is_title and before.part != RESULT
    return is_more and label.part in (CALL, RESULT, ARGUMENTS)
