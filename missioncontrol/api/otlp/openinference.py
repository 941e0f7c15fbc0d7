"""OpenInference (Arize Phoenix): `openinference.span.kind` and flattened attributes.

Prompt tokens include what was cached; `llm.cost.total` is the instrumentation's
own figure.
"""

from __future__ import annotations

from missioncontrol.api.otlp.record import (
    ChatMessage,
    ModelUse,
    Record,
    RecordFacts,
    ToolAnswer,
    client_of,
    fit_key,
    read_cost,
    usage_with_cached_input,
)
from missioncontrol.api.otlp.steps import (
    group_numbered,
    model_facts,
    parse_json,
    tool_facts,
    tool_request,
)

KIND_ATTRIBUTE = "openinference.span.kind"
CACHE_PREFIX = "llm.token_count.prompt_details."


def recognises(record: Record) -> bool:
    """Whether OpenInference sent this."""
    return record.has(KIND_ATTRIBUTE)


def read(record: Record) -> RecordFacts:
    """Read a span."""
    kind = record.text(KIND_ATTRIBUTE).upper()
    # Where no agent is named, the graph's node is the agent.
    agent = record.text("agent.name", "graph.node.id")[:100]
    common = RecordFacts(
        client=client_of(record.service), session=record.text("session.id"), agent=agent
    )
    if kind == "LLM":
        # The id is only in the whole response, which is stored as JSON.
        response = parse_json(record.text("output.value"))
        response_id = response.get("id") if isinstance(response, dict) else None
        call_id = fit_key(
            response_id if isinstance(response_id, str) and response_id else record.key
        )
        use = ModelUse(
            call_id=call_id,
            model=record.text("llm.model_name")[:100],
            provider=record.text("llm.provider", "llm.system")[:50],
            cost_usd=read_cost(record.attributes.get("llm.cost.total")),
            usage=usage_with_cached_input(
                given=record.count("llm.token_count.prompt"),
                output=record.count("llm.token_count.completion"),
                read=record.count(f"{CACHE_PREFIX}cache_read"),
                written=record.count(f"{CACHE_PREFIX}cache_write"),
                reasoning=record.count("llm.token_count.completion_details.reasoning"),
            ),
        )
        return model_facts(
            common,
            record,
            use,
            given=_read_messages(record, "llm.input_messages."),
            output=_read_messages(record, "llm.output_messages."),
        )
    if kind == "TOOL":
        given = record.attributes.get("tool.parameters", record.attributes.get("input.value"))
        return tool_facts(
            common,
            record,
            call_id=record.text("tool_call.id", "tool.id"),
            at=record.ended_at,
            tool=record.text("tool.name", "tool_call.function.name") or record.name,
            given=record.attributes.get("tool_call.function.arguments", given),
            result=record.attributes.get("output.value"),
            failure=record.failure,
        )
    return common


def _read_messages(record: Record, prefix: str) -> tuple[ChatMessage, ...]:
    # Attributes are flat: numbers in their names make a list.
    messages = []
    for row in group_numbered(record.attributes, prefix):
        role = str(row.get("message.role") or "assistant").lower()
        text, call_id = row.get("message.content"), row.get("message.tool_call_id")
        # A message of several parts is recorded part by part.
        if not isinstance(text, str):
            blocks = group_numbered(row, "message.contents.")
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
            for call in group_numbered(row, "message.tool_calls.")
        )
        messages.append(ChatMessage(role=role, text=text, calls=calls))
    return tuple(messages)
