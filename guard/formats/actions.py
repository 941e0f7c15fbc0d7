"""Actions in any notation: a tool's name and its arguments."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any

from guard.formats.fragments import (
    MAX_ARGUMENTS_LENGTH,
    PARSE_ERRORS,
    parse_arguments,
    read_literal,
    unfenced,
)
from guard.reading.text_calls import FREE_ACTION

_NAME = re.compile(r"[`*\"']{0,3}([^\W\d][\w.:/-]{0,80}?)[`*\"']{0,3}(?=[\s({\[:,|]|\Z)")
_BEFORE_ARGUMENTS = re.compile(
    r"\A[\s:,|]{0,8}(?:with\b|using\b)?[\s:,|]{0,4}"
    r"(?:arg(?:ument)?s|input|params|parameters)?[\s:=]{0,4}"
)
_OBJECT = re.compile(r"\{\s{0,9}(?:[\"'}]|\w{1,40}[:=])")
# A named argument; `all(0 <= x for x in y)` has none.
_NAMED_ARGUMENT = re.compile(r"[({,]\s{0,9}[\"']?\w{1,40}[\"']?\s?(?:=(?!=)|:\s)")
_PAIR = re.compile(r"(?:\A|[\s,;])-{0,2}([^\W\d]\w{0,40})=(\"[^\"]*\"|'[^']*'|[^\s,;]+)")


def is_name(word: str) -> bool:
    """Return whether a word looks like an identifier: `read_file`, `web.search`, `openPage`."""
    has_inner = word[1:] != word[1:].lower() and not word.isupper()
    return "_" in word or "." in word.strip(".") or has_inner


def begins_with_name(text: str) -> bool:
    """Return whether a text begins with an identifier (`is_name`) that does not name a test."""
    found = _NAME.match(text)
    return found is not None and is_name(found[1]) and not found[1].lower().startswith("test")


def is_code_call(text: str) -> bool:
    """Return whether a text is a call in code: a name, then an object or named arguments."""
    text = unfenced(text)
    found = _NAME.match(text)
    rest = text[found.end() :].rstrip("` \n") if found else ""
    rest = _BEFORE_ARGUMENTS.sub("", rest, count=1)
    if _OBJECT.match(rest):
        return rest.endswith("}")
    return rest[:1] == "(" and rest.endswith(")") and _NAMED_ARGUMENT.search(rest) is not None


def read_action(text: str, given: str = "") -> tuple[str, dict[str, Any]]:
    """Return the tool's name and the arguments of an action in any notation.

    >>> read_action("look(at='sky')"), read_action('look: {"at": "sky"}')
    (('look', {'at': 'sky'}), ('look', {'at': 'sky'}))
    >>> read_action("go to the shelf")
    ('act', {'input': 'go to the shelf'})
    """
    text = unfenced(text.strip()).strip("` ")
    found = _NAME.match(text)
    if found is None:
        return FREE_ACTION, {"input": text, **_parse_extra("", given)}
    tool, rest = found[1].rstrip(":"), text[found.end() :].strip()
    if rest[:1] == "(" and rest[-1:] == ")":
        return tool, _parse_parenthesised(rest) | _parse_extra(tool, given)
    rest = _BEFORE_ARGUMENTS.sub("", rest, count=1).strip("` \n")
    args = _parse_extra(tool, rest) if not rest or rest[0] in "{[" else None
    if args is None and (pairs := _PAIR.findall(rest)):
        args = {name: told.strip("\"'") for name, told in pairs}
        if beside := _PAIR.sub("", rest).strip(" ,;\n"):
            args["input"] = beside
    if args is None and (is_name(tool) or given):
        args = {"input": rest}
    return (
        (FREE_ACTION, {"input": text}) if args is None else (tool, args | _parse_extra(tool, given))
    )


def _parse_extra(tool: str, text: str) -> dict[str, Any]:
    return parse_arguments(tool, text.strip("` \n")) if text.strip() else {}


def _parse_parenthesised(text: str) -> dict[str, Any]:
    """Return the arguments inside a call's parentheses: named ones, an object, or a text."""
    inner = text[1:-1].strip()
    if inner[:1] == "{":
        return parse_arguments("", inner)
    with suppress(*PARSE_ERRORS):
        call = (
            ast.parse(f"f({inner})", mode="eval").body
            if len(inner) <= MAX_ARGUMENTS_LENGTH
            else None
        )
        if isinstance(call, ast.Call) and call.keywords and not call.args:
            return {str(one.arg): read_literal(one.value) for one in call.keywords}
    return {"input": inner} if inner else {}
