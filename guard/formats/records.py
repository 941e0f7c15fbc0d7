"""One record of any log: who speaks, what is said, what is called and what came back.

Models' interfaces and frameworks name these alike: a call has a name and arguments, an answer
names its call or stands beside it, a message has a speaker. They are read by such names,
wherever in the record they stand, `tool_call_id` and `toolCallId` being the same.

Source: the messages of OpenAI (chat and Responses), Anthropic, Bedrock and Gemini, and what
LangChain, AutoGen, PydanticAI, the AI SDK, OpenCode, OpenHands, smolagents, browser-use, Cline
and Inspect write of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from guard.formats.fields import (
    read_answer,
    read_args,
    read_count,
    read_mapping,
    read_money,
    read_rows,
    read_text,
    read_time,
)
from guard.reading.written import ACT
from guard.turn import Role, Usage

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
_SAID = (
    *("content", "value", "text", "parts", "thought", "message", "modeloutput", "nextgoal"),
    *("thinking", "finalanswer", "output"),
)
# A person's words in the record of what was done about them.
_ASKED = ("utterance", "userquery", "userinput", "usermessage", "userprompt", "question")
_SPEAKERS = ("role", "from", "author", "speaker", "source", "sender", "agentname", "nodename")
_AGENTS = ("agent", "agentid")
_KINDS = ("type", "kind", "event", "partkind", "runtype", "spankind")
# Of what has no arguments and no answer these tell that it was done.
_STEPS = (
    *("success", "step", "stepnum", "stepnumber", "stepid", "stepindex", "iteration"),
    *("agent", "agentid"),
)
# What holds the rest of a record or a block, and is laid over it.
_ENVELOPES = (
    *("message", "llmmessage", "data", "kwargs", "info", "modeloutput", "stepdetails"),
    *("attributes", "content"),
)
_INNER = {"role", "parts", "content", "action", "toolcalls", "toolname"}
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
_UNSAID = ("thinking", "reasoning", "redacted", "systemprompt")
_ROLES = {
    **dict.fromkeys(("user", "human", "userproxy", "request"), Role.USER),
    **dict.fromkeys(("assistant", "ai", "model", "gpt", "agent", "response"), Role.ASSISTANT),
    **dict.fromkeys(("tool", "function", "observation", "environment"), Role.TOOL),
    **dict.fromkeys(("system", "developer"), Role.SYSTEM),
}
# An answer is wrapped twice or thrice.
_DEEPEST = 5
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


@dataclass(slots=True, kw_only=True)
class Record:
    """What a record holds; `said` is None where it has only other blocks than words."""

    role: Role | None = None
    agent: str | None = None
    asked: str | None = None  # by a person, before all else
    said: str | None = None
    calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    model: str | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    ts: datetime | None = None
    session: str | None = None


def read_record(row: Row) -> Record | None:
    """Read a record; None where nobody speaks in it, calls or answers.

    >>> read_record({"tool_name": "look", "tool_input": {"at": "sky"}, "tool_output": "grey"}).calls
    ... # doctest: +ELLIPSIS
    [Call(key=None, tool='look', args={'at': 'sky'}, answer=Answer(..., text='grey', failed=False))]
    >>> read_record({"weather": "fine"}) is None
    True
    """
    fields = _unwrap(row)
    record = Record()
    record.role, record.agent = _read_speaker(fields)
    own = _read_piece(fields)
    for piece in [own] if own else _read_blocks(fields):
        if isinstance(piece, Call):
            record.calls.append(piece)
        else:
            record.answers.append(piece)
    if record.role is None:
        record.asked = _read_asked(fields)
        if not (record.asked or record.calls or record.answers):
            return None
    if own is None and "role" not in fields:
        _answer_beside(record.calls, fields)
    # What came back is no word of the one in whose name it stands.
    if not isinstance(own, Answer):
        record.said = _read_said(fields, _SAID[:-1] if record.calls else _SAID)
    if isinstance(own, Call) and not own.args and own.answer is None and record.said:
        # Nothing else tells this call from the next of its name.
        record.calls, record.said = [replace(own, args={"input": record.said})], None
    record.session = read_text(_first(fields, ("sessionid", "conversationid", "episodeid")))
    record.model = _read_model(fields)
    record.usage = _read_usage(fields)
    record.cost_usd = read_money(_first(fields, ("costusd", "cost")))
    at = _first(fields, ("timestamp", "ts", "createdat", "starttime"))
    record.ts = read_time(at or read_mapping(fields.get("time")).get("created"))
    return record


def _plain(row: Row) -> dict[str, Any]:
    return {_word(name): row[name] for name in row}


def _word(value: object) -> str:
    if not isinstance(value, str):
        return ""
    # Exporters of traces write "attributes.input.value".
    plain = value.removeprefix("attributes.").lower()
    return plain.replace("_", "").replace("-", "").replace(".", "")


def _first(fields: Row, names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _kinds(fields: Row) -> list[str]:
    return [kind for name in _KINDS if (kind := _word(fields.get(name)))]


def _unwrap(row: Row) -> dict[str, Any]:
    """Lay a record's envelopes open: {"message": {"role": …}} is the message."""
    fields = _plain(row)
    for name in _ENVELOPES:
        inner = _plain(read_mapping(fields.get(name)))
        if (_INNER if name != "content" else {"role", "parts"}) & inner.keys():
            del fields[name]
            fields |= inner
    return fields


