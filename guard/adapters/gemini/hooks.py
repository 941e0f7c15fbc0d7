"""Gemini CLI's hooks: reads bodies and writes answers.

Shapes and traps were checked against Gemini CLI 0.61.0, its source and its runs. Calls have no id:
a call is identified by its content, and its outcome belongs to the last open call with the same
content.

AfterModel reports prompt, candidates and total, but not how much of the prompt was cached. The
transcript does, and names each call; our forwarder, which runs beside it, sends the last ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from guard.adapters.base import STOPPED, Answer, Body, refusal_reason, texts_of
from guard.adapters.hook import HookEvent, ModelCall
from guard.adapters.parsing import forwarded_calls, mapping, read_call, read_event, text
from guard.formats.fields import read_count, read_text, read_time
from guard.formats.gemini import usage_of
from guard.turn import Phase, Role, Turn, Usage
from guard.wire import Directive, DirectiveAction

CLIENT = "gemini"

# The events `guard connect` subscribes to.
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

# Events whose answer may take as long as a person does; the rest only report.
HOLDING = frozenset({"BeforeTool"})


def capabilities(event: HookEvent) -> dict[str, Any]:
    """Return what can really be done to a Gemini CLI session through its hooks."""
    return {
        "hold": True,
        "inject": ["at_next_tool", "at_stop"],
        "terminate": "hook",
        "cost": "transcript" if event.forwarded else "turns",
        "away": "waits" if event.forwarded else "runs",
    }


def read(body: Body) -> HookEvent:
    """Read one hook body; an event that we do not use has no turns."""
    event = read_event(body, client=CLIENT, title="Gemini CLI")
    turn, at = None, text(body, "timestamp")
    # Only rest and questions to its person are reported here; turns report the work.
    presence: Literal["idle", "waiting"] | None = None
    match event.name:
        case "SessionStart":
            presence = "idle"
        case "BeforeAgent" if event.prompt:
            turn = Turn(role=Role.USER, key=f"prompt@{at}", content=event.prompt)
        case "BeforeTool":
            turn = _read_call(body, phase=Phase.PROPOSED)
        case "AfterTool":
            result, error = response_text(body.get("tool_response")), _tool_error(body)
            # No field says that a command failed: its text ends with an exit code.
            shell = text(body, "tool_name") == _SHELL_TOOL
            if error is None and shell and _FAILED.search(result or ""):
                error = result
            turn = _read_call(body, result=None if error else result, error=error)
        case "AfterAgent":
            presence = "idle"
            if answered := text(body, "prompt_response"):
                turn = Turn(role=Role.ASSISTANT, key=f"finished@{at}", content=answered)
        case "Notification" if text(body, "notification_type") == "ToolPermission":
            presence = "waiting"
    # Before a tool only a denial is read. An AfterAgent that our own answer caused takes no
    # message: if denied again and again, Gemini CLI retries until its stack overflows.
    ends_afresh = event.name == "AfterAgent" and not event.stop_hook_active
    return replace(
        event,
        turns=(turn,) if turn else (),
        calls=calls_of(body),
        holds=event.name in HOLDING,
        takes_messages=event.name in {"BeforeAgent", "AfterTool"} or ends_afresh,
        denial_is_read=event.name == "BeforeTool",
        ends_session=event.name == "SessionEnd",
        proposal_prefix=call_prefix(body) if event.name == "AfterTool" else "",
        shown_to_model=_tool_error(body) or "",
        presence=presence,
    )


def _read_call(body: Body, **more: Any) -> Turn | None:
    # Gemini CLI gives calls no id: their content and time replace it.
    key = f"{call_prefix(body)}{text(body, 'timestamp')}"
    paths = ("file_path", "absolute_path", "path")
    return read_call(body, key=key, paths=paths, **more)


def reports_missing_path(body: Body) -> bool:
    """Whether a call looked for a file that is not there."""
    error = mapping(mapping(body.get("tool_response")).get("error"))
    return error.get("type") == "file_not_found"


def call_prefix(body: Body) -> str:
    """Return the beginning of a call's key, which is the same for equal calls."""
    call = json.dumps([body.get("tool_name"), body.get("tool_input")], sort_keys=True)
    return f"{hashlib.sha256(call.encode()).hexdigest()[:24]}@"


