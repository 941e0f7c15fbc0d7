"""A model call or a tool call, whatever dialect told of it, as turns."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from guard.formats.fields import read_answer
from guard.turn import Phase, Role, Turn, Usage
from missioncontrol.api.otlp.facts import ChatMessage, ModelUse, RecordFacts, ToolAnswer
from missioncontrol.api.otlp.messages import arguments, with_own_ids
from missioncontrol.api.otlp.record import Record
from missioncontrol.wire.rows import row_of

NAME_LENGTH, TOOL_LENGTH = 100, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStep:
    """One exchange with a model: what it was given, what it said, what it used."""

    key: str
    agent: str
    at: datetime | None
    given: Sequence[ChatMessage] = ()
    output: Sequence[ChatMessage] = ()
    model: str = ""
    provider: str = ""
    call_id: str = ""
    usage: Usage | None = None
    cost_usd: Decimal | None = None


def model_facts(common: RecordFacts, step: ModelStep) -> RecordFacts:
    """Return what came back from tools, what a person said, what the model did and used."""
    given, output = with_own_ids(step.given, step.output)
    step = replace(step, given=given, output=output)
    # The news begins after what the model itself said last: `assistant` with OpenAI, `model` with
    # Google, `ai` with LangChain.
    spoken = [i for i, message in enumerate(given) if message.role in {"assistant", "model", "ai"}]
    fresh = given[(spoken[-1] + 1 if spoken else 0) :]
    # `human` is LangChain's.
    asked = [message.text for message in given if message.role in {"user", "human"}]
    use = row_of(ModelUse, step)
    return replace(
        common,
        turns=(*_input_turns(step, fresh), *_output_turns(step)),
        prompt=next((text for text in reversed(asked) if text), ""),
        # A call that tells neither is no call to count: it would stand there as unpriced.
        use=use if use.usage or use.cost_usd else None,
    )


def tool_turn(
    *,
    key: str,
    agent: str,
    at: datetime | None,
    tool: str,
    given: Any,
    result: Any,
    failure: str | None,
) -> Turn:
    """Tell of a tool that has run."""
    text = read_answer(result)
    return Turn(
        role=Role.ASSISTANT,
        key=key,
        agent=agent[:NAME_LENGTH] or None,
        tool=tool[:TOOL_LENGTH] or "tool",
        args=arguments(given),
        result=text if failure is None else None,
        # A failed span that says nothing says "error": what the tool gave back tells more.
        error=text if text and failure == "error" else failure,
        ts=at,
    )


def prompt_facts(
    common: RecordFacts, record: Record, *, prompt_id: str = "", text: str
) -> RecordFacts:
    """Tell of a person's prompt; its text is empty where the agent was told to keep it back."""
    turn = Turn(
        role=Role.USER,
        key=f"prompt:{prompt_id}" if prompt_id else record.key,
        ts=record.began_at,
        content=text or "(a prompt that was not told)",
    )
    return replace(common, turns=(turn,), prompt=text)


def _input_turns(step: ModelStep, fresh: Sequence[ChatMessage]) -> Iterator[Turn]:
    """Tell what tools and people said; the same words again are another turn only if they are."""
    names = {call.id: call for message in step.given for call in message.calls}
    answer_counts = Counter(answer.text for answer in _answers(step.given))
    for answer in _answers(fresh):
        call = names.get(answer.id)
        if call is not None and answer.id:
            yield tool_turn(
                key=answer.id,
                agent=step.agent,
                at=step.at,
                tool=call.name,
                given=call.args,
                result=answer.text,
                failure=None,
            )
        elif not answer.id and answer.text:
            # The call stood in the model's words.
            key = f"told:{_digest(answer.text)}:{answer_counts[answer.text]}"
            yield Turn(role=Role.TOOL, key=key, content=answer.text, ts=step.at)

    # The whole conversation comes with each call: how often a text stands in it tells a repeat.
    text_counts = Counter(message.text for message in step.given if message.role == "user")
    for message in fresh:
        if message.role == "user" and message.text:
            key = f"user:{_digest(message.text)}:{text_counts[message.text]}"
            yield Turn(role=Role.USER, key=key, content=message.text, ts=step.at)


def _answers(fresh: Sequence[ChatMessage]) -> Iterator[ToolAnswer]:
    for message in fresh:
        yield from message.answers


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _output_turns(step: ModelStep) -> Iterator[Turn]:
    """Tell what the model said, then the calls it proposed."""
    text = "\n".join(message.text for message in step.output if message.text)
    if text:
        yield Turn(
            role=Role.ASSISTANT,
            key=f"said:{step.key}",
            agent=step.agent[:NAME_LENGTH] or None,
            content=text,
            ts=step.at,
            call_id=step.call_id or None,
            model=step.model or None,
            provider=step.provider or None,
        )

    for message in step.output:
        for call in message.calls:
            # Without an id its outcome would never find it: it would be proposed for ever.
            if call.id and call.name:
                yield Turn(
                    role=Role.ASSISTANT,
                    key=call.id,
                    agent=step.agent[:NAME_LENGTH] or None,
                    phase=Phase.PROPOSED,
                    tool=call.name[:TOOL_LENGTH],
                    args=call.args,
                    ts=step.at,
                    call_id=step.call_id or None,
                    model=step.model or None,
                    provider=step.provider or None,
                )
