"""Claude Code's hooks: bodies read, answers written.

Shapes and traps were checked against Claude Code 2.1.332. No hook carries token
counts: they come over OTLP, or from the transcript, where our forwarder reads them.

Asked whether a call is permitted, the allowlist answers, or people. A rule added for the session
lets the same command run without another question. Its dialog stands at the terminal while our
hook waits, and the first answer wins; refused there, or left, our request is cut, permitted there
it stays open. A hook that answers nothing, or fails, leaves the dialog as it is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Literal

from guard.adapters.base import STOPPED, Answer, Body, deny, specific, texts_of, why_not_run
from guard.adapters.hook import HookEvent, ModelCall
from guard.adapters.reading import (
    forwarded_calls,
    mapping,
    named_subagent,
    read_answer,
    read_call,
    read_event,
    read_prompt,
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

# Our own event: the session is at rest, and asks for a message to it.
IDLE = "Idle"

# Events whose answer may take as long as a person does; the rest only report.
HOLDING = frozenset({"PreToolUse"})

# Events whose answer reaches the model; a Stop's does too, once.
MODEL_READS = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"})

# How Claude Code begins a prompt that no person typed: a background task is done, or a hook woke
# the session. It resets no streak and names no run.
NOTIFICATION = "<task-notification>"
# A command with one of these is no literal in a rule of Claude Code's: `rm *` as a rule would
# permit `rm anything`.
WILD = frozenset("*()\\\n\r")
# A hold ends this long before the hook's time-out: its answer must get through, and where we
# answer nothing it is known who ended it.
GIVES_UP_EARLY_S = 60.0
# `claude -p` has no dialog and denies by itself: it is not kept from that for long.
HEADLESS_S = 120.0
# How Claude Code says that a person sits at it.
AT_A_TERMINAL = "cli"
# These ask their person for more than a yes.
OWN = frozenset({"AskUserQuestion", "ExitPlanMode"})
DENIED = "A person denied this call in Mission Control."


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Say what can truly be done to a Claude Code session through its hooks."""
    at_rest = ["when_idle"] if event.idles else []
    can: dict[str, Any] = {
        "hold": True,
        "inject": ["at_next_tool", "at_stop", *at_rest],
        "terminate": "hook",
        "cost": "otlp",
    }
    if event.wiring.timeout_s is not None:
        can["patience_s"] = max(event.wiring.timeout_s - GIVES_UP_EARLY_S, 1.0)
    # Our forwarder waits over a restart of the server; an HTTP hook of the agent cannot, and what
    # becomes of its call stands in the settings.
    if event.wiring.via == "command":
        return can | {"away": "waits"}
    away = {"open": "runs", "closed": "blocked"}.get(event.wiring.fail)
    return can | ({"away": away} if away else {})


def read(body: Body) -> HookEvent:
    """Read one hook body; an event we take nothing from has no turns."""
    event = read_event(body, client=CLIENT, title="Claude Code")
    is_typed = not text(body, "prompt").startswith(NOTIFICATION)
    turn: Turn | None = None
    match event.name:
        case "PreToolUse":
            turn = _call(body, phase=Phase.PROPOSED)
        case "PostToolUse":
            response = body.get("tool_response")
            # A command that its person cut off comes as a success, with what it printed so far.
            error = "interrupted" if mapping(response).get("interrupted") is True else None
            turn = _call(body, result=response_text(response), error=error)
        case "PostToolUseFailure":
            turn = _call(body, error=text(body, "error") or "the tool failed")
        case "UserPromptSubmit":
            role = Role.USER if is_typed else Role.SYSTEM
            turn = read_prompt(body, id_field="prompt_id", role=role)
        case "Stop":
            turn = read_answer(body)
    # A Stop that our own answer caused takes no message: answering it again would keep the
    # agent going for ever (Claude Code itself gives up after 8).
    ends_afresh = event.name == "Stop" and not event.stop_hook_active
    # Only rest and a question to its person are told: turns tell of work. Claude Code tells of a
    # question that stood for six seconds, of rest after sixty.
    notified = _NOTIFIED.get(text(body, "notification_type"))
    return replace(
        event,
        prompt=event.prompt if is_typed else None,
        subagent=named_subagent(body),
        turns=(turn,) if turn else (),
        calls=calls_of(body),
        asks=_call(body, phase=Phase.PROPOSED) if event.name == "PermissionRequest" else None,
        idles=event.name == IDLE,
        holds=event.name in HOLDING,
        takes_messages=event.name in MODEL_READS or ends_afresh,
        ends=event.name == "SessionEnd",
        presence=notified if event.name == "Notification" else _RESTS.get(event.name),
    )


