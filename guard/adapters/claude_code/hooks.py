"""Claude Code's hooks: reads bodies and writes answers.

Shapes and traps were checked against Claude Code 2.1.332. No hook contains token counts: they come
over OTLP, or our forwarder reads them from the transcript.

A permission question is answered by the allowlist or by people. A rule that is added for the
session lets the same command run without another question. Claude Code's dialog is open at the
terminal while our hook waits, and the first answer wins: if the person refuses or leaves the
dialog, our request is cut off; if they permit the call, our request stays open. A hook that answers
nothing, or fails, leaves the dialog as it is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from guard.adapters.base import STOPPED, Answer, Body, deny, event_output, refusal_reason, texts_of
from guard.adapters.hook import HookEvent, ModelCall
from guard.adapters.parsing import (
    forwarded_calls,
    mapping,
    read_call,
    read_event,
    read_last_message,
    read_prompt,
    subagent_name,
    text,
)
from guard.formats.claude_code import usage_of
from guard.turn import Phase, Role, Turn
from guard.wire import Directive, DirectiveAction

CLIENT = "claude-code"

# The events `guard connect` subscribes to.
HOOKS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "Stop",
    "SessionEnd",
)

# Our own event: the session is at rest and waits for a message.
IDLE = "Idle"

# Events whose answer may take as long as a person does; the rest only report.
HOLDING = frozenset({"PreToolUse"})

# Events whose answer reaches the model; a Stop's does too, once.
READ_BY_MODEL = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"})

# The beginning of a prompt that no person typed: a background task is done, or a hook woke the
# session. It does not reset a streak, and does not name a run.
TASK_NOTIFICATION = "<task-notification>"
# Characters that are not literal in a rule of Claude Code: the rule `rm *` would permit
# `rm anything`.
WILDCARDS = frozenset("*()\\\n\r")
# A hold ends this long before the hook's time-out: its answer must arrive, and if we answer
# nothing, it must be known who ended it.
ANSWER_EARLY_S = 60.0
# `claude -p` has no dialog and denies by itself: we delay that only briefly.
HEADLESS_S = 120.0
# Claude Code's word for a session with a person at its terminal.
TERMINAL_ENTRY = "cli"
# These tools ask their person for more than a yes.
INTERACTIVE_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode"})
DENIED = "A person denied this call in Mission Control."


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Return what can really be done to a Claude Code session through its hooks."""
    at_rest = ["when_idle"] if event.waits_for_message else []
    report: dict[str, Any] = {
        "hold": True,
        "inject": ["at_next_tool", "at_stop", *at_rest],
        "terminate": "hook",
        "cost": "otlp",
    }
    if event.wiring.timeout_s is not None:
        report["patience_s"] = max(event.wiring.timeout_s - ANSWER_EARLY_S, 1.0)
    # Our forwarder keeps waiting across a restart of the server. An HTTP hook of the agent cannot;
    # its settings decide what becomes of the call.
    if event.wiring.via == "command":
        return report | {"away": "waits"}
    away = {"open": "runs", "closed": "blocked"}.get(event.wiring.fail)
    return report | ({"away": away} if away else {})


def read(body: Body) -> HookEvent:
    """Read one hook body; an event that we do not use has no turns."""
    event = read_event(body, client=CLIENT, title="Claude Code")
    is_typed = not text(body, "prompt").startswith(TASK_NOTIFICATION)
    turn: Turn | None = None
    match event.name:
        case "PreToolUse":
            turn = _read_call(body, phase=Phase.PROPOSED)
        case "PostToolUse":
            response = body.get("tool_response")
            # A command that its person interrupted is reported as a success, with its output so
            # far.
            error = "interrupted" if mapping(response).get("interrupted") is True else None
            turn = _read_call(body, result=response_text(response), error=error)
        case "PostToolUseFailure":
            turn = _read_call(body, error=text(body, "error") or "the tool failed")
        case "UserPromptSubmit":
            role = Role.USER if is_typed else Role.SYSTEM
            turn = read_prompt(body, id_field="prompt_id", role=role)
        case "Stop":
            turn = read_last_message(body)
    # A Stop that our own answer caused takes no message: answering it again would keep the agent
    # going for ever (Claude Code itself gives up after 8).
    ends_afresh = event.name == "Stop" and not event.stop_hook_active
    # Only rest and questions to its person count here: turns report the work. Claude Code reports a
    # question after six seconds, and rest after sixty.
    notified = _PRESENCE_OF_NOTIFICATION.get(text(body, "notification_type"))
    return replace(
        event,
        prompt=event.prompt if is_typed else None,
        subagent=subagent_name(body),
        turns=(turn,) if turn else (),
        calls=calls_of(body),
        permission_call=_read_call(body, phase=Phase.PROPOSED)
        if event.name == "PermissionRequest"
        else None,
        waits_for_message=event.name == IDLE,
        holds=event.name in HOLDING,
        takes_messages=event.name in READ_BY_MODEL or ends_afresh,
        ends_session=event.name == "SessionEnd",
        presence=notified if event.name == "Notification" else _PRESENCE_OF_EVENT.get(event.name),
    )


_PRESENCE_OF_NOTIFICATION: dict[str, Literal["idle", "waiting"]] = {
    "permission_prompt": "waiting",
    "elicitation_dialog": "waiting",
    "idle_prompt": "idle",
}
_PRESENCE_OF_EVENT: dict[str, Literal["idle", "waiting"]] = {
    "SessionStart": "idle",
    "Stop": "idle",
    "PermissionRequest": "waiting",
}


