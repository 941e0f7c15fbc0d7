"""Codex CLI's log events. Its traces are hundreds of internal spans: none is a turn.

Checked against 0.169.0. Token counts include what was cached; a completed response
is told twice, once without them. A command's exit code stands in its output.
"""

from __future__ import annotations

from dataclasses import replace

from guard.formats.codex import output_of
from missioncontrol.api.otlp.record import ModelUse, Record, RecordFacts, client_of, inclusive
from missioncontrol.api.otlp.steps import parsed, prompt_facts, tool_turn

CLIENT = "codex"
EVENTS = "codex."
REDACTED = "[REDACTED]"
# Hundreds an answer, each a piece of it; one has the tokens.
STREAMED = frozenset({"sse_event", "websocket_event"})


def recognises(record: Record) -> bool:
    """Whether Codex sent this."""
    return record.name.startswith(EVENTS) or client_of(record.service) == CLIENT


def read(record: Record) -> RecordFacts | None:
    """Read one event; a span tells nothing."""
    if record.signal != "logs":
        return None
    common = RecordFacts(client=CLIENT, session=record.text("conversation.id"))
    name = record.name.removeprefix(EVENTS)
    if name in STREAMED:
        usage = inclusive(
            given=record.count("input_token_count"),
            output=record.count("output_token_count"),
            read=record.count("cached_token_count"),
            written=record.count("cache_write_token_count"),
            reasoning=record.count("reasoning_token_count"),
        )
        # A completed response is told twice, once without tokens: only the other is a call.
        if usage is None or record.text("event.kind") != "response.completed":
            return None
        model = record.text("model", "slug")
        use = ModelUse(call_id=record.key, usage=usage, model=model, provider="openai")
        return replace(common, use=use)
    if name == "tool_result" and record.text("tool_name"):
        # Its exit code stands in the output, beside a `success` that may say true.
        output, code = output_of(record.text("output"))
        failed = code or record.attributes.get("success") in ("false", False)
        turn = tool_turn(
            key=record.text("call_id") or record.key,
            agent="",
            at=record.began_at,
            tool=record.text("tool_name"),
            # Not every tool is called with JSON: a patch is a text.
            given=parsed(record.text("arguments")) or record.text("arguments"),
            result=output or None,
            failure=(output or record.text("error.message") or "failed") if failed else None,
        )
        return replace(common, turns=(turn,), tool_key=turn.key)
    if name == "user_prompt":
        asked = record.text("prompt")
        return prompt_facts(common, record, text="" if asked == REDACTED else asked)
    return common
