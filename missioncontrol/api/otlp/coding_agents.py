"""The names that Claude Code, Codex CLI and Gemini CLI use in their own telemetry.

Each was checked against the version named at its reader. What a person did not allow to be sent
is replaced by a marker.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from guard.formats.codex import output_of
from guard.turn import Role, Turn, Usage
from missioncontrol.api.otlp import conventions
from missioncontrol.api.otlp.record import (
    ModelUse,
    Record,
    SessionRecord,
    client_of,
    read_cost,
    usage_with_cached_input,
)
from missioncontrol.api.otlp.steps import parse_json, with_tool_call

REDACTED = frozenset({"<REDACTED>", "[REDACTED]"})
MICROS = Decimal(1_000_000)
# Codex sends hundreds of these for each answer, each a piece of it; one has the tokens.
STREAM_EVENTS = frozenset({"sse_event", "websocket_event"})


def is_from_claude_code(record: Record) -> bool:
    """Whether Claude Code sent this."""
    return record.name.startswith("claude_code.") or record.service == "claude-code"


def is_from_codex(record: Record) -> bool:
    """Whether Codex sent this."""
    return record.name.startswith("codex.") or client_of(record.service) == "codex"


def is_from_gemini(record: Record) -> bool:
    """Whether Gemini CLI sent this."""
    return record.name.startswith("gemini_cli.") or client_of(record.service) == "gemini"


def read_claude_code(record: Record) -> SessionRecord | None:
    """Read a log event, or a span where only spans are sent.

    Checked against 2.1.332. `input_tokens` excludes what was cached; `cost_usd` is its own figure.
    A sub-agent's spans have its id as their conversation, so the session is `session.id`.
    """
    session = record.text("session.id")
    # Events of the program itself, such as its start, belong to no session.
    if not session:
        return None
    name = record.name.removeprefix("claude_code.")
    common = SessionRecord(record=record, client="claude-code", session=session)
    # Name a sub-agent as its hooks do: type and id.
    kind, which = record.text("agent.name", "agent_type"), record.text("agent_id")
    agent = (f"{kind}:{which}" if kind else which)[:100] if which else ""
    own = replace(common, agent=agent)
    if name in CALL_READERS:
        return CALL_READERS[name](record, own)
    if name == "user_prompt":
        return _read_prompt(common, prompt_id=record.text("prompt.id"))
    if name == "assistant_response":
        text, turns = record.text("response"), list[Turn]()
        if text and text not in REDACTED:
            key = f"said:{record.text('message.uuid') or record.key}"
            turn = Turn(role=Role.ASSISTANT, key=key, content=text, ts=record.began_at)
            turns.append(replace(turn, agent=agent or None))
        return replace(own, turns=tuple(turns))
    return common


def _read_prompt(common: SessionRecord, *, prompt_id: str = "") -> SessionRecord:
    """Return a person's prompt; its text is empty if the agent was told to withhold it."""
    record = common.record
    asked = record.text("prompt")
    text = "" if asked in REDACTED else asked
    turn = Turn(
        role=Role.USER,
        key=f"prompt:{prompt_id}" if prompt_id else record.key,
        ts=record.began_at,
        content=text or "(a prompt that was not told)",
    )
    return replace(common, turns=(turn,), prompt=text)


def _read_model_call(record: Record, own: SessionRecord) -> SessionRecord:
    # The integer first: the dollars beside it are a float.
    micros = record.count("cost_usd_micros")
    cost = Decimal(micros) / MICROS if micros > 0 else read_cost(record.attributes.get("cost_usd"))
    hour = record.count("cache_creation_1h_tokens")
    stated = hour + record.count("cache_creation_5m_tokens")
    # Where the tiers are missing, their sum is there.
    written = max(stated, record.count("cache_creation_tokens"))
    use = ModelUse(
        call_id=record.key,
        usage=Usage(
            input=record.count("input_tokens"),
            cache_read=record.count("cache_read_tokens"),
            # Cache writes without a stated tier are 5-minute writes.
            cache_write_5m=written - hour,
            cache_write_1h=hour,
            output=record.count("output_tokens"),
        ),
        cost_usd=cost,
        model=record.text("model"),
        provider=record.text("gen_ai.provider.name") or "anthropic",
    )
    return replace(own, use=use)


