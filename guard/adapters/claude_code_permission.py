"""Claude Code's question whether a call is permitted, answered from the allowlist. Pure.

Checked against Claude Code 2.1.330: a rule added for the session lets the same command
run without another question.
"""

from __future__ import annotations

from typing import Any

from guard.adapters.hook import HookEvent
from guard.wire import Directive, DirectiveAction

WILD = frozenset("*()\\\n\r")
"""A command with one of these is no literal in a rule of Claude Code's: `rm *` as a rule
would permit `rm anything`."""


def answer(event: HookEvent, directive: Directive) -> dict[str, Any]:
    """Permit what people allowlisted, end what they ended; else leave it to the person.

    The rule lives as long as the session, and is never wider than the call on the card.
    """
    if directive.action is DirectiveAction.STOP:
        reason = directive.reason or "Stopped by Mission Control."
        return _decision({"behavior": "deny", "message": reason, "interrupt": True})
    if event.grant is None:
        return {}
    rule = exact_rule(event) if event.grant == "session" else None
    remembered = {"updatedPermissions": [rule]} if rule else {}
    return _decision({"behavior": "allow", **remembered})


def exact_rule(event: HookEvent) -> dict[str, Any] | None:
    """Write a rule that permits this one call; None: no rule is that narrow."""
    call = event.asks
    command = (call.args or {}).get("command") if call else None
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
