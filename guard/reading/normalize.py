"""The identity of a call, how similar it is to another, and how it is shown.

Two calls are the same when they ask for the same: argument order, the model's remarks about its own
call and values made for a single use do not count. Similarity is computed argument by argument:
equal values are boilerplate and are skipped, different ones are compared. Page 2 and page 3 are
different questions; the same body put at line 29 and then at line 30 is the same action.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from guard.caching import lazy_property
from guard.raw_texts import head_and_tail
from guard.reading import Phrase, read_words
from guard.reading.terms import jaccard, texts_in, words_in
from guard.reading.volatile import PLACEHOLDER
from guard.turn import Turn

_MAX_CALL, _MAX_DEPTH = 2000, 40
# In bits; Python refuses to write out a longer integer in decimal.
_MAX_INT_BITS = 14_000

_WRITER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
_make_writer = json.encoder.c_make_encoder  # type: ignore[attr-defined]
# The encoder inside `_WRITER`, which creates a new one for each value: half of a call's cost. It
# does not check for circular references; the recursion limit stops them.
_write_parts: Callable[[object, int], Iterable[str]] = (
    _make_writer(None, str, json.encoder.encode_basestring, None, ":", ",", True, False, True)
    if _make_writer
    else lambda value, _: _WRITER.iterencode(value)
)

_ARGUMENTS = read_words("arguments")
COMMANDS = ("command", "cmd", "script", "code", "input")
_MAX_SHORT_ANSWER = 600
_MAX_PLACE = 10**12
_MIN_QUESTION = 4  # a shorter one may occur in an answer by chance
_NUMBER = re.compile(r"\d+")
_MIN_BODY, _MIN_TEXT, _MIN_PROSE_SPACES = 40, 80, 5
_NUMERIC = re.compile(r"[\d\s:.,;()\[\]-]+")

_DATE = re.compile(r"\d{4}-\d\d")
_PAGERS = Phrase("pagers")
# Names are searched token by token, because most tokens of a run recur and are cached.
_TOKEN = re.compile(r"[/\w]\w*")
_APART = bytes(code if chr(code).isalnum() or chr(code) in "/_" else 32 for code in range(256))
_NAME = r"(?<=/)\w+|[a-z_]{3,}\w*"
_names_in = functools.lru_cache(maxsize=8192)(re.compile(_NAME).findall)
_names_and_numbers_in = functools.lru_cache(maxsize=8192)(re.compile(rf"{_NAME}|\d+").findall)

# From this similarity on, two requests are near-equal.
NEAR_EQUAL = 0.54
# Below this similarity, two requests have little in common.
RELATED = 1 / 3


def call_text(turn: Turn) -> str:
    """Write a turn as one canonical, readable line: its identity for people.

    Allowlist entries hold this text. Keys are sorted and remarks left out; beyond 2,000
    characters the tail becomes a digest, so that equal texts still mean equal calls.

    >>> from guard.turn import Role
    >>> call_text(Turn(role=Role.ASSISTANT, tool="Bash", args={"command": "pytest -q"}))
    'Bash {"command":"pytest -q"}'
    >>> call_text(Turn(role=Role.ASSISTANT, content="All  done."))
    'message: All done.'
    """
    if turn.tool is None:
        return _shorten(f"message: {one_line(turn.content or '')}")
    return format_call(turn.tool, strip_remarks(turn.args))


def format_call(tool: str, args: Mapping[str, Any]) -> str:
    """Write a call with these arguments as `call_text` does."""
    return _shorten(f"{tool} {canonical_json(args)}" if args else tool)


def stable_args(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments without values made for a single use, unless there are no others.

    White space at the end of a short text does not count.

    >>> stable_args({"url": "/orders ", "request_id": "a1"})
    {'url': '/orders'}
    """
    one_use = _ARGUMENTS["one_use"]
    lasting = [name for name in args if str(name).lower().replace("-", "_") not in one_use]
    kept = {name: args[name] for name in lasting or args}
    for name, value in kept.items():
        if isinstance(value, str) and len(value) <= _MAX_CALL:
            kept[name] = value.rstrip() or value  # " " may be a key press
    return kept


def strip_remarks(args: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the arguments without the model's remarks about its own call."""
    args, remarks = args or {}, _ARGUMENTS["remarks"]
    if remarks.isdisjoint(args):
        return dict(args)
    meant = {name: value for name, value in args.items() if name not in remarks}
    # A call with nothing but remarks ("think") is identified by them.
    return meant or args


def canonical_json(value: object) -> str:
    """Write JSON with sorted keys and no spaces; never raises."""
    try:
        return "".join(_write_parts(value, 0))
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_make_serialisable(value, 0), ensure_ascii=False, separators=(",", ":"))


def one_line(text: str) -> str:
    """Return the head of a text, with each run of white space as a single space."""
    return " ".join(text[: _MAX_CALL * 4].split())


def command_in(args: Mapping[str, Any] | None) -> str:
    """Return the command line among a call's arguments, or "" if there is none."""
    args = args or {}
    for value in map(args.get, COMMANDS):
        if isinstance(value, str):
            return value
        if isinstance(value, (list, tuple)) and value:  # checking a union takes three times as long
            words = [word if isinstance(word, str) else canonical_json(word) for word in value]
            is_wrapped = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")  # noqa: PLR2004 - shell, -lc, command
            return words[2] if is_wrapped else " ".join(words)
    return ""


def _shorten(text: str) -> str:
    if len(text) <= _MAX_CALL:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{text[: _MAX_CALL - 20]}… #{digest}"