def _read_call(body: Body, **more: Any) -> Turn | None:
    key, paths = text(body, "tool_use_id") or None, ("file_path", "notebook_path")
    return read_call(body, key=key, agent=subagent_name(body), paths=paths, **more)


def response_text(response: Any) -> str | None:
    r"""Turn a tool's answer into the text the model read, as near as it can.

    >>> response_text({"stdout": "one", "stderr": "", "interrupted": False})
    'one'
    >>> response_text({"type": "text", "file": {"filePath": "/a", "content": "hi"}})
    'hi'
    >>> response_text([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    'a\nb'
    """
    if response is None or isinstance(response, str):
        return response
    if isinstance(response, dict) and response.keys() & {"stdout", "stderr"}:
        response = [response.get("stdout"), response.get("stderr")]
    if isinstance(response, list):
        return "\n".join(filter(None, map(_block_text, response)))
    if not isinstance(response, dict):
        return json.dumps(response)
    # No shape is guaranteed: each tool has its own field for its result, file tools one level
    # deeper.
    file = response.get("file")
    if isinstance(file, dict) and isinstance(file.get("content"), str):
        return str(file["content"])
    for field in ("content", "filenames", "result", "text"):
        if response.get(field):
            return response_text(response[field]) or ""
    return json.dumps(
        {k: v for k, v in response.items() if k not in _DURATION_FIELDS}, sort_keys=True
    )


# Differs between two equal results, and says nothing about the work.
_DURATION_FIELDS = frozenset({"durationMs", "durationSeconds", "totalDurationMs"})


def _block_text(block: Any) -> str:
    if block is None or isinstance(block, str):
        return block or ""
    words = mapping(block).get("text")
    # A picture, for example: two different ones must not look the same.
    return words if isinstance(words, str) else json.dumps(block, sort_keys=True)


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Write the directive as Claude Code's hook answer.

    `proceed` never forces "allow": whether a tool may run at all is decided by Claude Code and its
    person. The directive's messages must be those for this answer; if `event.takes_messages` is
    false, they are left out.
    """
    if event.is_probe:
        return {}
    if event.permission_call:
        return answer_permission(event, directive)
    if directive.action is DirectiveAction.STOP:
        # End the session. `continue: false` before a tool does not stop that tool, only the loop
        # after it; so the call is denied as well.
        reason = directive.reason or STOPPED
        ending: Answer = {"continue": False, "stopReason": reason}
        return deny(event, reason) | ending if event.holds else ending
    # A headless session need not wait: its process ends, and it asks again when resumed.
    if directive.action is DirectiveAction.HOLD and event.parks_after_s is not None:
        return event_output(event, permissionDecision="defer", permissionDecisionReason=PARKED)
    if reason := refusal_reason(event, directive):
        return deny(event, reason)
    texts = texts_of(directive) if event.takes_messages else ""
    return event_output(event, additionalContext=texts) if texts else {}


PARKED = "Mission Control holds this call for a person. Resume the session to go on."


def permission_wait_s(event: HookEvent) -> float | None:
    """Return how long people may be asked from here; None: not at all.

    It is unknown whether hosts other than a terminal show their dialog meanwhile.
    """
    waits_s = event.wiring.answer_s
    if (
        event.permission_call is None
        or waits_s is None
        or event.permission_call.tool in INTERACTIVE_TOOLS
    ):
        return None
    # Half of a short wait: a minute less would leave nothing.
    left_s = max(waits_s - ANSWER_EARLY_S, waits_s / 2)
    if event.wiring.is_headless:
        return min(left_s, HEADLESS_S)
    return left_s if event.wiring.entry == TERMINAL_ENTRY else None


def answer_permission(event: HookEvent, directive: Directive) -> dict[str, Any]:
    """Write people's answer, a permission from the allowlist, or a stop; else nothing.

    The rule lasts as long as the session, and is never wider than the call on the card.
    """
    if directive.action is DirectiveAction.STOP:
        # With `interrupt`: otherwise the model would read the denial and try another way.
        reason = directive.reason or STOPPED
        return _decision({"behavior": "deny", "message": reason, "interrupt": True})
    if event.permission_answer == "deny":
        message = f"{DENIED} {event.answer_text}" if event.answer_text else DENIED
        return _decision({"behavior": "deny", "message": message})
    if event.permission_answer == "allow_once":
        return _decision({"behavior": "allow"})
    if event.permission_grant is None:
        return {}
    rule = exact_rule(event) if event.permission_grant == "session" else None
    remembered = {"updatedPermissions": [rule]} if rule else {}
    return _decision({"behavior": "allow", **remembered})


def exact_rule(event: HookEvent) -> dict[str, Any] | None:
    """Return a rule that permits only this call; None: no rule is that narrow."""
    call = event.permission_call
    command = (call.args or {}).get("command") if call else None
    # For other tools a rule names a path or a host, which is wider than the call on the card.
    if call is None or call.tool != "Bash" or not isinstance(command, str):
        return None
    if not command.strip() or WILDCARDS & set(command):
        return None
    return {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": command}],
        "behavior": "allow",
        "destination": "session",
    }


def _decision(decision: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls in a forwarded body, oldest first."""
    return forwarded_calls(body, usage_of, provider="anthropic") or ()
