"""What kind of action a call is, and whether it asks or acts.

Questions (read, search, test) learn something or nothing; acts change
something. Equal answers to different questions mean nothing is learned; equal
acknowledgements of different acts mean a batch. An unknown verb is an act.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from guard.reading import Phrase, any_of, read_words
from guard.turn import ActionClass
from guard.verbatim import PATH_ARGUMENTS

_NAMES, _COMMANDS, _ARGUMENTS = map(read_words, ("names", "commands", "arguments"))
_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LEARNS, _TALKS = _NAMES["reads"] | _NAMES["thinks"], _NAMES["hands_over"] | _NAMES["thinks"]
_PATH_KEYS = frozenset(PATH_ARGUMENTS)

_LONGEST_COMMAND = 4000
_PATCH = ("*** Begin Patch", "diff --git ", "--- a/")
_STATEMENTS = ("query", "sql", "statement")
_SQL_HEAD = 200
_SQL = re.compile(rf"\s*(?:--[^\n]*\n\s*)*({any_of('sql_verbs')})\b", re.IGNORECASE)

_TEST_COMMAND, _EDIT_COMMAND = Phrase.read("test_command"), Phrase.read("edit_command")
# Apart from those above: it begins with one sign, and is looked for at a tenth of their cost.
_REDIRECT = re.compile(r">(?<![0-9&>=-]>)>?(?!&)\s?(?!/dev/)[\w./~\"'$-]")
_LEADERS = _COMMANDS["leaders"]
_READ_SUBCOMMANDS = read_words("subcommands")
_READ_ALONE = _COMMANDS["reads"] | _COMMANDS["searches"] | {"cd"}
_PROGRAMS = _COMMANDS["reads"] | _COMMANDS["searches"] | _READ_SUBCOMMANDS.keys()

_WAIT_COMMAND = Phrase.read("wait_command", head=_LONGEST_COMMAND)
_WAIT_ANSWER = Phrase.read("wait_answer", lower=True)
_QUESTIONS = frozenset(
    {ActionClass.READ, ActionClass.SEARCH, ActionClass.TEST_RUN, ActionClass.MESSAGE}
)
_LONGEST_WAIT_ANSWER = 300


def classify(tool: str | None, command: str, args: Mapping[str, Any]) -> ActionClass:
    """Derive what kind of action a call is from its tool's name and command.

    >>> classify("str_replace_editor", "", {"path": "a.py"}).value
    'file_edit'
    >>> classify("terminal", "grep -rn foo src | head", {}).value
    'search'
    """
    if tool is None:
        return ActionClass.MESSAGE
    words = _words(tool)
    for value in map(args.get, _STATEMENTS):
        if isinstance(value, str) and (found := _SQL.match(value[:_SQL_HEAD])):
            asks_it = found[1].lower() in _COMMANDS["sql_asks"]
            return ActionClass.SEARCH if asks_it else ActionClass.OTHER
    if command and read_name(tool).runs:
        return _classify_command(command[:_LONGEST_COMMAND])
    if tool in {"str_replace_editor", "str_replace_based_edit_tool"}:
        verb = str(args.get("command", ""))
        return ActionClass.READ if verb == "view" else ActionClass.FILE_EDIT
    has_path = not _PATH_KEYS.isdisjoint(args)
    named = _classify_name(words, has_path=has_path)
    if named is not ActionClass.OTHER or not words.isdisjoint(_TALKS):
        return named
    return _classify_arguments(command[:_LONGEST_COMMAND], args, has_path=has_path)


def _classify_arguments(command: str, args: Mapping[str, Any], *, has_path: bool) -> ActionClass:
    """Tell an action whose name says nothing by what it is given: a path and a text, a command."""
    if (has_path and not _ARGUMENTS["texts"].isdisjoint(args)) or command.startswith(_PATCH):
        return ActionClass.FILE_EDIT
    if _TEST_COMMAND.stands_in(command) or _leading_words(command)[0] in _PROGRAMS:
        return _classify_command(command)
    return ActionClass.OTHER


def asks(action: str, tool: str | None, command: str) -> bool:
    """Tell whether a call only asks: it learns, and changes nothing.

    >>> asks("shell_exec", "Bash", "git status")
    True
    >>> asks("other", "update_order", ""), asks("other", "think", "")
    (False, True)
    """
    if action in _QUESTIONS:
        return True
    if action == ActionClass.SHELL_EXEC:
        return _only_reads(command[:_LONGEST_COMMAND])
    return tool is not None and action == ActionClass.OTHER and read_name(tool).learns


def waits(
    tool: str | None, command: str, answer: str, args: Mapping[str, Any] | None = None
) -> bool:
    """Tell whether a call waits for something that may take its time.

    Its name or command says so, or a short answer does.

    >>> waits("get_job_status", "", "")
    True
    >>> waits("get_job", "", "state: PENDING")
    True
    """
    return waits_by_call(tool, command, args) or tells_to_wait(tool, answer)


def waits_by_call(tool: str | None, command: str, args: Mapping[str, Any] | None) -> bool:
    """Tell whether a call says that it waits: by its name, its arguments, its command."""
    if tool is None:
        return False
    if read_name(tool).waits or (args and not _ARGUMENTS["waits"].isdisjoint(args)):
        return True
    return _WAIT_COMMAND.stands_in(command)


def tells_to_wait(tool: str | None, answer: str) -> bool:
    """Tell whether a short answer to a call says that something takes its time."""
    is_short = 0 < len(answer) <= _LONGEST_WAIT_ANSWER
    return tool is not None and is_short and _WAIT_ANSWER.stands_in(answer)


def moves(tool: str | None, args: Mapping[str, Any] | None = None) -> bool:
    """Tell whether a call moves by one step: pressing a key twice is no loop.

    >>> moves("press_key"), moves("move_file"), moves("computer", {"action": "scroll"})
    (True, False, True)
    """
    if tool is None:
        return False
    words = _words(tool)
    if isinstance(action := (args or {}).get("action"), str):
        words = words | _words(action)
    if words & _NAMES["debuggers"] and isinstance(command := (args or {}).get("command"), str):
        return command.strip().lower() in _COMMANDS["debugger_steps"]
    return bool(words & _NAMES["moves"]) and not words & _NAMES["files"]


class Name(NamedTuple):
    """What a tool's name says of its calls.

    `thinks`: they only think aloud, learn nothing and change nothing. `hands_over`: they
    pass the matter on to another agent.
    """

    thinks: bool
    hands_over: bool
    waits: bool
    runs: bool
    learns: bool


@functools.lru_cache(maxsize=1024)
def read_name(tool: str) -> Name:
    """Read a tool's name.

    >>> read_name("express_hypothesis").thinks, read_name("transfer_to_billing").hands_over
    (True, True)
    >>> read_name("hand_over").hands_over, read_name("move_file").hands_over
    (True, False)
    """
    words = _words(tool)
    passes = "hand" in words and bool(words & {"off", "over"})
    asks_of_jobs = bool(words & _NAMES["take_time"]) and bool(words & _NAMES["reads"])
    return Name(
        thinks=bool(words & _NAMES["thinks"]),
        hands_over=passes or bool(words & _NAMES["hands_over"]),
        waits=asks_of_jobs or (bool(words & _NAMES["waits"]) and "git" not in words),
        runs=bool(words & (_NAMES["shells"] | _NAMES["runs"])),
        learns=bool(words & _LEARNS),
    )


@functools.lru_cache(maxsize=1024)
def _words(tool: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _NAME_WORDS.findall(tool[:200]))


@functools.lru_cache(maxsize=1024)
def _classify_name(words: frozenset[str], *, has_path: bool) -> ActionClass:
    is_on_file = has_path or bool(words & _NAMES["files"])
    edits = "patch" in words or (words & _NAMES["edits"] and (is_on_file or len(words) == 1))
    if edits or (words & _NAMES["changes"] and is_on_file):
        return ActionClass.FILE_EDIT
    sorts = {
        "tests": ActionClass.TEST_RUN,
        "searches": ActionClass.SEARCH,
        "reads": ActionClass.READ,
        "shells": ActionClass.SHELL_EXEC,
    }
    return next((kind for name, kind in sorts.items() if words & _NAMES[name]), ActionClass.OTHER)


@functools.lru_cache(maxsize=1024)
def _classify_command(command: str) -> ActionClass:
    if _TEST_COMMAND.stands_in(command):
        return ActionClass.TEST_RUN
    if _EDIT_COMMAND.stands_in(command) or _REDIRECT.search(command):
        return ActionClass.FILE_EDIT
    if _leading_words(command)[0] in _COMMANDS["searches"]:
        return ActionClass.SEARCH
    return ActionClass.READ if _only_reads(command) else ActionClass.SHELL_EXEC


@functools.lru_cache(maxsize=1024)
def _only_reads(command: str) -> bool:
    return any(map(str.isalnum, command)) and all(
        second in _READ_SUBCOMMANDS[head] if head in _READ_SUBCOMMANDS else head in _READ_ALONE
        for head, second in _programs_in(command)
    )


def verb_of(tool: str, command: str) -> str:
    """Name what a call does: the tool, and what it runs where it runs a command.

    >>> verb_of("Bash", "cd app && git status -s"), verb_of("Read", "")
    ('Bash git status', 'Read')
    """
    if not command:
        return tool
    head, rest = _leading_words(command[:_LONGEST_COMMAND])
    return f"{tool} {head} {rest}" if head in _READ_SUBCOMMANDS and rest else f"{tool} {head}"


def _programs_in(command: str) -> Iterator[tuple[str, str]]:
    """Give what each part of a command line runs, and the word after it."""
    for part in re.split(r"\|\||&&|[|;\n]", command):
        words = [word for word in part.split() if "=" not in word and word not in _LEADERS]
        if words:
            head = words[0].strip("`'\"($").rsplit("/", 1)[-1]
            yield head, words[1] if len(words) > 1 else ""


@functools.lru_cache(maxsize=1024)
def _leading_words(command: str) -> tuple[str, str]:
    """Give the first word that does something, and the next: `cd x && grep y` greps."""
    return next((found for found in _programs_in(command) if found[0] != "cd"), ("", ""))