_NOTIFIED: dict[str, Literal["idle", "waiting"]] = {
    "permission_prompt": "waiting",
    "elicitation_dialog": "waiting",
    "idle_prompt": "idle",
}
_RESTS: dict[str, Literal["idle", "waiting"]] = {
    "SessionStart": "idle",
    "Stop": "idle",
    "PermissionRequest": "waiting",
}


def _call(body: Body, **more: Any) -> Turn | None:
    key, paths = text(body, "tool_use_id") or None, ("file_path", "notebook_path")
    return read_call(body, key=key, agent=named_subagent(body), paths=paths, **more)


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
    # No shape is promised: each tool has its own field for what it gave, files one deeper.
    file = response.get("file")
    if isinstance(file, dict) and isinstance(file.get("content"), str):
        return str(file["content"])
    for field in ("content", "filenames", "result", "text"):
        if response.get(field):
            return response_text(response[field]) or ""
    return json.dumps({k: v for k, v in response.items() if k not in _CLOCKS}, sort_keys=True)


# Differs between two equal results, and tells nothing of the work.
_CLOCKS = frozenset({"durationMs", "durationSeconds", "totalDurationMs"})


def _block_text(block: Any) -> str:
    if block is None or isinstance(block, str):
        return block or ""
    words = mapping(block).get("text")
    # A picture, say: two different ones must not look like one answer.
    return words if isinstance(words, str) else json.dumps(block, sort_keys=True)


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Say in Claude Code's words what the directive asks.

    `proceed` never forces "allow": whether a tool may run at all stays between
    Claude Code and its person. The directive's messages must be those meant for
    this answer; where `event.takes_messages` is false they are not given.
    """
    if event.is_probe:
        return {}
    if event.asks:
        return answer_permission(event, directive)
    if directive.action is DirectiveAction.STOP:
        # End the session. `continue: false` before a tool does not stop that tool, it ends the
        # loop after it; so the call is denied as well.
        reason = directive.reason or STOPPED
        ending: Answer = {"continue": False, "stopReason": reason}
        return deny(event, reason) | ending if event.holds else ending
    # A headless session need not sit out the wait: its process ends, and asks when resumed.
    if directive.action is DirectiveAction.HOLD and event.parks_after_s is not None:
        return specific(event, permissionDecision="defer", permissionDecisionReason=PARKED)
    if reason := why_not_run(event, directive):
        return deny(event, reason)
    texts = texts_of(directive) if event.takes_messages else ""
    return specific(event, additionalContext=texts) if texts else {}


PARKED = "Mission Control holds this call for a person. Resume the session to go on."


def asks_for_s(event: HookEvent) -> float | None:
    """Say how long people may be asked from here; None: not at all.

    Of hosts other than a terminal it is not known whether they show their dialog meanwhile.
    """
    waits_s = event.wiring.answer_s
    if event.asks is None or waits_s is None or event.asks.tool in OWN:
        return None
    # Half of a short wait: a minute less would leave nothing of it.
    left_s = max(waits_s - GIVES_UP_EARLY_S, waits_s / 2)
    if event.wiring.is_headless:
        return min(left_s, HEADLESS_S)
    return left_s if event.wiring.entry == AT_A_TERMINAL else None


def answer_permission(event: HookEvent, directive: Directive) -> dict[str, Any]:
    """Say what people said, permit what they allowlisted, end what they ended; else nothing.

    The rule lives as long as the session, and is never wider than the call on the card.
    """
    if directive.action is DirectiveAction.STOP:
        # `interrupt`, or the model would read the denial and try another way.
        reason = directive.reason or STOPPED
        return _decision({"behavior": "deny", "message": reason, "interrupt": True})
    if event.answered == "deny":
        message = f"{DENIED} {event.answer_text}" if event.answer_text else DENIED
        return _decision({"behavior": "deny", "message": message})
    if event.answered == "allow_once":
        return _decision({"behavior": "allow"})
    if event.grant is None:
        return {}
    rule = exact_rule(event) if event.grant == "session" else None
    remembered = {"updatedPermissions": [rule]} if rule else {}
    return _decision({"behavior": "allow", **remembered})


def exact_rule(event: HookEvent) -> dict[str, Any] | None:
    """Write a rule that permits this one call; None: no rule is that narrow."""
    call = event.asks
    command = (call.args or {}).get("command") if call else None
    # Of other tools a rule names a path or a host, which is wider than the call on the card.
    if call is None or call.tool != "Bash" or not isinstance(command, str):
        return None
    if not command.strip() or WILD & set(command):
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
    """Return the model calls that a forwarded body tells of, oldest first."""
    return forwarded_calls(body, usage_of, provider="anthropic") or ()
