"""Calls that an agent writes into its text, and answers that come in turns of their own.

Many loops have no tool interface, and many logs print what was a call. The forms differ,
but a name and a group of arguments always end the text: that is what is looked for.

Source: the logs of ReAct, OpenHands, SWE-agent, mini-swe-agent, Cline, Hermes, AutoGPT, AutoGen,
CrewAI, LangChain, LangGraph, LangChain4j, Letta, MCP clients, Open WebUI, Terminus and smolagents.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from html import unescape
from itertools import islice
from typing import Any

from guard.reading import compile_phrases, pattern_of, read_words
from guard.turn import ASSISTANT, USER, Role, Turn

_MAX_LENGTH, _HEAD, _MAX_ACTION = 40_000, 4000, 500
_MAX_TRIES, _MAX_BRACES, _MAX_DEPTH = 24, 200, 4
# The tool's name for an action described in free words.
FREE_ACTION = "act"
# What a harness adds below each report: the time, the cost, the open files.
REPORT_FOOTER = "<environment_details>"
# Between a call and its outcome, a terminal changes colours or ends the typed text.
_COLOURS, _OUTPUT_NEXT = re.compile(r"\x1b\[[\d;?]*[A-Za-z]"), compile_phrases("output_next")
_SHELL_PROMPT, _ATTRIBUTES = compile_phrases("typed", re.MULTILINE), compile_phrases("attributes")
# A tool that only forwards a call to the tool that it names.
_FORWARDER, _SCRIPT_CALL = compile_phrases("carries"), compile_phrases("called", re.DOTALL)
_CALL_FIELDS, _CALL_HINTS = read_words("call_keys"), read_words("hints")["named_call"]
_SCRIPT_TOOLS = dict.fromkeys(read_words("fences")["pythons"], ("python", "code"))
_SCRIPT_TOOLS |= dict.fromkeys((*read_words("fences")["shells"], ""), ("bash", "command"))
_TAG = compile_phrases("tag", re.MULTILINE)
_CHILD = re.compile(r"<(parameter|arg|\w{1,60})(?:(?:=| name=\"?)([\w.:-]{1,60}))?\"?>")
_ACTION_LABEL = re.compile(r"(?:^|(?<=[\s.]))\s{0,4}Action(?: \d{1,4})?:\s*", re.MULTILINE)
_BRACKETED_CALL = re.compile(r"[^\w\n]{0,6}([^\W\d][\w.]{0,60}) ?[\[(](.*)[\])]\s*", re.DOTALL)
# How an object begins in JSON or Python; a block of code begins differently.
_OBJECT_START = re.compile(r"\{\s*[\"'}]")
# After a line break, which is found faster than the beginning of a line.
_CALL_NAME = re.compile(f"\n{pattern_of('named_call')}", re.IGNORECASE)
_ARGUMENTS_LABEL = compile_phrases("given", re.IGNORECASE)
_NAME_ALONE = compile_phrases("named_alone")
_ARGUMENT_LINES = re.compile(r"^[ \t]*[-*]? ?[`'\"*]*([^\W\d][\w-]{0,40})[`'\"*]*: ", re.MULTILINE)
_PAIRS = compile_phrases("pairs", re.DOTALL)
_CLOSING_TAG, _TRAILING_SIGNS = re.compile(r"</\w{1,40}>\Z"), " \t\n\r`*~_])|-"
# Rules and walls that a terminal draws around a text; text within a rule is a title.
_RULE, _RULES = compile_phrases("ruled", re.MULTILINE), [4 * sign for sign in "─━═*=~#-"]
# After a line break, which is found faster than the beginning of a line.
_RULE_BELOW = re.compile(f"\n{pattern_of('ruled')}", re.MULTILINE)
_WALL, _WALLS = compile_phrases("wall", re.MULTILINE), "│┃"
_REPORT_LABEL = re.compile(rf"\s{{0,4}}{pattern_of('reports')}")
_REPORT_BELOW = re.compile(rf"\n{pattern_of('reports')}")
_EXIT_CODE = re.compile(r"\s{0,4}<returncode>(-?\d{1,9})</returncode>\s*(?:<output>)?")
_PROMPT, _PROMPT_HINT = compile_phrases("prompt"), "(Current directory: "
_SENT_BACK_LABEL = re.compile(rf"\s{{0,4}}{pattern_of('sent_back')}")
# A line above an answer with its step, its duration or its status.
_FENCE, _LOG_LINE = compile_phrases("fenced_answer", re.DOTALL), compile_phrases("logged")
_LABEL, _FAILS = compile_phrases("label"), compile_phrases("label_fails")
_CLOSING_TAGS = re.compile(r"(?:</\w{0,20}(?:output|response|results?|observation)>\s{0,9}){1,4}\Z")
# A person's answer, wrapped as a tool's result.
_PERSON_ANSWER = re.compile(r"<(?:answer|feedback|user_message|task)>")
_read_json = json.JSONDecoder(strict=False).raw_decode
# The text beside a call, its tool and its arguments.
_Call = tuple[str, str, Mapping[str, Any]]


def as_call(turn: Turn) -> Turn:
    """Return an agent's turn as a call, if its text is unmistakably one.

    If the same text has the observation, it is the result; otherwise that is in a later turn.

    >>> step = Turn(role=Role.ASSISTANT, content="Action: search[tide mill] Observation: No page.")
    >>> call = as_call(step)
    >>> call.tool, call.args, call.result
    ('search', {'input': 'tide mill'}, 'No page.')
    """
    if turn.tool is not None:
        if not turn.args or not _FORWARDER.match(turn.tool):
            return turn
        call = _find_call(turn.args, "") or _read_script_call(turn.args.get("code"))
        return replace(turn, tool=call[1], args=call[2]) if call else turn
    if turn.role is ASSISTANT and turn.content:
        return _read_text_call(turn, turn.content)
    text = turn.content or ""
    if turn.role is USER and text[:1] == "{" and len(text) < _MAX_LENGTH:
        value = _object_at_end(text)[1] or {}
        # A machine's notice has a time; a person may paste an object that has a type.
        is_notice = "user" not in str(value.get("type", "user")) and "time" in value
        as_notice = replace(turn, role=Role.SYSTEM)
        return as_notice if is_notice else _as_message(turn, _find_call(value, ""))
    return turn


def _read_text_call(turn: Turn, content: str) -> Turn:
    if "\x1b" in content:
        content = _COLOURS.sub("", _OUTPUT_NEXT.sub("\nOutput:\n", content))
    text = _remove_frame(content)
    may_call = any(map(text.__contains__, _CALL_HINTS)) or _OBJECT_START.search(text)
    if not may_call or _REPORT_LABEL.match(text):
        return turn  # an observation alone answers an earlier call
    before, seen, inline = text.partition("Observation:")
    below = islice(_REPORT_BELOW.finditer(text, 0, _MAX_LENGTH), _MAX_TRIES)
    parts = [(text[: told.start()], text[told.end() :]) for told in below]
    for asked, came in [*parts, *([(before, inline)] if seen else ()), (text, turn.result)]:
        call = _first_call(turn, asked, _find_tagged_call, _find_data_call, _find_shell_call)
        if call is None:
            continue
        if call.tool in _CALL_FIELDS["speaks"]:
            return _as_message(turn, ("", call.tool or "", call.args or {}))
        return replace(call, result=came and came.strip())
    words = _ACTION_LABEL.split(before.rstrip()[-_HEAD:], maxsplit=1)[-1].strip() if seen else ""
    if not words:
        return turn
    args = {"input": words}
    return replace(turn, tool=FREE_ACTION, args=args, result=inline.strip(), content=None)


def shown_call(turn: Turn) -> Turn | None:
    """Return the call that a message shows; it is one only if a harness runs what is shown."""
    return _first_call(turn, turn.content or "", _find_shown_call)


def spoken_call(turn: Turn) -> Turn:
    """Return a message as a call of its first word, for a harness that runs what is said."""
    text = (turn.content or "").strip()
    verb, _, rest = text.partition(" ")
    tool, argument = (verb, rest) if verb.isidentifier() else (FREE_ACTION, text)
    return replace(turn, tool=tool, args={"input": argument.strip()}, content=None)


def is_report(turn: Turn) -> bool:
    """Return whether this is a tool's report, which some loops send in the user's name."""
    text = turn.content
    if text is None or turn.tool or _PERSON_ANSWER.search(text[:_HEAD]):
        return False
    text = _remove_frame(text)
    if _REPORT_LABEL.match(text) or _EXIT_CODE.match(text) or _SENT_BACK_LABEL.match(text):
        return True
    return _PROMPT_HINT in text and _PROMPT.search(text[-_HEAD:]) is not None


def report_content(text: str) -> str:
    """Return the content of a report, without its announcement and the text below each report."""
    text = text.partition(REPORT_FOOTER)[0]
    if (bare := _remove_frame(text)) != text:  # a heading may precede the announcement
        announced = _REPORT_BELOW.search(bare, 0, _MAX_ACTION)
        text = bare[announced.end() :] if announced else bare
    if _PROMPT_HINT in text:  # it is at the end, and only the end is searched
        text = text[:-_HEAD] + _PROMPT.sub("", text[-_HEAD:])
    text = text.rstrip()
    text = _CLOSING_TAGS.sub("", text).rstrip() if text.endswith(">") else text
    if ended := _EXIT_CODE.match(text):
        rest = text[ended.end() :].rpartition("</output>")[0] or text[ended.end() :]
        rest = rest.strip()
        return rest if ended[1] == "0" else f"exit code {ended[1]}\n{rest}"
    while (announced := _REPORT_LABEL.match(text)) and not text.startswith(("{", "[{")):
        text = text[announced.end() :].strip()
    if logged := _LOG_LINE.match(text):
        return text[logged.end() :]
    found = _FENCE.search(text[:_MAX_LENGTH]) if text.endswith(">") else None
    if found and "```" not in found[2]:
        return f"error: {found[2]}" if _FAILS.search(found[1]) else found[2]
    if label := _LABEL.match(text):
        text = text[label.end() :]
        return f"error: {text}" if _FAILS.search(label[1] or label[2]) else text
    return text


@functools.lru_cache(maxsize=1)  # called for a message as a call, and again as a report
def _remove_frame(text: str) -> str:
    """Remove the rules and walls around a text; text within a rule is a title."""
    if not (any(map(text.__contains__, _RULES)) and _RULE_BELOW.search(f"\n{text[:_HEAD]}")):
        return text
    if any(map(text.__contains__, _WALLS)):
        text = _WALL.sub("", text)
    return _RULE.sub(lambda rule: f"{rule[1]}:" if rule[1] else "", text).strip()


def _as_message(turn: Turn, call: _Call | None) -> Turn:
    """Return a message that is written as a call as a plain message."""
    said = call[2].get("content") if call and call[1] in _CALL_FIELDS["speaks"] else None
    return replace(turn, content=said) if isinstance(said, str) else turn


def _first_call(turn: Turn, text: str, *readings: Callable[[str], _Call | None]) -> Turn | None:
    """Return a turn as the first call that one of these readings finds in the text."""
    calls = filter(None, (read(text) for read in readings))
    if len(text) > _MAX_LENGTH or (call := next(calls, None)) is None:
        return None
    return replace(turn, tool=call[1], args=call[2], content=call[0].strip() or None)


def _find_tagged_call(text: str) -> _Call | None:
    for found in _TAG.finditer(text) if "</" in text else ():
        tag, name, said = found[1] or found[3], found[2] or found[3], text[: found.start()]
        inner, closed, rest = text[found.start() :].partition(f"</{tag}>")
        inner, script = inner.partition(">")[2], _SCRIPT_TOOLS.get(tag)
        if found[2]:
            return said, name, _read_tags(inner) or _parse_arguments(inner) or {}
        if closed and script:
            return said, script[0], {script[1]: inner.strip()}
        # A tag whose name has two words, as tools' names do, at the end of the text.
        is_tool = "_" in tag and not tag.startswith(("tool_call", "function_call"))
        if closed and is_tool and not rest.strip(_TRAILING_SIGNS):
            return said, name, _read_tags(inner) or {"input": inner.strip()}
    return None


def _read_tags(text: str) -> dict[str, str]:
    """Return the texts between tags, by tag name; only the first few tags are tried."""
    found, at = dict[str, str](), 0
    for opened in islice(_CHILD.finditer(text), _MAX_TRIES):
        inner, closed, _ = text[opened.end() :].partition(f"</{opened[1]}>")
        if closed and opened.start() >= at:
            at, found[opened[2] or opened[1]] = opened.end() + len(inner), inner.strip()
    return found


def unescape_html(text: str) -> str:
    """Decode HTML references; leave a text unchanged if a character's number is too long.

    >>> unescape_html("&quot;a&quot;"), len(unescape_html("&#" + "9" * 5000))
    ('"a"', 5002)
    """
    with suppress(ValueError):
        return unescape(text)
    return text


def _find_data_call(text: str) -> _Call | None:
    """Read a call at the end of a text: a name, announced or alone, and its arguments."""
    before, _, inner = text.partition("<tool_call>")
    text = before + inner.partition("</tool_call>")[0]
    has_arguments = " arguments" in text or " ARGUMENTS" in text
    for found in islice(_ATTRIBUTES.finditer(text), _MAX_TRIES) if has_arguments else ():
        given = text[found.end() :]
        given = given if found[2] is None else unescape_html(given.partition('"')[0])
        if (args := _object_at_start(given) or _object_at_end(given)[1]) is not None:
            return text[: found.start()], found[1], args
    start, value = _object_at_end(text)
    before = text[:start]
    if value and (call := _find_call(value, before)):
        return call
    lined = f"\n{before}"
    for found in islice(_CALL_NAME.finditer(lined), _MAX_TRIES):
        below, args = lined[found.end() :], value
        rest = _ARGUMENTS_LABEL.sub("", below, count=1).strip()
        if rest:  # plain text is an argument only where the log says so
            is_plain = rest[0] in "([" or any(map(str.isalpha, below.partition(rest)[0]))
            args = _parse_arguments(rest, is_plain=is_plain) if value is None else None
        if args is not None:
            said, name = lined[: found.start()], found[found.lastindex or 1]
            return _find_call(args, said) or (said, name, args)
    alone = _NAME_ALONE.search(before[-_MAX_ACTION:]) if value is not None else None
    return (before[: -len(alone[0])], alone[1], value or {}) if alone else None


def _object_at_end(text: str) -> tuple[int, Mapping[str, Any] | None]:
    """Return the outermost JSON object at the end of a text, and where it begins."""
    for _ in range(_MAX_DEPTH):
        text = _CLOSING_TAG.sub("", text.rstrip(_TRAILING_SIGNS))
    at, looks = text.find("{"), 0
    while text.endswith("}") and at >= 0 and looks < _MAX_BRACES:
        try:
            value, end = _read_json(text, at)
        except (ValueError, RecursionError):
            end = at + 1
            if text[end : end + 1] == "'" and looks < _MAX_DEPTH:  # as Python writes an object
                with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                    value, end = ast.literal_eval(text[at:]), len(text)
        if end == len(text):
            return at, value
        at, looks = text.find("{", end), looks + 1
    return len(text), None


def _object_at_start(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object at the start of a text, even if it is encoded as a string."""
    try:
        value, _ = _read_json(text.lstrip() if text.startswith(("{", '"{')) else "")
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read_script_call(code: object) -> _Call | None:
    """Read a script that only calls one tool and prints the result."""
    if not isinstance(code, str) or not _SCRIPT_CALL.fullmatch(code):
        return None
    with suppress(SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        called = getattr(ast.parse(code).body[0], "value", None)
        if isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and not called.args:
            args = {str(one.arg): ast.literal_eval(one.value) for one in called.keywords}
            return "", called.func.id, args
    return None


def _find_shell_call(text: str) -> _Call | None:
    """Read what was typed at a shell's prompt."""
    found = _SHELL_PROMPT.search(text) if "@" in text else None
    typed = text[found.end() :].strip() if found else ""
    return (text[: found.start()], "bash", {"command": typed}) if found and typed else None


def _find_call(value: object, before: str, depth: int = 0) -> _Call | None:
    """Find a tool's name, preferably one that does not forward, and its arguments in a value."""
    if isinstance(value, Mapping):
        named = [value[key] for key in value if key in _CALL_FIELDS["names"]]
        names = [name for name in named if isinstance(name, str)]
        given = [value[key] for key in value if key in _CALL_FIELDS["arguments"]]
        given = [_object_at_end(one)[1] if isinstance(one, str) else one for one in given]
        tool = min(names, key=lambda one: _FORWARDER.search(one) is not None, default=None)
        args = next((one for one in given if isinstance(one, dict)), None)
        if tool is not None and args is not None:
            return before, tool, args
        value = list(value.values())
    if not isinstance(value, list) or depth > _MAX_DEPTH:
        return None
    keys = [one.get("keystrokes") for one in value if isinstance(one, dict)]
    if any(keys):
        return "", "terminal", {"keystrokes": keys}
    parts = (_find_call(part, before, depth + 1) for part in value[-_MAX_TRIES:])
    return next(filter(None, parts), None)


def _parse_arguments(text: str, *, is_plain: bool = True) -> Mapping[str, Any] | None:
    """Read a call's arguments: one per line, JSON, pairs, or else plain text."""
    above, *lines = _ARGUMENT_LINES.split(text, maxsplit=_MAX_TRIES)
    if lines and not above.strip():
        return {name.lower(): told.strip() for name, told in zip(*[iter(lines)] * 2, strict=True)}
    value = _object_at_start(f'"{text}' if text[:2] == "{\\" else "") or _object_at_end(text)[1]
    if value is None and text.startswith(("{", "`")):  # other text may follow it
        value = _object_at_end(text.partition("\n")[0])[1]
    if value is None and _PAIRS.match(text):
        return {name: told for name, _, told in _PAIRS.findall(text)}
    plain = {"input": text.strip(" \n\"'`([])")} if is_plain else None
    return plain if value is None else value


def _find_shown_call(text: str) -> _Call | None:
    """Read a single fenced script at the end, a last line of code or shell, or an action."""
    before, *inner = text.rstrip().split("```")
    if len(inner) == 2 and not inner[1]:  # noqa: PLR2004 - a pair
        language, _, script = inner[0].partition("\n")
        ran = _SCRIPT_TOOLS.get(language.strip().lower())
        return (before, ran[0], {ran[1]: script.strip()}) if ran and script.strip() else None
    if "Action" in text and (found := _ACTION_LABEL.search(text)):
        words = text[found.end() :].strip()
        is_short = 0 < len(words) <= _MAX_ACTION
        return (text[: found.start()], FREE_ACTION, {"input": words}) if is_short else None
    before, _, line = text.rstrip().rpartition("\n")
    if (line := line.strip()).startswith("$ "):
        return before, "bash", {"command": line[2:]}
    written = _BRACKETED_CALL.fullmatch(line)
    return (before, written[1], _parse_arguments(written[2]) or {}) if written else None
