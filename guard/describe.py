"""How a turn is described to people in one line: its kind, its command, its headline."""

from __future__ import annotations

from heapq import nsmallest

from guard.raw_texts import PATH_ARGUMENTS
from guard.reading.classify import classify
from guard.reading.normalize import canonical_json, command_in, one_line, strip_remarks
from guard.turn import Turn

_MAX_LENGTH = 120
_TARGET_ARGS = (*PATH_ARGUMENTS, "pattern", "query", "url", "regex", "search", "q", "name", "id")


def action_class(turn: Turn) -> str:
    """Return the kind of action a turn is: the caller's own word, else derived.

    >>> from guard.turn import Role
    >>> action_class(Turn(role=Role.ASSISTANT, tool="Bash", args={"command": "pytest -q"}))
    'test_run'
    """
    if turn.action_class:
        return turn.action_class
    return classify(turn.tool, command_in(turn.args), strip_remarks(turn.args)).value


def headline(turn: Turn) -> str:
    """Describe a turn in at most 120 characters for a screen.

    >>> from guard.turn import Role
    >>> headline(Turn(role=Role.ASSISTANT, tool="Read", args={"file_path": "app/auth.py"}))
    'Read app/auth.py'
    >>> headline(Turn(role=Role.ASSISTANT, content="The fixtures look right now."))
    '"The fixtures look right now."'
    """
    if turn.tool is None:
        words = one_line(turn.content or "")
        return f'"{words}"' if len(words) <= _MAX_LENGTH - 2 else f'"{words[:117]}…"'
    args = strip_remarks(turn.args)
    targets = [value for value in map(args.get, _TARGET_ARGS) if isinstance(value, str | int)]
    gist = command_in(turn.args) or next((str(value) for value in targets if value != ""), None)
    # Without a command or a target, show the arguments: a tool's bare name says nothing. A call may
    # have a hundred thousand, and the first by name fill the line.
    if gist is None and args:
        detail = canonical_json(
            {name: args[name] for name in nsmallest(_MAX_LENGTH, args, key=str)}
        )
    else:
        detail = one_line(gist or "")
    line = f"{turn.tool} {detail}" if detail else turn.tool
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"
