"""How failures say what is wrong: the file, tool, column or test they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_LONGEST_QUOTE = 160
_READ_HEAD = 4_000

_MISSING_PATH = (
    re.compile(r"(?i)ENOENT[^\n]{0,80}['\"]([^'\"\n]{1,300})['\"]"),
    re.compile(r"(?i)no such file or directory:? ['\"`]([^'\"`\n]{1,300})['\"`]"),
    re.compile(
        r"(?i)(?:file|path|directory) ['\"`]?([^\s'\"`:]{1,300})['\"`]? "
        r"(?:does not|doesn't) exist"
    ),
    re.compile(r"(?i)['\"`]([^'\"`\n]{1,300})['\"`]:? (?:no such file|does not exist|not found)"),
    re.compile(
        r"(?i)(?:cannot|can't|could not) (?:open|access|find|stat|read)(?: file)? "
        r"['\"`]?([^\s'\"`:]{1,300})"
    ),
    re.compile(r"(?i)(?:^|\s)([^\s'\"`:]{1,300}): no such file or directory"),
)
_SAYS_MISSING = re.compile(
    r"(?i)no such file|does not exist|doesn't exist|file not found|not found: |enoent"
    r"|cannot find the|could not find (?:the )?(?:file|path)|path not found|filenotfounderror"
    r"|(?:file|path|directory|document) [^\n]{0,200}not found|^\S{1,200} not found"
    r"|\A\W{0,4}(?:error: )?not found\W{0,4}\Z"
)
_MISSING_MODULE = re.compile(
    r"(?i)(?:no module named|cannot find module|module not found:? .{0,20}resolve) "
    r"['\"]?([\w./@-]{1,200})"
)
_UNKNOWN_TOOL = (
    re.compile(
        r"(?i)(?:unknown|invalid|unrecognized|no such) (?:tool|function)(?: available| name)?[:\s]"
        r"\s{0,3}['\"`]?([\w.:-]{1,80})"
    ),
    re.compile(
        r"(?i)\b(?:tool|function) ['\"`]?([\w.:-]{1,80})['\"`]? "
        r"(?:not found|does not exist|doesn't exist|is not (?:available|registered|a valid|known))"
    ),
    re.compile(r"(?i)there is no (?:tool|function) (?:named |called )?['\"`]?([\w.:-]{1,80})"),
)
_TOOLS_OFFERED = re.compile(
    r"(?i)(?:available|valid|known) (?:tools|functions)(?: are)?:? ([^\n]{1,600})"
)
_SUGGESTED = re.compile(r"(?i)did you mean:? ['\"`]?([^'\"`?\n]{1,80})")
_WORD = re.compile(r"[\w.:-]{2,80}")

# What is missing by name: what it is called, how failures say it, what to do.
_MISSING_NAMES: tuple[tuple[str, re.Pattern[str], str], ...] = (
    (
        "column",
        re.compile(
            r"(?i)(?:(?:unknown|no such|invalid) column:?(?: name)?:? ['\"`\[]?([\w.]{1,80})"
            r"|column ['\"`]?([\w.]{1,80})['\"`]? (?:does not exist|not found))"
        ),
        "List the table's columns first and use one of them.",
    ),
    (
        "table",
        re.compile(
            r"(?i)(?:no such table:? ['\"`]?([\w.]{1,80})"
            r"|(?:relation|table) ['\"`]([\w.]{1,80})['\"`] (?:does not|doesn't) exist)"
        ),
        "List the tables first and use one of them.",
    ),
    (
        "command",
        re.compile(
            r"(?i)(?:(?:^|[\s:])([\w.+-]{1,60}): (?:command )?not found\s*$"
            r"|command not found: ([\w.+-]{1,60})"
            r"|['\"]([\w.+-]{1,60})['\"] is not recognized as)",
            re.MULTILINE,
        ),
        "Use a program that is installed, or install this one.",
    ),
    (
        "option",
        re.compile(
            r"(?i)(?:unrecognized|unknown|no such|invalid|unexpected) "
            r"(?:arguments?|options?|flags?):? ['\"`]?(-{1,2}[\w-]{1,60})"
        ),
        "Leave it out, or look the options up with --help.",
    ),
    (
        "attribute",
        re.compile(r"has no attribute ['\"](\w{1,80})['\"]"),
        "Look at what the object has before you use it.",
    ),
    (
        "key",
        re.compile(r"KeyError: ['\"]?([^'\"\n]{1,80})"),
        "Print the keys that are there and use one of them.",
    ),
    (
        "name",
        re.compile(r"name ['\"](\w{1,80})['\"] is not defined"),
        "Define or import it before it is used.",
    ),
)
_NO_MATCH = re.compile(
    r"(?i)(?:string|text|pattern|old_str\w*|search block|context|hunk)[^\n]{0,80}"
    r"(?:not found|did not match|does not match|no match|not unique|failed)"
    r"|no replacement was performed|patch does not apply"
)
_FAILED_TEST = (
    re.compile(r"^FAILED ([^\s(]\S{0,199})", re.MULTILINE),
    re.compile(r"^(\S{1,160}::\S{1,120}) FAILED", re.MULTILINE),
    re.compile(r"^\s{0,8}--- FAIL: (\S{1,120})", re.MULTILINE),
    re.compile(r"^(?:FAIL|ERROR): (\w{1,120}) \(", re.MULTILINE),
    re.compile(r"^test (\S{1,120}) \.\.\. FAILED", re.MULTILINE),
    re.compile(r"^\s{0,8}[●✕✗\u00d7] ([^\n]{3,120})", re.MULTILINE),
    re.compile(r"\b\d+ failed: (\w[\w.:/\[\]-]{2,120})"),
)


class MissingName(NamedTuple):
    """What is not there: its sort, its name, and what to do about it."""

    what: str
    name: str
    remedy: str


def unknown_tool(text: str) -> str | None:
    """Name the tool that a refusal says does not exist.

    >>> unknown_tool("Error: unknown tool 'read_files'")
    'read_files'
    """
    return _first_match(_UNKNOWN_TOOL, text)


def offered_tools(text: str) -> list[str]:
    """Give the tools that a refusal offers instead."""
    offered = _TOOLS_OFFERED.search(text)
    return _WORD.findall(offered.group(1)) if offered else []


def missing_module(text: str) -> str | None:
    """Name the module that cannot be imported."""
    return _first_match((_MISSING_MODULE,), text)


def missing_name(text: str) -> MissingName | None:
    """Name the column, table, command, option or key that is not there.

    >>> missing_name('column "usr" does not exist').name
    'usr'
    """
    head = text[:_READ_HEAD]
    for what, pattern, remedy in _MISSING_NAMES:
        if not (match := pattern.search(head)):
            continue
        name = next(group for group in match.groups() if group)
        if suggested := _SUGGESTED.search(head):
            told = f"The error suggests {suggested.group(1).strip()}: use that."
            return MissingName(what, name, told)
        return MissingName(what, name, remedy)
    return None


def says_missing(text: str) -> bool:
    """Tell whether a failure says that a file is not there."""
    return _SAYS_MISSING.search(text) is not None


def missing_path(text: str) -> str | None:
    """Name the file that a failure says is not there."""
    return _first_match(_MISSING_PATH, text)


def says_no_match(text: str) -> bool:
    """Tell whether an edit failed since its old text is not in the file."""
    return _NO_MATCH.search(text) is not None


def failed_tests(text: str) -> frozenset[str]:
    """Name the tests that a run says failed.

    >>> sorted(failed_tests("FAILED tests/test_a.py::test_b - assert 1 == 2"))
    ['tests/test_a.py::test_b']
    """
    names = [name for pattern in _FAILED_TEST for name in pattern.findall(text)]
    return frozenset(name.strip().rstrip(" -")[:_LONGEST_QUOTE] for name in names)


def cause_of(text: str) -> str:
    """Quote the first line of a test run that says what is wrong."""
    lines = [line.strip() for line in text.splitlines()]
    telling = [line for line in lines if re.match(r"E  |\w*(?:Error|Exception)\b", line)]
    return cut(telling[0].removeprefix("E").strip()) if telling else first_line(text)


def first_line(text: str) -> str:
    """Give the first line that says what is wrong, cut for a sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?i)error|exception|failed|fatal", line)]
    return cut((errors or lines or ["nothing"])[0])


def last_line(text: str) -> str:
    """Give the last line, cut for a sentence."""
    lines = [line.strip(" =") for line in text.splitlines() if line.strip(" =")]
    return cut((lines or ["nothing"])[-1])


def cut(line: str, longest: int = _LONGEST_QUOTE) -> str:
    """Cut a line for a sentence."""
    return line[:longest].rstrip(" .")


def _first_match(patterns: Sequence[re.Pattern[str]], text: str) -> str | None:
    for pattern in patterns:
        if match := pattern.search(text):
            return match.group(1).rstrip(".:")
    return None
