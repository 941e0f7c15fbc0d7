"""The identity of a call, and how it is shown.

Two calls are the same when they ask for the same: argument order, the model's
remarks about its own call and values made for one use do not count.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, TypeGuard

from guard.reading.classify import PATH_ARGUMENTS, classify, listed
from guard.reading.volatile import mask_scratch
from guard.turn import Turn

_LONGEST_CALL = 2000
_LONGEST_HEADLINE = 120
_DEEPEST = 40
# Python refuses to write out a longer one in decimals.
_LONGEST_INT = 14_000

_WRITER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
_quoted = json.encoder.encode_basestring
_make_writer = json.encoder.c_make_encoder  # type: ignore[attr-defined]
# The writer within `_WRITER`, which makes one anew for each value: half of a call's cost.
# It is not asked to look out for circles; the depth of its recursion ends them.
_write_parts: Callable[[object, int], Iterable[str]] = (
    _make_writer(None, str, _quoted, None, ":", ",", True, False, True)
    if _make_writer
    else lambda value, _: _WRITER.iterencode(value)
)

# What a model writes about its call beside the call itself; it rewords it freely.
_REMARKS = frozenset({"description", "explanation", "justification", "reasoning", "thought"})
# Values made anew for each call.
_ONE_USE = listed(
    "attempt call_id correlation_id idempotency_key nonce req_id request_id requestid "
    "retry retry_count span_id timestamp tool_call_id tool_use_id trace_id traceid ts "
    "cache_buster cachebust"
)
COMMANDS = ("command", "cmd", "script", "code", "input")
_TARGETS = (*PATH_ARGUMENTS, "pattern", "query", "url", "regex", "search", "q", "name", "id")

# Arguments that say which part of one thing is wanted: the next page of a file
# is the same file. Whether a page brought anything is for the news to tell.
PLACES = listed(
    "cursor end end_line endline from length limit line line_number lines max_results n "
    "num_results offset page page_size per_page skip start start_line startline timeout "
    "to view_range verbose"
)
_LONGEST_PLACE = 300
_SHORT = 600
_GIANT = 10**12
_NUMBER = re.compile(r"\d+")


def call_text(turn: Turn) -> str:
    """Write a turn as one canonical, readable line: its identity for people.

    Allowlist entries hold this text. Sorted keys, no remarks; past 2,000
    characters the tail becomes a digest, so that equal still means equal.

    >>> from guard.turn import Role
    >>> call_text(Turn(role=Role.ASSISTANT, tool="Bash", args={"command": "pytest -q"}))
    'Bash {"command":"pytest -q"}'
    >>> call_text(Turn(role=Role.ASSISTANT, content="All  done."))
    'message: All done.'
    """
    if turn.tool is None:
        return _cut(f"message: {one_line(turn.content or '')}")
    return write_call(turn.tool, meant_args(turn.args))


def write_call(tool: str, args: Mapping[str, Any]) -> str:
    """Write a call with these arguments as `call_text` does."""
    return _cut(f"{tool} {canonical_json(args)}" if args else tool)


def mask_request(turn: Turn, call: str, args: Mapping[str, Any]) -> str:
    """Mask the volatile parts of a turn's canonical text and meant arguments."""
    if turn.tool is None:
        return call
    kept = lasting_args(args)
    return mask_scratch(call if kept is args else write_call(turn.tool, kept))


