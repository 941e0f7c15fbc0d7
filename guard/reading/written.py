"""Calls that an agent writes into its text, and answers that come in the user's name.

Many loops have no tool interface: the model writes one command, tagged or fenced, and
the harness says what came of it as the next user turn.

Source: the log forms of ReAct, OpenHands, SWE-agent and mini-swe-agent, Cline, Hermes,
AutoGPT, Terminus and smolagents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from guard.reading import any_of, read_words
from guard.turn import Role, Turn

_LONGEST = 40_000
_LONGEST_WORDS = 500
_ACTION = re.compile(r"(?:^|[\s.])Action(?: \d{1,4})?:")
_INPUT = re.compile(r"Action Input(?: \d{1,4})?:")
_NAMED = re.compile(r"([^\W\d]\w{0,60}) ?[\[(](.*)[\])]$", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w{0,60}$")
# The tool's name where an action is told in free words.
ACT = "act"
# `Bash {"command": "ls"}` as the last line, and `{"name": "Bash", "arguments": {…}}`.
_WRITTEN = re.compile(r"([A-Za-z_][\w.:-]{0,60}) ?\(?(\{.*\})\)?", re.DOTALL)
_TOOL_KEYS = ("name", "tool", "tool_name", "action", "function")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "input", "action_input", "tool_input")
_FUNCTION = re.compile(r"<function=([\w.:-]{1,60})>")
_PARAMETER = re.compile(r"<parameter=([\w.:-]{1,60})>")
_ELEMENT = re.compile(r"^<([a-z]{1,30}(?:_[a-z]{1,30}){1,5})>\s*(?:<|$)", re.MULTILINE)
_CHILD = re.compile(r"<(\w{1,60})>")
# `[Tool Use: execute_command]`, then `Command: ls` and so on, a line each.
_TOOL_USE = re.compile(r"^\[Tool Use: ([\w.:-]{1,60})\]\n", re.MULTILINE)
_FIELD = re.compile(r"^([A-Z][a-z_]{1,40}): ", re.MULTILINE)
_MOST_FIELDS = 12
_BASH, _PYTHON = ("bash", "command"), ("python", "code")
_SCRIPTS = {"execute_bash": _BASH, **dict.fromkeys(("execute_ipython", "execute", "code"), _PYTHON)}
_FENCED = dict.fromkeys(read_words("fences")["pythons"], _PYTHON)
_FENCED |= dict.fromkeys((*read_words("fences")["shells"], ""), _BASH)
_WORDS = re.compile(r"^\s{0,4}Action(?: \d{1,4})?:\s*", re.MULTILINE)
_REPORTS = re.compile(rf"\s{{0,4}}{any_of('reports')}")
_EXIT = re.compile(r"\s{0,4}<returncode>(-?\d{1,9})</returncode>\s*(?:<output>)?")
_PROMPT = re.compile(
    r"(?:\n?\(Open file: [^\n]*\))?\n?\(Current directory: [^\n]*\)(?:\n\S{0,40}[$#])?\s*\Z"
)
_PROMPT_HINT = "(Current directory: "
_SENT_BACK = re.compile(rf"\s{{0,4}}{any_of('sent_back')}")
_CLOSED = re.compile(r"</(?:output|tool_response|tool_result|observation)>\Z")
# What a person answered, wrapped as a tool's result.
_ANSWERED = re.compile(r"<(?:answer|feedback|user_message|task)>")
_HEAD = 4000


class _Call(NamedTuple):
    said: str
    tool: str
    args: Mapping[str, Any]


def as_call(turn: Turn) -> Turn:
    r"""Give an agent's turn whose text is unmistakably a call as that call.

    With what was observed of it, where the same text tells; without a result,
    where only a call stands there: the report comes with a later turn.

    >>> step = Turn(role=Role.ASSISTANT, content="Action: search[tide mill] Observation: No page.")
    >>> call = as_call(step)
    >>> call.tool, call.args, call.result
    ('search', {'input': 'tide mill'}, 'No page.')
    >>> tagged = "List it.\n<execute_bash>\nls src\n</execute_bash>"
    >>> as_call(Turn(role=Role.ASSISTANT, content=tagged)).args
    {'command': 'ls src'}
    """
    if turn.role is not Role.ASSISTANT or turn.tool is not None or not turn.content:
        return turn
    if call := _told(turn, (_tagged, _listed, _as_json)):
        return call
    before, seen, result = turn.content.partition("Observation:")
    if not before.strip() or not (seen or "Action" in before):
        return turn  # an observation alone is the answer to a call before
    end = before.rstrip()[-_HEAD:]
    action = _ACTION.search(end)
    named, *arguments = _INPUT.split(end[action.end() :] if action else end, maxsplit=1)
    tool, argument = ACT, named.strip()
    if arguments and _NAME.match(argument):
        tool, argument = argument, arguments[0].strip()
    elif match := _NAMED.match(argument):
        tool, argument = match.groups()
    if not seen and (action is None or tool == ACT):
        return turn
    came = result.strip() if seen else turn.result
    return replace(turn, tool=tool, args={"input": argument}, result=came, content=None)


def shown_call(turn: Turn) -> Turn | None:
    r"""Give the call that a message may be, if a harness carries out what it shows.

    One fenced script at its end, or an action in free words; to a person the same
    text is a proposal, so that only what follows tells.

    >>> message = Turn(role=Role.ASSISTANT, content="Look first.\n```bash\nls\n```")
    >>> call = shown_call(message)
    >>> call.tool, call.args
    ('bash', {'command': 'ls'})
    """
    return _told(turn, (_fenced, _in_words))


def spoken_call(turn: Turn) -> Turn:
    """Give a message as the call that it is where what is said is done.

    >>> call = spoken_call(Turn(role=Role.ASSISTANT, content="open the sluice"))
    >>> call.tool, call.args
    ('open', {'input': 'the sluice'})
    """
    text = (turn.content or "").strip()
    verb, _, rest = text.partition(" ")
    tool, argument = (verb, rest) if _NAME.match(verb) else (ACT, text)
    return replace(turn, tool=tool, args={"input": argument.strip()}, content=None)


def is_report(turn: Turn) -> bool:
    """Tell a tool's report, sent in the user's name as some loops do, from a person."""
    text = turn.content
    if turn.role is not Role.USER or text is None or _ANSWERED.search(text[:_HEAD]):
        return False
    if _REPORTS.match(text) or _EXIT.match(text) or _SENT_BACK.match(text):
        return True
    return _PROMPT_HINT in text and _PROMPT.search(text[-_HEAD:]) is not None


def reported(text: str) -> str:
    """Give what a report reports, without what announces it or stands below each."""
    text = text.partition("<environment_details>")[0]
    if _PROMPT_HINT in text:  # it stands at the end; a long line of them is read once
        text = text[:-_HEAD] + _PROMPT.sub("", text[-_HEAD:])
    text = _CLOSED.sub("", text.rstrip()).rstrip()
    if ended := _EXIT.match(text):
        rest = text[ended.end() :].rpartition("</output>")[0] or text[ended.end() :]
        rest = rest.strip()
        return rest if ended[1] == "0" else f"exit code {ended[1]}\n{rest}"
    announced = _REPORTS.match(text)
    return text[announced.end() :].strip() if announced else text


def _told(turn: Turn, readings: tuple[Callable[[str], _Call | None], ...]) -> Turn | None:
    """Give a turn as the first call that one of these reads in its text."""
    text = turn.content or ""
    calls = filter(None, (read(text) for read in readings))
    if len(text) > _LONGEST or (call := next(calls, None)) is None:
        return None
    return replace(turn, tool=call.tool, args=call.args, content=call.said.strip() or None)


def _tagged(text: str) -> _Call | None:
    if "</" not in text:
        return None
    if function := _FUNCTION.search(text):
        body = text[function.end() :].partition("</function>")[0]
        args = _fields(body, _PARAMETER, "</parameter>")
        return _Call(text[: function.start()], function[1], args)
    before, opened, inner = text.partition("<tool_call>")
    if opened and (call := _named(_object(inner.partition("</tool_call>")[0]) or {}, before)):
        return call
    for tag, (tool, argument) in _SCRIPTS.items():
        before, opened, inner = text.partition(f"<{tag}>\n")
        script, closed, _ = inner.partition(f"</{tag}>")
        if opened and closed:
            return _Call(before, tool, {argument: script.strip()})
    for found in _ELEMENT.finditer(text):  # the last one, named in two words as tools are
        inner, closed, rest = text[found.start() :].partition(f"</{found[1]}>")
        if closed and not rest.strip():
            inner = inner.partition(">")[2]
            args = _fields(inner, _CHILD, "</{}>")
            return _Call(text[: found.start()], found[1], args or {"input": inner.strip()})
    return None


def _fields(text: str, opening: re.Pattern[str], closing: str) -> dict[str, str]:
    """Give what stands between tags, by name; who opens tags without end gets a few looks."""
    found: dict[str, str] = {}
    at, looks = 0, 0
    while (opened := opening.search(text, at)) and looks < _MOST_FIELDS:
        end = text.find(closing.format(opened[1]), opened.end())
        looks += end < 0
        at = opened.end() if end < 0 else end
        if end >= 0:
            found[opened[1]] = text[opened.end() : end].strip()
    return found


def _listed(text: str) -> _Call | None:
    """Read a call that an export gives as a heading and a line each argument."""
    found = _TOOL_USE.search(text) if "[Tool Use: " in text else None
    if found is None:
        return None
    body = text[found.end() :]
    _, *parts = _FIELD.split(body, maxsplit=_MOST_FIELDS)
    args = {name.lower(): value.strip() for name, value in zip(*[iter(parts)] * 2, strict=False)}
    return _Call(text[: found.start()], found[1], args or {"input": body.strip()})


def _as_json(text: str) -> _Call | None:
    """Read a call written as a name and JSON arguments, or as one JSON object."""
    text = text.strip()
    if not text.endswith(("}", "})")):
        return None
    before, _, line = text.rpartition("\n")
    if (written := _WRITTEN.fullmatch(line)) and (args := _object(written[2])) is not None:
        return _Call(before, written[1], args)
    if call := _named(_object(line) or {}, before):
        return call
    whole = (_object(text) if text.startswith("{") else None) or {}
    keys = whole.get("commands")
    keys = [key for key in keys if isinstance(key, dict)] if isinstance(keys, list) else []
    if keys:
        return _Call("", "terminal", {"keystrokes": [key.get("keystrokes") for key in keys]})
    inner = whole.get("command") or whole.get("action")
    return _named(inner if isinstance(inner, dict) else whole, "")


def _named(value: Mapping[str, Any], before: str) -> _Call | None:
    tool = next((value[key] for key in _TOOL_KEYS if isinstance(value.get(key), str)), None)
    args = next((value[key] for key in _ARGUMENT_KEYS if isinstance(value.get(key), dict)), None)
    return None if tool is None or args is None else _Call(before, tool, args)


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _fenced(text: str) -> _Call | None:
    """Read the one fenced script of a message, at its end."""
    before, *inner = text.rstrip().split("```")
    if len(inner) != 2 or inner[1]:  # noqa: PLR2004 - a pair
        return None
    language, _, script = inner[0].partition("\n")
    ran = _FENCED.get(language.strip().lower())
    return _Call(before, ran[0], {ran[1]: script.strip()}) if ran and script.strip() else None


def _in_words(text: str) -> _Call | None:
    found = _WORDS.search(text) if "Action" in text else None
    if found is None or not 0 < len(words := text[found.end() :].strip()) <= _LONGEST_WORDS:
        return None
    return _Call(text[: found.start()], ACT, {"input": words})
