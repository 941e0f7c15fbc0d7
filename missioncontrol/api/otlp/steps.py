"""A model call or a tool call of any dialect, as turns.

Conversations are read in the forms that instrumentations write: parts, blocks, numbered
attributes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from guard.formats.fields import read_answer, read_args
from guard.turn import Phase, Role, Turn
from missioncontrol.api.otlp.record import (
    ChatMessage,
    ModelUse,
    SessionRecord,
    ToolAnswer,
    ToolRequest,
    fit_key,
    text_digest,
)

MAX_MESSAGES = 2000
_NUMBERED = re.compile(r"(\d{1,4})\.(.+)")
MAX_OPEN_CALLS = 64


def read_messages(value: Any) -> tuple[ChatMessage, ...]:
    """Read messages from a list, or from a JSON text of one; none from anything else."""
    if isinstance(value, str):
        value = parse_json(value)
    # One message alone, or all of them under a name.
    if isinstance(value, dict):
        value = value.get("messages", [value])
    if not isinstance(value, list):
        return ()
    return tuple(read_message(one) for one in value[:MAX_MESSAGES] if isinstance(one, dict))


def group_numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Collect `prefix.0.role`, `prefix.0.content` … into one dict per number."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(prefix) and (match := _NUMBERED.fullmatch(name[len(prefix) :])):
            found.setdefault(int(match[1]), {})[match[2]] = value
    return [found[number] for number in sorted(found)]


def parse_json(text: Any) -> Any:
    """Parse JSON; None if it is invalid."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def read_arguments(value: Any) -> dict[str, object]:
    """Return a call's arguments; a value that is not an object is wrapped in one."""
    args = read_args(value)
    if args is not None:
        return dict(args)
    return {} if value in (None, "", "null") else {"input": value}


def read_message(given: dict[str, Any]) -> ChatMessage:
    """Read a message with `parts` (GenAI conventions), or with `content` (vendors)."""
    role = str(given.get("role") or "assistant").lower()
    blocks = given.get("parts", given.get("content"))
    # A text becomes one block, so that both are read the same way below.
    blocks = [{"type": "text", "content": blocks}] if isinstance(blocks, str) else blocks
    known = [block for block in _list_or_empty(blocks) if isinstance(block, dict)]
    answers = []
    for block in known:
        if block.get("type") not in {"tool_call_response", "tool_result", "function_call_output"}:
            continue
        # GenAI conventions say `id`, Anthropic `tool_use_id`, OpenAI's responses `call_id`.
        call_id = block.get("id") or block.get("tool_use_id") or block.get("call_id")
        answer = next(
            (block[n] for n in ("response", "result", "content", "output") if n in block), ""
        )
        parts = [part for part in _list_or_empty(answer) if isinstance(part, dict)]
        answers.append(
            ToolAnswer(
                id=_id_or_empty(call_id), text=_joined_texts(parts) or read_answer(answer) or ""
            )
        )
    # OpenAI's chat messages have no block for an answer: the whole message is one.
    if role == "tool" and not answers:
        answers.append(
            ToolAnswer(id=_id_or_empty(given.get("tool_call_id")), text=_joined_texts(known))
        )
    return ChatMessage(
        role=role,
        text="" if role == "tool" else _joined_texts(known),
        calls=(*_tool_requests(known), *_tool_requests(given.get("tool_calls"))),
        answers=tuple(answers),
    )


