"""What kind of action a call is, and whether it asks or acts.

Questions (read, search, test) learn something or nothing; acts change
something. Equal answers to different questions mean nothing is learned; equal
acknowledgements of different acts mean a batch. An unknown verb is an act.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from guard.turn import ActionClass


def listed(words: str) -> frozenset[str]:
    """Give the words of a list that stands on few lines."""
    return frozenset(words.split())


_NAME_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_SHELLS = listed("bash shell sh zsh terminal powershell cmd console command")
_RUNS = listed("run exec execute process")
_EDITS = listed("edit patch replace insert append multiedit notebookedit write")
_CHANGES = listed("create delete update move rename remove save modify undo")
_FILES = listed("file files dir directory folder notebook lines code")
_SEARCHES = listed("search grep glob find query lookup websearch ripgrep")
_READS = listed(
    "read view open cat list ls show get fetch load check describe inspect count status "
    "stat scroll goto browse extract download webfetch poll wait watch sleep output "
    "preview screenshot"
)
# Thinking aloud changes nothing, however new the thought.
_THINKS = listed("think thinking thought reflect reason hypothesis hypothesize")
_TESTS = listed("test tests pytest jest unittest verify")
_HANDS_OVER = listed("handoff transfer delegate handover escalate route")
_LEARNS, _TALKS = _READS | _THINKS, _HANDS_OVER | _THINKS
PATH_ARGUMENTS = (
    "file_path",
    "filepath",
    "path",
    "filename",
    "file",
    "notebook_path",
    "target_file",
)
"""Arguments that name a file; the surest first."""
_PATH_KEYS = frozenset(PATH_ARGUMENTS)

# With a path, these say what the file is to hold.
_TEXTS = listed(
    "content contents file_text insert_text new_content new_str new_string old_str "
    "old_string patch replacement"
)
_PATCH = ("*** Begin Patch", "diff --git ", "--- a/")
_STATEMENTS = ("query", "sql", "statement")
_SQL_HEAD = 200
_SQL = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(select|with|show|explain|describe|pragma|values|insert|update|delete|create"
    r"|drop|alter|merge|truncate|replace|grant)\b",
    re.IGNORECASE,
)
_SQL_ASKS = listed("select with show explain describe pragma values")

_TEST_COMMAND = re.compile(
    r"(?:^|[;&|(]|\s)(?:\S*/)?(?:pytest|py\.test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|gotestsum"
    r"|unittest|runtests\.py|test_runner|playwright test)(?:\s|$)"
    r"|\b(?:npm|yarn|pnpm|bun|cargo|go|dotnet|mvn|gradle|gradlew|make|mix|swift|rake|bazel|deno"
    r"|manage\.py|bin/test) (?:run )?(?:-\S+ )*test\b|-m (?:unittest|pytest|doctest)\b"
)
_EDIT_COMMAND = re.compile(
    r"\bsed\b[^|;&]{0,80}\s-i|\bapply_patch\b|\bgit (?:apply|checkout|restore|revert|reset|stash)\b"
    r"|\btee\b"
    r"|(?:^|[;&|]\s*)(?:\S*/)?(?:mv|cp|rm|mkdir|touch|patch|chmod|ln)\s"
)
# Apart from those above: it begins with one sign, and is looked for at a tenth of their cost.
_REDIRECT = re.compile(r">(?<![0-9&>=-]>)>?(?!&)\s?(?!/dev/)[\w./~\"'$-]")
# One of these stands in whatever the expressions find: looking is cheaper than they are.
_TEST_HINTS = listed("test tox nox jest mocha rspec phpunit")
_EDIT_HINTS = listed("sed patch git tee mv cp rm mkdir touch chmod ln")
_SEARCH_WORDS = listed("grep rg ag ack find fd locate which whereis fgrep egrep")
_READ_WORDS = listed(
    "cat ls head tail less more pwd wc echo stat file tree du df ps env printenv date "
    "whoami id uname hostname diff cmp sort uniq cut nl sed awk jq type sleep wait true "
    "uptime free printf md5sum sha1sum sha256sum cksum sum xxd od hexdump strings readelf "
    "objdump nm dig nslookup ping history man help top lsof"
)
_READ_SUBCOMMANDS = {
    "git": listed("status log diff show branch blame remote ls-files describe"),
    "kubectl": listed("get describe logs top"),
    "docker": listed("ps logs inspect images"),
    "gh": listed("run pr issue api"),
    "pip": listed("list show freeze"),
    "npm": listed("ls list view"),
    "systemctl": listed("status"),
}
_PROGRAMS = _READ_WORDS | _SEARCH_WORDS | _READ_SUBCOMMANDS.keys()
_LEADERS = listed("sudo time timeout nohup env command exec xargs")

_WAIT_NAMES = listed("wait poll sleep watch await status progress output heartbeat noop idle pause")
# Asking how such a thing stands is waiting for it.
_TAKE_TIME = listed("job jobs build builds deployment pipeline")
_WAIT_ARGS = listed("wait_ms wait wait_seconds delay_ms duration_ms sleep")
_MOVES = listed(
    "press key keypress click scroll swipe move step next tap forward backward turn play "
    "walk jump advance"
)
_DEBUGGERS = listed("gdb pdb lldb debugger debug")
_DEBUGGER_STEPS = listed("c cont continue n next s step finish fin")
_WAIT_COMMAND = re.compile(
    r"(?:^|[;&|]\s*)(?:wait|watch)\b"
    r"|\b(?:sleep \d|kubectl (?:get|wait|rollout)|gh (?:run|pr checks)|squeue"
    r"|docker (?:compose )?ps|systemctl (?:is-active|status)|tail -[fFn]|nvidia-smi|top -b)"
    r"|\b(?:curl|wget)\b[^|;]{0,200}(?:health|ready|status|ping|alive)"
)
_WAIT_HINTS = listed(
    "wait watch sleep kubectl gh squeue docker systemctl tail nvidia-smi top curl wget"
)
# Words that speak of waiting wherever they stand in a short answer; the others
# only as the state of something, or as the whole answer: builds and servers say
# "building" and "starting" of themselves when nobody waits.
_WAIT_ANSWER = re.compile(
    r"pending\b|in[_ -]?progress\b|still running\b|queued\b|not (?:yet )?ready\b|not finished\b"
    r"|(?:status|state|phase)\W{1,4}(?:running|building|provisioning|processing|starting|creating"
    r"|scheduled|initiali[sz]ing|waiting)\b"
    r"|\A\W*(?:running|building|provisioning|processing|starting|waiting|scheduled)\W*\Z"
)
_WAIT_WORDS = listed(
    "pending progress running queued ready finished stat phase building provisioning "
    "processing starting waiting scheduled"
)
_QUESTIONS = frozenset(
    {ActionClass.READ, ActionClass.SEARCH, ActionClass.TEST_RUN, ActionClass.MESSAGE}
)
_LONGEST_COMMAND = 4000
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
    if (statement := _statement_of(args)) is not None:
        return ActionClass.SEARCH if statement in _SQL_ASKS else ActionClass.OTHER
    if command and _read_name(tool).runs:
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
    if has_path and not _TEXTS.isdisjoint(args):
        return ActionClass.FILE_EDIT
    if command.startswith(_PATCH):
        return ActionClass.FILE_EDIT
    if _first_word(command) in _PROGRAMS or _finds(_TEST_COMMAND, _TEST_HINTS, command):
        return _classify_command(command)
    return ActionClass.OTHER


def _finds(pattern: re.Pattern[str], hints: frozenset[str], command: str) -> bool:
    """Search a command, where one of the hints stands in it at all."""
    return (
        command != ""
        and any(map(command.__contains__, hints))
        and pattern.search(command) is not None
    )


def _statement_of(args: Mapping[str, Any]) -> str | None:
    """Give the verb of a database statement: "select", "insert"."""
    for name in _STATEMENTS:
        value = args.get(name)
        if isinstance(value, str) and (found := _SQL.match(value[:_SQL_HEAD])):
            return found[1].lower()
    return None


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
    return tool is not None and action == ActionClass.OTHER and _read_name(tool).learns


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
    if _read_name(tool).waits or (args and not _WAIT_ARGS.isdisjoint(args)):
        return True
    return _finds(_WAIT_COMMAND, _WAIT_HINTS, command[:_LONGEST_COMMAND])


def tells_to_wait(tool: str | None, answer: str) -> bool:
    """Tell whether a short answer to a call says that something takes its time."""
    return tool is not None and 0 < len(answer) <= _LONGEST_WAIT_ANSWER and _speaks_of_wait(answer)


@functools.lru_cache(maxsize=512)
def _speaks_of_wait(answer: str) -> bool:
    low = answer.lower()
    return any(map(low.__contains__, _WAIT_WORDS)) and _WAIT_ANSWER.search(low) is not None


def thinks(tool: str | None) -> bool:
    """Tell whether a call only thinks aloud: it learns nothing and changes nothing.

    >>> thinks("express_hypothesis"), thinks("read_file")
    (True, False)
    """
    return tool is not None and _read_name(tool).thinks


def hands_over(tool: str | None) -> bool:
    """Tell whether a call passes the matter on to another agent.

    >>> hands_over("transfer_to_billing"), hands_over("hand_over"), hands_over("move_file")
    (True, True, False)
    """
    return tool is not None and _read_name(tool).hands_over


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
    if words & _DEBUGGERS and isinstance(command := (args or {}).get("command"), str):
        return command.strip().lower() in _DEBUGGER_STEPS
    return bool(words & _MOVES) and not words & _FILES


class _Name(NamedTuple):
    """What a tool's name says of its calls."""

    thinks: bool
    hands_over: bool
    waits: bool
    runs: bool
    learns: bool


