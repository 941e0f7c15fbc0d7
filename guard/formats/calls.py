"""Calls and answers, recognised by their fields, whatever names an API gives these."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from guard.formats.fields import (
    read_answer,
    read_any_args,
    read_count,
    read_mapping,
    read_rows,
    read_text,
)
from guard.reading.text_calls import FREE_ACTION, unescape_html

Row = Mapping[str, Any]

# The names that each field has in different logs, the most reliable first.
_TOOL_FIELDS = (
    *("toolname", "functionname", "funcname", "tool", "toolkey", "action", "function", "name"),
)
_ARGUMENT_FIELDS = (
    *("arguments", "args", "input", "parameters", "toolinput", "actioninput"),
    *("params", "payload", "inputs", "inputvalue", "toolargs", "toolkwargs"),
)
_CALL_ID_FIELDS = ("toolcallid", "tooluseid", "callid", "toolid")
_RESULT_FIELDS = (
    *("tooloutput", "toolresult", "toolreturn", "output", "result"),
    *("observation", "observations"),
    *("response", "extractedcontent", "outputs", "outputvalue", "execresult"),
)
_KIND_FIELDS = ("type", "kind", "event", "partkind", "runtype", "spankind", "messagetype")
# If there are neither arguments nor an answer, these show that a call was made.
_STEP_FIELDS = (
    *("success", "step", "stepnum", "stepnumber", "stepid", "stepindex", "iteration"),
    *("agent", "agentid"),
)
_WRAPPERS = (
    *("toolcall", "tooluse", "toolinvocation", "functioncall", "function", "action", "state"),
    *("toolresult", "toolcallresult", "functionresponse", "data"),
)
_CALL_ENDINGS = ("call", "use", "invocation")
_RESULT_ENDINGS = ("result", "response", "output", "return")
# Where one event begins a call and another ends it, the second has no arguments.
_END_ENDINGS = ("end", "finished", "completed", "done")
_LIST_FIELDS = (
    *("content", "parts", "calls", "call", "action", "actions", "invocations"),
    *("tooluses", "toolresults", "useresults"),
)
_STATUS_FIELDS = ("status", "state", "statuscode", "level")
_FAILED = frozenset({"error", "failed", "failure", "cancelled", "outputerror", "outputdenied"})
# Fields of an audit log's entry about a person's action: who acted, and the outcome.
_PERSON_FIELDS = frozenset({"actor", "user", "username", "userid", "email", "ip", "ipaddress"})
_OUTCOME_WORDS = frozenset({"ok", "success", "successful", "succeeded", "denied", *_FAILED})
_AGENT_FIELDS = frozenset({"thought", *_STEP_FIELDS}) - {"success"}
# Spans of a trace also have a name, an input and an output, but are not tool calls.
_SPAN_KINDS = frozenset(
    (
        *("generation", "span", "llm", "chain", "agent", "trace", "prompt", "event"),
        *("retriever", "embedding", "evaluator", "chatmodel", "parser", "reranker", "workflow"),
        *("task", "score"),
    )
)
SHOWN_CALL = '<details type="tool_calls"'
_SHOWN, _ATTRIBUTES = re.compile(SHOWN_CALL + r"([^<>]*)>"), re.compile(r'(\w{1,20})="([^"]*)"')
_SIGNS = re.compile(r"[_.\" -]")
# Answers are typically wrapped in two or three objects.
_MAX_DEPTH, _MAX_NAME_LENGTH = 5, 100
# Tracers prefix an attribute with their own name and the span's: "mlflow.spanInputs".
_ATTRIBUTE = re.compile(
    r"(?:attributes\.)?(?:\w{1,40}\.(?=span|entity\.|tool\.))?"
    r"(?:span\.?(?![a-z])|entity\.|tool\.call\.(?!id))?"
)
# Fields that accompany a result and are not part of it.
_METADATA_FIELDS = frozenset({"type", "is_error", "isError", "status"})
_NAME = re.compile(r"[\w.:/-]{1,80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to the call with id `call`; without one, the first open one of `tool` or any."""

    call: str | None = None
    tool: str | None = None
    text: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, with its answer if the same record holds it."""

    key: str | None
    tool: str
    args: Mapping[str, Any] | None
    answer: Answer | None = None


def normalise_fields(row: Row) -> dict[str, Any]:
    """Return fields by name without case and separators: `toolCallId` equals `tool_call_id`."""
    return {normalise_name(name): row[name] for name in row}


def untagged(value: Row) -> Row:
    """Return {"ToolUse": {…}}, a variant in Rust, as an object of that type; others unchanged."""
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name[:1].isupper():
            return {"type": name, **inner} if isinstance(inner, dict) else {"text": inner}
    return value


def normalise_name(value: object) -> str:
    """Return a word in lower case without separators; empty: not a short string."""
    return (
        _normalise_name(value) if isinstance(value, str) and len(value) <= _MAX_NAME_LENGTH else ""
    )


# Every record has the same few names.
@functools.lru_cache(maxsize=1024)
def _normalise_name(text: str) -> str:
    if "." in text:
        text = _ATTRIBUTE.sub("", text, count=1)
    return _SIGNS.sub("", text.lower())


def first_field(fields: Row, names: Sequence[str]) -> Any:
    """Return the first of these fields that is not None."""
    for name in names:
        if (value := fields.get(name)) is not None:
            return value
    return None


def kinds_of(fields: Row) -> list[str]:
    """Return the kinds that a record or a block states for itself."""
    return [kind for name in _KIND_FIELDS if (kind := normalise_name(fields.get(name)))]


def read_call_or_answer(fields: dict[str, Any]) -> Call | Answer | None:
    """Read a call, which may hold its answer, or an answer; None: it is neither."""
    kinds = kinds_of(fields)
    for name in _WRAPPERS:
        if not isinstance(fields.get(name), dict):
            continue
        is_action = name == "action"
        held = _read_single_action(fields.get(name)) if is_action else _unwrap_field(fields, name)
        inner = normalise_fields(held)
        if inner:
            kinds.append(name)
            del fields[name]
            fields |= inner
    # Some answers contain the call that they belong to.
    origin = read_mapping(fields.get("origin"))
    key = read_text(first_field(fields, _CALL_ID_FIELDS)) or read_text(origin.get("id"))
    ends = (
        _RESULT_ENDINGS
        if any(name in fields for name in _ARGUMENT_FIELDS)
        else (*_RESULT_ENDINGS, *_END_ENDINGS)
    )
    tells = any(kind.endswith(ends) for kind in kinds)
    tool, is_sure = _read_tool(fields, key)
    given = first_field(fields, _ARGUMENT_FIELDS)
    if isinstance(given, dict) and "value" in given and given.keys() <= {"value", "mime_type"}:
        given = given["value"]  # OpenInference nests its attributes this way
    came = _read_result(fields, kinds)
    # An answer may repeat the tool and arguments of its call.
    is_tools = normalise_name(fields.get("role")) in {"tool", "function"}
    tells |= is_tools and came is None and (key is not None or given is None)
    is_asked = any(name in fields for name in _ARGUMENT_FIELDS) or any(
        kind.endswith(_CALL_ENDINGS) for kind in kinds
    )
    # A piece with a call's id and no arguments is the answer to that call.
    has_run = came is not None or any(name in fields for name in _STEP_FIELDS)
    calls = is_asked or (is_sure and has_run and key is None)
    is_schema = read_mapping(given).get("type") == "object"
    is_defined = came is None and key is None and ("description" in fields or is_schema)
    is_tool = not tells and _SPAN_KINDS.isdisjoint(kinds) and not is_defined
    is_tool = is_tool and (is_sure or key is not None or bool(kinds) or not _holds_lists(fields))
    if tool and calls and is_tool and not (given is None and _is_audited(fields, tool, came)):
        args = read_any_args(given)
        if tool == fields.get("action") and not _NAME.fullmatch(tool):
            tool, args = FREE_ACTION, {"input": tool, **(args or {})}
        return Call(key=key or read_text(fields.get("id")), tool=tool, args=args, answer=came)
    is_to = tool if tells or "data" in kinds else fields.get("toolresult")
    if key or (tells and tool) or (came and is_to):
        content = None if came else content_of(fields)
        answer = came or Answer(text=_text_of(content), failed=_has_failed(fields, kinds, content))
        return replace(answer, call=key, tool=tool)
    return None


def _is_audited(fields: Row, tool: str, came: Answer | None) -> bool:
    """Return whether it is a named person's action of which only the outcome is recorded."""
    is_deed = tool == fields.get("action") and _NAME.fullmatch(tool) is not None
    is_bare = came is None or normalise_name(came.text) in _OUTCOME_WORDS
    is_person = not _PERSON_FIELDS.isdisjoint(fields) and _AGENT_FIELDS.isdisjoint(fields)
    return is_deed and is_bare and is_person


