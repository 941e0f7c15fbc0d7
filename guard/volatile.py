r"""Mask what changes from run to run without meaning: times, ids, durations.

Regular expressions are the cost of an engine like this (FINDINGS 7). So texts
are masked word by word through a cache, a word without a digit is left alone,
and what depends on a neighbouring word is looked for only where a hint stands.
"""

from __future__ import annotations

import functools
import re

_HOLE = "<~>"
_LONGEST_WORD = 400
_SECONDS = 10
_AROUND = ".,:;()[]{}'\""
# A cache and nothing more: what is masked does not depend on it.
_plain_words: set[str] = set()
_MOST_WORDS = 40_000
_HAS_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
# Of bytes: `str.translate` looks each sign up anew for each text.
_TO_ZERO = bytes(48 if 48 <= code < 58 else code for code in range(256))  # noqa: PLR2004 - "0" to "9"

_VOLATILE = re.compile(
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"  # UUID
    r"|\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"  # date, time
    r"|(?<![\w.:/])\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[ap]m)?(?![\w:])"  # clock
    r"|0x[0-9a-fA-F]{3,}"  # address
    r"|(?<![0-9A-Za-z])(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{12,}(?![0-9A-Za-z])"  # digest, trace id
    r"|(?<![\w.])1[4-9]\d{8}(?:\d{3})?(?:\.\d+)?(?![\w])"  # seconds since 1970
    r"|(?<![\w.])\d+(?:\.\d+)?(?:ns|us|µs|ms|s|sec|secs|m\d+(?:\.\d+)?s|h\d+m)(?!\w)"  # duration
    r"|(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s\"',;:)]*\d[^\s\"',;:)]*"  # temp
    r"|(?<![0-9A-Za-z])(?:call|toolu|req|msg|run|task|job|sess|session|trace|span|chatcmpl|resp|evt"
    r"|tx|cmpl|item)[_-](?=[A-Za-z]*\d)[0-9A-Za-z]{6,}"  # prefixed id
    r"|(?<![0-9A-Za-z])(?=[A-Za-z]*\d)(?=[0-9a-z]*[A-Z])(?=[0-9A-Z]*[a-z])[0-9A-Za-z]{16,}"
    r"(?![0-9A-Za-z])"  # random id
)
# One of these stands in whatever the expression above finds in a word, at a quarter of its cost.
_MAY_BE_VOLATILE = re.compile(r"[-:_/]|0x|\d[nuµmsh]|.{10}")
_SCRATCH = re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders)/(?:[\w.-]*/)*[\w.-]*\d[\w./-]*")
# A value made volatile by what stands beside it: "took 3 seconds", "attempt 4",
# "messageId": "1a2b3c".
_ONE_USE = r"\"? ?[:=] ?\"?)(?=[A-Za-z_-]{0,40}\d)[\w.-]{6,}"
_BESIDE: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (
        (" sec", " min", " ms", " millis"),
        re.compile(r"\d+(?:\.\d+)?(?= (?:seconds?|secs?|minutes?|mins?|milliseconds?|ms)\b)"),
        _HOLE,
    ),
    (
        ("attempt", "retr", "elapsed", "took", "pid", "iteration"),
        re.compile(
            r"(?i)\b((?:attempts?|retry|retries|elapsed|took|pid|iteration)[ #:=]{1,3})"
            r"\d+(?:\.\d+)?"
        ),
        rf"\g<1>{_HOLE}",
    ),
    (('id"', "id:", "id=", "id ="), re.compile("([iI][dD]" + _ONE_USE), rf"\g<1>{_HOLE}"),
    (
        ('_ms"', '_s"', '_sec"', '_seconds"', 'took"', 'elapsed"', 'duration"', 'latency"', 'age"'),
        re.compile(
            r"(\"\w{0,40}(?:_ms|_s|_sec|_seconds|took|elapsed|duration|latency|age)\" ?: ?)"
            r"\d+(?:\.\d+)?"
        ),
        rf"\g<1>{_HOLE}",
    ),
    (("ticket",), re.compile("([tT]icket" + _ONE_USE), rf"\g<1>{_HOLE}"),
    (("timestamp",), re.compile("([tT]imestamp" + _ONE_USE), rf"\g<1>{_HOLE}"),
    (("nonce",), re.compile("([nN]once" + _ONE_USE), rf"\g<1>{_HOLE}"),
    (("etag",), re.compile("([eE][tT]ag" + _ONE_USE), rf"\g<1>{_HOLE}"),
)
_HINTS = tuple(hint for hints, _, _ in _BESIDE for hint in hints if not hint.endswith('"'))
_HINTS_IN_JSON = tuple(hint for hints, _, _ in _BESIDE for hint in hints if hint.endswith('"'))
# What a shell says of a job it put into the background: "[1] 46519".
_JOB = re.compile(r"\[\d+\]\s+\d+")
_LINE_NUMBER = re.compile(r"([lL]ines? ?:?|:|\(|\bL)\d+(?::\d+)?")
_ABSOLUTE_PATH = re.compile(r"/(?:[\w.@+-]+/)+([\w.@+-]+)")