def lasting_args(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the arguments without values made for one use, unless there are no others.

    White space at the end of a short text is no part of what is asked for.

    >>> lasting_args({"url": "/orders ", "request_id": "a1"})
    {'url': '/orders'}
    """
    if not _ONE_USE.isdisjoint(map(_plain_name, args)):
        kept = {name: value for name, value in args.items() if _plain_name(name) not in _ONE_USE}
        args = kept or args
    if not any(map(_trails_off, args.values())):
        return args
    # " " may be a key that is pressed.
    return {
        name: (value.rstrip() or value) if _trails_off(value) else value
        for name, value in args.items()
    }


def _trails_off(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value[-1:].isspace() and len(value) <= _LONGEST_CALL


def meant_args(args: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Give the arguments without the model's remarks about its own call."""
    if not args:
        return {}
    if _REMARKS.isdisjoint(args):
        return args
    meant = {name: value for name, value in args.items() if name not in _REMARKS}
    # A call of nothing but remarks ("think") is identified by them.
    return meant or args


def canonical_json(value: object) -> str:
    """Write JSON with sorted keys and no spaces; never raises.

    >>> canonical_json({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    try:
        return "".join(_write_parts(value, 0))
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_tamed(value, 0), ensure_ascii=False, separators=(",", ":"))


def one_line(text: str) -> str:
    """Give a text with its runs of white space as single spaces, head first."""
    return " ".join(text[: _LONGEST_CALL * 4].split())


def action_class(turn: Turn) -> str:
    """Name the kind of action a turn is: the caller's own word, else derived.

    >>> from guard.turn import Role
    >>> action_class(Turn(role=Role.ASSISTANT, tool="Bash", args={"command": "pytest -q"}))
    'test_run'
    """
    if turn.action_class:
        return turn.action_class
    return classify(turn.tool, command_of(turn), meant_args(turn.args)).value


def command_of(turn: Turn) -> str:
    """Give the command line a call would run, "" where it runs none.

    >>> from guard.turn import Role
    >>> command_of(Turn(role=Role.ASSISTANT, tool="shell", args={"command": ["bash", "-lc", "ls"]}))
    'ls'
    """
    return command_in(turn.args) if turn.args else ""


def command_in(args: Mapping[str, Any]) -> str:
    """Give the command line among a call's arguments, "" where there is none.

    >>> command_in({"cmd": ["git", "status"]})
    'git status'
    """
    for name in COMMANDS:
        value = args.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple) and value:
            words = [word if isinstance(word, str) else canonical_json(word) for word in value]
            is_wrapped = len(words) > 2 and words[1].startswith("-") and words[1].endswith("c")  # noqa: PLR2004 - shell, -lc, command
            return words[2] if is_wrapped else " ".join(words)
    return ""


def headline(turn: Turn) -> str:
    """Write a turn in at most 120 characters for a screen.

    >>> from guard.turn import Role
    >>> headline(Turn(role=Role.ASSISTANT, tool="Read", args={"file_path": "app/auth.py"}))
    'Read app/auth.py'
    >>> headline(Turn(role=Role.ASSISTANT, content="The fixtures look right now."))
    '"The fixtures look right now."'
    """
    if turn.tool is None:
        said = one_line(turn.content or "")
        return f'"{said}"' if len(said) <= _LONGEST_HEADLINE - 2 else f'"{said[:117]}…"'
    detail = _gist(turn)
    line = f"{turn.tool} {detail}" if detail else turn.tool
    return line if len(line) <= _LONGEST_HEADLINE else f"{line[: _LONGEST_HEADLINE - 1]}…"


def _gist(turn: Turn) -> str:
    if command := command_of(turn):
        return one_line(command)
    args = meant_args(turn.args)
    for name in _TARGETS:
        value = args.get(name)
        if isinstance(value, str | int) and value != "":
            return one_line(str(value))
    return canonical_json(args) if args else ""


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_CALL:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{text[: _LONGEST_CALL - 20]}… #{digest}"


@functools.lru_cache(maxsize=1024)
def _plain_name(name: str) -> str:
    return str(name).lower().replace("-", "_")


def _tamed(value: object, depth: int) -> object:
    """Make any object serialisable: text keys, bounded depth."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        named = {str(key): inner for key, inner in value.items()}
        return {name: _tamed(named[name], depth + 1) for name in sorted(named)}
    if isinstance(value, list | tuple):
        return [_tamed(inner, depth + 1) for inner in value]
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        return hex(value)[:_LONGEST_CALL]
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    return str(value)[:_LONGEST_CALL]


def mask_places(text: str, args: Mapping[str, Any] | None) -> str:
    """Mask the places that were asked for, where a short answer repeats them.

    "Line 900 is past the end" says what "line 800 is past the end" said.

    >>> mask_places("nothing at offset 900", {"path": "a.py", "offset": 900})
    'nothing at offset <~>'
    """
    if not args or len(text) > _SHORT or PLACES.isdisjoint(args):
        return text
    return _mask(text, frozenset([_place(args[name]) for name in PLACES.intersection(args)]))


# An answer is read for what failed and for what is new, and often comes again.
@functools.lru_cache(maxsize=64)
def _mask(text: str, places: frozenset[str]) -> str:
    if not any(place in text for place in places):
        return text
    return _NUMBER.sub(lambda found: "<~>" if found[0] in places else found[0], text)


def _place(value: object) -> str:
    """Write a place; no number that large is one."""
    if isinstance(value, int) and abs(value) < _GIANT:
        return str(value)
    return value[:_LONGEST_PLACE] if isinstance(value, str) else ""
