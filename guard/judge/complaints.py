"""How failures say what is wrong: the file, tool, column or test they name.

The regular expressions stand in `complaints.toml`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from guard.judge.texts import read_texts
from guard.quoting import is_name

_LONGEST_QUOTE = 160
# What is missing is said first; patterns over a long log cost time.
_READ_HEAD = 4_000

_WORD = re.compile(r"[\w.:-]{2,80}")


class MissingName(NamedTuple):
    """What is not there: its sort, its name, and what to do about it."""

    what: str
    name: str
    remedy: str


def find(what: str, text: str) -> str | None:
    """Name what a failure speaks of: the tool, module or file that is not there.

    >>> find("unknown_tool", "Error: unknown tool 'read_files'")
    'read_files'
    """
    match = next(_matches(what, text), None)
    return match.group(1).rstrip(".:") if match else None


def says(what: str, text: str) -> bool:
    """Tell whether a failure says that a file is missing, or that nothing matched."""
    return any(_matches(what, text))


def offered_tools(text: str) -> list[str]:
    """Give the tools that a refusal offers instead."""
    return _WORD.findall(find("tools_offered", text) or "")


def missing_name(text: str) -> MissingName | None:
    """Name the column, table, command, option or key that is not there.

    >>> missing_name('column "usr" does not exist').name
    'usr'
    """
    # Bounded: what a failing command printed may have no end.
    head = text[:_READ_HEAD]
    for sort in read_texts("complaints.toml")["missing_name"]:
        if match := _compile(sort["pattern"]).search(head):
            name = next(group for group in match.groups() if group)
            suggested = (find("suggested", head) or "").strip()
            # The agent's environment speaks here: only what reads as a name is passed on.
            use = f"The error suggests {suggested}: use that." if is_name(suggested) else None
            return MissingName(sort["what"], name, use or sort["remedy"])
    return None


def failed_tests(text: str) -> frozenset[str]:
    """Name the tests that a run says failed.

    >>> sorted(failed_tests("FAILED tests/test_a.py::test_b - assert 1 == 2"))
    ['tests/test_a.py::test_b']
    """
    names = [match.group(1) for match in _matches("failed_test", text)]
    return frozenset(name.strip().rstrip(" -")[:_LONGEST_QUOTE] for name in names)


def cause_of(text: str) -> str:
    """Quote the first line of a test run that says what is wrong."""
    lines = [line.strip() for line in text.splitlines()]
    # pytest marks the lines that say what is wrong with an E.
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


def _matches(name: str, text: str) -> Iterator[re.Match[str]]:
    """Give every match of the patterns of this name, pattern by pattern."""
    for pattern in read_texts("complaints.toml")[name]:
        yield from _compile(pattern).finditer(text)


# `re` keeps 512 patterns for the whole process: others of the host would push ours out.
_compile = functools.cache(re.compile)
