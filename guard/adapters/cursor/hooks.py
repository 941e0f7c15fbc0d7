"""Cursor's hooks: bodies read, answers written, after its documentation.

UNVERIFIED: written after cursor.com/docs/agent/hooks as of Cursor 3.9; nobody has
seen it work with the real program, which is closed and does not run headless here.
"""

from __future__ import annotations

import json
from typing import Any

from guard.adapters.base import Answer, Body
from guard.adapters.hook import HookEvent
from guard.adapters.reading import (
    Reader,
    mapping,
    names,
    read_call,
    read_head,
    read_turns,
    text,
    whole,
)
from guard.adapters.wording import NO_MORE, NOT_RUN, STILL_HELD, STOPPED, texts_of
from guard.turn import Phase, Role, Turn
from guard.wire import CallAction, Directive, DirectiveAction

CLIENT = "cursor"

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
"""The events `guard connect` subscribes to. `preToolUse` covers shell and MCP calls,
so their own hooks would tell of each call twice."""

HOLDING = frozenset({"preToolUse"})
"""Events whose answer may take as long as a person does; the rest only report."""

LOOP_LIMIT = 5
"""After so many follow-ups in a row Cursor itself asks its hooks no more."""


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Say what its documentation lets one do to a Cursor session."""
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


# --- reading -----------------------------------------------------------------


def read(body: Body) -> HookEvent:
    """Read one hook body.

    Args:
        body: The JSON object Cursor writes, with our forwarder's `workspace`.

    Returns:
        The event; one we take nothing from has no turns.

    Raises:
        UnreadableHook: It has no `hook_event_name` or no `conversation_id`.
    """
    name, session = read_head(body, agent="Cursor", session="conversation_id")
    roots = names(body.get("workspace_roots"))
    return HookEvent(
        client=CLIENT,
        name=name,
        session=session,
        cwd=roots[0] if roots else text(body, "cwd"),
        prompt=text(body, "prompt") or None,
        workspace=names(body.get("workspace")),
        turns=read_turns(_READERS, name, body),
        holds=name in HOLDING,
        takes_messages=_takes_messages(name, body),
        denial_is_read=name in HOLDING,
        ends=name == "sessionEnd",
        stop_hook_active=name == "stop" and bool(whole(body.get("loop_count"))),
        forwarded=isinstance(body.get("guard"), dict),
        presence="idle" if name in {"sessionStart", "stop"} else None,
    )


def _takes_messages(name: str, body: Body) -> bool:
    """Whether the model reads what we add to this answer.

    `stop` cannot forbid an end, it can only follow it up: not where the person
    pressed Stop, and not more often than Cursor lets it.
    """
    if name == "stop":
        follows_up = (whole(body.get("loop_count")) or 0) < LOOP_LIMIT
        return follows_up and body.get("status") == "completed"
    return name == "postToolUse"


def _proposed(body: Body) -> Turn | None:
    return _call(body, phase=Phase.PROPOSED)


def _done(body: Body) -> Turn | None:
    said, code = _output(body.get("tool_output"))
    if code:
        return _call(body, error=f"exit code {code}\n{said or ''}".rstrip())
    return _call(body, result=said)


def _output(told: Any) -> tuple[str | None, int | None]:
    """Take a tool's output apart: JSON inside a text; a command's has an exit code."""
    try:
        output = json.loads(told) if isinstance(told, str) else told
    except ValueError:
        output = told
    if not isinstance(output, dict):
        return told if isinstance(told, str) or told is None else json.dumps(told), None
    code = whole(output.get("exitCode"))
    said = output.get("output") if isinstance(output.get("output"), str) else None
    return said if said is not None else json.dumps(output, sort_keys=True), code


def _failed(body: Body) -> Turn | None:
    """Read a failed call; one that a hook denied was never run, and is no failure."""
    if body.get("failure_type") == "permission_denied":
        return None
    return _call(body, error=text(body, "error_message") or "the tool failed")


def _call(body: Body, **said: Any) -> Turn | None:
    told = mapping(body.get("tool_input"))
    files = tuple(path for name in ("file_path", "path") if (path := text(told, name)))
    key = text(body, "tool_use_id") or None
    return read_call(body, key=key, files=files, model=text(body, "model") or None, **said)


def _asked(body: Body) -> Turn | None:
    prompt, asked = text(body, "prompt"), text(body, "generation_id")
    if not prompt:
        return None
    return Turn(role=Role.USER, key=f"prompt:{asked}" if asked else None, content=prompt)


def _said(body: Body) -> Turn | None:
    """Read what the agent said; no key, since it may say the same twice."""
    said = text(body, "text")
    return Turn(role=Role.ASSISTANT, content=said) if said else None


_READERS: dict[str, Reader] = {
    "preToolUse": _proposed,
    "postToolUse": _done,
    "postToolUseFailure": _failed,
    "beforeSubmitPrompt": _asked,
    "afterAgentResponse": _said,
}


# --- answering ---------------------------------------------------------------


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Say in Cursor's words what the directive asks.

    `proceed` never forces "allow": whether a tool may run at all stays between
    Cursor and its person. The directive's messages must be those meant for this
    answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        return _stopped(event, directive)
    if event.holds:
        return _tool_answer(directive)
    texts = texts_of(directive) if event.takes_messages else ""
    if not texts:
        return {}
    return {"followup_message" if event.name == "stop" else "additional_context": texts}


def _stopped(event: HookEvent, directive: Directive) -> Answer:
    """Let nothing more happen; the session itself only its person can end."""
    reason = directive.reason or STOPPED
    if event.holds:
        return _deny(f"{reason} {NO_MORE}")
    if event.name == "beforeSubmitPrompt":
        return {"continue": False, "user_message": reason}
    return {"additional_context": f"{reason} {NO_MORE}"} if event.name == "postToolUse" else {}


def _tool_answer(directive: Directive) -> Answer:
    if directive.action is DirectiveAction.HOLD:
        return _deny(STILL_HELD)
    if directive.call is CallAction.SKIP:
        return _deny(texts_of(directive) or directive.reason or NOT_RUN)
    return {}


def _deny(reason: str) -> Answer:
    """Deny a call: one text for the person, one for the model.

    Both get it: models were seen to read the one meant for the person.
    """
    return {"permission": "deny", "user_message": reason, "agent_message": reason}