def content_of(fields: Row) -> object:
    """Return an answer's content: the only object in it, or else its field `content`."""
    objects = [value for value in fields.values() if isinstance(value, dict)]
    is_alone = len(objects) == 1 and "content" not in fields
    return objects[0] if is_alone else fields.get("content")


def _holds_lists(fields: Row) -> bool:
    """Return whether it holds lists of objects: a document, which may also have name and input."""
    own = {*_ARGUMENT_FIELDS, *_RESULT_FIELDS} - {"observations"}
    lists = (value for name, value in fields.items() if name not in own)
    return any(isinstance(value, list) and bool(read_rows(value)) for value in lists)


def _unwrap_field(fields: Row, name: str) -> Row:
    """Return what a wrapper holds if that is a call, an answer or a call's state; else empty."""
    inner = read_mapping(fields.get(name))
    if "status" in inner and inner.keys() & {"value", "error"} and name != "state":
        value = inner.get("value")  # the value of a success, in Rust's notation
        value = value if isinstance(value, dict) else {"result": value, "error": inner.get("error")}
        return {"status": inner["status"], "tool_call_id": fields.get("id"), **value}
    names = normalise_fields(inner).keys()
    is_block = names & {"name", "toolname", "origin", *_CALL_ID_FIELDS}
    return inner if is_block or (name == "state" and "status" in names) else {}