def _read_tool_call(record: Record, own: SessionRecord) -> SessionRecord:
    if not record.text("tool_name"):
        return replace(own, agent="")
    failed = record.attributes.get("success") in ("false", False)
    # Only a span has a tool's output, as an event inside it.
    outputs = (
        event.attributes.get("output", event.attributes.get("content"))
        for event in record.events
        if event.name == "tool.output"
    )
    output = next(outputs, None)
    inputs = (parse_json(record.text(name)) for name in ("tool_input", "tool_parameters"))
    given = next((one for one in inputs if isinstance(one, dict)), None)
    if given is None:
        named = {"command": record.text("full_command"), "file_path": record.text("file_path")}
        given = {name: value for name, value in named.items() if value}
    return with_tool_call(
        own,
        # The call's own id, because hooks report the same call by it.
        call_id=record.text("tool_use_id", "gen_ai.tool.call.id"),
        at=record.began_at,
        tool=record.text("tool_name"),
        given=given,
        result=output if isinstance(output, str) else None,
        failure=(record.text("error", "error_type") or "failed") if failed else None,
    )


# By the name of a log event or of its span.
CALL_READERS = {
    "api_request": _read_model_call,
    "llm_request": _read_model_call,
    "tool_result": _read_tool_call,
    "tool": _read_tool_call,
}


def read_codex(record: Record) -> SessionRecord | None:
    """Read a log event; traces are hundreds of internal spans, and none of them is a turn.

    Checked against 0.171.0. Token counts include what was cached.
    """
    if record.signal != "logs":
        return None
    common = SessionRecord(record=record, client="codex", session=record.text("conversation.id"))
    name = record.name.removeprefix("codex.")
    if name in STREAM_EVENTS:
        usage = usage_with_cached_input(
            given=record.count("input_token_count"),
            output=record.count("output_token_count"),
            read=record.count("cached_token_count"),
            written=record.count("cache_write_token_count"),
            reasoning=record.count("reasoning_token_count"),
        )
        # A completed response is reported twice, once without tokens: only the one with them is a
        # call.
        if usage is None or record.text("event.kind") != "response.completed":
            return None
        model = record.text("model", "slug")
        use = ModelUse(call_id=record.key, usage=usage, model=model, provider="openai")
        return replace(common, use=use)
    if name == "tool_result" and record.text("tool_name"):
        # The exit code is in the output; the `success` beside it may be true all the same.
        output, code = output_of(record.text("output"))
        failed = code or record.attributes.get("success") in ("false", False)
        return with_tool_call(
            common,
            call_id=record.text("call_id"),
            at=record.began_at,
            tool=record.text("tool_name"),
            # Not every tool takes JSON: a patch is plain text.
            given=parse_json(record.text("arguments")) or record.text("arguments"),
            result=output or None,
            failure=(output or record.text("error.message") or "failed") if failed else None,
        )
    if name == "user_prompt":
        return _read_prompt(common)
    return common


def read_gemini(record: Record) -> SessionRecord | None:
    """Read a log event, or a span, which counts only if no log event reported the call.

    Checked against 0.61.0. Every response is reported twice, by `gemini_cli.api_response` and by
    the GenAI conventions' event; the first is read. Input includes what was cached; thoughts are
    not included in output.
    """
    session = record.text("session.id", "gen_ai.conversation.id")
    common = SessionRecord(
        record=record, client="gemini", session=session or record.text("session.id", resource=True)
    )
    if record.signal == "traces":
        if not conventions.is_genai(record):
            return None
        return replace(common, use=conventions.read_genai(record).use)
    name = record.name.removeprefix("gemini_cli.")
    if name == "api_response":
        cached = record.count("cached_content_token_count")
        thought, given = record.count("thoughts_token_count"), record.count("input_token_count")
        usage = Usage(
            # The prompts of tools are counted separately, and billed as input.
            input=max(0, given - cached) + record.count("tool_token_count"),
            cache_read=cached,
            output=record.count("output_token_count") + thought,
            reasoning=thought,
        )
        model = record.text("model")
        use = ModelUse(call_id=record.key, usage=usage, model=model, provider="google")
        return replace(common, use=use)
    if name == "tool_call" and record.text("function_name"):
        details = parse_json(record.text("metadata"))
        code = details.get("exitCode") if isinstance(details, dict) else None
        # A failed command is reported as a success of the tool that ran it.
        failed = code or record.attributes.get("success") in ("false", False)
        why = record.text("error", "error.message", "error_type")
        return with_tool_call(
            common,
            call_id=record.text("call_id", "tool_call_id"),
            at=record.began_at,
            tool=record.text("function_name"),
            given=parse_json(record.text("function_args"))
            or record.attributes.get("function_args"),
            # Its events leave out a tool's result.
            result=None,
            failure=(why or (f"exit code {code}" if code else "failed")) if failed else None,
        )
    if name == "user_prompt":
        return _read_prompt(common, prompt_id=record.text("prompt_id"))
    return common
