"""Actions in any notation: a tool's name and its arguments."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any

from guard.formats.given import (
    LONGEST_ARGUMENTS,
    UNREADABLE,
    arguments_of,
    read_literal,
    unfenced,
)
from guard.reading.text_calls import FREE_ACTION

_NAME = re.compile(r"[`*\"']{0,3}([^\W\d][\w.:/-]{0,80}?)[`*\"']{0,3}(?=[\s({\[:,|]|\Z)")
_BETWEEN = re.compile(
    r"\A[\s:,|]{0,8}(?:with\b|using\b)?[\s:,|]{0,4}"
    r"(?:arg(?:ument)?s|input|params|parameters)?[\s:=]{0,4}"
)
_OBJECT = re.compile(r"\{\s{0,9}(?:[\"'}]|\w{1,40}[:=])")
# A named argument; `all(0 <= x for x in y)` has none.
_NAMES = re.compile(r"[({,]\s{0,9}[\"']?\w{1,40}[\"']?\s?(?:=(?!=)|:\s)")
_PAIR = re.compile(r"(?:\A|[\s,;])-{0,2}([^\W\d]\w{0,40})=(\"[^\"]*\"|'[^']*'|[^\s,;]+)")


def is_name(word: str) -> bool:
    """Return whether a word looks like an identifier: `read_file`, `web.search`, `openPage`."""
    has_inner = word[1:] != word[1:].lower() and not word.isupper()
    return "_" in word or "." in word.strip(".") or has_inner


def begins_named(text: str) -> bool:
    """Return whether a text begins with an identifier (`is_name`) that does not name a test."""
    found = _NAME.match(text)
    return found is not None and is_name(found[1]) and not found[1].lower().startswith("test")


def is_strong(text: str) -> bool:
    """Return whether a text is a call in code: a name, then an object or named arguments."""
    text = unfenced(text)
    found = _NAME.match(text)
    rest = text[found.end() :].rstrip("` \n") if found else ""
    rest = _BETWEEN.sub("", rest, count=1)
    if _OBJECT.match(rest):
        return rest.endswith("}")
    return rest[:1] == "(" and rest.endswith(")") and _NAMES.search(rest) is not None


def read_deed(text: str, given: str = "") -> tuple[str, dict[str, Any]]:
    """Return the tool's name and the arguments of an action in any notation.

    >>> read_deed("look(at='sky')"), read_deed('look: {"at": "sky"}')
    (('look', {'at': 'sky'}), ('look', {'at': 'sky'}))
    >>> read_deed("go to the shelf")
    ('act', {'input': 'go to the shelf'})
    """
    text = unfenced(text.strip()).strip("` ")
    found = _NAME.match(text)
    if found is None:
        return FREE_ACTION, {"input": text, **_arguments("", given)}
    tool, rest = found[1].rstrip(":"), text[found.end() :].strip()
    if rest[:1] == "(" and rest[-1:] == ")":
        return tool, _keywords(rest) | _arguments(tool, given)
    rest = _BETWEEN.sub("", rest, count=1).strip("` \n")
    args = _arguments(tool, rest) if not rest or rest[0] in "{[" else None
    if args is None and (pairs := _PAIR.findall(rest)):
        args = {name: told.strip("\"'") for name, told in pairs}
        if beside := _PAIR.sub("", rest).strip(" ,;\n"):
            args["input"] = beside
    if args is None and (is_name(tool) or given):
        args = {"input": rest}
    return (
        (FREE_ACTION, {"input": text}) if args is None else (tool, args | _arguments(tool, given))
    )


def _arguments(tool: str, text: str) -> dict[str, Any]:
    return arguments_of(tool, text.strip("` \n")) if text.strip() else {}


def _keywords(text: str) -> dict[str, Any]:
    """Return the arguments inside a call's parentheses: named ones, an object, or a text."""
    inner = text[1:-1].strip()
    if inner[:1] == "{":
        return arguments_of("", inner)
    with suppress(*UNREADABLE):
        call = (
            ast.parse(f"f({inner})", mode="eval").body if len(inner) <= LONGEST_ARGUMENTS else None
        )
        if isinstance(call, ast.Call) and call.keywords and not call.args:
            return {str(one.arg): read_literal(one.value) for one in call.keywords}
    return {"input": inner} if inner else {}
