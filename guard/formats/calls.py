"""Calls and answers by their parts, whatever the interface that wrote them calls these."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from guard.formats.fields import read_answer, read_given, read_mapping, read_rows, read_text
from guard.reading.written import ACT

Row = Mapping[str, Any]

# Under which names each thing stands, the surest first.
_TOOLS = ("toolname", "functionname", "tool", "toolkey", "action", "function", "name")
_GIVEN = (
    *("arguments", "args", "input", "parameters", "toolinput", "actioninput"),
    *("params", "payload", "inputs", "inputvalue"),
)
_CALLS = ("toolcallid", "tooluseid", "callid", "toolid")
_CAME = (
    *("tooloutput", "toolresult", "output", "result", "observation", "observations"),
    *("response", "extractedcontent", "outputs", "outputvalue", "execresult"),
)
_KINDS = ("type", "kind", "event", "partkind", "runtype", "spankind")
# Of what has no arguments and no answer these tell that it was done.
_STEPS = (
    *("success", "step", "stepnum", "stepnumber", "stepid", "stepindex", "iteration"),
    *("agent", "agentid"),
)
_WRAPS = (
    *("toolcall", "tooluse", "toolinvocation", "functioncall", "function", "action", "state"),
    *("toolresult", "functionresponse"),
)
_ASKS, _TELLS = ("call", "use", "invocation"), ("result", "response", "output", "return")
# Of events that tell of one call when it begins and when it ends, the latter have no arguments.
_ENDS = ("end", "finished", "completed", "done")
_LISTS = ("content", "parts", "calls", "call", "action", "actions", "invocations")
_STATES = ("status", "state", "statuscode", "level")
_FAILED = frozenset({"error", "failed", "failure", "cancelled", "outputerror", "outputdenied"})
# Spans of a trace have a name, an input and an output too, and are no tools.
_SPANS = frozenset(
    (
        *("generation", "span", "llm", "chain", "agent", "trace", "prompt", "event"),
        *("retriever", "embedding", "evaluator"),
    )
)
# An answer is wrapped twice or thrice.
_DEEPEST, _LONGEST_NAME = 5, 100
_NAME = re.compile(r"[\w.:/-]{1,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back from the call of this id; without one from the next of this name, or any."""

    call: str | None = None
    tool: str | None = None
    text: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call, with what came back where the same record tells it."""

    key: str | None
    tool: str
    args: Mapping[str, Any] | None
    answer: Answer | None = None


def plain(row: Row) -> dict[str, Any]:
    """Give an object's fields by names without case and signs: `toolCallId` is `tool_call_id`."""
    return {word(name): row[name] for name in row}


def word(value: object) -> str:
    """Give a word in lower case, without the signs between its parts; empty: it is none."""
    return _word(value) if isinstance(value, str) and len(value) <= _LONGEST_NAME else ""


# The same few names stand in every record.
@functools.lru_cache(maxsize=1024)
def _word(text: str) -> str:
    # Exporters of traces write "attributes.input.value".
    plain = text.removeprefix("attributes.").lower()
    return plain.replace("_", "").replace("-", "").replace(".", "")


def first(fields: Row, names: Sequence[str]) -> Any:
    """Give the first of these fields that says something."""
    for name in names:
        if (value := fields.get(name)) is not None:
            return value
    return None


def kinds_of(fields: Row) -> list[str]:
    """Give what a record or a block says that it is."""
    return [kind for name in _KINDS if (kind := word(fields.get(name)))]


def read_piece(fields: dict[str, Any]) -> Call | Answer | None:
    """Read a call or an answer; a call may hold its own answer."""
    kinds = kinds_of(fields)
    for name in _WRAPS:
        if not isinstance(fields.get(name), dict):
            continue
        inner = plain(_only_one(fields.get(name)) if name == "action" else _held(fields, name))
        if inner:
            kinds.append(name)
            del fields[name]
            fields |= inner
    key = read_text(first(fields, _CALLS))
    ends = _TELLS if any(name in fields for name in _GIVEN) else (*_TELLS, *_ENDS)
    tells = any(kind.endswith(ends) for kind in kinds)
    tool, is_sure = _read_tool(fields, key)
    came = _read_came(fields, kinds)
    given = first(fields, _GIVEN)
    is_asked = any(name in fields for name in _GIVEN) or any(kind.endswith(_ASKS) for kind in kinds)
    # With a call's id and no arguments it is what came back from that call.
    has_run = came is not None or any(name in fields for name in _STEPS)
    calls = is_asked or (is_sure and has_run and key is None)
    is_schema = read_mapping(given).get("type") == "object"
    is_defined = came is None and key is None and ("description" in fields or is_schema)
    is_tool = not tells and _SPANS.isdisjoint(kinds) and not is_defined
    is_tool = is_tool and (is_sure or key is not None or bool(kinds) or not _holds_more(fields))
    if tool and calls and is_tool:
        args = read_given(given)
        if tool == fields.get("action") and not _NAME.fullmatch(tool):
            tool, args = ACT, {"input": tool, **(args or {})}
        return Call(key=key or read_text(fields.get("id")), tool=tool, args=args, answer=came)
    if key or (tells and tool) or (came and fields.get("toolresult") is not None):
        content = None if came else fields.get("content")
        answer = came or Answer(text=_text_of(content), failed=_has_failed(fields, kinds, content))
        return replace(answer, call=key, tool=tool)
    return None


