"""The line of search: `agent:coder status:held tool:Bash "exact words" cost:>1`, and its words.

Pure. Both databases get prepared words, so that they find the same: lower case without accents,
letters and digits only, each Chinese, Japanese or Korean character a word of its own.
`app/auth.py` is three words in a row. Text that is no known token is searched as words: a colon in
it is no error. A known token with an invalid value is refused, and the error says what was
expected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any, get_args

from missioncontrol.errors import InvalidRequest
from missioncontrol.wire.runs import RunStatus

MAX_LINE_LENGTH = 1000
MAX_TERMS = 24
STATUSES: tuple[str, ...] = get_args(RunStatus)
MODES = ("warn", "flag", "pause", "auto")
FACTS = ("flagged", "fixed", "unpriced", "imported")
AGO_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DAYS_BACK = {"today": 0, "yesterday": 1}

# A quote that is not closed yet ends with the line: people search while they type.
_TOKEN = re.compile(r'(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S*))', re.IGNORECASE)
# A limited number of digits: a number beyond the column's range would fail in the database.
_RANGE = re.compile(r"(>=|<=|>|<|=)?(\d{1,15}(?:\.\d{1,6})?)(?:\.\.(\d{1,15}(?:\.\d{1,6})?))?")
_AGO = re.compile(r"(\d{1,4})([mhdw])")

# Only the beginning of longer words counts: they are hashes and blobs.
MAX_WORD_LENGTH = 64
# Characters of one field that are indexed: its beginning, and its end for the last fifth.
MAX_INDEXED_TEXT = 30_000
# The first character of a tag; no word contains it.
TOOL_SIGN, AGENT_SIGN = "\u00a7", "\u00b6"

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Kana, CJK and Hangul are written without spaces: each character is a word of its own.
_WORD = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
_NOT_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """Words in a row; the last may be the beginning of a word."""

    words: tuple[str, ...]
    is_prefix: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """From `lower` to `upper`, each inclusive or exclusive."""

    lower: Decimal | None = None
    upper: Decimal | None = None
    includes_lower: bool = True
    includes_upper: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One condition that a run must meet, or with `negated` must not."""

    key: str
    value: Any
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed line of search."""

    terms: tuple[Term, ...] = ()

    @property
    def texts(self) -> tuple[Phrase, ...]:
        """Return the words that a run must hold."""
        return tuple(term.value for term in self.terms if term.key == "text" and not term.negated)


def parse_query(line: str, *, at: datetime, zone: tzinfo = UTC) -> Query:
    """Parse a line of search; days begin in `zone`.

    Raises:
        InvalidRequest: it is too long, or a token's value is invalid.
    """
    if len(line) > MAX_LINE_LENGTH:
        raise InvalidRequest(f"q: at most {MAX_LINE_LENGTH} characters.", field="q")
    terms: list[Term] = []
    # PostgreSQL refuses a NUL in a query.
    for found in _TOKEN.finditer(line.replace("\0", "")):
        minus, named, quoted, bare = found.groups()
        value, key = quoted if quoted is not None else bare, (named or "").lower()
        if key not in PARSERS:
            # An address or a time has a colon too: a text that is no token is searched for.
            text = f"{key}:{value}" if key else value
            if words := tuple(split_words(text)):
                # One letter begins nearly every word, so it must match a whole word.
                is_prefix = quoted is None and len(words[-1]) > 1
                phrase = Phrase(words=words, is_prefix=is_prefix, text=text)
                terms.append(Term(key="text", value=phrase, negated=bool(minus)))
        elif value:  # `status:` is still being typed
            read = PARSERS[key](value, at, zone)
            terms.append(Term(key=key, value=read, negated=bool(minus)))
    # Each is a condition of its own in the database.
    if len(terms) > MAX_TERMS:
        raise InvalidRequest(f"q: at most {MAX_TERMS} words and tokens.", field="q")
    return Query(terms=tuple(terms))


def _parse_name(value: str, at: datetime, zone: tzinfo) -> str:
    return value


def _choice_parser(key: str, known: tuple[str, ...]) -> Callable[[str, datetime, tzinfo], Any]:
    def read(value: str, at: datetime, zone: tzinfo) -> tuple[str, ...]:
        named = tuple(word for word in value.lower().split(",") if word)
        if not named or not set(named) <= set(known):
            raise _invalid_value(key, " ".join(known), value)
        return named

    return read


def _bounds_parser(key: str, example: str) -> Callable[[str, datetime, tzinfo], Bounds]:
    def read(value: str, at: datetime, zone: tzinfo) -> Bounds:
        # Characters that a phone's keyboard or a pasted text may add.
        found = _RANGE.fullmatch(value.replace("$", "").replace("≥", ">=").replace("≤", "<="))
        # `>1..5` contradicts itself.
        if found is None or (found[1] and found[3]):
            raise _invalid_value(key, example, value)
        sign, number = found[1] or "=", Decimal(found[2])
        if found[3] is not None:
            return Bounds(lower=number, upper=Decimal(found[3]))
        if sign.startswith(">"):
            return Bounds(lower=number, includes_lower=sign == ">=")
        if sign.startswith("<"):
            return Bounds(upper=number, includes_upper=sign == "<=")
        return Bounds(lower=number, upper=number)

    return read


def _moment_parser(key: str) -> Callable[[str, datetime, tzinfo], datetime]:
    def read(value: str, at: datetime, zone: tzinfo) -> datetime:
        try:
            if found := _AGO.fullmatch(value.lower()):
                return at - timedelta(**{AGO_UNITS[found[2]]: int(found[1])})
            if value.lower() in DAYS_BACK:
                midnight = at.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
                # Subtract days in local time, before UTC: a day may have 23 hours.
                return (midnight - timedelta(days=DAYS_BACK[value.lower()])).astimezone(UTC)
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
        except (ValueError, OverflowError, InvalidOperation):
            raise _invalid_value(key, "2026-11-01, 24h, 7d, today or yesterday", value) from None

    return read


def _invalid_value(key: str, expected: str, value: str) -> InvalidRequest:
    return InvalidRequest(f"{key}: expected {expected}, got {value[:60]!r}.", field="q")


# Token -> the parser of its value. `frontend/src/views/history/searchTokens.ts` has the same list.
PARSERS: dict[str, Callable[[str, datetime, tzinfo], Any]] = {
    "agent": _parse_name,
    "tool": _parse_name,
    "model": _parse_name,
    "by": _parse_name,
    "project": _parse_name,
    "kind": _parse_name,
    "status": _choice_parser("status", STATUSES),
    "mode": _choice_parser("mode", MODES),
    "is": _choice_parser("is", FACTS),
    "ended": _choice_parser("ended", ("yes", "no")),
    "cost": _bounds_parser("cost", "a sum such as >1, <0.50 or 1..5"),
    "turns": _bounds_parser("turns", "a number such as >100 or 10..50"),
    "since": _moment_parser("since"),
    "until": _moment_parser("until"),
}


def split_words(text: str) -> list[str]:
    r"""Return the words of a text, in order.

    >>> split_words("Naïve app/auth.py")
    ['naive', 'app', 'auth', 'py']
    >>> split_words("\U0001d54a")
    ['s']
    """
    # Code and logs are nearly always ASCII: one regular expression, no characters to decompose.
    if text.isascii():
        return [word[:MAX_WORD_LENGTH] for word in _ASCII_WORD.findall(text.lower())]
    return [word for word, _, _ in located_words(text)]


def located_words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each word of a text with its start and end in the text."""
    for found in _WORD.finditer(text):
        word = found.group()
        if word.isascii():
            yield word.lower()[:MAX_WORD_LENGTH], found.start(), found.end()
            continue
        # Some capitals show only once a character is decomposed, such as the mathematical S.
        apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", word).casefold())
        plain = _NOT_WORD.sub("", "".join(c for c in apart if not unicodedata.combining(c)))
        # A decomposed character may contain ones that are words by themselves.
        for part in _WORD.findall(plain[:MAX_WORD_LENGTH]):
            yield part, found.start(), found.end()


def make_tag(sign: str, name: str) -> str:
    """Return the one word that stands for a tool's or an agent's whole name."""
    # Joined to one word: with several, only the first would have the sign.
    plain = "".join(split_words(name))
    return sign + plain[: MAX_WORD_LENGTH - 1] if plain else ""


def cut_middle(text: str) -> str:
    """Return the parts of a long text that are indexed."""
    if len(text) <= MAX_INDEXED_TEXT:
        return text
    # An error is at the end of an output, so the end is kept too.
    tail = MAX_INDEXED_TEXT // 5
    return f"{text[: MAX_INDEXED_TEXT - tail]} {text[-tail:]}"
