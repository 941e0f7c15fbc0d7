"""Cursor's hooks: reads bodies and writes answers, by its documentation.

UNVERIFIED: written from cursor.com/docs/agent/hooks as of Cursor 3.9; never tested with the real
program, which is closed and does not run headless here.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from guard.adapters.base import SESSION_ENDED, STOPPED, Answer, Body, refusal_reason, texts_of
from guard.adapters.hook import HookEvent
from guard.adapters.parsing import read_call, read_event, read_prompt, text, text_list, whole_number
from guard.json_depth import read_json
from guard.turn import Phase, Role, Turn
from guard.wire import Directive, DirectiveAction

CLIENT = "cursor"

# The events `guard connect` subscribes to. `preToolUse` covers shell and MCP calls; with their own
# hooks each call would be reported twice.
HOOKS = (
    "sessionStart",
    "beforeSubmitPrompt",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "afterAgentResponse",
    "stop",
    "sessionEnd",
)

# Events whose answer may take as long as a person does; the rest only report.
HOLDING = frozenset({"preToolUse"})

# After this many follow-ups in a row Cursor itself stops calling its hooks.
LOOP_LIMIT = 5


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Return what can be done to a Cursor session, according to its documentation."""
    return {
        "hold": True,
        "inject": ["at_next_tool", "at_stop"],
        "terminate": "not",
        "cost": "not",
        "away": "waits" if event.forwarded else "runs",
        "why": WHY_NOT,
    }


WHY_NOT = {
    "terminate": "Cursor's hooks cannot end a session: hold it here, and press Stop in Cursor",
    "cost": "Cursor's hooks carry no token counts",
}


def read(body: Body) -> HookEvent:
    """Read one hook body; an event that we do not use has no turns."""
    event = read_event(body, client=CLIENT, title="Cursor", session="conversation_id")
    turn: Turn | None = None
    match event.name:
        case "preToolUse":
            turn = _read_call(body, phase=Phase.PROPOSED)
        case "postToolUse":
            output, code = _read_output(body.get("tool_output"))
            failed = f"exit code {code}\n{output or ''}".rstrip() if code else None
            turn = _read_call(body, result=None if code else output, error=failed)
        # A call that a hook denied never ran, and is not a failure.
        case "postToolUseFailure" if body.get("failure_type") != "permission_denied":
            turn = _read_call(body, error=text(body, "error_message") or "the tool failed")
        case "beforeSubmitPrompt":
            turn = read_prompt(body, id_field="generation_id")
        case "afterAgentResponse" if text(body, "text"):
            # No key: the agent may say the same text twice.
            turn = Turn(role=Role.ASSISTANT, content=text(body, "text"))
    # `stop` cannot prevent an end, only send a follow-up: not if the person pressed Stop, and not
    # more often than Cursor allows.
    stops, follow_ups = event.name == "stop", whole_number(body.get("loop_count")) or 0
    follows_up = stops and follow_ups < LOOP_LIMIT and body.get("status") == "completed"
    roots = text_list(body.get("workspace_roots"))
    return replace(
        event,
        cwd=roots[0] if roots else event.cwd,
        turns=(turn,) if turn else (),
        holds=event.name in HOLDING,
        takes_messages=event.name == "postToolUse" or follows_up,
        denial_is_read=event.name in HOLDING,
        ends_session=event.name == "sessionEnd",
        stop_hook_active=stops and follow_ups > 0,
        presence="idle" if event.name in {"sessionStart", "stop"} else None,
    )


def _read_output(written: Any) -> tuple[str | None, int | None]:
    """Parse a tool's output: JSON inside a text; a command's output has an exit code."""
    is_text = isinstance(written, str)
    try:
        output = read_json(written.encode("utf-8", "replace")) if is_text else written
    except ValueError:
        output = written
    if not isinstance(output, dict):
        return written if is_text or written is None else json.dumps(written), None
    code = whole_number(output.get("exitCode"))
    words = output.get("output")
    return words if isinstance(words, str) else json.dumps(output, sort_keys=True), code


def _read_call(body: Body, **more: Any) -> Turn | None:
    key, model = text(body, "tool_use_id") or None, text(body, "model") or None
    return read_call(body, key=key, paths=("file_path", "path"), model=model, **more)


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Write the directive as Cursor's hook answer.

    `proceed` never forces "allow": whether a tool may run at all is decided by Cursor and its
    person. The directive's messages must be those for this answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        # Nothing more may happen; only its person can end the session itself.
        reason, reply = directive.reason or STOPPED, Answer()
        if event.holds:
            reply = _deny(f"{reason} {SESSION_ENDED}")
        elif event.name == "beforeSubmitPrompt":
            reply = {"continue": False, "user_message": reason}
        elif event.name == "postToolUse":
            reply = {"additional_context": f"{reason} {SESSION_ENDED}"}
        return reply
    if reason := refusal_reason(event, directive):
        return _deny(reason)
    texts = texts_of(directive) if event.takes_messages and not event.holds else ""
    if not texts:
        return {}
    return {"followup_message" if event.name == "stop" else "additional_context": texts}


def _deny(reason: str) -> Answer:
    # One text is for the person and one for the model; models have been seen to read the person's.
    return {"permission": "deny", "user_message": reason, "agent_message": reason}
