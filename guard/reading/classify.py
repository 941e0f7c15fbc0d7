"""The kind of action that a call is, and whether it asks or acts.

Questions (read, search, test) may teach something; acts change something. Equal
answers to different questions teach nothing; equal acknowledgements of different
acts are a batch. An unknown verb is an act.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from guard.raw_texts import PATH_ARGUMENTS
from guard.reading import Phrase, pattern_of, read_words
from guard.turn import ActionClass

_TRAIT_WORDS, _COMMANDS, _ARGUMENTS = map(read_words, ("names", "commands", "arguments"))
_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_CLASS_BY_TRAIT = {
    "tests": ActionClass.TEST_RUN,
    "searches": ActionClass.SEARCH,
    "reads": ActionClass.READ,
    "shells": ActionClass.SHELL_EXEC,
}
_MAX_COMMAND = 4000
_PATCH = ("*** Begin Patch", "diff --git ", "--- a/")
_SQL_ARGUMENTS = ("query", "sql", "statement")
_SQL = re.compile(rf"\s*(?:--[^\n]*\n\s*)*({pattern_of('sql_verbs')})\b", re.IGNORECASE)

_TEST_COMMAND, _EDIT_COMMAND = Phrase("test_command"), Phrase("edit_command")
# Separate from those above: it begins with one character, so searching costs a tenth of theirs.
_REDIRECT = re.compile(r">(?<![0-9&>=-]>)>?(?!&)\s?(?!/dev/)[\w./~\"'$-]")
_COMMAND_SEPARATORS, _LEADERS = re.compile(r"\|\||&&|[|;\n]"), _COMMANDS["leaders"]
_READ_SUBCOMMANDS = read_words("subcommands")
_READ_PROGRAMS = _COMMANDS["reads"] | _COMMANDS["searches"] | {"cd"}
_PROGRAMS = _COMMANDS["reads"] | _COMMANDS["searches"] | _READ_SUBCOMMANDS.keys()

_WAIT_COMMAND = Phrase("wait_command", head=_MAX_COMMAND)
_WAIT_ANSWER = Phrase("wait_answer", lower=True)
_QUESTIONS = {ActionClass.READ, ActionClass.SEARCH, ActionClass.TEST_RUN, ActionClass.MESSAGE}
_MAX_WAIT_ANSWER = 300


def classify(tool: str | None, command: str, args: Mapping[str, Any]) -> ActionClass:
    """Derive what kind of action a call is from its tool's name and command."""
    if tool is None:
        return ActionClass.MESSAGE
    for value in map(args.get, _SQL_ARGUMENTS):
        if isinstance(value, str) and (found := _SQL.match(value[:200])):
            asks_it = found[1].lower() in _COMMANDS["sql_asks"]
            return ActionClass.SEARCH if asks_it else ActionClass.OTHER
    traits, command = traits_of(tool), command[:_MAX_COMMAND]
    if command and not traits.isdisjoint({"shells", "runs"}):
        return _classify_command(command)
    if tool in {"str_replace_editor", "str_replace_based_edit_tool"}:
        verb = str(args.get("command", ""))
        return ActionClass.READ if verb == "view" else ActionClass.FILE_EDIT
    return _classify_call(traits, command, args)


def _classify_call(traits: frozenset[str], command: str, args: Mapping[str, Any]) -> ActionClass:
    """Classify a call by its name, else by its arguments: a path and a text, or a command."""
    has_path = not args.keys().isdisjoint(PATH_ARGUMENTS)
    is_on_file = has_path or "files" in traits
    edits = "edits" in traits and (is_on_file or "alone" in traits)
    if edits or "patches" in traits or ("changes" in traits and is_on_file):
        return ActionClass.FILE_EDIT
    named = next((kind for trait, kind in _CLASS_BY_TRAIT.items() if trait in traits), None)
    if named or not traits.isdisjoint({"hands_over", "thinks"}):
        return named or ActionClass.OTHER
    if (has_path and not _ARGUMENTS["texts"].isdisjoint(args)) or command.startswith(_PATCH):
        return ActionClass.FILE_EDIT
    if _TEST_COMMAND.occurs_in(command) or _main_program(command)[0] in _PROGRAMS:
        return _classify_command(command)
    return ActionClass.OTHER


