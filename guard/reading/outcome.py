"""What came back from a call: did it fail, and is it the same answer again?"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Hashable, Mapping
from hashlib import blake2b
from itertools import filterfalse
from typing import Any, NamedTuple
from zlib import crc32

from guard.reading import Phrase, compile_phrases, pattern_of, read_words
from guard.reading.normalize import canonical_json, mask_echo
from guard.reading.terms import BRIEF_ANSWER, masked_lines, terms_in, terms_of_lines, words_in
from guard.reading.text_calls import report_content
from guard.reading.volatile import PLACEHOLDER, mask_failure
from guard.turn import PROPOSED, Turn

_WORDS = read_words("answers")
_MAX_COMPARED = 12_000
_HEAD = 4_000
_MAX_SORTED_LINES = 40
_AROUND_HOLE = " \t'\".,:;{}[]()"
_SAMPLE, _SAMPLES = 512, 64
_FAILURE_HEAD, _MAX_MESSAGE, _MAX_ACKNOWLEDGEMENT = 600, 300, 120

# A failure says so at its start or in its last line. Never search a whole listing for "error": no
# other rule caused as many false alarms. All are searched in lower-cased text and begin with a
# literal: an expression that ignores case, or begins with a boundary, costs ten times as much.
_FAILS_AT_START = re.compile(rf"\W{{0,10}}{pattern_of('fails_at_start')}")
_NONE_FAILS = re.compile(r"\W{0,10}\w{1,12}[\"']? ?: ?(?:0|false|none|null|\[\]|\"\"|'')")
_FIELD_FAILS = compile_phrases("field_fails")
_REFUSES, _SUCCEEDS = Phrase("refuses"), compile_phrases("succeeds")
_TURNS_DOWN, _SHOWN_LINE = Phrase("turns_down"), compile_phrases("shown_line")
_FAILS_EARLY, _TELLS_WHY = Phrase("fails_early"), Phrase("tells_why")
_LAST_LINE_ERROR = re.compile(r"\s{0,8}[\w.]{0,80}(?:Error|Exception|Failure)\b(?:[:(]|$)")
_TESTS_FAILED, _TESTS_PASSED = compile_phrases("tests_failed"), Phrase("tests_passed")
_NAMES_AND_NUMBERS = compile_phrases("names_and_numbers")
_BARE_NUMBER = re.compile(r"\d(?<![\w'\"`]\d)\d*+(?![\w'\"`])")
_PICTURE = re.compile(r"\s*[\[<(](?:screenshot|image|picture)\b[^\n]{0,80}\s*", re.IGNORECASE)
# It may be an object that holds the answer along with a status.
_ANSWER_FIELD = re.compile(rf"\"(?:{'|'.join(sorted(_WORDS['holds']))})\" ?: ?[\"\[]")
_MAX_JSON = 40_000
_SAYS_FAILED = compile_phrases("says_failed")
# The value of a program that returned none; every answer of smolagents ends with it.
_NO_VALUE = compile_phrases("no_value")
_HAS_MORE = Phrase("has_more")
# A first line with only these words that names an answer announces it and is not part of it.
_ANNOUNCING_WORDS = _WORDS["announced"]
_CAME_BACK_WORDS = frozenset({"came", "back"})
_OPENING_WORDS = _ANNOUNCING_WORDS | _CAME_BACK_WORDS | _WORDS["opening"]
_MAX_OPENING = 80
# Nothing came back, in the words of shells, search tools, databases, JSON and Python.
_NOTHING = re.compile(
    rf"[\s\"'(){{}}<>\[\]]{{0,6}}{pattern_of('nothing')}?[\s\"'(){{}}<>\[\].!]{{0,6}}"
)
_MAX_NOTHING = 80
# What harnesses (crewAI, Claude Code, Hermes, and loop guards of many agents) answer to a repeated
# call instead of a result: it stands for the earlier answer.
_SAME_AS_BEFORE = Phrase("same_as_before", head=200, lower=True)
# The words of a failure whose only reason is that no answer came in time.
TIMED_OUT = Phrase("late", head=_FAILURE_HEAD, lower=True)
# The words of a failed network or a busy service.
SERVICE_BUSY = Phrase("busy", head=_FAILURE_HEAD, lower=True)


class Outcome(NamedTuple):
    """What came back, in comparable form: equal outcomes have an equal `key`."""

    # The answer without its volatile parts: its terms, or a digest if it has few words.
    key: Hashable
    failed: bool = False  # it says that it failed
    # The essence of the failure with its names, so that "no column A" differs from "no column B".
    failure: str | None = None
    template: str | None = None  # `failure` without names and numbers
    failures: int | None = None  # how many tests or checks failed, if known
    is_long: bool = False  # it is longer than an acknowledgement
    refers_back: bool = False  # it only says that the call was made before
    text: str = ""  # the head of what came back
    # The terms of what came back; for a failure, of its essence.
    terms: frozenset[str] = frozenset()

    @property
    def has_more(self) -> bool:
        """It says that a next page follows; looked for only in the few answers that are alike."""
        return not self.failed and self.key != NOTHING_FOUND.key and _HAS_MORE.occurs_in(self.text)

    @property
    def digest(self) -> str:
        """A short name of the answer for people: equal for equal answers, in every process."""
        return self.key if isinstance(self.key, str) else _digest("\n".join(sorted(self.terms)))


def outcome_of(turn: Turn) -> Outcome | None:
    """Read what came back; None: it is unknown."""
    if turn.tool is None or turn.phase is PROPOSED:
        return None
    if turn.error:
        # Some report the same text as error and result, some only an exit code as the error.
        result = turn.result or ""
        alone = result in turn.error or turn.error.strip() == result.strip()
        text = turn.error if alone else f"{turn.error}\n{_without_opening(result)}"
        return _read_outcome(text, is_error=True, asked=turn.args)
    if turn.result is None:
        return None if turn.error is None else _read_outcome("", is_error=False, asked=None)
    if _PICTURE.fullmatch(turn.result[:_MAX_MESSAGE]):
        return None  # a picture was shown: its content is unknown
    text, failed = turn.result, False
    # mini-swe-agent writes every answer like this; only the code says whether it failed.
    if text.startswith("<returncode>"):
        text = report_content(text)
        if failed := text.startswith("exit code "):
            text = text.partition("\n")[2]
    elif text.startswith(("{", "[{")) and _ANSWER_FIELD.search(text[:_HEAD]):
        text, failed = _unwrap_json(text)
    return _read_outcome(mask_echo(text, turn.args), is_error=failed, asked=turn.args)


def _unwrap_json(text: str) -> tuple[str, bool]:
    """Take an answer out of JSON that holds little else; also return whether it says it failed."""
    try:
        fields = json.loads(text) if len(text) <= _MAX_JSON else None
    except (ValueError, RecursionError):
        return text, False
    if isinstance(fields, list):
        fields = {"content": fields}
    if not isinstance(fields, dict) or _FIELD_FAILS.match(text[:_HEAD].lower()):
        return text, False
    if isinstance(inner := fields.get("result"), dict) and _WORDS["holds"] & inner.keys():
        fields = {**fields, "result": None, **inner}  # as JSON-RPC wraps it
    held = [_text_of(fields.pop(name)) for name in sorted(_WORDS["holds"] & fields.keys())]
    if None in held or not any(held) or len(canonical_json(fields)) > _MAX_MESSAGE:
        return text, False
    failed = _SAYS_FAILED.search(canonical_json(fields)) is not None
    return "\n".join(filter(None, held)), failed


def _text_of(value: object) -> str | None:
    """Return a text, or the text of a tool server's content blocks; None: neither."""
    blocks = value if isinstance(value, list) else [{"text": value or ""}]
    fields = [one if isinstance(one, dict) else {} for one in blocks]
    texts = [one.get("text", one.get("content")) for one in fields]
    written = [text for text in texts if isinstance(text, str)]
    return "\n".join(written) if len(written) == len(texts) else None


