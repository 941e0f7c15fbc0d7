"""Gemini CLI's log events; its spans count only where no log event told of a call.

Checked against 0.61.0. Every response is told twice, by `gemini_cli.api_response`
and by the GenAI conventions' event; the first is read. Input includes what was
cached, thoughts come on top of output.
"""

from __future__ import annotations

from dataclasses import replace

from guard.turn import Usage
from missioncontrol.api.otlp.dialects import genai
from missioncontrol.api.otlp.record import ModelUse, Record, RecordFacts, client_of
from missioncontrol.api.otlp.steps import parsed, prompt_facts, tool_turn

CLIENT = "gemini"
EVENTS = "gemini_cli."


def recognises(record: Record) -> bool:
    """Whether Gemini CLI sent this."""
    return record.name.startswith(EVENTS) or client_of(record.service) == CLIENT


def read(record: Record) -> RecordFacts | None:
    """Read one event or span."""
    session = record.text("session.id", "gen_ai.conversation.id")
    common = RecordFacts(client=CLIENT, session=session or record.text("session.id", resource=True))
    if record.signal == "traces":
        facts = genai.read(record) if genai.recognises(record) else None
        return replace(common, use=facts.use) if facts else None
    name = record.name.removeprefix(EVENTS)
    if name == "api_response":
        cached = record.count("cached_content_token_count")
        thought, given = record.count("thoughts_token_count"), record.count("input_token_count")
        usage = Usage(
            # Prompts of tools are counted apart, and paid for as input.
            input=max(0, given - cached) + record.count("tool_token_count"),
            cache_read=cached,
            output=record.count("output_token_count") + thought,
            reasoning=thought,
        )
        model = record.text("model")
        use = ModelUse(call_id=record.key, usage=usage, model=model, provider="google")
        return replace(common, use=use)
    if name == "tool_call" and record.text("function_name"):
        details = parsed(record.text("metadata"))
        code = details.get("exitCode") if isinstance(details, dict) else None
        # A command that ended badly is told as a success of the tool that ran it.
        failed = code or record.attributes.get("success") in ("false", False)
        why = record.text("error", "error.message", "error_type")
        turn = tool_turn(
            key=record.text("call_id", "tool_call_id") or record.key,
            agent="",
            at=record.began_at,
            tool=record.text("function_name"),
            given=parsed(record.text("function_args")) or record.attributes.get("function_args"),
            # Its events leave out what a tool gave back.
            result=None,
            failure=(why or (f"exit code {code}" if code else "failed")) if failed else None,
        )
        return replace(common, turns=(turn,), tool_key=turn.key)
    if name == "user_prompt":
        prompt_id, text = record.text("prompt_id"), record.text("prompt")
        return prompt_facts(common, record, prompt_id=prompt_id, text=text)
    return common