def mask_volatile(text: str) -> str:
    """Replace times, durations, ids, addresses and temporary paths by a hole.

    Plain numbers and quoted names stay: page 2 is not page 3.

    >>> mask_volatile("2 failed in 0.53s at 2026-11-21T21:08:00Z, see /tmp/tmpab12x/log")
    '2 failed in <~> at <~>, see <~>'
    >>> mask_volatile("attempt 3: job is 40 % done")
    'attempt <~>: job is 40 % done'
    """
    lines = text.split("\n")
    if text[:1] == "[":
        lines = list(map(mask_job, lines))
    return "\n".join(mask_lines(lines))


def mask_lines(lines: list[str]) -> list[str]:
    """Mask each line as `mask_volatile` does; lines without a digit stay as they are.

    >>> mask_lines(["no figures", "ready in 0.3s"])
    ['no figures', 'ready in <~>']
    """
    if not lines:
        return lines
    shapes = zero_digits("\n".join(lines)).split("\n")
    numbered = [line for line, shape in zip(lines, shapes, strict=True) if "0" in shape]
    if not numbered:
        return lines
    masked = iter(mask_numbered(numbered))
    pairs = zip(lines, shapes, strict=True)
    return [next(masked) if "0" in shape else line for line, shape in pairs]


def mask_job(line: str) -> str:
    """Replace what a shell says of a job it put into the background.

    >>> mask_job("[1] 46519"), mask_job("[1] pytest")
    ('<~>', '[1] pytest')
    """
    return _HOLE if line[:1] == "[" and _JOB.fullmatch(line) else line


def zero_digits(text: str) -> str:
    """Write every number as 0.

    >>> zero_digits("page 12 of 300")
    'page 0 of 0'
    """
    if not text.isascii():
        return _DIGITS.sub("0", text)
    # A twentieth of the expression's cost.
    text = text.encode().translate(_TO_ZERO).decode()
    while "00" in text:
        text = text.replace("00", "0")
    return text


def mask_scratch(text: str) -> str:
    """Replace temporary paths with made-up names by a hole, and nothing else.

    Dates, ids and numbers that an agent asks for are what it asks for.

    >>> mask_scratch("run /tmp/tmpab12x/job.sh 3f2504e0 2026-05-10")
    'run <~> 3f2504e0 2026-05-10'
    """
    has_hint = "tmp/" in text or "/var/folders" in text
    return _SCRATCH.sub(_HOLE, text) if has_hint else text


def mask_failure(text: str) -> str:
    r"""Mask a failure's text, masked already, further: line numbers, directories.

    >>> mask_failure('File "/home/me/app/auth.py", line 12: no column \'a1\'')
    'File "auth.py", line <~>: no column \'a1\''
    """
    if "/" in text:
        text = _ABSOLUTE_PATH.sub(r"\1", text)
    return _LINE_NUMBER.sub(rf"\g<1>{_HOLE}", text) if _HAS_DIGIT.search(text) else text


def mask_numbered(lines: list[str]) -> list[str]:
    """Mask lines that each hold a digit, as `mask_lines` does."""
    text = "\n".join(lines)
    if _has_volatile_word(text):
        text = "\n".join(map(_mask_line, lines))
    return _mask_beside(text).split("\n")


def _has_volatile_word(text: str) -> bool:
    """Look at words not seen before only: most words of a run come again."""
    unknown = set(text.split()) - _plain_words
    if len(_plain_words) > _MOST_WORDS:
        _plain_words.clear()
    numbered = filter(_HAS_DIGIT.search, unknown)
    volatile = {word for word in numbered if _mask_word(word) != word}
    _plain_words.update(unknown - volatile if volatile else unknown)
    return bool(volatile)


def _mask_line(line: str) -> str:
    return " ".join([_mask_word(word) for word in line.split(" ")])


@functools.lru_cache(maxsize=32768)
def _mask_word(word: str) -> str:
    if len(word) > _LONGEST_WORD or not _HAS_DIGIT.search(word):
        return word
    if len(word) < _SECONDS and word.strip(_AROUND).isdigit():
        return word
    return _VOLATILE.sub(_HOLE, word) if _MAY_BE_VOLATILE.search(word) else word


def _mask_beside(text: str) -> str:
    lowered = text.lower()
    stands = lowered.__contains__
    if not any(map(stands, _HINTS)) and not ('"' in text and any(map(stands, _HINTS_IN_JSON))):
        return text
    lines, low = text.split("\n"), lowered.split("\n")
    for hints, pattern, replacement in _BESIDE:
        for place in _places_of(list(filter(stands, hints)), low):
            lines[place] = pattern.sub(replacement, lines[place])
    return "\n".join(lines)


def _places_of(hints: list[str], lines: list[str]) -> set[int]:
    """Give the places of the lines that hold a hint; most lines of a listing hold none."""
    return {place for hint in hints for place, line in enumerate(lines) if hint in line}
