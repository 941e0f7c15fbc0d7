"""One record of any log: its speaker, text, calls and answers.

APIs of models and frameworks use similar names: a call has a name and arguments, an answer names
its call or is next to it, a message has a speaker. Fields are found by these names anywhere in
the record; `tool_call_id` and `toolCallId` are the same name.

Source: the messages of OpenAI (chat and Responses), Anthropic, Bedrock and Gemini, and what
LangChain, AutoGen, PydanticAI, the AI SDK, OpenCode, OpenHands, smolagents, browser-use, Cline,
Inspect, LangSmith, Langfuse, Phoenix, MLflow, Braintrust, Goose, Zed, Amazon Q, Copilot, Haystack,
Letta, AutoGPT, LlamaIndex, Crush and Amp write; OpenTelemetry's conventions for generative AI;
the traces of Bedrock's agents; JSON-RPC in the Model Context Protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from guard.formats.calls import (
    SHOWN_CALL,
    Answer,
    Call,
    attach_answers,
    content_of,
    first_field,
    kinds_of,
    normalise_fields,
    normalise_name,
    read_answer_value,
    read_blocks,
    read_call_or_answer,
    read_shown_calls,
    untagged,
)
from guard.formats.fields import (
    read_count,
    read_mapping,
    read_pairs,
    read_rows,
    read_text,
    read_time,
)
from guard.pricing import read_dollars
from guard.turn import Role, Usage

Row = Mapping[str, Any]

# The names that each field has in different logs, the most reliable first.
_TEXT_FIELDS = (
    *("content", "value", "text", "parts", "thought", "message", "modeloutput", "nextgoal"),
    *("thinking", "finalanswer", "prompt", "output"),
)
# A person's request in a record that also holds the work on it.
_REQUEST_FIELDS = ("utterance", "userquery", "userinput", "usermessage", "userprompt", "question")
_SPEAKER_FIELDS = (
    *("role", "from", "author", "actor", "speaker", "source", "sender", "agentname", "nodename"),
    "rolename",
)
_AGENT_FIELDS = ("agent", "agentid")
_STEP_FIELDS = ("step", "stepnumber", "stepnum", "stepid", "stepindex", "iteration")
# These fields name the speaker of `message`; a `source` may be the program that logged it.
_MESSAGE_SPEAKERS = ("speaker", "sender", "agentname", "agent")
# Fields that hold the rest of a record or a block and are merged into it.
_ENVELOPES = (
    *("message", "llmmessage", "data", "kwargs", "info", "modeloutput", "stepdetails"),
    *("attributes", "spanattributes", "value", "content"),
)
_SPAN_FIELDS = (
    "attributes",
    "spanattributes",
)  # attributes of a span: its own fields take precedence
_MESSAGE_FIELDS = {"role", "parts", "content", "action", "toolcalls", "toolname", "jsonrpc"}
# How many nested single objects are searched for a call or an answer.
_MAX_DEPTH = 5
_SIDES = frozenset({"user", "human", "assistant", "agent"})
_CONTENT_FIELDS = frozenset({"content", "parts", "text", "message"})
_HIDDEN_KINDS = ("thinking", "reasoning", "redacted", "systemprompt")
_ROLES = {
    **dict.fromkeys(("user", "human", "customer", "userproxy", "request"), Role.USER),
    **dict.fromkeys(("assistant", "ai", "model", "gpt", "agent", "response"), Role.ASSISTANT),
    **dict.fromkeys(("tool", "function", "observation", "environment"), Role.TOOL),
    **dict.fromkeys(("system", "developer"), Role.SYSTEM),
}


@dataclass(slots=True, kw_only=True)
class Record:
    """The content of a record; `text` is None if it has no text, only other blocks."""

    role: Role | None = None
    agent: str | None = None
    asked: str | None = None  # a person's words, before everything else
    text: str | None = None
    calls: list[Call] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    model: str | None = None
    usage: Usage | None = None
    cost_usd: Decimal | None = None
    ts: datetime | None = None
    session: str | None = None
    step: int | None = None  # the step's number in the run


def read_records(row: Row) -> Iterator[Record]:
    """Read the records in a row: one, or both sides of {"user": {…}, "assistant": {…}}."""
    sides = [name for name in row if normalise_name(name) in _SIDES and _is_message(row[name])]
    is_exchange = len(sides) > 1 and "role" not in row
    for side in [{"role": name, **untagged(row[name])} for name in sides] if is_exchange else [row]:
        if (record := read_record(side)) is not None:
            yield record


def _is_message(side: object) -> bool:
    # `user` and `agent` of a call may also be plain objects: {"id": 3, "name": "Ada"}.
    fields = read_mapping(side)
    return untagged(fields) is not fields or not _CONTENT_FIELDS.isdisjoint(fields)


def read_record(row: Row) -> Record | None:
    """Read a record; None if it has no speaker, call or answer.

    >>> read_record({"tool_name": "look", "tool_input": {"at": "sky"}, "tool_output": "grey"}).calls
    ... # doctest: +ELLIPSIS
    [Call(key=None, tool='look', args={'at': 'sky'}, answer=Answer(..., text='grey', failed=False))]
    >>> read_record({"weather": "fine"}) is None
    True
    """
    fields = _unwrap(row)
    if "jsonrpc" in fields:
        fields = _read_rpc(fields)
    record = Record()
    record.role, record.agent = _read_speaker(fields)
    own = read_call_or_answer(fields)
    for piece in [own] if own else read_blocks(fields):
        if isinstance(piece, Call):
            record.calls.append(piece)
        else:
            record.answers.append(piece)
    if record.role is None:
        record.asked = _read_request(fields)
        if not (record.asked or record.calls or record.answers or _read_nested(record, fields)):
            return None
    if own is None and "role" not in fields:
        attach_answers(record.calls, fields)
    # A result's text is not the message of the speaker that the record names.
    if not isinstance(own, Answer):
        record.text = _read_message(fields, _TEXT_FIELDS[:-1] if record.calls else _TEXT_FIELDS)
    if record.text and SHOWN_CALL in record.text:
        record.calls += read_shown_calls(record.text)
    if isinstance(own, Call) and not own.args and own.answer is None and record.text:
        # Only the text distinguishes this call from others of the same tool.
        record.calls, record.text = [replace(own, args={"input": record.text})], None
    record.session = read_text(first_field(fields, ("sessionid", "conversationid", "episodeid")))
    step = first_field(fields, _STEP_FIELDS)
    record.step = step if isinstance(step, int) else None
    info = normalise_fields(read_mapping(fields.get("modelinfo") or fields.get("responsemetadata")))
    models = (
        read_text(first_field(one, ("model", "modelname", "modelid"))) for one in (fields, info)
    )
    record.model = next(filter(None, models), None)
    record.usage = _read_usage(fields)
    record.cost_usd = read_dollars(first_field(fields, ("costusd", "cost")))
    at = first_field(fields, ("timestamp", "ts", "createdat", "starttime"))
    record.ts = read_time(at or read_mapping(fields.get("time")).get("created"))
    return record


def _unwrap(row: Row) -> dict[str, Any]:
    """Merge a record's envelopes into it: {"message": {"role": …}} is the message."""
    fields = normalise_fields(untagged(row))
    if isinstance(listed := fields.get("attributes"), list):  # OpenTelemetry's notation
        fields["attributes"] = read_pairs(listed)
    for name in _ENVELOPES:
        if not isinstance(fields.get(name), dict):
            continue
        inner = normalise_fields(held := untagged(fields[name]))
        names = _MESSAGE_FIELDS if name != "content" else {"role", "parts"}
        if names & inner.keys() or held is not fields[name]:
            del fields[name]
            fields |= inner
        elif name in _SPAN_FIELDS:
            fields = inner | fields
    # LangChain streams one event when a tool begins and one when it ends.
    if phases := [kind for kind in kinds_of(fields) if kind.startswith("ontool")]:
        fields |= normalise_fields(read_mapping(fields.pop("data", None)))
        if phases[0] != "ontoolstart":
            fields.pop("input", None)  # repeated from the first event
    return fields


