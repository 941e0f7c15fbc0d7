"""Codex CLI's hooks: bodies read, answers written.

Shapes and traps were checked against Codex CLI 0.169.0. Its hooks are commands
only. `PostToolUse` carries the bare output with no exit code, and no hook carries
token counts: both stand in the session's rollout file, from where our forwarder
adds them (`guard.adapters.codex.rollout`). No hook ends a session: `continue:
false` is refused before a tool and ignored after it, so ending it takes a signal.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from guard.adapters.base import Answer, Body
from guard.adapters.hook import HookEvent, ModelCall
from guard.adapters.reading import (
    forwarded_calls,
    mapping,
    named_subagent,
    names,
    read_answer,
    read_call,
    read_head,
    read_prompt,
    text,
    whole,
)
from guard.adapters.wording import NO_MORE, NOT_RUN, STILL_HELD, STOPPED, texts_of
from guard.formats.fields import read_time
from guard.sdk.lineage import parent_of
from guard.turn import Phase, Turn, Usage
from guard.wire import CallAction, Directive, DirectiveAction

CLIENT = "codex"
PROVIDER = "openai"

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
MODEL_READS = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse"})


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Say what can truly be done to a Codex session through its hooks.

    It is ended by a signal to its process, which our forwarder sends when it is
    told to at the next hook; a session in Codex's daemon by our process beside it, which
    interrupts its turn (`guard.adapters.codex.daemon`). Where no process of its own is known
    (an IDE's server holds many sessions), nothing ends it.
    """
    is_known = event.agent_pid or event.kept or event.daemon
    ends = {"terminate": "signal"} if is_known else {"terminate": "not", "why": _NO_PROCESS}
    # Both speak to the running turn: `guard run`, and our process beside a daemon's session.
    now = ["now"] if event.steered or event.daemon else []
    return {
        "hold": True,
        "inject": [*now, "at_next_tool", "at_stop", *(["when_idle"] if event.daemon else [])],
        "cost": "transcript" if event.forwarded else "not",
        "away": "waits" if event.forwarded else "runs",
        **ends,
    }


_NO_PROCESS = {
    "terminate": "Codex has no hook that ends a session, and this one has no process of its "
    "own that could be signalled. Hold it, or start it with `guard run -- codex …`."
}


def read(body: Body) -> HookEvent:
    """Read one hook body.

    Args:
        body: The JSON object Codex writes, with what our forwarder added: the
            `workspace` (a list of file names) and `guard` (see `codex_rollout`).

    Returns:
        The event; one we take nothing from has no turns.

    Raises:
        UnreadableHook: It has no `hook_event_name` or no `session_id`.
    """
    name, session = read_head(body, agent="Codex")
    added = mapping(body.get("guard"))
    parent, relation = parent_of(body)
    turn, goes_on = _turn(name, body), body.get("stop_hook_active") is True
    steered = added.get("steered") is True
    # A Stop that our own answer caused takes no message: answering it again would keep the
    # agent going for ever. Where `guard run` steers, it brings messages itself; only a call
    # that is not run is answered with why.
    is_read = name in MODEL_READS or (name == "Stop" and not goes_on)
    return HookEvent(
        client=CLIENT,
        name=name,
        session=session,
        cwd=text(body, "cwd"),
        prompt=text(body, "prompt") or None,
        subagent=named_subagent(body),
        workspace=names(body.get("workspace")),
        turns=(turn,) if turn else (),
        calls=tuple(
            ModelCall(
                call_id=text(row, "id"),
                source="transcript",
                usage=usage_of(mapping(row.get("usage"))),
                model=text(body, "model") or None,
                provider=PROVIDER,
                made_at=read_time(row.get("timestamp")),
            )
            for row in forwarded_calls(body) or ()
            if text(row, "id")
        ),
        holds=name in HOLDING,
        takes_messages=is_read and not steered,
        ends=name == "SessionEnd",
        stop_hook_active=goes_on,
        denial_is_read=name in HOLDING,
        forwarded=isinstance(body.get("guard"), dict),
        agent_pid=whole(added.get("pid")),
        kept=added.get("kept") is True,
        steered=steered,
        parent_key=parent,
        relation=relation,
        presence=_PRESENCE.get(name),
        daemon=added.get("daemon") is True,
    )


