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
    Reader,
    mapping,
    named_subagent,
    names,
    read_call,
    read_head,
    read_turns,
    text,
    whole,
)
from guard.adapters.wording import NO_MORE, NOT_RUN, STILL_HELD, STOPPED, texts_of
from guard.formats.fields import read_time
from guard.sdk.lineage import parent_of
from guard.turn import Phase, Role, Turn, Usage
from guard.wire import CallAction, Directive, DirectiveAction

CLIENT = "codex"
PROVIDER = "openai"

HOOKS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Stop",
    "SessionEnd",
)
"""The events `guard connect` subscribes to."""

HOLDING = frozenset({"PreToolUse"})
"""Events whose answer may take as long as a person does; the rest only report."""


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Say what can truly be done to a Codex session through its hooks.

    It is ended by a signal to its process, which our forwarder sends when it is
    told to at the next hook; a session in Codex's daemon by our process beside it, which
    interrupts its turn (`guard.adapters.codex.daemon`). Where no process of its own is known
    (an IDE's
    server holds many sessions), nothing ends it.
    """
    is_known = event.agent_pid or event.kept or event.daemon
    ends = {"terminate": "signal"} if is_known else {"terminate": "not", "why": _NO_PROCESS}
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


# --- reading -----------------------------------------------------------------


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
    told = mapping(body.get("guard"))
    parent, relation = parent_of(body)
    return HookEvent(
        client=CLIENT,
        name=name,
        session=session,
        cwd=text(body, "cwd"),
        prompt=text(body, "prompt") or None,
        subagent=named_subagent(body),
        workspace=names(body.get("workspace")),
        turns=read_turns(_READERS, name, body),
        calls=_calls(body),
        holds=name in HOLDING,
        takes_messages=_takes_messages(name, body),
        ends=name == "SessionEnd",
        stop_hook_active=body.get("stop_hook_active") is True,
        denial_is_read=name in HOLDING,
        forwarded=isinstance(body.get("guard"), dict),
        agent_pid=whole(told.get("pid")),
        kept=told.get("kept") is True,
        steered=told.get("steered") is True,
        parent_key=parent,
        relation=relation,
        presence=_PRESENCE.get(name),
        daemon=told.get("daemon") is True,
    )


_PRESENCE: dict[str, Literal["idle", "waiting"]] = {
    "SessionStart": "idle",
    "PermissionRequest": "waiting",
    "Stop": "idle",
}
"""Codex shows its question once our hook has answered, so it is never answered by us."""


def _takes_messages(name: str, body: Body) -> bool:
    """Whether the model reads what we answer.

    A Stop that our own answer caused takes none: answering it again would keep
    the agent going for ever. Where `guard run` steers, it brings them itself; only
    a call that is not run is answered with why.
    """
    if mapping(body.get("guard")).get("steered") is True:
        return False
    if name == "Stop":
        return body.get("stop_hook_active") is not True
    return name in {"UserPromptSubmit", "PreToolUse", "PostToolUse"}


def _proposed(body: Body) -> Turn | None:
    return _call(body, phase=Phase.PROPOSED)


def _done(body: Body) -> Turn | None:
    said = response_text(body.get("tool_response"))
    # The rollout's exit code, else what the output itself says of one.
    told = whole(mapping(body.get("guard")).get("exit_code"))
    code: int | None = told
    if told is None:
        found = _SAYS_EXIT_CODE.search((said or "")[:_HEAD_CHARS])
        code = int(found.group(1)) if found else None
    if code:
        return _call(body, error=f"exit code {code}\n{said or ''}".rstrip())
    return _call(body, result=said)


_SAYS_EXIT_CODE = re.compile(r"(?i)\A(?:.*\n){0,4}(?:process exited with code|exit code:?) (\d+)\b")
"""The wrapping Codex gives the model; a hook gets it from older versions only."""
_HEAD_CHARS = 400


def _call(body: Body, **said: Any) -> Turn | None:
    key = text(body, "tool_use_id") or None
    return read_call(body, key=key, agent=named_subagent(body), **said)


def _asked(body: Body) -> Turn | None:
    prompt, turn = text(body, "prompt"), text(body, "turn_id")
    if not prompt:
        return None
    return Turn(role=Role.USER, key=f"prompt:{turn}" if turn else None, content=prompt)


def _finished(body: Body) -> Turn | None:
    """Read what the agent said last; no key, since it may say the same twice."""
    said = text(body, "last_assistant_message")
    if not said:
        return None
    return Turn(role=Role.ASSISTANT, agent=named_subagent(body), content=said)


_READERS: dict[str, Reader] = {
    "PreToolUse": _proposed,
    "PostToolUse": _done,
    "UserPromptSubmit": _asked,
    "Stop": _finished,
}


def _calls(body: Body) -> tuple[ModelCall, ...]:
    """Take the model calls our forwarder read in the rollout."""
    told = mapping(body.get("guard")).get("model_calls")
    rows = (row for row in (told if isinstance(told, list) else ()) if isinstance(row, dict))
    return tuple(
        ModelCall(
            call_id=text(row, "id"),
            source="transcript",
            usage=usage_of(mapping(row.get("usage"))),
            model=text(body, "model") or None,
            provider=PROVIDER,
            made_at=read_time(row.get("timestamp")),
        )
        for row in rows
        if text(row, "id")
    )


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


# --- answering ---------------------------------------------------------------


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Say in Codex's words what the directive asks.

    `proceed` says nothing: whether a tool may run stays between Codex and its
    person. The directive's messages must be those meant for this answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        return _stopped(event, directive)
    if event.holds:
        if directive.action is DirectiveAction.HOLD:
            return _deny(event, STILL_HELD)
        if directive.call is CallAction.SKIP:
            return _deny(event, texts_of(directive) or directive.reason or NOT_RUN)
        return _note(event, directive)
    return _note(event, directive) if event.takes_messages else {}


def _stopped(event: HookEvent, directive: Directive) -> Answer:
    """Let nothing more happen, and have the forwarder end the process it knows."""
    reason = directive.reason or STOPPED
    ending: Answer = {"guard": {"end": reason}} if event.agent_pid else {}
    if event.holds:
        return _deny(event, f"{reason} {NO_MORE}") | ending
    if event.name == "UserPromptSubmit":
        return {"decision": "block", "reason": reason} | ending
    if event.name == "PostToolUse":
        return _specific(event, additionalContext=f"{reason} {NO_MORE}") | ending
    return ending


def _note(event: HookEvent, directive: Directive) -> Answer:
    texts = texts_of(directive)
    if not texts:
        return {}
    if event.name == "Stop":  # its only way to say more: not to let it end yet
        return {"decision": "block", "reason": texts}
    return _specific(event, additionalContext=texts)


def _deny(event: HookEvent, reason: str) -> Answer:
    return _specific(event, permissionDecision="deny", permissionDecisionReason=reason)


def _specific(event: HookEvent, **fields: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event.name, **fields}}