def _read_rpc(fields: Row) -> dict[str, Any]:
    """Read a JSON-RPC message of the Model Context Protocol."""
    key = {"tool_call_id": str(fields.get("id"))}
    if fields.get("method") == "tools/call":
        return normalise_fields(read_mapping(fields.get("params")) | key)
    came = read_mapping(fields.get("result"))
    if "content" in came or fields.get("error"):
        return normalise_fields({"type": "result", **came, "error": fields.get("error"), **key})
    return dict(fields)


def _read_nested(record: Record, fields: Row) -> bool:
    """Read a call or an answer inside nested single objects; False: there is none."""
    for _ in range(_MAX_DEPTH):
        inner = [name for name, value in fields.items() if isinstance(value, dict)]
        if len(inner) != 1:
            return False
        if inner[0] == "observation":
            # Only the result: the ids of a trace next to it are different each time.
            held = normalise_fields(fields["observation"])
            record.answers.append(read_answer_value(content_of(held) or held))
            return True
        fields = normalise_fields(fields[inner[0]])
        if isinstance(piece := read_call_or_answer(dict(fields)), Call) and piece.args:
            record.calls.append(piece)
            return True
    return False


def _read_message(fields: Row, names: Sequence[str]) -> str | None:
    """Return the text of a record; None if it has none, only other blocks."""
    found = None
    for name in names:
        value = fields.get(name)
        if isinstance(value, str):
            found = found or value
        elif isinstance(value, list | dict):
            blocks = read_rows(value if isinstance(value, list) else [value])
            found = found or "\n".join(filter(None, map(_text_of, blocks))) or None
    blank = "content" in fields and not isinstance(fields["content"], list | dict)
    return found if found is not None else ("" if blank else None)