def _read_outcome(text: str, *, is_error: bool, asked: Mapping[str, Any] | None) -> Outcome:
    """Read a text, then adapt a failure to what was asked."""
    # Long texts are not cached.
    read = _read_answer if len(text) <= _MAX_COMPARED else _read_answer.__wrapped__
    outcome = read(text, is_error=is_error)
    if outcome.failure is None or not _BARE_NUMBER.search(outcome.failure):
        return outcome
    # Numbers that were not asked for become 0.
    named = frozenset(_BARE_NUMBER.findall(canonical_json(asked)))
    failure = _BARE_NUMBER.sub(lambda one: one[0] if one[0] in named else "0", outcome.failure)
    return outcome._replace(failure=failure, template=_template(failure))


@functools.lru_cache(maxsize=128)
def _read_answer(text: str, *, is_error: bool) -> Outcome:
    head, text = text[:_HEAD], _without_opening(text)
    if "None" in text[-_MAX_MESSAGE:]:
        text = _NO_VALUE.sub("", text)
    if not is_error and len(text) <= _MAX_NOTHING and _NOTHING.fullmatch(text.lower()):
        # To report nothing tells something the first time; silence, or a word for it, never does.
        is_silent = not text or "output" in text.lower()
        return NOTHING_FOUND._replace(text=head, terms=frozenset(() if is_silent else {"nothing"}))
    tail, failures = text[-_FAILURE_HEAD:].lower(), 0
    if "fail" in tail or "error" in tail or " pass" in tail:
        counts = _TESTS_FAILED.findall(tail)
        # Some report the number of failures both ways.
        told = sum([int(bad or 0) for bad, _, _ in counts])
        failures = max(told, sum([int(of or 0) - int(good or 0) for _, good, of in counts]))
    is_counted = failures > 0 or _TESTS_PASSED.occurs_in(tail)
    failed = is_error or (failures > 0 if is_counted else looks_failed(text))
    lines, failure = masked_lines(text), None
    if failed:  # only its essence counts
        telling = _TELLS_WHY.matching_lines("\n".join(lines))
        why = dict.fromkeys(filterfalse(_looks_like_source, telling))
        shown = [line[:_MAX_MESSAGE] for line in list(why or lines)[:3]]
        failure = mask_failure("\n".join(shown))
    terms = terms_of_lines(lines) if failure is None else terms_in(failure)
    return Outcome(
        key=_answer_key(text, lines, terms, failed=failed),
        failed=failed,
        failure=failure,
        template=_template(failure) if failure else None,
        failures=failures if is_counted else None,
        is_long=len(text) > _MAX_ACKNOWLEDGEMENT and text.count("\n") > 1,
        refers_back=_SAME_AS_BEFORE.occurs_in(head),
        text=head,
        terms=terms,
    )