def _read_piece(fields: dict[str, Any]) -> Call | Answer | None:
    """Read a call or an answer; a call may hold its own answer."""
    kinds = _kinds(fields)
    for name in _WRAPS:
        inner = _plain(_only_one(fields.get(name)) if name == "action" else _held(fields, name))
        if inner:
            kinds.append(name)
            del fields[name]
            fields |= inner
    key = read_text(_first(fields, _CALLS))
    ends = _TELLS if any(name in fields for name in _GIVEN) else (*_TELLS, *_ENDS)
    tells = any(kind.endswith(ends) for kind in kinds)
    tool, is_sure = _read_tool(fields, key)
    came = _read_came(fields, kinds)
    given = _first(fields, _GIVEN)
    is_asked = any(name in fields for name in _GIVEN) or any(kind.endswith(_ASKS) for kind in kinds)
    # With a call's id and no arguments it is what came back from that call.
    has_run = came is not None or any(name in fields for name in _STEPS)
    calls = is_asked or (is_sure and has_run and key is None)
    is_tool = not tells and _SPANS.isdisjoint(kinds) and "description" not in fields
    is_tool = is_tool and (is_sure or key is not None or bool(kinds) or not _holds_more(fields))
    if tool and calls and is_tool:
        args = read_args(given)
        # What is no object is kept as it is: two calls that differ in it are not one.
        if args is None and given is not None:
            args = {"input": read_answer(given)}
        if not _NAME.fullmatch(tool):
            tool, args = ACT, {"input": tool}
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
    plain = _plain(inner).keys()
    is_block = plain & {"name", *_CALLS} or (name == "state" and "status" in plain)
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


def _read_blocks(fields: Row) -> Iterator[Call | Answer]:
    for name, value in fields.items():
        if not name.endswith(_LISTS) or not isinstance(value, list | dict):
            continue
        for block in read_rows(value if isinstance(value, list) else [value]):
            inner = _only_one(block) if name.startswith("action") else {}
            if piece := _read_piece(_plain(inner or block)):
                yield piece


def _read_came(fields: Row, kinds: Sequence[str]) -> Answer | None:
    came, error = _first(fields, _CAME), fields.get("error") or fields.get("errortext")
    if came is None and not error:
        if "content" in fields or not _has_failed(fields, (), None):
            return None
        why = read_text(_first(fields, ("statusmessage", "errormessage")))
        return Answer(text=why or "failed", failed=True)
    text = _text_of(came) or ("" if error is True else _text_of(error))
    return Answer(text=text, failed=_has_failed(fields, kinds, came))


def _answer_beside(calls: list[Call], fields: dict[str, Any]) -> None:
    """Give calls what stands beside their list: one answer each, or one to the last of them."""
    came = _first(fields, _CAME)
    answers = read_rows(came)
    if not calls:
        return
    if len(answers) == len(calls):
        for place, row in enumerate(answers):
            plain = _plain(row)
            beside = _read_came(plain, ()) or Answer(text=_text_of(row))
            calls[place] = replace(calls[place], answer=beside)
    elif (answer := _read_came(fields, ())) and calls[-1].answer is None:
        calls[-1] = replace(calls[-1], answer=answer)


