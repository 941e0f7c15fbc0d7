"""Gemini CLI's hooks: bodies read, answers written.

Shapes and traps were checked against Gemini CLI 0.61.0, its source and its runs.
Calls have no id: a call is known by what it does, and its outcome finds the last
open one that does the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Literal

from guard.adapters.base import Answer, Body
from guard.adapters.gemini.usage import calls_of
from guard.adapters.hook import HookEvent
from guard.adapters.reading import Reader, mapping, names, read_call, read_head, read_turns, text
from guard.adapters.wording import NOT_RUN, STILL_HELD, STOPPED, texts_of
from guard.turn import Phase, Role, Turn
from guard.wire import CallAction, Directive, DirectiveAction

CLIENT = "gemini"

HOOKS = (
    "SessionStart",
    "BeforeAgent",
    "BeforeTool",
    "AfterTool",
    "AfterModel",
    "AfterAgent",
    "Notification",
    "SessionEnd",
)
"""The events `guard connect` subscribes to."""

HOLDING = frozenset({"BeforeTool"})
"""Events whose answer may take as long as a person does; the rest only report."""


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Say what can truly be done to a Gemini CLI session through its hooks."""
    return {
        "hold": True,
        "inject": ["at_next_tool", "at_stop"],
        "terminate": "hook",
        "cost": "transcript" if event.forwarded else "turns",
        "away": "waits" if event.forwarded else "runs",
    }


# --- reading -----------------------------------------------------------------


def read(body: Body) -> HookEvent:
    """Read one hook body.

    Args:
        body: The JSON object Gemini CLI writes, with what our forwarder added:
            `workspace` (file names) and `guard` (the transcript's last model calls).

    Returns:
        The event; one we take nothing from has no turns.

    Raises:
        UnreadableHook: It has no `hook_event_name` or no `session_id`.
    """
    name, session = read_head(body, agent="Gemini CLI")
    return HookEvent(
        client=CLIENT,
        name=name,
        session=session,
        cwd=text(body, "cwd"),
        prompt=text(body, "prompt") or None,
        workspace=names(body.get("workspace")),
        turns=read_turns(_READERS, name, body),
        calls=calls_of(body),
        holds=name in HOLDING,
        takes_messages=_takes_messages(name, body),
        denial_is_read=name == "BeforeTool",
        ends=name == "SessionEnd",
        stop_hook_active=body.get("stop_hook_active") is True,
        outcome_of=alike(body) if name == "AfterTool" else "",
        shown_to_model=_tool_error(body) or "",
        forwarded=isinstance(body.get("guard"), dict),
        presence=_presence(name, body),
    )


def _presence(name: str, body: Body) -> Literal["idle", "waiting"] | None:
    """Tell a session that rests, and one that asks its person; turns tell of work."""
    if name == "Notification" and text(body, "notification_type") == "ToolPermission":
        return "waiting"
    return "idle" if name in {"SessionStart", "AfterAgent"} else None


def _takes_messages(name: str, body: Body) -> bool:
    """Whether the model reads what we add to this answer.

    Before a tool only a denial is read. An AfterAgent that our own answer caused
    takes none: denied again and again, Gemini CLI retries until its stack is full.
    """
    if name == "AfterAgent":
        return body.get("stop_hook_active") is not True
    return name in {"BeforeAgent", "AfterTool"}


def _proposed(body: Body) -> Turn | None:
    return _call(body, phase=Phase.PROPOSED)


def _done(body: Body) -> Turn | None:
    failed, said = _failure(body), response_text(body.get("tool_response"))
    return _call(body, result=None if failed else said, error=failed)


def _call(body: Body, **said: Any) -> Turn | None:
    told = mapping(body.get("tool_input"))
    fields = ("file_path", "absolute_path", "path")
    files = tuple(path for name in fields if (path := text(told, name)))
    key = f"{alike(body)}{text(body, 'timestamp')}"
    return read_call(body, key=key, files=files, **said)