_SHELL_TOOL = "run_shell_command"

_WRAPPED = re.compile(r"\A<untrusted_context>\n(.*)\n</untrusted_context>\Z", re.DOTALL)
# The end of a shell call's text: a different number each time, without a meaning.
_PROCESS = re.compile(r"\n(?:Background PIDs: [\d, ]+\n)?Process Group PGID: \d+\Z")
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
    shown = _plain_text(content)
    wrapped = _WRAPPED.match(shown)
    return _PROCESS.sub("", wrapped[1] if wrapped else shown)


def _plain_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_plain_text(part) for part in content)
    if isinstance(content, dict) and isinstance(content.get("text"), str):
        return str(content["text"])
    return json.dumps(content, sort_keys=True)


def _tool_error(body: Body) -> str | None:
    """Return the text for the model in place of a result, if the tool itself failed."""
    error = mapping(body.get("tool_response")).get("error")
    if not error:
        return None
    message = error.get("message") if isinstance(error, dict) else error
    return str(message or "the tool failed")


def answer(event: HookEvent, directive: Directive) -> Answer:
    """Write the directive as Gemini CLI's hook answer.

    `proceed` never forces "allow": whether a tool may run at all is decided by Gemini CLI and its
    person. The directive's messages must be those for this answer.
    """
    if event.is_probe:
        return {}
    if directive.action is DirectiveAction.STOP:
        # Before a tool only this keeps it from running.
        return {"continue": False, "stopReason": directive.reason or STOPPED}
    if reason := refusal_reason(event, directive):
        return _deny(reason)
    texts = texts_of(directive) if event.takes_messages and not event.holds else ""
    # The model reads a tool's own error without a hook's additional context: the note is therefore
    # sent with the error, in its place. At the end the note is the next prompt.
    if texts and (event.shown_to_model or event.name == "AfterAgent"):
        return _deny(f"{event.shown_to_model}\n\n{texts}" if event.shown_to_model else texts)
    more = {"hookEventName": event.name, "additionalContext": texts}
    return {"hookSpecificOutput": more} if texts else {}


def _deny(reason: str) -> Answer:
    return {"decision": "deny", "reason": reason}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls in a body, oldest first.

    Without a transcript, AfterModel counts once an answer is complete: each piece of a streamed
    answer repeats the usage so far.
    """
    calls = forwarded_calls(body, usage_of, provider="google", counts="tokens")
    if calls is not None:
        return calls
    request, response = mapping(body.get("llm_request")), mapping(body.get("llm_response"))
    counts, candidates = mapping(response.get("usageMetadata")), response.get("candidates")
    is_complete = isinstance(candidates, list) and any(
        mapping(candidate).get("finishReason") for candidate in candidates
    )
    if body.get("hook_event_name") != "AfterModel" or not counts or not is_complete:
        return ()
    at = read_text(body.get("timestamp"))
    ended = ModelCall(
        # The hook has no id for a call; no two answers of a session end at the same instant.
        call_id=f"model@{at}",
        source="turns",
        model=read_text(request.get("model")),
        provider="google",
        usage=usage_from_metadata(counts),
        made_at=read_time(at),
    )
    return (ended,)


def usage_from_metadata(counts: Mapping[str, Any]) -> Usage:
    """Read the API's own count: its prompt includes what was cached.

    The part of a total beyond prompt and candidates is reasoning, billed as output.

    >>> usage_from_metadata({"promptTokenCount": 1500, "cachedContentTokenCount": 1000,
    ...     "candidatesTokenCount": 42, "totalTokenCount": 1552})
    Usage(input=500, cache_read=1000, cache_write_5m=0, cache_write_1h=0, output=52, reasoning=10)
    """
    names = ("prompt", "cachedContent", "toolUsePrompt", "candidates", "total", "thoughts")
    counted = (read_count(counts.get(f"{name}TokenCount")) for name in names)
    prompt, cached, tool, answer, total, thoughts = counted
    thought = thoughts or max(0, total - prompt - tool - answer)
    return Usage(
        input=max(0, prompt - cached) + tool,
        cache_read=cached,
        output=answer + thought,
        reasoning=thought,
    )
