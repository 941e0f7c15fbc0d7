"""OpenInference (Arize Phoenix): `openinference.span.kind` and flattened attributes.

Prompt tokens include what was cached; `llm.cost.total` is the instrumentation's
own figure.
"""

from __future__ import annotations

from dataclasses import replace

from missioncontrol.api.otlp.record import (
    ChatMessage,
    Record,
    RecordFacts,
    ToolAnswer,
    client_of,
    dollars,
    fitted,
    inclusive,
)
from missioncontrol.api.otlp.steps import (
    ModelStep,
    model_facts,
    numbered,
    parsed,
    tool_request,
    tool_turn,
)

KIND = "openinference.span.kind"
CACHE = "llm.token_count.prompt_details."


def recognises(record: Record) -> bool:
    """Whether OpenInference sent this."""
    return record.has(KIND)


def read(record: Record) -> RecordFacts:
    """Read a span."""
    kind = record.text(KIND).upper()
    # Where no agent is named, the graph's node is the agent.
    agent = record.text("agent.name", "graph.node.id")[:100]
    common = RecordFacts(
        client=client_of(record.service), session=record.text("session.id"), agent=agent
    )
    if kind == "LLM":
        # The id is only in the whole response, which is stored as JSON.
        response = parsed(record.text("output.value"))
        response_id = response.get("id") if isinstance(response, dict) else None
        call_id = fitted(
            response_id if isinstance(response_id, str) and response_id else record.key
        )
        step = ModelStep(
            key=record.key,
            agent=common.agent,
            at=record.ended_at,
            given=_messages(record, "llm.input_messages."),
            output=_messages(record, "llm.output_messages."),
            call_id=call_id,
            model=record.text("llm.model_name")[:100],
            provider=record.text("llm.provider", "llm.system")[:50],
            cost_usd=dollars(record.attributes.get("llm.cost.total")),
            usage=inclusive(
                given=record.count("llm.token_count.prompt"),
                output=record.count("llm.token_count.completion"),
                read=record.count(f"{CACHE}cache_read"),
                written=record.count(f"{CACHE}cache_write"),
                reasoning=record.count("llm.token_count.completion_details.reasoning"),
            ),
        )
        return model_facts(common, step)
    if kind == "TOOL":
        call_id = record.text("tool_call.id", "tool.id")
        given = record.attributes.get("tool.parameters", record.attributes.get("input.value"))
        turn = tool_turn(
            key=fitted(call_id or record.key),
            agent=common.agent,
            at=record.ended_at,
            tool=record.text("tool.name", "tool_call.function.name") or record.name,
            given=record.attributes.get("tool_call.function.arguments", given),
            result=record.attributes.get("output.value"),
            failure=record.failure,
        )
        return replace(common, turns=(turn,), tool_key=turn.key, unpaired=not call_id)
    return common


def _messages(record: Record, prefix: str) -> tuple[ChatMessage, ...]:
    # Attributes are flat: numbers in their names make a list.
    messages = []
    for row in numbered(record.attributes, prefix):
        role = str(row.get("message.role") or "assistant").lower()
        text, call_id = row.get("message.content"), row.get("message.tool_call_id")
        # A message of several parts is recorded part by part.
        if not isinstance(text, str):
            blocks = numbered(row, "message.contents.")
            texts = (block.get("message_content.text") for block in blocks)
            text = "\n".join(one for one in texts if isinstance(one, str) and one)
        if role == "tool" and isinstance(call_id, str):
            messages.append(ChatMessage(role=role, answers=(ToolAnswer(id=call_id, text=text),)))
            continue
        calls = tuple(
            tool_request(
                call.get("tool_call.id"),
                call.get("tool_call.function.name"),
                call.get("tool_call.function.arguments"),
            )
            for call in numbered(row, "message.tool_calls.")
        )
        messages.append(ChatMessage(role=role, text=text, calls=calls))
    return tuple(messages)
