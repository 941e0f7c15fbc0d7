"""What a tool says of itself: when two calls are one, what progress is, how it is retried."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from guard.errors import PolicyInvalid

# Parsed for each result of the tool; longer ones are searched as text, and only their head.
_LONGEST_JSON = 200_000
# Each path is one search over a result, and a policy or a tool may name any.
_LONGEST_PATH = 100
_MOST_PATHS = 20
# Not None: an argument that is null was given, one that is absent was not.
_ABSENT = object()


class Retry(StrEnum):
    """What repeating a call means for a tool."""

    POLL = "poll"
    """It waits for something: the same answer for a while is how it is used."""
    RETRY = "retry"
    """A failure may pass: only repeated failures are patient."""
    NONE = "none"
    """Asking again never helps, whatever the tool is called."""


# In the words of JSON schema, as a policy's fields are told: its tables for tools set these too.
_PATHS = {
    "type": "array",
    "items": {"type": "string", "maxLength": _LONGEST_PATH, "errorMessage": "a path"},
    "maxItems": _MOST_PATHS,
    "errorMessage": f"a list of texts, at most {_MOST_PATHS} of {_LONGEST_PATH} characters",
}
_RETRY = {"type": "string", "enum": [*Retry], "errorMessage": f"one of {', '.join(Retry)}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNature:
    """How a tool wants its repeats read; what it leaves out, the engine judges.

    Attributes:
        loop_key: The arguments that make two calls the same, as paths ("command",
            "query.id"); empty: the tool's name alone. None: all that is meant.
        progress_key: Paths in the result whose change is progress; as long as they
            stand still the answer is the same, whatever else moves.
        retry: What asking again means.
    """

    loop_key: Annotated[tuple[str, ...] | None, _PATHS] = None
    progress_key: Annotated[tuple[str, ...], _PATHS] = ()
    retry: Annotated[Retry | None, _RETRY] = None

    def __post_init__(self) -> None:
        for name in ("loop_key", "progress_key"):
            # Checked here too, where a host makes one by hand: what a tool says is cut instead
            # (`_paths`).
            paths = getattr(self, name) or ()
            if len(paths) > _MOST_PATHS or any(len(path) > _LONGEST_PATH for path in paths):
                raise PolicyInvalid(name, str(_PATHS["errorMessage"]), paths)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> ToolNature:
        """Read what a tool says of itself; what cannot be read it does not say.

        >>> ToolNature.from_mapping({"loop_key": ["command"], "retry": "often"})
        ToolNature(loop_key=('command',), progress_key=(), retry=None)
        """
        loop_key, progress_key = mapping.get("loop_key"), mapping.get("progress_key")
        retry = mapping.get("retry")
        return cls(
            loop_key=None if loop_key is None else _paths(loop_key),
            progress_key=_paths(progress_key),
            # Compared with each: a tool may say anything, a list too, which cannot be hashed.
            retry=Retry(retry) if retry in list(Retry) else None,
        )

    def over(self, other: ToolNature | None) -> ToolNature:
        """Give this nature with what it leaves out taken from another."""
        if other is None:
            return self
        return ToolNature(
            loop_key=other.loop_key if self.loop_key is None else self.loop_key,
            progress_key=self.progress_key or other.progress_key,
            retry=self.retry or other.retry,
        )


def _paths(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return ()
    known = [text for text in texts if isinstance(text, str) and len(text) <= _LONGEST_PATH]
    return tuple(known[:_MOST_PATHS])


def pick_args(args: Mapping[str, Any] | None, paths: Sequence[str]) -> dict[str, Any]:
    """Give the arguments at these paths alone; what is absent is left out.

    >>> pick_args({"command": "ls", "timeout": 5}, ["command"])
    {'command': 'ls'}
    """
    found = {path: _at(args, path) for path in paths}
    return {path: value for path, value in found.items() if value is not _ABSENT}


def progress_in(text: str, paths: Sequence[str]) -> str | None:
    """Write the values at these paths of a result; None: it has none of them.

    A JSON object is read by its paths; any other text by lines such as
    "status: running" or "done=40%".

    >>> progress_in('{"job": {"status": "running", "age": 12}}', ["job.status"])
    '["running"]'
    >>> progress_in("id 7, status: queued, since 12:04", ["status"])
    '["queued"]'
    """
    values: list[Any] | None = None
    if text.lstrip()[:1] in {"{", "["} and len(text) <= _LONGEST_JSON:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(text)
            found = (_at(parsed, path) for path in paths)
            values = [None if value is _ABSENT else value for value in found]
    if values is None:
        # Bounded on every side: a tool's output may be megabytes, in one line.
        names = [re.escape(path.rsplit(".", 1)[-1]) for path in paths]
        value_of = r"\b[\"']?\s{0,3}[:=]\s{0,3}([^\s,;]{1,200})"
        lines = (re.search(rf"\b{name}{value_of}", text[:20_000]) for name in names)
        values = [one.group(1) if one else None for one in lines]
    # None of them: the whole answer is compared then, as for any other tool.
    if all(value is None for value in values):
        return None
    return json.dumps(values, sort_keys=True, default=str)


def _at(value: Any, path: str) -> Any:
    """Follow a dotted path through objects and lists; "0" names a list's first."""
    # An argument's own name may have a dot in it.
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for name in path[:_LONGEST_PATH].split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return _ABSENT
    return value
