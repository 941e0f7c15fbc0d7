"""What every agent is told alike, whatever form its hook answers take."""

from __future__ import annotations

from typing import Any

from guard.adapters.hook import HookEvent
from guard.wire import CallAction, Directive, DirectiveAction

NO_MORE = "This session has ended: call no more tools."

STOPPED = "Stopped by Mission Control."

# A hold that could not be waited out: the server is going down.
STILL_HELD = (
    "Mission Control still holds this session, so the call was not run. "
    "Make the same call again to go on waiting."
)

# A second held call: the correction stands in the first one's answer.
NOT_RUN = "Mission Control answered another call of yours instead; this one was not run."


def texts_of(directive: Directive) -> str:
    """Return the texts of a directive's messages, one below the other."""
    return "\n\n".join(message.text for message in directive.messages)


def why_not_run(event: HookEvent, directive: Directive) -> str:
    """Say why a held call is not run, as its model reads it; "": it is, or nothing is held."""
    if event.holds and directive.action is DirectiveAction.HOLD:
        return STILL_HELD
    if event.holds and directive.call is CallAction.SKIP:
        return texts_of(directive) or directive.reason or NOT_RUN
    return ""


def deny(event: HookEvent, reason: str) -> dict[str, Any]:
    """Keep a call from running, as Claude Code and Codex are told; the model reads why."""
    return specific(event, permissionDecision="deny", permissionDecisionReason=reason)


def specific(event: HookEvent, **fields: str) -> dict[str, Any]:
    """Answer an event with fields of its own."""
    return {"hookSpecificOutput": {"hookEventName": event.name, **fields}}