def _read_request(fields: Row) -> str | None:
    """Return a person's words if the record also has fields for tools, called or not."""
    if not any(name in {"tool", "toolname"} or name.endswith("calls") for name in fields):
        return None
    inner = normalise_fields(read_mapping(fields.get("input")))
    return read_text(first_field({**inner, **fields}, _REQUEST_FIELDS))


def _text_of(block: Row) -> str | None:
    fields = normalise_fields(block)
    if any(kind.startswith(_HIDDEN_KINDS) for kind in kinds_of(fields)):
        return None
    named = (
        "content" if normalise_name(fields.get("partkind")) in {"text", "userprompt"} else "text"
    )
    text = fields.get(named) or read_mapping(fields.get("data")).get("text")
    # OpenAI's Assistants API puts annotations next to the text.
    return read_text(text.get("value") if isinstance(text, dict) else text)


def _read_speaker(fields: Row) -> tuple[Role | None, str | None]:
    """Return the speaker's role, and its name if it is an agent."""
    speaks = any(name in fields for name in ("content", "value", "text", "parts", "output"))
    called = read_text(fields.get("name"))
    for place in (*_SPEAKER_FIELDS, *_AGENT_FIELDS):
        speaker = read_text(fields.get(place))
        if not speaker:
            continue
        role = _ROLES.get(normalise_name(speaker))
        if role is not None and role is not Role.ASSISTANT:
            return role, None
        if role or place in {"role", "from"}:
            return Role.ASSISTANT, called
        if speaks or (place in _MESSAGE_SPEAKERS and read_text(fields.get("message"))):
            return Role.ASSISTANT, speaker
    for kind in kinds_of(fields) if speaks else ():
        if role := _ROLES.get(kind.removesuffix("chunk").removesuffix("message")):
            return role, called if role is Role.ASSISTANT else None
    # A record with a thought is the agent's.
    is_thought = any(read_text(fields.get(name)) for name in ("thought", "thinking", "modeloutput"))
    return (Role.ASSISTANT if is_thought else None), read_text(first_field(fields, _AGENT_FIELDS))


def _read_usage(fields: Row) -> Usage | None:
    names = ("usage", "usagemetadata", "modelsusage", "tokenusage", "metrics", "tokens")
    counts = normalise_fields(read_mapping(first_field(fields, names)))
    counts |= normalise_fields(read_mapping(counts.get("tokens")))

    def count(*names: str) -> int:
        return read_count(first_field(counts, names))

    # Anthropic's input excludes cached tokens; all others' includes them.
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