def _make_serialisable(value: object, depth: int) -> object:
    """Make any object serialisable: text keys, bounded depth."""
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        named = {str(key): inner for key, inner in value.items()}
        return {name: _make_serialisable(named[name], depth + 1) for name in sorted(named)}
    if isinstance(value, list | tuple):
        return [_make_serialisable(inner, depth + 1) for inner in value]
    if isinstance(value, int) and value.bit_length() > _MAX_INT_BITS:
        return hex(value)[:_MAX_CALL]
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    return str(value)[:_MAX_CALL]


def mask_echo(text: str, args: Mapping[str, Any] | None) -> str:
    """Mask what was asked for in a short answer that repeats it.

    "Line 900 is past the end" then says the same as "line 800 is past the end", and "no page
    on the weir" the same as "no page on the mill".

    >>> mask_echo("nothing at offset 900", {"path": "a.py", "offset": 900})
    'nothing at offset <~>'
    >>> mask_echo("No page on 'the weir'.", {"query": "the weir"})
    "No page on '<~>'."
    """
    if not args or len(text) > _MAX_SHORT_ANSWER:
        return text
    for name in _ARGUMENTS["questions"].intersection(args):
        question = args[name]
        if isinstance(question, str) and len(question) >= _MIN_QUESTION:
            text = text.replace(question, PLACEHOLDER)
    if _ARGUMENTS["places"].isdisjoint(args):
        return text
    places = {_as_text(args[name]) for name in _ARGUMENTS["places"].intersection(args)}
    return _NUMBER.sub(lambda found: PLACEHOLDER if found[0] in places else found[0], text)


def _as_text(value: object) -> str | None:
    """Return a text or a number as text; None: another value, or a number too big for a place."""
    if isinstance(value, int) and abs(value) < _MAX_PLACE:
        return str(value)
    return value if isinstance(value, str) else None


class Argument:
    """One argument of a call; its words are read when first compared."""

    def __init__(self, name: str, value: object) -> None:
        """Store a value as a text, limited to what is compared."""
        text = _as_text(value)
        if text is None:
            text = " ".join(texts_in({"": value})) or canonical_json(value)
        self._compared = head_and_tail(text, head=600, tail=200)
        if text is not self._compared:
            # Texts are compared, and kept as long as the step is.
            text = f"{self._compared} #{len(text)} {hash(text)}"
        self.text = text
        self.is_body = len(text) >= _MIN_BODY
        self.is_number = not self.is_body and _NUMERIC.fullmatch(text) is not None
        # The next page of a file belongs to the same file; another date is another question.
        says_where = self.is_number and name.lower() in _ARGUMENTS["places"]
        self.is_place = says_where and not _DATE.search(text)
        # Prose can be worded in any way; a path or an id cannot.
        is_prose = " " in text and (len(text) >= _MIN_TEXT or "\n" in text)
        self.is_text = is_prose or name in _ARGUMENTS["texts"]

    @lazy_property
    def words(self) -> frozenset[str]:
        """All its words."""
        return words_in(self._compared)

    @lazy_property
    def names(self) -> frozenset[str]:
        """Its names and numbers; none if it only says which part is wanted."""
        if self.is_place:
            return frozenset()
        text = self._compared
        is_paged = _PAGERS.occurs_in(text)
        find, low = _names_in if is_paged else _names_and_numbers_in, text.lower()
        if low.isascii():  # costs two thirds of the expression below
            tokens = low.replace("/", " /").encode().translate(_APART).decode().split()
        else:
            tokens = _TOKEN.findall(low)
        return frozenset(chain.from_iterable(map(find, tokens)))


class Arguments(dict[str, Argument]):
    """The arguments of a call by name, and the names that they contain.

    >>> sorted(Arguments({"path": "src/db", "page": 7, "from": "2026-07-05"}).names)
    ['05', '07', '2026', 'db', 'src']
    """

    def __init__(self, args: Mapping[str, object]) -> None:
        """Read the first 100 arguments; nested values count as one text each."""
        first = islice(args.items(), 100)
        super().__init__([(name := str(key), Argument(name, value)) for key, value in first])

    @lazy_property
    def names(self) -> frozenset[str]:
        """The names and numbers in the arguments: what the call is about."""
        return frozenset(chain.from_iterable([one.names for one in self.values()]))

    @lazy_property
    def targets(self) -> frozenset[str]:
        """The names in arguments that are no texts: what an action is done to."""
        named = [one.names for one in self.values() if not one.is_text]
        return frozenset(chain.from_iterable(named))

    @lazy_property
    def terse_targets(self) -> frozenset[str]:
        """The names in arguments that are no prose either: what a call is aimed at."""
        terse = [one for one in self.values() if one.text.count(" ") < _MIN_PROSE_SPACES]
        return frozenset(chain.from_iterable([one.names for one in terse if not one.is_text]))


def argument_similarity(one: Arguments, other: Arguments, *, acts: bool) -> float:
    """Return how near two calls of one verb are by their arguments, in [0, 1]; 1 means equal.

    For calls that change something (`acts`), the place matters less than the content.
    """
    least, shares_body, numbers_moved = 1.0, False, False
    for name in one.keys() | other.keys():
        first, second = one.get(name), other.get(name)
        if first is None or second is None:
            least = min(least, RELATED)
        elif first.text == second.text:
            shares_body = shares_body or first.is_body
        elif first.is_number and second.is_number:
            numbers_moved = True
        else:
            least = min(least, jaccard(first.words, second.words))
            shares_body = shares_body or (first.is_body and least >= NEAR_EQUAL)
    if numbers_moved and not (acts and shares_body):
        return 0.0
    return least
