"""What a tool declares: when two calls are the same, what progress is, how it is retried."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from guard.errors import PolicyInvalid

# Results up to this length are parsed; of longer ones only the head is searched, as text.
_MAX_JSON_LENGTH = 200_000
# Each path is one search over a result, and a policy or a tool may name any path.
_MAX_PATH_LENGTH = 100
_MAX_PATHS = 20
# Not None: an argument may be given as null, which differs from absent.
_ABSENT = object()


class Retry(StrEnum):
    """What repeating a call means for a tool."""

    POLL = "poll"
    """It waits for something: the same answer for a while is normal use."""
    RETRY = "retry"
    """A failure may be temporary: only repeated failures get more patience."""
    NONE = "none"
    """Asking again never helps, whatever the tool is called."""


# In JSON schema, as for a policy's fields: its tables for tools set these too.
_PATHS = {
    "type": "array",
    "items": {"type": "string", "maxLength": _MAX_PATH_LENGTH, "errorMessage": "a path"},
    "maxItems": _MAX_PATHS,
    "errorMessage": f"a list of texts, at most {_MAX_PATHS} of {_MAX_PATH_LENGTH} characters",
}
_RETRY = {"type": "string", "enum": [*Retry], "errorMessage": f"one of {', '.join(Retry)}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNature:
    """How the repeats of a tool should be read; the engine judges what it leaves out.

    Attributes:
        loop_key: The arguments that make two calls the same, as paths ("command",
            "query.id"); empty: only the tool's name. None: all that matter.
        progress_key: Paths in the result whose change is progress; while they do not
            change, the answer is the same, whatever else changes.
        retry: What asking again means.
    """

    loop_key: Annotated[tuple[str, ...] | None, _PATHS] = None
    progress_key: Annotated[tuple[str, ...], _PATHS] = ()
    retry: Annotated[Retry | None, _RETRY] = None

    def __post_init__(self) -> None:
        for name in ("loop_key", "progress_key"):
            # Checked here too, for a host that builds one itself; what a tool declares is cut
            # instead (`_read_paths`).
            paths = getattr(self, name) or ()
            if len(paths) > _MAX_PATHS or any(len(path) > _MAX_PATH_LENGTH for path in paths):
                raise PolicyInvalid(name, str(_PATHS["errorMessage"]), paths)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> ToolNature:
        """Read what a tool declares about itself; what cannot be read is ignored.

        >>> ToolNature.from_mapping({"loop_key": ["command"], "retry": "often"})
        ToolNature(loop_key=('command',), progress_key=(), retry=None)
        """
        loop_key, progress_key = mapping.get("loop_key"), mapping.get("progress_key")
        retry = mapping.get("retry")
        return cls(
            loop_key=None if loop_key is None else _read_paths(loop_key),
            progress_key=_read_paths(progress_key),
            # Compared with each member: a tool may declare anything, even an unhashable list.
            retry=Retry(retry) if retry in list(Retry) else None,
        )

    def with_defaults(self, other: ToolNature | None) -> ToolNature:
        """Return this nature, with missing values taken from another."""
        if other is None:
            return self
        return ToolNature(
            loop_key=other.loop_key if self.loop_key is None else self.loop_key,
            progress_key=self.progress_key or other.progress_key,
            retry=self.retry or other.retry,
        )


def _read_paths(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple):
        return ()
    known = [text for text in texts if isinstance(text, str) and len(text) <= _MAX_PATH_LENGTH]
    return tuple(known[:_MAX_PATHS])


def pick_args(args: Mapping[str, Any] | None, paths: Sequence[str]) -> dict[str, Any]:
    """Return only the arguments at these paths; absent ones are left out.

    >>> pick_args({"command": "ls", "timeout": 5}, ["command"])
    {'command': 'ls'}
    """
    found = {path: _value_at(args, path) for path in paths}
    return {path: value for path, value in found.items() if value is not _ABSENT}


def progress_values(text: str, paths: Sequence[str]) -> str | None:
    """Return the values at these paths of a result as text; None: it has none of them.

    A JSON object is read by its paths; any other text by lines such as
    "status: running" or "done=40%".

    >>> progress_values('{"job": {"status": "running", "age": 12}}', ["job.status"])
    '["running"]'
    >>> progress_values("id 7, status: queued, since 12:04", ["status"])
    '["queued"]'
    """
    values: list[Any] | None = None
    if text.lstrip()[:1] in {"{", "["} and len(text) <= _MAX_JSON_LENGTH:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(text)
            found = (_value_at(parsed, path) for path in paths)
            values = [None if value is _ABSENT else value for value in found]
    if values is None:
        # Every part is bounded: a tool's output may be megabytes in one line.
        names = [re.escape(path.rsplit(".", 1)[-1]) for path in paths]
        value_of = r"\b[\"']?\s{0,3}[:=]\s{0,3}([^\s,;]{1,200})"
        lines = (re.search(rf"\b{name}{value_of}", text[:20_000]) for name in names)
        values = [one.group(1) if one else None for one in lines]
    # None is present: then the whole answer is compared, as for any other tool.
    if all(value is None for value in values):
        return None
    return json.dumps(values, sort_keys=True, default=str)


def _value_at(value: Any, path: str) -> Any:
    """Follow a dotted path through objects and lists; "0" is a list's first item."""
    # An argument's own name may contain a dot.
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for name in path[:_MAX_PATH_LENGTH].split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return _ABSENT
    return value
