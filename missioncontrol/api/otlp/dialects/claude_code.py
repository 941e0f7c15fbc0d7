"""Claude Code's own telemetry: its log events, and its spans where only those are sent.

Checked against 2.1.330. `input_tokens` excludes what was cached; `cost_usd` is its
own figure. A sub-agent's spans carry its id as their conversation, so the session
is `session.id`. Prompts and answers are `<REDACTED>` unless the person allows them.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from guard.turn import Role, Turn, Usage
from missioncontrol.api.otlp.record import ModelUse, Record, RecordFacts, dollars
from missioncontrol.api.otlp.steps import parsed, prompt_facts, tool_turn

CLIENT = "claude-code"
EVENTS = "claude_code."
REDACTED = "<REDACTED>"
MICROS = Decimal(1_000_000)


def recognises(record: Record) -> bool:
    """Whether Claude Code sent this."""
    return record.name.startswith(EVENTS) or record.service == CLIENT


def read(record: Record) -> RecordFacts | None:
    """Read one event or span."""
    session = record.text("session.id")
    # A program's own events, such as its start, are of no session.
    if not session:
        return None
    name = record.name.removeprefix(EVENTS)
    common = RecordFacts(client=CLIENT, session=session)
    # A sub-agent is named as its hooks name it: kind and id.
    kind, which = record.text("agent.name", "agent_type"), record.text("agent_id")
    agent = (f"{kind}:{which}" if kind else which)[:100] if which else ""
    own = replace(common, agent=agent)
    if name in CALLS:
        return CALLS[name](record, own)
    if name == "user_prompt":
        asked = record.text("prompt")
        text = "" if asked == REDACTED else asked
        return prompt_facts(common, record, prompt_id=record.text("prompt.id"), text=text)
    if name == "assistant_response":
        text, turns = record.text("response"), list[Turn]()
        if text not in {"", REDACTED}:
            key = f"said:{record.text('message.uuid') or record.key}"
            turn = Turn(role=Role.ASSISTANT, key=key, content=text, ts=record.began_at)
            turns.append(replace(turn, agent=agent or None))
        return replace(own, turns=tuple(turns))
    return common


def _model_call(record: Record, own: RecordFacts) -> RecordFacts:
    # Whole numbers first: the dollars beside them are a float.
    micros = record.count("cost_usd_micros")
    cost = Decimal(micros) / MICROS if micros > 0 else dollars(record.attributes.get("cost_usd"))
    hour = record.count("cache_creation_1h_tokens")
    stated = hour + record.count("cache_creation_5m_tokens")
    # Where the tiers are not told, their sum is.
    written = max(stated, record.count("cache_creation_tokens"))
    use = ModelUse(
        call_id=record.key,
        usage=Usage(
            input=record.count("input_tokens"),
            cache_read=record.count("cache_read_tokens"),
            # Cache writes of no stated tier are 5-minute writes.
            cache_write_5m=written - hour,
            cache_write_1h=hour,
            output=record.count("output_tokens"),
        ),
        cost_usd=cost,
        model=record.text("model"),
        provider=record.text("gen_ai.provider.name") or "anthropic",
    )
    return replace(own, use=use)


def _tool_call(record: Record, own: RecordFacts) -> RecordFacts:
    if not record.text("tool_name"):
        return replace(own, agent="")
    failed = record.attributes.get("success") in ("false", False)
    # Only a span has what a tool put out, as an event inside it.
    outputs = (
        event.attributes.get("output", event.attributes.get("content"))
        for event in record.events
        if event.name == "tool.output"
    )
    output = next(outputs, None)
    inputs = (parsed(record.text(name)) for name in ("tool_input", "tool_parameters"))
    given = next((one for one in inputs if isinstance(one, dict)), None)
    if given is None:
        named = {"command": record.text("full_command"), "file_path": record.text("file_path")}
        given = {name: value for name, value in named.items() if value}
    turn = tool_turn(
        # The call's own id: hooks tell of the same call by it.
        key=record.text("tool_use_id", "gen_ai.tool.call.id") or record.key,
        agent=own.agent,
        at=record.began_at,
        tool=record.text("tool_name"),
        given=given,
        result=output if isinstance(output, str) else None,
        failure=(record.text("error", "error_type") or "failed") if failed else None,
    )
    return replace(own, turns=(turn,), tool_key=turn.key)


# A log event's name, and its span's.
CALLS = {
    "api_request": _model_call,
    "llm_request": _model_call,
    "tool_result": _tool_call,
    "tool": _tool_call,
}
