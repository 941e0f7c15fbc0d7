"""Read fields of any form: what cannot be read is absent, never an error."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from guard.nature import ToolNature
from guard.pricing import read_money
from guard.turn import Phase, Role, Turn, Usage

_Word = TypeVar("_Word", bound=StrEnum)
_TELLING = frozenset({"role", "tool", "content"})
_ROLES = {
    **dict.fromkeys(("human", "customer"), Role.USER),
    **dict.fromkeys(("function", "observation", "environment"), Role.TOOL),
    "developer": Role.SYSTEM,
}
# More tokens than were ever sold: a larger count is a mistake or an attack.
_MOST = 10**15
# Past the year 2286 a number of seconds must be one of milliseconds.
_LAST_SECOND = 1e10


def read_turn(row: Mapping[str, Any], *, seq: int | None = None) -> Turn | None:
    """Read one turn; None where nothing in it says that it is one.

    >>> read_turn({"role": "assistant", "tool": "Bash", "ts": "soon"}).ts is None
    True
    >>> read_turn({"weather": "fine"}) is None
    True
    """
    if not _TELLING & row.keys():
        return None
    # Whoever is not known acts, so that no loop is lost.
    role = row.get("role")
    name = role.strip().lower() if isinstance(role, str) else ""
    tool, nature = read_text(row.get("tool")), row.get("nature")
    error = row.get("error")
    content = read_content(row.get("content"))
    if not tool and content is None:
        content = ""
    return Turn(
        role=_ROLES.get(name) or read_word(name, Role) or Role.ASSISTANT,
        key=read_text(row.get("key")),
        agent=read_text(row.get("agent")),
        phase=read_word(row.get("phase"), Phase) or Phase.DONE,
        tool=tool or None,
        args=read_given(row.get("args")),
        content=content,
        result=read_answer(row.get("result")),
        # False and {} say that there was none; an empty text, that nothing more is known.
        error=read_answer(error) if error or error == "" else None,
        files=read_texts(row.get("files")),
        state=read_text(row.get("state")),
        action_class=read_text(row.get("action_class")),
        call_id=read_text(row.get("call_id")),
        model=read_text(row.get("model")),
        provider=read_text(row.get("provider")),
        usage=read_usage(row.get("usage")),
        cost_usd=read_money(row.get("cost_usd")),
        ts=read_time(row.get("ts")),
        seq=seq,
        nature=ToolNature.from_mapping(nature) if isinstance(nature, dict) else None,
        session=read_text(row.get("session")),
    )


def read_content(value: object) -> str | None:
    """Return what was said: a text, or the texts of blocks."""
    if isinstance(value, list | dict):
        blocks = read_rows(value if isinstance(value, list) else [value])
        texts = [read_text(block.get("text")) for block in blocks]
        return "\n".join(text for text in texts if text) or None
    return read_text(value)


def read_mapping(value: object) -> dict[str, Any]:
    """Return an object; empty where it is none."""
    return value if isinstance(value, dict) else {}


def read_rows(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def read_text(value: object) -> str | None:
    """Return a text, or None."""
    return value if isinstance(value, str) else None


def read_answer(value: object) -> str | None:
    """Return what a tool returned as text; structured answers as JSON."""
    if value is None or isinstance(value, str):
        return value
    # Sorted, so that one answer told in another order is one answer.
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None


def read_args(value: object) -> Mapping[str, Any] | None:
    """Return a call's arguments; a JSON text of an object is read too."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    return {str(name): inner for name, inner in value.items()} if isinstance(value, dict) else None


def read_given(value: object) -> Mapping[str, Any] | None:
    """Return a call's arguments; what is no object is kept: two calls that differ in it are not one.

    >>> read_given('{"at": "sky"}'), read_given("sky"), read_given("")
    ({'at': 'sky'}, {'input': 'sky'}, None)
    """
    if (pairs := read_pairs(value)) is not None:
        return pairs
    args = read_args(value)
    return (
        args if args is not None or value in (None, "", "null") else {"input": read_answer(value)}
    )


def read_pairs(value: object) -> Mapping[str, Any] | None:
    """Return the fields that a list of pairs tells, each with its name or key and its value."""
    named = read_rows(value)
    if named and all(one.keys() & {"name", "key"} and "value" in one for one in named):
        return {str(one.get("name", one.get("key"))): _only(one["value"]) for one in named}
    return None


def _only(value: object) -> object:
    """Return what stands alone in an object, as OpenTelemetry writes a value of any type."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def read_texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list; one text alone is a list of one."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        return ()
    return tuple(item for item in value if isinstance(item, str))


def read_time(value: object) -> datetime | None:
    """Read RFC 3339, seconds or milliseconds since 1970; without a zone: UTC.

    >>> read_time("2026-11-21T21:08:00").isoformat()
    '2026-11-21T21:08:00+00:00'
    >>> read_time(1795295317).year
    2026
    """
    # JSON's true is an int to Python, and no time.
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _since_1970(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        try:
            # Some logs write the seconds as a text.
            number = float(value)
        except ValueError:
            number = math.nan
        return _since_1970(number)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read_usage(value: object) -> Usage | None:
    """Read token counts; what is no count is 0. None where there is none."""
    if not isinstance(value, dict):
        return None
    # A form of our own alone: vendors' names are read where their form is known.
    counts = {name: read_count(value.get(name)) for name in Usage.__dataclass_fields__}
    return Usage(**counts) if any(counts.values()) else None


def read_count(value: object) -> int:
    """Return a whole number of things, 0 where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 < value <= _MOST else 0


def read_word(value: object, words: type[_Word]) -> _Word | None:
    """Return one of these words; None: it is none of them."""
    try:
        return words(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _since_1970(seconds: float) -> datetime | None:
    # What lies outside the calendar is a mistake of the log; the turn counts without a time.
    try:
        if seconds > _LAST_SECOND:
            seconds /= 1000
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