# Codex shows its question once our hook has answered, so it is never answered by us.
_PRESENCE: dict[str, Literal["idle", "waiting"]] = {
    "SessionStart": "idle",
    "PermissionRequest": "waiting",
    "Stop": "idle",
}


def _turn(name: str, body: Body) -> Turn | None:
    """Read what an event tells of: a call, before or after it, or what was said."""
    match name:
        case "PreToolUse":
            return _call(body, phase=Phase.PROPOSED)
        case "PostToolUse":
            output = response_text(body.get("tool_response"))
            # The rollout's exit code, else what the output itself says of one.
            code = whole(mapping(body.get("guard")).get("exit_code"))
            if code is None and (found := _SAYS_EXIT_CODE.search((output or "")[:_HEAD_CHARS])):
                code = int(found.group(1))
            failed = f"exit code {code}\n{output or ''}".rstrip() if code else None
            return _call(body, result=None if code else output, error=failed)
        case "UserPromptSubmit":
            return read_prompt(body, id_field="turn_id")
        case "Stop":
            return read_answer(body)
    return None


# The wrapping Codex gives the model; a hook gets it from older versions only.
_SAYS_EXIT_CODE = re.compile(r"(?i)\A(?:.*\n){0,4}(?:process exited with code|exit code:?) (\d+)\b")
_HEAD_CHARS = 400


def _call(body: Body, **more: Any) -> Turn | None:
    key = text(body, "tool_use_id") or None
    return read_call(body, key=key, agent=named_subagent(body), **more)


def usage_of(counts: Body) -> Usage:
    """Read Codex's token counts; its input includes what was cached, ours does not.

    >>> usage_of({"input_tokens": 1500, "cached_input_tokens": 1000, "output_tokens": 42})
    ... # doctest: +ELLIPSIS
    Usage(input=500, cache_read=1000, ..., output=42, reasoning=0)
    """
    cached = whole(counts.get("cached_input_tokens")) or 0
    written = whole(counts.get("cache_write_input_tokens")) or 0
    return Usage(
        input=max(0, (whole(counts.get("input_tokens")) or 0) - cached - written),
        cache_read=cached,
        cache_write_5m=written,
        output=whole(counts.get("output_tokens")) or 0,
        reasoning=whole(counts.get("reasoning_output_tokens")) or 0,
    )


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
    """Say in Codex's words what the directive asks.

    `proceed` says nothing: whether a tool may run stays between Codex and its
    person. The directive's messages must be those meant for this answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        return _stopped(event, directive)
    if event.holds and directive.action is DirectiveAction.HOLD:
        return _deny(event, STILL_HELD)
    if event.holds and directive.call is CallAction.SKIP:
        return _deny(event, texts_of(directive) or directive.reason or NOT_RUN)
    texts = texts_of(directive) if event.holds or event.takes_messages else ""
    if texts and event.name == "Stop":
        # Its only way to say more: not to let it end yet.
        return {"decision": "block", "reason": texts}
    return _specific(event, additionalContext=texts) if texts else {}


def _stopped(event: HookEvent, directive: Directive) -> Answer:
    """Let nothing more happen, and have the forwarder end the process it knows."""
    reason = directive.reason or STOPPED
    # No hook of Codex's ends a session: our forwarder reads this, and signals the process.
    ending: Answer = {"guard": {"end": reason}} if event.agent_pid else {}
    if event.holds:
        return _deny(event, f"{reason} {NO_MORE}") | ending
    if event.name == "UserPromptSubmit":
        return {"decision": "block", "reason": reason} | ending
    if event.name == "PostToolUse":
        return _specific(event, additionalContext=f"{reason} {NO_MORE}") | ending
    return ending


def _deny(event: HookEvent, reason: str) -> Answer:
    return _specific(event, permissionDecision="deny", permissionDecisionReason=reason)


def _specific(event: HookEvent, **fields: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event.name, **fields}}
