"""Write a policy as TOML: the form people edit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_toml(mapping: Mapping[str, Any]) -> str:
    """Write a policy's mapping as TOML text; what is None is left out.

    >>> print(write_toml({"tool": {"Bash": {"retry": "poll"}}, "extends": "strict"}))
    extends = "strict"
    <BLANKLINE>
    [tool.Bash]
    retry = "poll"
    <BLANKLINE>
    """
    return "\n\n".join(block for block in _blocks(mapping, ()) if block) + "\n"


def _blocks(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    values = {
        name: value
        for name, value in table.items()
        if not isinstance(value, Mapping) and value is not None
    }
    lines = [f"[{'.'.join(map(_key, path))}]"] if path and values else []
    lines += [f"{_key(name)} = {_value(value)}" for name, value in values.items()]
    yield "\n".join(lines)
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _blocks(value, (*path, name))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)