@functools.lru_cache(maxsize=1024)
def _read_name(tool: str) -> _Name:
    words = _words(tool)
    passes = "hand" in words and bool(words & {"off", "over"})
    asks_of_jobs = bool(words & _TAKE_TIME) and bool(words & _READS)
    return _Name(
        thinks=bool(words & _THINKS),
        hands_over=passes or bool(words & _HANDS_OVER),
        waits=asks_of_jobs or (bool(words & _WAIT_NAMES) and "git" not in words),
        runs=bool(words & (_SHELLS | _RUNS)),
        learns=bool(words & _LEARNS),
    )


@functools.lru_cache(maxsize=1024)
def _words(tool: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _NAME_WORDS.findall(tool[:200]))


@functools.lru_cache(maxsize=1024)
def _classify_name(words: frozenset[str], *, has_path: bool) -> ActionClass:
    if "patch" in words or (words & _EDITS and (has_path or words & _FILES or len(words) == 1)):
        return ActionClass.FILE_EDIT
    if words & _CHANGES and (words & _FILES or has_path):
        return ActionClass.FILE_EDIT
    if words & _TESTS:
        return ActionClass.TEST_RUN
    if words & _SEARCHES:
        return ActionClass.SEARCH
    if words & _READS:
        return ActionClass.READ
    return ActionClass.SHELL_EXEC if words & _SHELLS else ActionClass.OTHER


