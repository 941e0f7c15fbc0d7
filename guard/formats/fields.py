"""Fields of any format: what cannot be read counts as absent, never as an error."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from guard.nature import ToolNature
from guard.pricing import read_dollars
from guard.turn import Phase, Role, Turn, Usage

_Enum = TypeVar("_Enum", bound=StrEnum)
_TELLING = frozenset({"role", "tool", "content"})
_ROLES = {
    **dict.fromkeys(("human", "customer"), Role.USER),
    **dict.fromkeys(("function", "observation", "environment"), Role.TOOL),
    "developer": Role.SYSTEM,
}
# More tokens than were ever sold: a larger count is a mistake or an attack.
_MAX_COUNT = 10**15
# In the year 2286: a larger number is in milliseconds.
_LAST_SECOND = 1e10


def read_turn(row: Mapping[str, Any], *, seq: int | None = None) -> Turn | None:
    """Read one turn; None if it has none of a turn's fields.

    >>> read_turn({"role": "assistant", "tool": "Bash", "ts": "soon"}).ts is None
    True
    >>> read_turn({"weather": "fine"}) is None
    True
    """
    if not _TELLING & row.keys():
        return None
    # An unknown role counts as the assistant, so that no loop is missed.
    role = row.get("role")
    name = role.strip().lower() if isinstance(role, str) else ""
    tool, nature = read_text(row.get("tool")), row.get("nature")
    error = row.get("error")
    content = read_content(row.get("content"))
    if not tool and content is None:
        content = ""
    return Turn(
        role=_ROLES.get(name) or read_enum(name, Role) or Role.ASSISTANT,
        key=read_text(row.get("key")),
        agent=read_text(row.get("agent")),
        phase=read_enum(row.get("phase"), Phase) or Phase.DONE,
        tool=tool or None,
        args=read_any_args(row.get("args")),
        content=content,
        result=read_answer(row.get("result")),
        # False and {} mean no error; an empty text means an error of which nothing more is known.
        error=read_answer(error) if error or error == "" else None,
        files=read_texts(row.get("files")),
        state=read_text(row.get("state")),
        action_class=read_text(row.get("action_class")),
        call_id=read_text(row.get("call_id")),
        model=read_text(row.get("model")),
        provider=read_text(row.get("provider")),
        usage=read_usage(row.get("usage")),
        cost_usd=read_dollars(row.get("cost_usd")),
        ts=read_time(row.get("ts")),
        seq=seq,
        nature=ToolNature.from_mapping(nature) if isinstance(nature, dict) else None,
        session=read_text(row.get("session")),
    )


def read_content(value: object) -> str | None:
    """Return a message's text: itself, or the joined texts of its blocks."""
    if isinstance(value, list | dict):
        blocks = read_rows(value if isinstance(value, list) else [value])
        texts = [read_text(block.get("text")) for block in blocks]
        return "\n".join(text for text in texts if text) or None
    return read_text(value)


def read_mapping(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def read_rows(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def read_text(value: object) -> str | None:
    """Return the value if it is a text, else None."""
    return value if isinstance(value, str) else None


def read_answer(value: object) -> str | None:
    """Return a tool's answer as text; structured answers as JSON."""
    if value is None or isinstance(value, str):
        return value
    # Sorted: the order of fields must not make two answers differ.
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def read_args(value: object) -> Mapping[str, Any] | None:
    """Return a call's arguments, which may be an object or its JSON text; None: neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    return {str(name): inner for name, inner in value.items()} if isinstance(value, dict) else None


def read_any_args(value: object) -> Mapping[str, Any] | None:
    """Return a call's arguments; other values are kept as `input`, since they tell calls apart.

    >>> read_any_args('{"at": "sky"}'), read_any_args("sky"), read_any_args("")
    ({'at': 'sky'}, {'input': 'sky'}, None)
    """
    if (pairs := read_pairs(value)) is not None:
        return pairs
    args = read_args(value)
    return (
        args if args is not None or value in (None, "", "null") else {"input": read_answer(value)}
    )


def read_pairs(value: object) -> Mapping[str, Any] | None:
    """Return an object from a list of pairs of `name` or `key` and `value`; None: it is none."""
    named = read_rows(value)
    if named and all(one.keys() & {"name", "key"} and "value" in one for one in named):
        return {str(one.get("name", one.get("key"))): _unwrap_single(one["value"]) for one in named}
    return None


def _unwrap_single(value: object) -> object:
    """Return the value of an object with one field, as OpenTelemetry wraps values by type."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def read_texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list; a single text counts as a list of one."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(item for item in value if isinstance(item, str))


def read_time(value: object) -> datetime | None:
    """Read RFC 3339 (UTC if it has no zone), or seconds or milliseconds since 1970.

    >>> read_time("2026-11-21T21:08:00").isoformat()
    '2026-11-21T21:08:00+00:00'
    >>> read_time(1795295317).year
    2026
    """
    # JSON's true is an int in Python, but not a time.
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_epoch(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        try:
            # Some logs write seconds as a text.
            number = float(value)
        except ValueError:
            number = math.nan
        return _from_epoch(number)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read_usage(value: object) -> Usage | None:
    """Read token counts, invalid ones as 0; None if all are 0."""
    if not isinstance(value, dict):
        return None
    # Only the names of `Usage`: each format's reader knows its vendor's names.
    counts = {name: read_count(value.get(name)) for name in Usage.__dataclass_fields__}
    return Usage(**counts) if any(counts.values()) else None


def read_count(value: object) -> int:
    """Return a whole number of things, or 0 if the value is not a plausible count."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value <= _MAX_COUNT else 0


def read_enum(value: object, words: type[_Enum]) -> _Enum | None:
    """Return the member of `words` with this value; None: there is none."""
    try:
        return words(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _from_epoch(seconds: float) -> datetime | None:
    # A time outside the calendar is an error of the log: the turn then has none.
    try:
        if seconds > _LAST_SECOND:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
