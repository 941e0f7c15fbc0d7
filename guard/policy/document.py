"""A policy as people write it: tables in TOML or JSON, for all runs or for some.

A table under `task_type`, `tool` or `agent` sets fields for those alone. Where
several speak, the narrowest wins: agent > tool > task type > the policy itself,
and within one of them a full name wins over a pattern ("mcp__*").
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from guard.budget import Budget
from guard.errors import PolicyInvalid
from guard.nature import ToolNature
from guard.policy.ladder import Rungs
from guard.policy.reading import Problems, check_known, read_section, types_of
from guard.policy.sections import DETECTOR_NAMES

if TYPE_CHECKING:
    from guard.policy.core import Policy

SCOPES = ("task_type", "tool", "agent")
EVERY = "every"
MOST_TABLES = 200
"""Of one scope: each new tool is held against all of their names."""
_BASES = ("extends", "preset")
"""Either names the policy that the rest of the document is read over."""
_NATURE = tuple(one.name for one in fields(ToolNature))


def parse(text: str) -> dict[str, Any]:
    """Parse the text of a policy, JSON where it begins with a brace, else TOML.

    Raises:
        PolicyInvalid: it is neither; says at which line.
    """
    try:
        parsed = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyInvalid("policy", f"TOML or JSON ({error})", text[:80]) from error
    return dict(parsed)


def read_document(base: Policy, mapping: Mapping[str, Any]) -> Policy:
    """Read a whole policy over a base: the default, or what it `extends`.

    Raises:
        PolicyInvalid: names every wrong field, with what was expected.
    """
    if not isinstance(mapping, Mapping):
        raise PolicyInvalid("policy", "a table of fields", mapping)
    problems = Problems()
    told = {name: table for name, table in mapping.items() if name not in _BASES}
    for name in _BASES:
        base = _preset(name, mapping.get(name), problems) or base
    check_known(told, (*_BASES, *_names(type(base))), "", problems)
    values = read_fields(base, told, "", problems)
    for scope in SCOPES:
        values[scope] = {**getattr(base, scope), **_tables(told.get(scope), scope, problems)}
        check_tables(base, scope, values[scope], problems)
    problems.complain()
    return replace(base, **values)


def read_fields(
    base: Policy, table: Mapping[str, Any], path: str, problems: Problems
) -> dict[str, Any]:
    """Read the fields a table sets, beside those of `base`; scopes apart."""
    values: dict[str, Any] = {}
    if (names := table.get("detectors")) is not None:
        values["detectors"] = _read_detectors(names, f"{path}detectors", problems)
    shape: Any = type(base)
    for name in sections(shape):
        if (section := table.get(name)) is not None:
            values[name] = read_section(section, getattr(base, name), f"{path}{name}", problems)
    if (ladder := table.get("ladder")) is not None:
        values["ladder"] = _read_ladder(base, ladder, f"{path}ladder", problems)
    if (budget := table.get("budget")) is not None:
        values["budget"] = _read_budget(budget, path, problems)
    if (judged := table.get("judged")) is not None:
        values["judged"] = _read_judged(base, judged, f"{path}judged", problems)
    return values


def check_tables(base: Policy, scope: str, tables: Mapping[str, Any], problems: Problems) -> None:
    """Note what is wrong with the tables of one scope."""
    if len(tables) > MOST_TABLES:
        problems.note(scope, f"at most {MOST_TABLES} tables", len(tables))
        return
    for name, table in tables.items():
        path = f"{scope}.{name}"
        if not isinstance(table, Mapping):
            problems.note(path, "a table of fields", table)
            continue
        check_known(table, allowed_in(type(base), scope), f"{path}.", problems)
        read_fields(base, table, f"{path}.", problems)
        if scope == "tool":
            read_nature(table, path, problems)


def apply_tables(policy: Policy, tables: Iterable[Mapping[str, Any]]) -> Policy:
    """Set what these tables say, each over the one before."""
    for table in tables:
        policy = replace(policy, **read_fields(policy, table, "", Problems()))
    return policy


def matching(tables: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Give the tables that speak of a name: patterns first, the full name last."""
    patterns = [key for key in tables if key != name and fnmatchcase(name, key)]
    return [tables[key] for key in (*patterns, *([name] if name in tables else []))]


def read_nature(table: Mapping[str, Any], path: str, problems: Problems) -> ToolNature | None:
    """Read what a tool's table says of its repeats; None: nothing."""
    told = {name: table[name] for name in _NATURE if name in table}
    return read_section(told, ToolNature(), path, problems) if told else None


@functools.cache
def sections(policy: Any) -> tuple[str, ...]:
    """Name every field of a policy that is a table of thresholds."""
    made = {one.name: one.default_factory for one in fields(policy)}
    return tuple(name for name, factory in made.items() if is_dataclass(factory))


def allowed_in(policy: type, scope: str) -> tuple[str, ...]:
    """Name what a scope may set: a run everything, a single call what detectors read."""
    if scope == "task_type":
        return tuple(name for name in _names(policy) if name not in SCOPES)
    detectors = tuple(name for name in sections(policy) if name in DETECTOR_NAMES)
    nature = _NATURE if scope == "tool" else ()
    return ("detectors", "ladder", *detectors, *nature)


def _names(policy: type) -> tuple[str, ...]:
    return tuple(types_of(policy))


def _preset(field: str, name: object, problems: Problems) -> Policy | None:
    if name is None:
        return None
    from guard.presets import PRESETS

    if not isinstance(name, str) or name not in PRESETS:
        problems.note(field, f"one of {', '.join(PRESETS)}", name)
        return None
    return PRESETS[name]


def _tables(tables: object, scope: str, problems: Problems) -> dict[str, Any]:
    if tables is None:
        return {}
    if not isinstance(tables, Mapping):
        problems.note(scope, "a table for each name", tables)
        return {}
    return {str(name): table for name, table in tables.items()}


def _read_detectors(names: object, path: str, problems: Problems) -> tuple[str, ...]:
    if not isinstance(names, list | tuple):
        problems.note(path, "a list of detector names", names)
        return DETECTOR_NAMES
    for name in names:
        if name not in DETECTOR_NAMES:
            problems.note(path, f"names out of {', '.join(DETECTOR_NAMES)}", name)
    return tuple(name for name in names if name in DETECTOR_NAMES)


def _read_ladder(base: Policy, tables: object, path: str, problems: Problems) -> dict[str, Rungs]:
    if not isinstance(tables, Mapping):
        problems.note(path, "a table for each detector, or for `every`", tables)
        return dict(base.ladder)
    check_known(tables, (EVERY, *DETECTOR_NAMES), f"{path}.", problems)
    read = {
        name: read_section(table, base.ladder.get(name, Rungs()), f"{path}.{name}", problems)
        for name, table in tables.items()
    }
    return {**base.ladder, **read}


def _read_judged(base: Policy, judged: object, path: str, problems: Problems) -> bool:
    if not isinstance(judged, bool):
        problems.note(path, "true or false", judged)
        return base.judged
    return judged


def _read_budget(budget: object, path: str, problems: Problems) -> Budget | None:
    if not isinstance(budget, Mapping):
        problems.note(f"{path}budget", "a table of ceilings", budget)
        return None
    try:
        return Budget.from_mapping(budget)
    except PolicyInvalid as error:
        problems.take(error, path.rstrip("."))
        return None