def _joined_texts(blocks: Iterable[dict[str, Any]]) -> str:
    texts = (
        block.get("content", block.get("text"))
        for block in blocks
        if block.get("type", "text") in {"text", "output_text", "input_text"}
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _tool_requests(blocks: Any) -> Iterator[ToolRequest]:
    for block in _list_or_empty(blocks):
        if not isinstance(block, dict):
            continue
        if block.get("type") not in {"tool_call", "tool_use", "function", "function_call"}:
            continue
        # OpenAI's chat messages have name and arguments under `function`; others beside `type`.
        function = block.get("function")
        inner = function if isinstance(function, dict) else block
        given = inner.get("arguments", inner.get("input", inner.get("args")))
        yield tool_request(block.get("id") or block.get("call_id"), inner.get("name"), given)


def tool_request(call_id: Any, name: Any, given: Any) -> ToolRequest:
    """Return a proposed call."""
    return ToolRequest(
        id=_id_or_empty(call_id),
        name=name if isinstance(name, str) else "",
        args=read_arguments(given),
    )


def _id_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class _CallIds:
    """Distinct ids for calls to which the model or its instrumentation gave none.

    Gemini's calls have no id: OpenTelemetry's instrumentation writes `name_0` for each, others
    `call_0` or nothing. Their order then tells which call an answer belongs to.

    Source: opentelemetry-instrumentation-google-genai, `message.py`.
    """

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._open: list[tuple[str, ToolRequest]] = []

    def assign(self, message: ChatMessage) -> ChatMessage:
        """Give the next message's calls and answers their ids."""
        if not message.calls and not message.answers:
            return message
        answers = []
        for answer in message.answers:
            matches = [at for at, (known_id, _) in enumerate(self._open) if known_id == answer.id]
            if not matches and answer.id not in self._seen:
                # The number in `name_0` is the part's place in its message, so it may differ
                # between call and answer: take the oldest open call of that name.
                names = {answer.id, answer.id.rpartition("_")[0]}
                matches = [
                    at
                    for at, (_, call) in enumerate(self._open)
                    if not answer.id or call.name in names
                ]
            own_id = self._open.pop(matches[0])[1].id if matches else answer.id
            answers.append(replace(answer, id=own_id))
        calls = []
        for call in message.calls:
            own = call
            if call.name:
                # The parentheses keep a call without an id apart from one whose id is its tool's
                # name.
                known = call.id or f"{call.name}()"
                self._seen[known] += 1
                if not call.id or self._seen[known] > 1:
                    given = json.dumps(call.args, sort_keys=True, default=str)
                    count, digest = self._seen[known], text_digest(given)[:12]
                    own = replace(call, id=f"{(call.id or call.name)[:100]}#{count}-{digest}")
                # Bounded, because not every call is answered.
                self._open = [*self._open[1 - MAX_OPEN_CALLS :], (call.id, own)]
            calls.append(own)
        return replace(message, calls=tuple(calls), answers=tuple(answers))


MAX_AGENT_CHARS, MAX_TOOL_CHARS = 100, 200


def with_model_call(
    common: SessionRecord,
    use: ModelUse,
    *,
    given: Iterable[ChatMessage],
    output: Iterable[ChatMessage],
) -> SessionRecord:
    """Add a model call to what a record says: its turns, its prompt, and what it used.

    `given` is what the model received, `output` what it said.
    """
    # One for both: an answer may belong to a call of an earlier request.
    call_ids = _CallIds()
    given, output = [list(map(call_ids.assign, messages)) for messages in (given, output)]
    # `human` is LangChain's.
    asked = [message.text for message in given if message.role in {"user", "human"}]
    own = Turn(
        role=Role.ASSISTANT,
        agent=common.agent[:MAX_AGENT_CHARS] or None,
        ts=common.record.ended_at,
        call_id=use.call_id or None,
        model=use.model or None,
        provider=use.provider or None,
    )
    return replace(
        common,
        turns=(*_input_turns(given, own), *_output_turns(output, own, common.record.key)),
        prompt=next((text for text in reversed(asked) if text), ""),
        # A call with neither is not counted: it would appear as a call without a price.
        use=use if use.usage or use.cost_usd else None,
    )


def with_tool_call(
    common: SessionRecord,
    *,
    call_id: str,
    at: datetime | None,
    tool: str,
    given: Any,
    result: Any,
    failure: str | None,
) -> SessionRecord:
    """Add a tool that has run to what a record says; `call_id` is empty if it has none."""
    key = fit_key(call_id or common.record.key)
    turn = _tool_turn(key, common.agent, at, tool, given=given, result=result, failure=failure)
    return replace(common, turns=(turn,), tool_key=key, is_unpaired=not call_id)


def _tool_turn(
    key: str,
    agent: str,
    at: datetime | None,
    tool: str,
    *,
    given: Any,
    result: Any,
    failure: str | None = None,
) -> Turn:
    text = read_answer(result)
    return Turn(
        role=Role.ASSISTANT,
        key=key,
        agent=agent[:MAX_AGENT_CHARS] or None,
        tool=tool[:MAX_TOOL_CHARS] or "tool",
        args=read_arguments(given),
        result=text if failure is None else None,
        # A failed span without a message says "error": the tool's result says more.
        error=text if text and failure == "error" else failure,
        ts=at,
    )


def _input_turns(given: Sequence[ChatMessage], own: Turn) -> Iterator[Turn]:
    """Return what tools and people said; repeated text is a new turn only if it was said again."""
    # New messages begin after the model's last own one: `assistant` with OpenAI, `model` with
    # Google, `ai` with LangChain.
    spoken = [i for i, message in enumerate(given) if message.role in {"assistant", "model", "ai"}]
    new = given[(spoken[-1] + 1 if spoken else 0) :]
    calls = {call.id: call for message in given for call in message.calls}
    answer_counts = Counter(answer.text for message in given for answer in message.answers)
    for answer in (answer for message in new for answer in message.answers):
        call = calls.get(answer.id)
        if call is not None and answer.id:
            agent = own.agent or ""
            yield _tool_turn(
                answer.id, agent, own.ts, call.name, given=call.args, result=answer.text
            )
        elif not answer.id and answer.text:
            # The call was in the model's text.
            key = f"told:{text_digest(answer.text)}:{answer_counts[answer.text]}"
            yield Turn(role=Role.TOOL, key=key, content=answer.text, ts=own.ts)

    # Each call contains the whole conversation: how often a text occurs in it shows a repeat.
    text_counts = Counter(message.text for message in given if message.role == "user")
    for message in new:
        if message.role == "user" and message.text:
            key = f"user:{text_digest(message.text)}:{text_counts[message.text]}"
            yield Turn(role=Role.USER, key=key, content=message.text, ts=own.ts)


def _output_turns(output: Sequence[ChatMessage], own: Turn, key: str) -> Iterator[Turn]:
    """Return what the model said, then the calls it proposed."""
    if text := "\n".join(message.text for message in output if message.text):
        yield replace(own, key=f"said:{key}", content=text)
    for call in (call for message in output for call in message.calls):
        # Without an id its outcome could never be matched: it would stay proposed for ever.
        if call.id and call.name:
            tool = call.name[:MAX_TOOL_CHARS]
            yield replace(own, key=call.id, phase=Phase.PROPOSED, tool=tool, args=call.args)
