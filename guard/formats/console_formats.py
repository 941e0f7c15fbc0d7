"""Calls and answers as some programs print them, rewritten with the labels of other logs.

Each program spreads a call over several lines, none of which states what it is.

Source: LangGraph's `pretty_print`, LangChain's debugging output, Amazon Q's terminal, exports of
Entire, logs of AppWorld and of agents trained in ALFWorld.
"""

from __future__ import annotations

import ast
import json
import re

from guard.reading.text_calls import FREE_ACTION

# LangGraph prints a rule above each message, which may hold several calls.
_MESSAGE = re.compile(
    r"^(?:Update from (?:node|subgraph) [^\n]{1,100}:\n\s{0,9}+)?"
    r"={8,} (System|Human|Ai|Tool) Message ={8,}$(?:\nName: [^\n]{1,100}$)?",
    re.MULTILINE,
)
_CALL = re.compile(
    r"^(?:Tool Calls:\n)?  ([\w.-]{1,100}) \([^()\n]{1,100}\)\n Call ID: [^\n]*\n  Args:"
    r"(.*?)$(?=\n  [\w.-]{1,100} \([^()\n]{1,100}\)\n Call ID: |\n={8,} |\nUpdate from |\Z)",
    re.MULTILINE | re.DOTALL,
)
_ARGUMENT = re.compile(r"^    ([^\W\d][\w-]{0,60}): ?", re.MULTILINE)
# LangChain logs when tools, models and chains begin and end; the last two repeat the history.
_TRACED = re.compile(
    r"^\[(\w{1,20}/\w{1,20})\] \[([^\]\n]{1,1000})\](?: \[[\d.]{1,12}m?s\])?"
    r" (?:Entering|Exiting|\w{1,20}) [^\n:]{1,80}:\s{0,4}",
    re.MULTILINE,
)
_TRACE_LABELS = {"tool/end": "Tool output: ", "tool/error": "Tool error: "}
# Amazon Q prints dots between a call, its result and the time that it took.
_AMAZON_Q_CALL = re.compile(
    r"^\U0001f6e0\ufe0f?[ \t]{1,4}Using tool: ([\w.-]{1,100})[^\n]*\n"
    r"((?:(?!\U0001f6e0)[^\n]*\n){1,2000}?) ● (Completed in|Execution failed after) [^\n]*$",
    re.MULTILINE,
)
_DOTS, _MARKS = re.compile(r"^ ⋮[ \t]*$", re.MULTILINE), {"✓", "✗"}
# Entire gives calls and answers the same heading, followed by their ids.
_CALLED = re.compile(r"^> TOOL\n\ntool_use (\S{1,100})\nid: \S{1,100}$", re.MULTILINE)
_ANSWERED = re.compile(r"^> TOOL\n\ntool_result(?: \[(ERROR)\])?\nid: \S{1,100}$", re.MULTILINE)
# AppWorld prints a heading above a fenced script and its output.
_INTERACTION = re.compile(r"^### Environment Interaction \d{1,6}\n-{3,}$", re.MULTILINE)
# Agents trained in ALFWorld write each action in a tag.
_OUTPUT = re.compile(r"^Output: ?(?=<)", re.MULTILINE)
_ACT = re.compile(r"^(?:Thought: )?<action>([^<>\n]{1,200})</action>[ \t]*$", re.MULTILINE)
# Labels with a number after them, as in ReAct's own logs, or before them.
_NUMBERED = re.compile(
    r"^[^\w\n]{0,6}(?:step \d{1,4}[^\w\n]{1,4})?(thought|action input|act(?:ion)?|obs(?:ervation)?)"
    r"(?: ?#?\d{1,4})?[^\w\n]{0,3}:[*_`]{0,3}[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
_LABELS = {"act": "Action", "obs": "Observation"}
# LangChain's agents that use the model's native tool calls.
_INVOKED = re.compile(
    r"^Invoking: `([\w.-]{1,100})` with `([^\n]{0,20000})`[ \t]*$(?:\nresponded: ([^\n]*)$)?",
    re.MULTILINE,
)
# browser-use.
_SEEN = re.compile(
    "^(?:[A-Z]{4,8} {1,8}\\[[\\w.]{1,40}\\] )?"
    "(?:\U0001f4cd|\U0001f44d|\U0001f44e|\u26a0|\u2754|\u2753|\U0001f937|\U0001f9e0|\U0001f3af)",
    re.MULTILINE,
)
_CLICKED = re.compile(
    "^(?:[A-Z]{4,8} {1,8}\\[[\\w.]{1,40}\\] )?\U0001f6e0\ufe0f? {1,4}Action \\d{1,3}/\\d{1,3}: "
    '\\{"([\\w.-]{1,80})": ?([^\n]{1,20000})\\}[ \t]*$',
    re.MULTILINE,
)
# OpenHands.
_EVENT = re.compile(r"^\*\*([A-Z]\w{1,60}?)(Action|Observation) [^\n]{0,500}\*\*$", re.MULTILINE)
# smolagents.
_PARSED = re.compile(
    r"^ ?─ Executing (?:parsed|this) code: ─+[ \t]*\n((?:(?! ?─)[^\n]*\n){0,2000}) ?─{10,}[ \t]*$"
    r"(?:\nExecution logs:$)?",
    re.MULTILINE,
)
# The `repr` of LangGraph's messages. A call's arguments contain no other call.
_WRITTEN = re.compile(
    r"\{'name': '([^'\n]{1,100})', 'args': "
    r"(\{(?:[^\n{]|\{(?!'name': '[^'\n]{1,100}', 'args': )){0,5000}?\}), 'id': '"
    r"|\bToolMessage\(content=('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
_STEP = re.compile(r"^mini-swe-agent \(step \d{1,6}[^\n]{0,60}\):$", re.MULTILINE)
# Codex names speakers and steps on lines of their own; each may occur only once.
_CODEX = re.compile(r"^OpenAI Codex v[^\n]{1,80}\n-{8}$", re.MULTILINE)
_CODEX_STEP = re.compile(r"^(?:(user)|codex|thinking|exec)$", re.MULTILINE)
# A command at a game's prompt and the reply; in a letter, ">" quotes sentences or many lines.
_TYPED = re.compile(
    r"^> ?(think\b[^\n]{0,200}|[^\W\d_][^\n]{0,100}(?<![.,:;?!]))\n\n?(?=[^>\s])", re.MULTILINE
)
_MARKED = "\n>"
_MIN_TYPED, _OF_LINES = 3, 5
# A numbered list of actions, each with its reason.
_ITEM = re.compile(
    r"^\d{1,4}[.)] `([A-Za-z_][\w.-]{1,60})([^`\n]{0,300})`[ \t]+[\u2014\u2013-][ \t]+([^\n]*)$",
    re.MULTILINE,
)
_MIN_ITEMS = 5


def relabel(text: str) -> str:
    """Return a text with labels if one of these programs printed it; others unchanged."""
    if " Message ====" in text:
        text = _MESSAGE.sub(r"[\1]", _CALL.sub(_relabel_call, text))
    if "Entering Tool run" in text:
        text = _relabel_trace(text)
    if " ● " in text:
        text = _AMAZON_Q_CALL.sub(_relabel_amazon_q, text)
    if "\ntool_use " in text:
        text = _CALLED.sub(r"> AGENT\n\nTool call: \1", text)
        text = _ANSWERED.sub(lambda it: f"> TOOL\n\nTool {'error' if it[1] else 'result'}:", text)
    if "### Environment Interaction" in text:
        text = _INTERACTION.sub("Tool call: python", text)
    if _CODEX.search(text):
        text = _CODEX_STEP.sub(lambda it: f"[{it[1] or 'assistant'}]", text)
    if "</action>\n" in text:
        text = _ACT.sub(r"Action: \1", _OUTPUT.sub("Thought: ", text))
    return text


def _relabel_call(printed: re.Match[str]) -> str:
    _, *given = _ARGUMENT.split(printed[2])
    args = {name: told.strip() for name, told in zip(*[iter(given)] * 2, strict=True)}
    return f"Tool call: {printed[1]}\nArguments: {json.dumps(args)}"


def _relabel_trace(text: str) -> str:
    """Reduce a trace to the arguments and results of its tools."""
    begins = [*_TRACED.finditer(text)]
    if not begins:
        return text
    kept = [text[: begins[0].start()]]
    for found, after in zip(begins, [*begins[1:], None], strict=True):
        kind, where = found.groups()
        told = text[found.end() : after.start() if after else len(text)].strip()
        if kind == "tool/start":
            given = json.dumps({"input": told.strip('"')})
            kept.append(f"Tool call: {where.rpartition(':')[2].strip()}\nArguments: {given}\n")
        elif label := _TRACE_LABELS.get(kind):
            kept.append(f"{label}{told}\n")
    return "".join(kept)


def _relabel_amazon_q(found: re.Match[str]) -> str:
    """Return a call that Amazon Q printed, and its result, with labels."""
    did, *told = [*filter(str.strip, _DOTS.split(found[2])), ""]
    given, came = list[str](), list[str]()
    for line in map(str.strip, did.strip().splitlines()):
        (came if line[:1] in _MARKS else given).append(line.removeprefix("● "))
    came += filter(None, map(_drop_explanations, told))
    label = "error" if found[3].startswith("Exec") else "output"
    args = json.dumps({"input": "\n".join(given)}, ensure_ascii=False)
    return f"Tool call: {found[1]}\nArguments: {args}\nTool {label}:\n" + "\n".join(came)


def _drop_explanations(part: str) -> str:
    lines = part.strip().splitlines()
    return "\n".join(line for line in lines if not line.strip().startswith("↳")).strip()


def relabel_loosely(text: str) -> str:
    """Return a text that was not otherwise recognised, with labels in place of looser patterns."""
    text = _NUMBERED.sub(_drop_number, text)
    text = _INVOKED.sub(_relabel_invocation, _PARSED.sub(_relabel_script, text))
    text = _CLICKED.sub(r"Tool call: \1\nArguments: \2\nTool output:", _SEEN.sub("Thought: ", text))
    text = _STEP.sub("Assistant:", _EVENT.sub(_relabel_event, text))
    if "tool_calls=[{'name'" in text:
        text = "".join(map(_relabel_message, _WRITTEN.finditer(text)))
    typed, lines = len(_TYPED.findall(text)), sum(map(bool, map(str.strip, text.splitlines())))
    is_game = typed == f"\n{text}".count(_MARKED) and _OF_LINES * typed >= lines
    if typed >= _MIN_TYPED and is_game:
        text = _TYPED.sub(_relabel_typed, text)
    if len(_ITEM.findall(text)) >= _MIN_ITEMS:
        text = _ITEM.sub(_relabel_item, text)
    return text


def _relabel_invocation(call: re.Match[str]) -> str:
    said = f"Thought: {call[3]}\n" if call[3] else ""
    return f"{said}Tool call: {call[1]}\nArguments: {call[2]}\nTool output:"


def _relabel_script(code: re.Match[str]) -> str:
    args = json.dumps({"input": code[1].strip()}, ensure_ascii=False)
    return f"Tool call: python\nArguments: {args}\nTool output:"


def _relabel_event(event: re.Match[str]) -> str:
    return f"Tool call: {event[1]}\nArguments:" if event[2] == "Action" else "Tool output:"


def _relabel_message(part: re.Match[str]) -> str:
    """Return a call or an answer from a message's `repr`, with labels."""
    if part[1]:
        return f"Tool call: {part[1]}\nArguments: {part[2]}\n"
    try:
        return f"Tool output:\n{ast.literal_eval(part[3])}\n"
    except (ValueError, SyntaxError, MemoryError):
        return f"Tool output:\n{part[3]}\n"


def _drop_number(label: re.Match[str]) -> str:
    name = label[1].capitalize()
    return f"{_LABELS.get(label[1].lower(), name)}: "


def _relabel_typed(typed: re.Match[str]) -> str:
    if typed[1].startswith("think"):
        return f"Thought: {typed[1]}\n"
    return f"Tool call: {FREE_ACTION}\nArguments: {json.dumps({'input': typed[1]})}\nTool output:\n"


def _relabel_item(item: re.Match[str]) -> str:
    given = item[2].strip(" ·:()-")
    args = json.dumps({"input": given} if given else {}, ensure_ascii=False)
    return f"Thought: {item[3]}\nTool call: {item[1]}\nArguments: {args}"
