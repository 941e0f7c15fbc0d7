"""Structured parts of a transcript: fences, objects, elements, and a call's arguments."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from guard.reading import compile_phrases, read_words

MAX_ARGUMENTS_LENGTH = 100_000
FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})([\w+-]{0,20})")
# The label before a call's arguments, and one argument as a list item or as a line.
ARGUMENTS_LABEL = compile_phrases("given_line", re.IGNORECASE)
LIST_ITEM = re.compile(r"[ \t]{0,8}[-*] \*{0,3}([\w-]{1,40})\*{0,3}:[ \t]?(.*)")
_NAMED_LINE = re.compile(r"([A-Za-z][\w-]{0,40}):[ \t](.*)")
_TAG = re.compile(r"</?[a-z][^<>\n]{0,200}>")
_QUOTED = re.compile(r"^[ \t]{0,4}`([^`\n]{1,2000})`[ \t]*$", re.MULTILINE)
_SHELLS = read_words("transcripts")["shells"]
_SCRIPTS = read_words("fences")["shells"] | read_words("fences")["pythons"]
# What the parsers of JSON and of Python literals raise for other texts.
PARSE_ERRORS = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_read_json = json.JSONDecoder(strict=False).raw_decode


def unfenced(text: str) -> str:
    """Return a text without the fence around it; a text without one unchanged."""
    first, _, rest = text.strip().partition("\n")
    inner, _, last = rest.rpartition("\n")
    fence = FENCE.match(first)
    return inner.rstrip() if fence and last.strip() == fence[1] else text


def has_open_fence(lines: Sequence[str]) -> bool:
    """Return whether a fence is never closed: the last, or one with an opening fence inside."""
    opened = ""
    for line in lines:
        if not (found := FENCE.match(line)):
            continue
        if not opened:
            opened = found[1]
        elif found[1].startswith(opened):
            if found[2]:
                return True
            opened = ""
    return opened != ""


def split_fences(text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return fenced texts as (line above, language, text), and the text outside of fences."""
    fenced, plain, inner = list[tuple[str, str, str]](), [""], list[str]()
    opened: re.Match[str] | None = None
    for line in text.split("\n"):
        found = FENCE.match(line)
        if opened is None and found is None:
            plain.append(line)
        elif opened is None:
            opened, inner = found, []
        elif line.strip() == opened[1]:
            above = next(filter(str.strip, plain[:-4:-1]), "")
            fenced.append((above, opened[2], "\n".join(inner)))
            opened = None
        else:
            inner.append(line)
    return fenced, "\n".join(plain)


def object_end(text: str) -> int | None:
    """Return where the object at a text's beginning ends; None: none, or incomplete."""
    if text.startswith(("{", '"{')) and len(text) <= MAX_ARGUMENTS_LENGTH:
        with suppress(*PARSE_ERRORS):
            return _read_json(text)[1]
        with suppress(*PARSE_ERRORS):
            ast.literal_eval(text)
            return len(text)
    return None


def read_literal(text: str | ast.expr) -> Any:
    """Read a Python literal as JSON would hold it: names of fields become texts.

    Raises:
        ValueError, SyntaxError, TypeError, MemoryError, RecursionError: JSON cannot hold it.
    """
    return json.loads(json.dumps(ast.literal_eval(text)))


def parse_arguments(tool: str, text: str) -> dict[str, Any]:
    """Read a call's arguments: an object, a list of names and values, or a text."""
    text = unfenced(text.strip()).strip()
    # Parsing a Python literal of megabytes takes gigabytes of memory.
    for read in (json.loads, read_literal) if len(text) <= MAX_ARGUMENTS_LENGTH else ():
        with suppress(*PARSE_ERRORS):
            value = read(text)
            value = json.loads(value) if isinstance(value, str) else value
            if isinstance(value, dict):
                return {str(name): inner for name, inner in value.items()}
    items, name, lines = dict[str, str](), "", text.splitlines()
    form = _NAMED_LINE if all(map(_NAMED_LINE.match, lines)) else LIST_ITEM
    for line in lines:
        if item := form.match(line):
            name = item[1]
            items[name] = item[2].strip("` ")
        elif name:
            items[name] += f"\n{line}"
    if items or not text:
        return {**items}
    words = frozenset(re.findall(r"[a-z]+", tool.lower()))
    return {"command" if words & _SHELLS else "input": text}


def read_element(text: str) -> tuple[dict[str, Any], str | None]:
    """Return a call's arguments and result, None if it has none, from an element's text."""
    summary, has_summary, body = text.partition("<summary>")[2].partition("</summary>")
    given = summary.partition("• ")[2].partition(": ")[2] if has_summary else ""
    args, came = dict[str, Any](), list[str]()
    fenced, plain = split_fences(body if has_summary else text)
    for label, language, told in fenced:
        inner = told.strip()
        if inner == given.strip() or language in _SCRIPTS:
            args["command"] = inner
        elif language == "diff":
            args["diff"] = args.get("diff", "") + inner
        elif ARGUMENTS_LABEL.match(label):
            args |= parse_arguments("", inner)
        else:
            came.append(inner)
    plain = _TAG.sub("", plain).strip()
    if quoted := _QUOTED.search(plain):
        args.setdefault("command", quoted[1])
    elif given and "command" not in args:
        args["input"] = given
    elif plain and not came and not args and ": " in plain.partition("\n")[0]:
        args["input"] = plain
    elif plain and not came and not args:
        came.append(plain)
    return args, "\n".join(came) if came else None