def _holds_more(fields: Row) -> bool:
    """Tell a document, which may have a name and an input too, by the lists it holds."""
    own = {*_GIVEN, *_CAME} - {"observations"}
    lists = (value for name, value in fields.items() if name not in own)
    return any(isinstance(value, list) and bool(read_rows(value)) for value in lists)


def _held(fields: Row, name: str) -> Row:
    """Give what a wrap holds if that is a call or an answer, or where a call stands."""
    inner = read_mapping(fields.get(name))
    names = plain(inner).keys()
    is_block = names & {"name", *_CALLS} or (name == "state" and "status" in names)
    return inner if is_block else {}


def _only_one(action: object) -> Row:
    """Read {"click": {"at": 3}} as the name of an action and its arguments."""
    fields = read_mapping(action)
    if len(fields) == 1:
        ((name, given),) = fields.items()
        if isinstance(given, dict):
            return {"name": name, "args": given}
    return fields if "name" in fields else {}


def _read_tool(fields: Row, key: str | None) -> tuple[str | None, bool]:
    """Give a tool's name, and whether no other thing is called so."""
    for name in _TOOLS:
        if tool := read_text(fields.get(name)):
            return tool, name != "name"
    kind = read_text(fields.get("type")) or ""
    # A part of the AI SDK's has the tool in its type.
    return (kind.removeprefix("tool-"), True) if key and kind.startswith("tool-") else (None, False)


def read_blocks(fields: Row) -> Iterator[Call | Answer]:
    """Read the calls and answers in a record's lists of blocks."""
    for name, value in fields.items():
        if not name.endswith(_LISTS) or not isinstance(value, list | dict):
            continue
        for block in read_rows(value if isinstance(value, list) else [value]):
            inner = _only_one(block) if name.startswith("action") else {}
            if piece := read_piece(plain(inner or block)):
                yield piece


def _read_came(fields: Row, kinds: Sequence[str]) -> Answer | None:
    came, error = first(fields, _CAME), fields.get("error") or fields.get("errortext")
    if came is None and not error:
        if "content" in fields or not _has_failed(fields, (), None):
            return None
        why = read_text(first(fields, ("statusmessage", "errormessage")))
        return Answer(text=why or "failed", failed=True)
    text = _text_of(came) or ("" if error is True else _text_of(error))
    return Answer(text=text, failed=_has_failed(fields, kinds, came))


def answer_beside(calls: list[Call], fields: dict[str, Any]) -> None:
    """Give calls what stands beside their list: one answer each, or one to the last of them."""
    came = first(fields, _CAME)
    answers = read_rows(came)
    if not calls:
        return
    if len(answers) == len(calls):
        for place, row in enumerate(answers):
            beside = _read_came(plain(row), ()) or Answer(text=_text_of(row))
            calls[place] = replace(calls[place], answer=beside)
    elif (answer := _read_came(fields, ())) and calls[-1].answer is None:
        calls[-1] = replace(calls[-1], answer=answer)


def _has_failed(fields: Row, kinds: Sequence[str], came: object) -> bool:
    inner = plain(read_mapping(came))
    return (
        any(one.get("iserror") is True or bool(one.get("error")) for one in (fields, inner))
        or any(fields.get(name) is False for name in ("success", "ok"))
        or any(word(fields.get(name)) in _FAILED for name in _STATES)
        or any(kind.startswith(("retry", "error")) for kind in (*kinds, word(inner.get("type"))))
        or bool(fields.get("errortext"))
    )


def _text_of(value: object) -> str:
    """Give what came back as text: that of blocks, or of the only field that holds it."""
    for _ in range(_DEEPEST):
        if not isinstance(value, dict):
            break
        inner = {name: value[name] for name in value if name not in {"type", "is_error"}}
        if len(inner) == 1:
            value = next(iter(inner.values()))
        elif value.get("message") and "type" in value:
            value = value["message"]
        else:
            break
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        texts = [read_text(one.get("text")) for one in value]
        if all(text is not None for text in texts):
            return "\n".join(filter(None, texts))
    return read_answer(value) or ""
