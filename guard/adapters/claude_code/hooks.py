"""Claude Code's hooks: bodies read, answers written.

Shapes and traps were checked against Claude Code 2.1.330. No hook carries token
counts: they come over OTLP, or from the transcript, where our forwarder reads them.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from guard.adapters.base import Answer, Body
from guard.adapters.claude_code import permission
from guard.adapters.claude_code.usage import calls_of
from guard.adapters.hook import HookEvent
from guard.adapters.reading import (
    Reader,
    named_subagent,
    names,
    read_call,
    read_head,
    read_turns,
    text,
)
from guard.adapters.wording import NOT_RUN, STILL_HELD, STOPPED, texts_of
from guard.turn import Phase, Role, Turn
from guard.wire import CallAction, Directive, DirectiveAction

CLIENT = "claude-code"

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
"""The events `guard connect` subscribes to."""

IDLE = "Idle"
"""Our own event: the session is at rest, and asks for a message to it."""

GIVES_UP_EARLY_S = 60.0
"""A hold ends this long before the hook's time-out: its answer must get through."""

HOLDING = frozenset({"PreToolUse"})
"""Events whose answer may take as long as a person does; the rest only report."""


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Say what can truly be done to a Claude Code session through its hooks."""
    at_rest = ["when_idle"] if event.idles else []
    told: dict[str, Any] = {
        "hold": True,
        "inject": ["at_next_tool", "at_stop", *at_rest],
        "terminate": "hook",
        "cost": "otlp",
    }
    if event.said.timeout_s is not None:
        told["patience_s"] = max(event.said.timeout_s - GIVES_UP_EARLY_S, 1.0)
    if event.said.via == "command":
        return told | {"away": "waits"}
    away = {"open": "runs", "closed": "blocked"}.get(event.said.fail)
    return told | ({"away": away} if away else {})


# --- reading -----------------------------------------------------------------


def read(body: Body) -> HookEvent:
    """Read one hook body.

    Args:
        body: The JSON object Claude Code sends, with our forwarder's
            `workspace` (a list of file names) where it listed the files.

    Returns:
        The event; one we take nothing from has no turns.

    Raises:
        UnreadableHook: It has no `hook_event_name` or no `session_id`.
    """
    name, session = read_head(body, agent="Claude Code")
    # Only rest and a question to its person are told: turns tell of work. Claude Code tells of a
    # question that stood for six seconds, of rest after sixty.
    notified = _NOTIFIED.get(text(body, "notification_type"))
    return HookEvent(
        client=CLIENT,
        name=name,
        session=session,
        cwd=text(body, "cwd"),
        prompt=_persons_prompt(body),
        subagent=named_subagent(body),
        workspace=names(body.get("workspace")),
        turns=read_turns(_READERS, name, body),
        calls=calls_of(body),
        asks=_proposed(body) if name == "PermissionRequest" else None,
        idles=name == IDLE,
        holds=name in HOLDING,
        takes_messages=_takes_messages(name, body),
        ends=name == "SessionEnd",
        stop_hook_active=body.get("stop_hook_active") is True,
        presence=notified if name == "Notification" else _RESTS.get(name),
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


def _takes_messages(name: str, body: Body) -> bool:
    """Whether the model reads what we answer.

    A Stop that our own answer caused takes none: answering it again would keep
    the agent going for ever (Claude Code itself gives up after 8).
    """
    if name == "Stop":
        return body.get("stop_hook_active") is not True
    return name in {"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"}


def _proposed(body: Body) -> Turn | None:
    return _call(body, phase=Phase.PROPOSED)


def _succeeded(body: Body) -> Turn | None:
    response = body.get("tool_response")
    interrupted = isinstance(response, dict) and response.get("interrupted") is True
    return _call(body, result=response_text(response), error="interrupted" if interrupted else None)


def _failed(body: Body) -> Turn | None:
    return _call(body, error=text(body, "error") or "the tool failed")


def _call(body: Body, **said: Any) -> Turn | None:
    key, files = text(body, "tool_use_id") or None, _files(body.get("tool_input"))
    return read_call(body, key=key, agent=named_subagent(body), files=files, **said)


def _asked(body: Body) -> Turn | None:
    prompt = text(body, "prompt")
    prompt_id = text(body, "prompt_id")
    if not prompt:
        return None
    role = Role.SYSTEM if prompt.startswith(NOTIFICATION) else Role.USER
    return Turn(role=role, key=f"prompt:{prompt_id}" if prompt_id else None, content=prompt)


def _persons_prompt(body: Body) -> str | None:
    prompt = text(body, "prompt")
    return None if prompt.startswith(NOTIFICATION) else prompt or None


NOTIFICATION = "<task-notification>"
"""How Claude Code begins a prompt that no person typed: a background task is done, or a
hook woke the session. It resets no streak and names no run."""


def _finished(body: Body) -> Turn | None:
    """Read what the agent said last; no key, since it may say the same twice."""
    said = text(body, "last_assistant_message")
    return Turn(role=Role.ASSISTANT, agent=named_subagent(body), content=said) if said else None


_READERS: dict[str, Reader] = {
    "PreToolUse": _proposed,
    "PostToolUse": _succeeded,
    "PostToolUseFailure": _failed,
    "UserPromptSubmit": _asked,
    "Stop": _finished,
}


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
    if isinstance(response, list):
        return _joined(response)
    if isinstance(response, dict):
        return _object_text(response)
    return json.dumps(response)


def _object_text(response: dict[str, Any]) -> str:
    if "stdout" in response or "stderr" in response:
        return _joined([response.get("stdout"), response.get("stderr")])
    file = response.get("file")
    if isinstance(file, dict) and isinstance(file.get("content"), str):
        return str(file["content"])
    for field in ("content", "filenames", "result", "text"):
        if response.get(field):
            return response_text(response[field]) or ""
    return json.dumps({k: v for k, v in response.items() if k not in _CLOCKS}, sort_keys=True)


_CLOCKS = frozenset({"durationMs", "durationSeconds", "totalDurationMs"})
"""Differs between two equal results, and tells nothing of the work."""


def _joined(parts: list[Any]) -> str:
    texts = (part if isinstance(part, str) else _block_text(part) for part in parts)
    return "\n".join(text for text in texts if text)


def _block_text(block: Any) -> str:
    if isinstance(block, dict) and isinstance(block.get("text"), str):
        return str(block["text"])
    return json.dumps(block, sort_keys=True) if block is not None else ""


def _files(args: Any) -> tuple[str, ...]:
    if not isinstance(args, dict):
        return ()
    return tuple(
        args[name]
        for name in ("file_path", "notebook_path")
        if isinstance(args.get(name), str) and args[name]
    )


# --- answering ---------------------------------------------------------------


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Say in Claude Code's words what the directive asks.

    `proceed` never forces "allow": whether a tool may run at all stays between
    Claude Code and its person. The directive's messages must be those meant for
    this answer; where `event.takes_messages` is false they are not given.
    """
    if event.is_probe:
        return {}
    if event.asks:
        return permission.answer(event, directive)
    if directive.action is DirectiveAction.STOP:
        # End the session. `continue: false` before a tool does not stop that tool, it ends the
        # loop after it; so the call is denied as well.
        reason = directive.reason or STOPPED
        ending: Answer = {"continue": False, "stopReason": reason}
        return _deny(event, reason) | ending if event.holds else ending
    if event.holds:
        return _tool_answer(event, directive)
    return _note(event, directive) if event.takes_messages else {}


def _tool_answer(event: HookEvent, directive: Directive) -> Answer:
    if directive.action is DirectiveAction.HOLD:
        if event.parks_after_s is not None:
            return _specific(event, permissionDecision="defer", permissionDecisionReason=PARKED)
        return _deny(event, STILL_HELD)
    if directive.call is CallAction.SKIP:
        return _deny(event, texts_of(directive) or directive.reason or NOT_RUN)
    return _note(event, directive)


def _deny(event: HookEvent, reason: str) -> Answer:
    return _specific(event, permissionDecision="deny", permissionDecisionReason=reason)


def _note(event: HookEvent, directive: Directive) -> Answer:
    texts = texts_of(directive)
    return _specific(event, additionalContext=texts) if texts else {}


def _specific(event: HookEvent, **fields: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event.name, **fields}}


PARKED = "Mission Control holds this call for a person. Resume the session to go on."