def is_question(action: str, tool: str | None, command: str) -> bool:
    """Return whether a call only asks: it learns something and changes nothing."""
    if action == ActionClass.SHELL_EXEC:
        return _only_reads(command[:_MAX_COMMAND])
    named = action == ActionClass.OTHER and not traits_of(tool).isdisjoint({"reads", "thinks"})
    return named or action in _QUESTIONS


def is_waiting(
    tool: str | None, command: str, answer: str = "", args: Mapping[str, Any] | None = None
) -> bool:
    """Return whether a call waits for something that may take its time.

    Its name, its arguments, its command or a short answer says so.
    """
    if "waits" in traits_of(tool) or (args and not _ARGUMENTS["waits"].isdisjoint(args)):
        return True
    return _WAIT_COMMAND.occurs_in(command) or says_to_wait(answer)


def says_to_wait(answer: str) -> bool:
    """Return whether a short answer says that something still takes time."""
    return 0 < len(answer) <= _MAX_WAIT_ANSWER and _WAIT_ANSWER.occurs_in(answer)


def is_move(tool: str | None, args: Mapping[str, Any] | None = None) -> bool:
    """Return whether a call moves by one step: pressing a key twice is no loop."""
    traits, args = traits_of(tool), args or {}
    if isinstance(action := args.get("action"), str):
        # A game's `step` may be told in words what to do. Traits are cached, so a long script is
        # cut.
        traits = (frozenset() if " " in action.strip() else traits) | traits_of(action[:200])
    if "debuggers" in traits and isinstance(command := args.get("command"), str):
        return command.strip().lower() in _COMMANDS["debugger_steps"]
    return "moves" in traits and "files" not in traits


@functools.lru_cache(maxsize=1024)
def traits_of(tool: str | None) -> frozenset[str]:
    """Return a tool's traits: the word lists of `words.toml` in which words of its name occur.

    A tool that "thinks" only thinks aloud: it learns and changes nothing. One that
    "hands_over" passes the task on to another agent.
    """
    words = frozenset(word.lower() for word in _NAME_WORDS.findall((tool or "")[:200]))
    traits = {name for name, known in _TRAIT_WORDS.items() if words & known}
    if "hand" in words and words & {"off", "over"}:
        traits.add("hands_over")
    if "git" in words:
        traits.discard("waits")
    if traits >= {"take_time", "reads"}:
        traits.add("waits")
    if len(words) == 1:
        traits.add("alone")
    return frozenset(traits)


def _classify_command(command: str) -> ActionClass:
    if _TEST_COMMAND.occurs_in(command):
        return ActionClass.TEST_RUN
    if _EDIT_COMMAND.occurs_in(command) or _REDIRECT.search(command):
        return ActionClass.FILE_EDIT
    if _main_program(command)[0] in _COMMANDS["searches"]:
        return ActionClass.SEARCH
    return ActionClass.READ if _only_reads(command) else ActionClass.SHELL_EXEC


def _only_reads(command: str) -> bool:
    return any(map(str.isalnum, command)) and all(
        second in _READ_SUBCOMMANDS[head] if head in _READ_SUBCOMMANDS else head in _READ_PROGRAMS
        for head, second in _programs_in(command)
    )


def verb_of(tool: str, command: str) -> str:
    """Return what a call does: the tool, and the program where it runs a command."""
    if not command:
        return tool
    head, rest = _main_program(command[:_MAX_COMMAND])
    return f"{tool} {head} {rest}" if head in _READ_SUBCOMMANDS and rest else f"{tool} {head}"


@functools.lru_cache(maxsize=1024)
def _programs_in(command: str) -> tuple[tuple[str, str], ...]:
    """Return the program of each part of a command line, and the word after it."""
    programs = []
    for part in _COMMAND_SEPARATORS.split(command):
        words = [word for word in part.split() if "=" not in word and word not in _LEADERS]
        if words:
            head = words[0].strip("`'\"($").rsplit("/", 1)[-1]
            programs.append((head, words[1] if len(words) > 1 else ""))
    return tuple(programs)


def _main_program(command: str) -> tuple[str, str]:
    """Return the first program that does something and the next word: `cd x && grep y` greps."""
    return next((found for found in _programs_in(command) if found[0] != "cd"), ("", ""))