def _has_failed(fields: Row, kinds: Sequence[str], came: object) -> bool:
    inner = _plain(read_mapping(came))
    return (
        any(one.get("iserror") is True or bool(one.get("error")) for one in (fields, inner))
        or any(fields.get(name) is False for name in ("success", "ok"))
        or any(_word(fields.get(name)) in _FAILED for name in _STATES)
        or any(kind.startswith(("retry", "error")) for kind in (*kinds, _word(inner.get("type"))))
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


def _read_said(fields: Row, names: Sequence[str]) -> str | None:
    """Give the words of a record; None where it holds none, only other blocks."""
    found = None
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            found = found or value
        elif isinstance(value, list | dict):
            blocks = read_rows(value if isinstance(value, list) else [value])
            found = found or "\n".join(filter(None, map(_said_in, blocks))) or None
    blank = "content" in fields and not isinstance(fields["content"], list | dict)
    return found if found is not None else ("" if blank else None)


def _read_asked(fields: Row) -> str | None:
    """Give a person's words, where the record also tells of tools, whether one was called."""
    if not any(name in {"tool", "toolname"} or name.endswith("calls") for name in fields):
        return None
    inner = _plain(read_mapping(fields.get("input")))
    return read_text(_first({**inner, **fields}, _ASKED))


def _said_in(block: Row) -> str | None:
    fields = _plain(block)
    if any(kind.startswith(_UNSAID) for kind in _kinds(fields)):
        return None
    named = "content" if _word(fields.get("partkind")) in {"text", "userprompt"} else "text"
    said = fields.get(named)
    # The Assistants' interface of OpenAI has notes beside the text.
    return read_text(said.get("value") if isinstance(said, dict) else said)


def _read_speaker(fields: Row) -> tuple[Role | None, str | None]:
    """Give who speaks, and the name of one that is neither a person nor a tool."""
    speaks = any(name in fields for name in ("content", "value", "text", "parts", "output"))
    called = read_text(fields.get("name"))
    for place in (*_SPEAKERS, *_AGENTS):
        speaker = read_text(fields.get(place))
        if not speaker:
            continue
        role = _ROLES.get(_word(speaker))
        if role is not None and role is not Role.ASSISTANT:
            return role, None
        if role or place in {"role", "from"}:
            return Role.ASSISTANT, called
        if speaks:
            return Role.ASSISTANT, speaker
    for kind in _kinds(fields) if speaks else ():
        if role := _ROLES.get(kind.removesuffix("chunk").removesuffix("message")):
            return role, called if role is Role.ASSISTANT else None
    # Who thinks acts.
    is_thought = any(read_text(fields.get(name)) for name in ("thought", "thinking", "modeloutput"))
    return (Role.ASSISTANT if is_thought else None), read_text(_first(fields, _AGENTS))


def _read_model(fields: Row) -> str | None:
    info = _plain(read_mapping(fields.get("modelinfo") or fields.get("responsemetadata")))
    for one in (fields, info):
        if model := read_text(_first(one, ("model", "modelname", "modelid"))):
            return model
    return None


def _read_usage(fields: Row) -> Usage | None:
    names = ("usage", "usagemetadata", "modelsusage", "tokenusage", "metrics", "tokens")
    counts = _plain(read_mapping(_first(fields, names)))
    counts |= _plain(read_mapping(counts.get("tokens")))

    def count(*names: str) -> int:
        return read_count(_first(counts, names))

    # Anthropic's input is without what was cached, everybody else's with it.
    cached = count("cachedtokens", "cachereadtokens", "cached", "cachedcontenttokencount")
    apart = count("cachereadinputtokens")
    asked = count("inputtokens", "prompttokens", "prompttokencount", "prompt", "input")
    usage = Usage(
        input=max(0, asked - cached),
        cache_read=cached + apart,
        cache_write_5m=count("cachecreationinputtokens", "cachewritetokens"),
        output=count("outputtokens", "completiontokens", "candidatestokencount", "completion")
        or count("output"),
    )
    return usage if usage.total else None