NOTHING_FOUND = Outcome(key="nothing")


def _without_opening(text: str) -> str:
    """Remove a first line that only announces the answer."""
    opening, _, rest = text[: _MAX_OPENING + 1].partition("\n")
    if not rest or opening.rstrip()[-1:] not in {":", "."}:
        return text
    words = words_in(opening)
    announces = words <= _OPENING_WORDS and (words & _ANNOUNCING_WORDS or words >= _CAME_BACK_WORDS)
    return text[len(opening) + 1 :] if announces else text


@functools.lru_cache(maxsize=256)
def _template(failure: str) -> str:
    return _NAMES_AND_NUMBERS.sub("", failure)


def _answer_key(
    text: str, lines: tuple[str, ...], terms: frozenset[str], *, failed: bool
) -> Hashable:
    # Long answers are told apart by samples from all over them.
    rest = ""
    if len(text) > _MAX_COMPARED:
        step = max(_SAMPLE, len(text) // _SAMPLES)
        sample = "".join(text[at : at + _SAMPLE] for at in range(0, len(text), step))
        rest = f"{len(text)} {crc32(sample.encode('utf-8', 'surrogatepass'))}"
    if not failed and len(terms) >= BRIEF_ANSWER:
        return terms, rest  # the same words in another order are the same answer
    if len(lines) == 1 and lines[0].strip(_AROUND_HOLE) == PLACEHOLDER:
        lines = (text.strip(),)  # an id or a time alone is itself the answer
    # Short answers often come in any order: directory listings, parallel jobs.
    known = "\n".join(sorted(lines) if len(lines) <= _MAX_SORTED_LINES else lines)
    return _digest(("!" if failed else "=") + (mask_failure(known) if failed else known) + rest)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def looks_failed(result: str) -> bool:
    """Return whether an answer says that it failed, in its first lines or its last.

    >>> looks_failed("ERROR! Your patch is empty."), looks_failed("def error(): ...")
    (True, False)
    """
    head = result[:_FAILURE_HEAD].lower()
    if head.startswith("{") and _FIELD_FAILS.match(head):
        return True
    if _FAILS_AT_START.match(head) and not _NONE_FAILS.match(head):
        return _SUCCEEDS.search(head.split("\n", 1)[0]) is None
    refuses = len(result) <= _MAX_MESSAGE and (
        _REFUSES.occurs_in(head)
        # These words also occur in code and in search results.
        or not all(map(_SHOWN_LINE.match, _TURNS_DOWN.matching_lines(head)))
    )
    early = "\n".join(head.split("\n", 3)[:3])
    if refuses or not all(map(_looks_like_source, _FAILS_EARLY.matching_lines(early))):
        return _SUCCEEDS.search(head) is None
    last = result[-300:].rstrip().rsplit("\n", 1)[-1]
    return _LAST_LINE_ERROR.match(last) is not None


def _looks_like_source(line: str) -> bool:
    """Return whether a line is from a file that mentions errors: numbered, or code."""
    return len(line) > _MAX_MESSAGE or line[:6].strip(" :|\t").isdigit() or "raise " in line