def misses(body: Body) -> bool:
    """Whether a call looked for a file that is not there."""
    error = mapping(mapping(body.get("tool_response")).get("error"))
    return error.get("type") == "file_not_found"


def alike(body: Body) -> str:
    """Name what a call does: the beginning of its key, the same for an equal call."""
    told = json.dumps([body.get("tool_name"), body.get("tool_input")], sort_keys=True)
    return f"{hashlib.sha256(told.encode()).hexdigest()[:24]}@"


def _asked(body: Body) -> Turn | None:
    prompt = text(body, "prompt")
    if not prompt:
        return None
    return Turn(role=Role.USER, key=f"prompt@{text(body, 'timestamp')}", content=prompt)


def _finished(body: Body) -> Turn | None:
    said = text(body, "prompt_response")
    key = f"finished@{text(body, 'timestamp')}"
    return Turn(role=Role.ASSISTANT, key=key, content=said) if said else None


_READERS: dict[str, Reader] = {
    "BeforeTool": _proposed,
    "AfterTool": _done,
    "BeforeAgent": _asked,
    "AfterAgent": _finished,
}

_SHELL = "run_shell_command"

_WRAPPED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)
_PROCESS = re.compile(r"\n(?:Background PIDs: [\d, ]+\n)?Process Group PGID: \d+\Z")
"""What a shell call's text ends with: another number each time, of no meaning."""
_FAILED = re.compile(r"^(?:Exit Code: -?[1-9]\d*|Signal: \w+)(?:\nSignal: \w+)?\Z", re.MULTILINE)


def response_text(response: Any) -> str | None:
    r"""Turn a tool's answer into the text the model read, less what Gemini wraps it in.

    >>> response_text({"llmContent": "Output: one\nProcess Group PGID: 26133"})
    'Output: one'
    >>> response_text({"llmContent": [{"text": "a"}, {"text": "b"}]})
    'a\nb'
    """
    content = response.get("llmContent") if isinstance(response, dict) else response
    if content is None:
        return None
    said = _plain(content)
    wrapped = _WRAPPED.match(said)
    return _PROCESS.sub("", wrapped[1] if wrapped else said)


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_plain(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, sort_keys=True)


def _failure(body: Body) -> str | None:
    """Tell a failed call: no field says it of a command that ran and failed."""
    told = _tool_error(body)
    if told is not None:
        return told
    said = response_text(body.get("tool_response")) or ""
    failed = text(body, "tool_name") == _SHELL and _FAILED.search(said)
    return said if failed else None


def _tool_error(body: Body) -> str | None:
    """Say what the model reads instead of a result, where the tool itself failed."""
    error = mapping(body.get("tool_response")).get("error")
    if not error:
        return None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "the tool failed")


# --- answering ---------------------------------------------------------------


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Say in Gemini CLI's words what the directive asks.

    `proceed` never forces "allow": whether a tool may run at all stays between
    Gemini CLI and its person. The directive's messages must be those meant for
    this answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        # Before a tool this alone keeps it from running.
        return {"continue": False, "stopReason": directive.reason or STOPPED}
    if event.holds:
        if directive.action is DirectiveAction.HOLD:
            return _deny(STILL_HELD)
        if directive.call is CallAction.SKIP:
            return _deny(texts_of(directive) or directive.reason or NOT_RUN)
        return {}
    texts = texts_of(directive) if event.takes_messages else ""
    return _note(event, texts) if texts else {}


def _note(event: HookEvent, texts: str) -> Answer:
    """Add to what the model reads next.

    A tool's own error is read alone, without what a hook would add: there the
    note goes with the error, in its place. At the end it is the next prompt.
    """
    if event.shown_to_model:
        return _deny(f"{event.shown_to_model}\n\n{texts}")
    if event.name == "AfterAgent":
        return _deny(texts)
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": texts}}


def _deny(reason: str) -> Answer:
    return {"decision": "deny", "reason": reason}
