"""Claude Code's question whether a call is permitted: from the allowlist, or by people. Pure.

Checked against Claude Code 2.1.330: a rule added for the session lets the same command
run without another question. Its dialog stands at the terminal while our hook waits, and
the first answer wins; refused there, or left, our request is cut, permitted there it stays
open. A hook that answers nothing, or fails, leaves the dialog as it is.
"""

from __future__ import annotations

from typing import Any

from guard.adapters.hook import HookEvent
from guard.adapters.wording import STOPPED
from guard.wire import Directive, DirectiveAction

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


def answer(event: HookEvent, directive: Directive) -> dict[str, Any]:
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