def _read_single_action(action: object) -> Row:
    """Read {"click": {"at": 3}} as the name of an action and its arguments."""
    fields = read_mapping(action)
    if len(fields) == 1:
        ((name, given),) = fields.items()
        if isinstance(given, dict):
            return {"name": name, "args": given}
    objects = (one for one in (fields, *fields.values()) if isinstance(one, dict))
    return next((one for one in objects if one.keys() & {"name", "tool"}), {})


def _read_tool(fields: Row, key: str | None) -> tuple[str | None, bool]:
    """Return a tool's name, and whether its field can only name a tool."""
    for name in _TOOL_FIELDS:
        if tool := read_text(fields.get(name)):
            return tool, name != "name"
    kind = read_text(fields.get("type")) or ""
    # The AI SDK puts the tool's name into a part's type.
    return (kind.removeprefix("tool-"), True) if key and kind.startswith("tool-") else (None, False)


def read_shown_calls(text: str) -> Iterator[Call]:
    """Read the calls that Open WebUI shows in an answer, each as an element with attributes."""
    for shown in _SHOWN.finditer(text):
        attributes = {name: unescape_html(value) for name, value in _ATTRIBUTES.findall(shown[1])}
        given, came = (_decode_string(attributes.get(name, "")) for name in ("arguments", "result"))
        if tool := attributes.get("name"):
            answer = Answer(text=_text_of(came)) if attributes.get("done") == "true" else None
            yield Call(
                key=attributes.get("id"), tool=tool, args=read_any_args(given), answer=answer
            )


def read_blocks(fields: Row) -> Iterator[Call | Answer]:
    """Read the calls and answers in a record's lists of blocks."""
    for name, value in fields.items():
        if not name.endswith(_LIST_FIELDS) or not isinstance(value, list | dict):
            continue
        for block in read_rows(value if isinstance(value, list) else [value]):
            inner = _read_single_action(block) if name.startswith("action") else {}
            if piece := read_call_or_answer(normalise_fields(inner or untagged(block))):
                yield piece


