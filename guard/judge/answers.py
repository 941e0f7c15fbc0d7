"""A strict reader of a model's answer: a verdict of the required form, or none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from guard.errors import GuardError
from guard.judge.case import Verdict
from guard.quoting import remove_invisible
from guard.redact import redact

MAX_REASON_LENGTH = 1_000
MAX_FIX_LENGTH = 1_500
_MAX_ANSWER_LENGTH = 200_000
# In an answer of a hundred thousand "{", decoding would start at each of them.
_MAX_OBJECTS = 64

_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning|reflection)>(?:(?!</?\1>)[\s\S])*(?:</\1>|\Z)",
    re.IGNORECASE,
)
_END_OF_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning|reflection)>", re.IGNORECASE)
_LONE_SURROGATES = re.compile(r"[\ud800-\udfff]")


class UnusableAnswer(GuardError):
    """The answer has no verdict of the required form; the text says what is wrong."""

    code = "unusable_answer"


def read_verdict(text: str, *, judge: str, is_cut: bool = False) -> Verdict:
    """Read the only verdict in a model's answer.

    Thoughts, code fences and prose around it are skipped. Two different verdicts
    count as none, since one of them may be a quotation.

    Args:
        text: What the model wrote.
        judge: The model's name, for the verdict.
        is_cut: The model ran out of tokens, so later objects may be inside a broken one.

    Raises:
        UnusableAnswer: says what is wrong with it.

    >>> said = '{"loop": true, "confidence": 0.9, "reasoning": "r", "suggested_fix": null}'
    >>> read_verdict(f"<think>{{}}</think>{said}", judge="m").loop
    True
    """
    bare = _THOUGHT.sub("", text[:_MAX_ANSWER_LENGTH])
    # Some templates begin the thought in the prompt, so the answer has only its end.
    plain = _END_OF_THOUGHT.split(bare)[-1]
    found = list(_find_verdict_objects(plain, is_cut=is_cut))
    if not found and (mended := _complete_object(plain)) is not None:
        found = [mended]
    if not found:
        raise UnusableAnswer("no verdict in the answer")
    if any(one != found[0] for one in found):
        raise UnusableAnswer("more than one verdict in the answer")
    loop, confidence = _read_field(found[0], "loop"), _read_field(found[0], "confidence")
    reason, fix = _read_field(found[0], "reasoning"), _read_field(found[0], "suggested_fix")
    if not isinstance(loop, bool):
        raise UnusableAnswer("loop is neither true nor false")
    # bool is an int, but "confidence": true says nothing.
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise UnusableAnswer("confidence is no number")
    if not 0 <= confidence <= 1:
        raise UnusableAnswer("confidence is not in [0, 1]")
    if not isinstance(reason, str) or not (shown := _clean_text(reason, MAX_REASON_LENGTH)):
        raise UnusableAnswer("reasoning is no text")
    if fix is not None and not isinstance(fix, str):
        raise UnusableAnswer("suggested_fix is no text")
    # If there is no loop, a fix would disturb an agent that is doing well.
    kept = _clean_text(fix, MAX_FIX_LENGTH) or None if loop and fix else None
    return Verdict(judge=judge, loop=loop, confidence=float(confidence), reason=shown, fix=kept)


def _find_verdict_objects(text: str, *, is_cut: bool) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects that look like a verdict.

    Text inside an object that breaks off may be a quotation and is no verdict.
    """
    decoder, at = json.JSONDecoder(object_pairs_hook=_reject_duplicates), text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            # What follows is inside the object that broke off.
            if is_cut:
                return
            end = at + 1
        else:
            if "loop" in value:
                yield value
        at = text.find("{", end)


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # json keeps the last of two equal names, but nobody knows which one the model meant.
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError("a field stands twice")
    return dict(pairs)


def _complete_object(text: str) -> dict[str, Any] | None:
    """Close an object that breaks off, if its decision is complete.

    A string that breaks off gets "…"; an incomplete number or fix is dropped.
    """
    start = text.find("{")
    if start < 0 or (broken := _find_break(text, start)) is None:
        return None
    in_string, comma = broken
    # First keep the text that broke off, then try without its field. A trailing backslash (92)
    # would escape the closing quote.
    ends = (f'{text[start:].rstrip(chr(92))}…"}}' if in_string else "", f"{text[start:comma]}}}")
    for whole in filter(None, ends):
        try:
            value = json.loads(whole, object_pairs_hook=_reject_duplicates)
        except (ValueError, RecursionError):
            continue
        fix = value.get("suggested_fix")
        is_half = isinstance(fix, str) and in_string and fix.endswith("…")
        return {**value, "suggested_fix": None if is_half else fix}
    return None


def _find_break(text: str, start: int) -> tuple[bool, int] | None:
    """Return where a flat object breaks off: whether in a string, and the last comma before.

    None: it does not break off, or it contains another object.
    """
    in_string, escaped, comma = False, False, start + 1
    for place in range(start + 1, len(text)):
        character = text[place]
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = in_string
        elif character == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif character in "{}[]":
            return None
        elif character == ",":
            comma = place
    return in_string, comma


def _read_field(answer: dict[str, Any], name: str) -> Any:
    if name not in answer:
        raise UnusableAnswer(f"{name} is missing")
    return answer[name]


def _clean_text(text: str, max_length: int) -> str:
    # Lone surrogates cannot be encoded as UTF-8, so neither the journal nor a browser accepts them.
    clean = redact(remove_invisible(_LONE_SURROGATES.sub("�", text))).strip()
    return clean if len(clean) <= max_length else clean[: max_length - 1].rstrip() + "…"
