"""What instrumentations write: OpenTelemetry's GenAI conventions, OpenLLMetry, OpenInference.

GenAI's names and their deprecated forms: opentelemetry-semantic-conventions 0.66b2, and what the
instrumentations of OpenLLMetry send, from which they grew. OpenInference (Arize Phoenix) writes
`openinference.span.kind` and flattened attributes. Input tokens include what was cached.
"""

from __future__ import annotations

from dataclasses import replace

from missioncontrol.api.otlp.record import (
    ChatMessage,
    ModelUse,
    Record,
    SessionRecord,
    ToolAnswer,
    client_of,
    fit_key,
    read_cost,
    usage_with_cached_input,
)
from missioncontrol.api.otlp.steps import (
    group_numbered,
    parse_json,
    read_arguments,
    read_message,
    read_messages,
    tool_request,
    with_model_call,
    with_tool_call,
)

MODEL_CALLS = frozenset(
    {"chat", "generate_content", "text_completion", "completion", "embeddings", "llm_call"}
)
TOOL_CALLS = frozenset({"execute_tool", "tool", "tool_call"})
AGENTS = frozenset({"invoke_agent", "create_agent", "invoke_workflow", "agent", "workflow"})
SESSION = (
    "gen_ai.conversation.id",
    "session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.thread_id",
)
# The current name first, then those that it replaced.
INPUT = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.usage.prompt_tokens")
OUTPUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.usage.completion_tokens",
)
CACHE_READ = ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
CACHE_WRITE = (
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
)
REASONING = ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens")
MODEL = ("gen_ai.response.model", "gen_ai.request.model")
PROVIDER = ("gen_ai.provider.name", "gen_ai.system")
KIND_ATTRIBUTE = "openinference.span.kind"
CACHE_PREFIX = "llm.token_count.prompt_details."


def is_genai(record: Record) -> bool:
    """Whether this follows the GenAI conventions, or OpenLLMetry's."""
    return any(name.startswith(("gen_ai.", "traceloop.")) for name in record.attributes)


def read_genai(record: Record) -> SessionRecord:
    """Read a span, or the event that describes one model call in detail."""
    operation = _operation_of(record)
    agent = record.text("gen_ai.agent.name", "traceloop.association.properties.agent")
    if not agent and record.text("traceloop.span.kind") == "agent":
        agent = record.text("traceloop.entity.name")
    common = SessionRecord(
        record=record,
        client=client_of(record.service),
        agent=agent[:100],
        # From the resource if the records have none: some programs set it once for all that they
        # send.
        session=record.text(*SESSION) or record.text("session.id", resource=True),
    )
    if operation in TOOL_CALLS:
        return _read_genai_tool(record, common)
    if operation not in MODEL_CALLS:
        return common
    use = ModelUse(
        model=record.text(*MODEL)[:100],
        provider=record.text(*PROVIDER)[:50],
        # The provider's own id: a span and an event that describe one call share it.
        call_id=fit_key(record.text("gen_ai.response.id") or record.key),
        usage=usage_with_cached_input(
            given=record.count(*INPUT),
            output=record.count(*OUTPUT),
            read=record.count(*CACHE_READ),
            written=record.count(*CACHE_WRITE),
            reasoning=record.count(*REASONING),
        ),
        cost_usd=read_cost(record.attributes.get("gen_ai.usage.cost")),
    )
    return with_model_call(
        common,
        use,
        given=_read_genai_messages(record, "input", "gen_ai.prompt"),
        output=_read_genai_messages(record, "output", "gen_ai.completion"),
    )


def _operation_of(record: Record) -> str:
    """Name the operation, which older instrumentations only imply."""
    name = record.text("gen_ai.operation.name", "traceloop.span.kind", "llm.request.type").lower()
    if name:
        return name
    return "chat" if record.has(*INPUT, *OUTPUT) else ""


def _read_genai_tool(record: Record, common: SessionRecord) -> SessionRecord:
    given = record.attributes.get("gen_ai.tool.call.arguments")
    if given is None:
        # OpenLLMetry records what the framework's function received, including the call's
        # arguments.
        function_args = read_arguments(record.attributes.get("traceloop.entity.input"))
        inputs = (function_args.get(name) for name in ("inputs", "kwargs", "input"))
        given = next(
            (inner for inner in inputs if isinstance(inner, dict) and inner), function_args
        )

    result = record.attributes.get("gen_ai.tool.call.result")
    if result is None:
        result = record.attributes.get("traceloop.entity.output")
        inner = parse_json(result) if isinstance(result, str) else result
        # OpenLLMetry wraps a tool's result in an object.
        result = inner.get("output", result) if isinstance(inner, dict) else result

    failure = record.failure
    if failure in {None, "error"}:
        # A status without a message says only that it failed: the exception says how.
        raised = (
            event.attributes.get("exception.message")
            for event in record.events
            if event.name == "exception"
        )
        messages = (message for message in raised if isinstance(message, str) and message)
        failure = next(messages, "") or record.text("error.type") or failure

    return with_tool_call(
        common,
        call_id=record.text("gen_ai.tool.call.id", "gen_ai.tool.call_id"),
        at=record.ended_at,
        tool=record.text("gen_ai.tool.name", "traceloop.entity.name") or record.name,
        given=given,
        result=result,
        failure=failure,
    )


def _read_genai_messages(record: Record, direction: str, older: str) -> tuple[ChatMessage, ...]:
    """Read the messages of one direction, wherever they were recorded."""
    written = record.attributes.get(f"gen_ai.{direction}.messages")
    for event in record.events:
        written = written or event.attributes.get(f"gen_ai.{direction}.messages")
    if written:
        return read_messages(written)
    rows = group_numbered(record.attributes, f"{older}.")
    messages = []
    for row in rows:
        content = row.get("content")
        # OpenLLMetry writes blocks as a JSON list, into the same attribute as plain text.
        blocks = parse_json(content) if str(content).startswith("[") else None
        message = {
            "role": row.get("role"),
            "content": blocks or content,
            "tool_call_id": row.get("tool_call_id"),
        }
        read = read_message(message)
        calls = (
            tool_request(call.get("id"), call.get("name"), call.get("arguments"))
            for call in group_numbered(row, "tool_calls.")
        )
        messages.append(replace(read, calls=(*read.calls, *calls)))
    return tuple(messages) or read_messages(record.attributes.get(older))


def is_openinference(record: Record) -> bool:
    """Whether OpenInference sent this."""
    return record.has(KIND_ATTRIBUTE)


def read_openinference(record: Record) -> SessionRecord:
    """Read a span; `llm.cost.total` is the instrumentation's own figure."""
    kind = record.text(KIND_ATTRIBUTE).upper()
    # Where no agent is named, the graph's node is the agent.
    agent = record.text("agent.name", "graph.node.id")[:100]
    common = SessionRecord(
        record=record,
        client=client_of(record.service),
        session=record.text("session.id"),
        agent=agent,
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
        return with_model_call(
            common,
            use,
            given=_read_flat_messages(record, "llm.input_messages."),
            output=_read_flat_messages(record, "llm.output_messages."),
        )
    if kind == "TOOL":
        given = record.attributes.get("tool.parameters", record.attributes.get("input.value"))
        return with_tool_call(
            common,
            call_id=record.text("tool_call.id", "tool.id"),
            at=record.ended_at,
            tool=record.text("tool.name", "tool_call.function.name") or record.name,
            given=record.attributes.get("tool_call.function.arguments", given),
            result=record.attributes.get("output.value"),
            failure=record.failure,
        )
    return common


def _read_flat_messages(record: Record, prefix: str) -> tuple[ChatMessage, ...]:
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
