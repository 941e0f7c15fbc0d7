"""Codex CLI's hooks: reads bodies and writes answers.

Shapes and traps were checked against Codex CLI 0.171.0. Its hooks are commands only. `PostToolUse`
contains the bare output without an exit code, and no hook contains token counts: our forwarder adds
both from the session's rollout file (`adapter`). No hook ends a session: `continue: false` is
refused before a tool and ignored after it, so ending a session takes a signal.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Literal

from guard.adapters.base import (
    SESSION_ENDED,
    STOPPED,
    Answer,
    Body,
    deny,
    event_output,
    refusal_reason,
    texts_of,
)
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
    whole_number,
)
from guard.formats.codex import PROVIDER, usage_of
from guard.sdk.lineage import parent_of
from guard.turn import Phase, Turn
from guard.wire import Directive, DirectiveAction

CLIENT = "codex"

# The events `guard connect` subscribes to.
HOOKS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "SessionEnd",
)

# Events whose answer may take as long as a person does; the rest only report.
HOLDING = frozenset({"PreToolUse"})

# Events whose answer reaches the model; a Stop's does too, once.
READ_BY_MODEL = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse"})


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Return what can really be done to a Codex session through its hooks.

    A session is ended by a signal to its process, which our forwarder sends when it is told to at
    the next hook. A session in Codex's daemon is ended by our watcher, which interrupts its turn
    (`guard.adapters.codex.rpc`). If the session has no process of its own (an IDE's server holds
    many sessions), nothing ends it.
    """
    is_known = event.agent_pid or event.is_supervised or event.has_daemon
    ends = {"terminate": "signal"} if is_known else {"terminate": "not", "why": _NO_PROCESS}
    # Both reach the running turn: `guard run`, and our watcher of a daemon's session.
    now = ["now"] if event.is_steered or event.has_daemon else []
    return {
        "hold": True,
        "inject": [*now, "at_next_tool", "at_stop", *(["when_idle"] if event.has_daemon else [])],
        "cost": "transcript" if event.forwarded else "not",
        "away": "waits" if event.forwarded else "runs",
        **ends,
    }


_NO_PROCESS = {
    "terminate": "Codex has no hook that ends a session, and this one has no process of its "
    "own that could be signalled. Hold it, or start it with `guard run -- codex …`."
}


def read(body: Body) -> HookEvent:
    """Read one hook body; an event that we do not use has no turns."""
    event, facts = read_event(body, client=CLIENT, title="Codex"), mapping(body.get("guard"))
    turn: Turn | None = None
    match event.name:
        case "PreToolUse":
            turn = _read_call(body, phase=Phase.PROPOSED)
        case "PostToolUse":
            output = response_text(body.get("tool_response"))
            # The rollout's exit code; without it, the one stated in the output.
            code = whole_number(facts.get("exit_code"))
            if code is None and (found := _EXIT_CODE.search((output or "")[:_MAX_HEAD_CHARS])):
                code = int(found.group(1))
            failed = f"exit code {code}\n{output or ''}".rstrip() if code else None
            turn = _read_call(body, result=None if code else output, error=failed)
        case "UserPromptSubmit":
            turn = read_prompt(body, id_field="turn_id")
        case "Stop":
            turn = read_last_message(body)
    parent, relation = parent_of(body)
    steered = facts.get("steered") is True
    # A Stop that our own answer caused takes no message: it would keep the agent going for ever.
    # Where `guard run` steers, it sends messages itself; a call that is not run still gets the
    # reason.
    is_read = event.name in READ_BY_MODEL or (event.name == "Stop" and not event.stop_hook_active)
    return replace(
        event,
        subagent=subagent_name(body),
        turns=(turn,) if turn else (),
        calls=calls_of(body),
        holds=event.name in HOLDING,
        takes_messages=is_read and not steered,
        ends_session=event.name == "SessionEnd",
        denial_is_read=event.name in HOLDING,
        agent_pid=whole_number(facts.get("pid")),
        is_supervised=facts.get("kept") is True,
        is_steered=steered,
        parent_key=parent,
        relation=relation,
        presence=_PRESENCE.get(event.name),
        has_daemon=facts.get("daemon") is True,
    )


# Codex shows its question only after our hook has answered, so we never answer it.
_PRESENCE: dict[str, Literal["idle", "waiting"]] = {
    "SessionStart": "idle",
    "PermissionRequest": "waiting",
    "Stop": "idle",
}


# The header that Codex puts before the output; only older versions give it to a hook.
_EXIT_CODE = re.compile(r"(?i)\A(?:.*\n){0,4}(?:process exited with code|exit code:?) (\d+)\b")
_MAX_HEAD_CHARS = 400


def _read_call(body: Body, **more: Any) -> Turn | None:
    key = text(body, "tool_use_id") or None
    return read_call(body, key=key, agent=subagent_name(body), **more)


def response_text(response: Any) -> str | None:
    r"""Turn a tool's answer into the text the model read: a command's is a string.

    >>> response_text("one\n")
    'one\n'
    >>> response_text({"content": [{"type": "text", "text": "from a server"}]})
    'from a server'
    """
    if response is None or isinstance(response, str):
        return response
    blocks = response.get("content") if isinstance(response, dict) else response
    if isinstance(blocks, list) and all(isinstance(b, dict) and "text" in b for b in blocks):
        return "\n".join(str(block["text"]) for block in blocks)
    return json.dumps(response, sort_keys=True)


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Write the directive as Codex's hook answer.

    `proceed` answers nothing: whether a tool may run is decided by Codex and its person. The
    directive's messages must be those for this answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        # Nothing more may happen. No hook of Codex ends a session: our forwarder reads "guard", and
        # signals the process that it knows.
        reason, reply = directive.reason or STOPPED, Answer()
        if event.holds:
            reply = deny(event, f"{reason} {SESSION_ENDED}")
        elif event.name == "UserPromptSubmit":
            reply = {"decision": "block", "reason": reason}
        elif event.name == "PostToolUse":
            reply = event_output(event, additionalContext=f"{reason} {SESSION_ENDED}")
        return reply | ({"guard": {"end": reason}} if event.agent_pid else {})
    if reason := refusal_reason(event, directive):
        return deny(event, reason)
    texts = texts_of(directive) if event.holds or event.takes_messages else ""
    if texts and event.name == "Stop":
        # A Stop hook can give a text only by preventing the end.
        return {"decision": "block", "reason": texts}
    return event_output(event, additionalContext=texts) if texts else {}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls in a forwarded body, oldest first."""
    model = text(body, "model")
    return forwarded_calls(body, usage_of, provider=PROVIDER, model=model) or ()