@functools.lru_cache(maxsize=1024)
def _classify_command(command: str) -> ActionClass:
    if _finds(_TEST_COMMAND, _TEST_HINTS, command):
        return ActionClass.TEST_RUN
    if _finds(_EDIT_COMMAND, _EDIT_HINTS, command) or _REDIRECT.search(command):
        return ActionClass.FILE_EDIT
    word = _first_word(command)
    if word in _SEARCH_WORDS:
        return ActionClass.SEARCH
    return ActionClass.READ if _only_reads(command) else ActionClass.SHELL_EXEC


@functools.lru_cache(maxsize=1024)
def _only_reads(command: str) -> bool:
    parts = [part for part in re.split(r"\|\||&&|[|;\n]", command) if part.strip()]
    return bool(parts) and all(_part_reads(part) for part in parts)


def _part_reads(part: str) -> bool:
    words = [word for word in part.split() if "=" not in word and word not in _LEADERS]
    if not words:
        return True
    head = words[0].strip("`'\"($").rsplit("/", 1)[-1]
    if head in _READ_SUBCOMMANDS:
        return len(words) > 1 and words[1] in _READ_SUBCOMMANDS[head]
    return head == "cd" or head in _READ_WORDS or head in _SEARCH_WORDS


def verb_of(tool: str, command: str) -> str:
    """Name what a call does: the tool, and what it runs where it runs a command.

    >>> verb_of("Bash", "cd app && git status -s"), verb_of("Read", "")
    ('Bash git status', 'Read')
    """
    if not command:
        return tool
    head, rest = _leading_words(command[:_LONGEST_COMMAND])
    return f"{tool} {head} {rest}" if head in _READ_SUBCOMMANDS and rest else f"{tool} {head}"


@functools.lru_cache(maxsize=1024)
def _leading_words(command: str) -> tuple[str, str]:
    """Give the first word that does something, and the one after it."""
    for part in re.split(r"\|\||&&|[|;\n]", command):
        words = [word for word in part.split() if "=" not in word and word not in _LEADERS]
        if words and words[0] != "cd":
            head = words[0].strip("`'\"($").rsplit("/", 1)[-1]
            return head, words[1] if len(words) > 1 else ""
    return "", ""


def _first_word(command: str) -> str:
    """Give the first word that does something: `cd x && grep y` greps."""
    return _leading_words(command)[0]