def _read_result(fields: Row, kinds: Sequence[str]) -> Answer | None:
    came = first_field(fields, _RESULT_FIELDS)
    error = fields.get("error") or fields.get("errortext")
    if came is None and not error:
        if "content" in fields or not _has_failed(fields, (), None):
            return None
        why = read_text(first_field(fields, ("statusmessage", "errormessage")))
        return Answer(text=why or "failed", failed=True)
    text = _text_of(came) or ("" if error is True else _text_of(error))
    return Answer(text=text, failed=_has_failed(fields, kinds, came))


def read_answer_value(value: object) -> Answer:
    """Read an answer from a value that holds nothing else."""
    fields = normalise_fields(read_mapping(value))
    content = fields.get("content", value)
    return _read_result(fields, ()) or Answer(
        text=_text_of(content), failed=_has_failed(fields, (), content)
    )


def attach_answers(calls: list[Call], fields: dict[str, Any]) -> None:
    """Add the answers beside a list of calls to it: one for each, or one for the last."""
    came = first_field(fields, _RESULT_FIELDS)
    answers = read_rows(came)
    if not calls:
        return
    if len(answers) == len(calls):
        for place, row in enumerate(answers):
            calls[place] = replace(calls[place], answer=read_answer_value(row))
        return
    if any(call.key for call in calls):
        # A model made calls with ids; a response beside them is its own text.
        fields = {name: fields[name] for name in fields if name != "response"}
    if (answer := _read_result(fields, ())) and calls[-1].answer is None:
        calls[-1] = replace(calls[-1], answer=answer)


def _has_failed(fields: Row, kinds: Sequence[str], came: object) -> bool:
    inner = normalise_fields(read_mapping(_unwrap_nested(came)))
    code = max(read_count(inner.get(name)) for name in ("exitcode", "returncode"))
    layers = (fields, normalise_fields(read_mapping(came)), inner)
    # A result's data may have a status of its own: finding a cancelled order is a success.
    tell = {"content", "error", *_CALL_ID_FIELDS}
    wraps = [fields, *(one for one in layers[1:] if not tell.isdisjoint(one))]
    return (
        any(one.get("iserror") is True or bool(one.get("error")) for one in layers)
        or any(fields.get(name) is False for name in ("success", "ok"))
        or any(normalise_name(one.get(name)) in _FAILED for one in wraps for name in _STATUS_FIELDS)
        or normalise_name(read_mapping(fields.get("status")).get("code")).endswith("error")
        or any(
            kind.startswith(("retry", "error"))
            for kind in (*kinds, *(normalise_name(one.get("type")) for one in layers[1:]))
        )
        or bool(fields.get("errortext"))
        # A program's exit code; 1 without output is a search that found nothing.
        or code > 1
        or (code == 1 and any(read_text(value) for value in inner.values()))
    )


def _text_of(value: object) -> str:
    """Return a result as text: that of its blocks, or of the only field that holds it."""
    value = _unwrap_nested(value)
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        texts = [read_text(first_field(one, ("text", "value"))) for one in value]
        if all(text is not None for text in texts):
            return "\n".join(filter(None, texts))
    return read_answer(_decode_string(value)) or ""


def _unwrap_nested(value: object) -> object:
    """Return the value inside nested objects that each hold only one."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(value, dict):
            break
        inner = {name: value[name] for name in value if name not in _METADATA_FIELDS}
        if len(inner) == 1:
            value = next(iter(inner.values()))
        elif value.get("message") and "type" in value:
            value = value["message"]
        else:
            break
    return value


def _decode_string(value: object) -> object:
    """Decode a text that is a JSON string, as MLflow writes it; return others unchanged."""
    if isinstance(value, str) and value[:1] == value[-1:] == '"':
        with suppress(ValueError):
            return json.loads(value)
    return value
