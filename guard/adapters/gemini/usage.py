"""What Gemini CLI's model calls used: from its hooks, and from its transcript.

Its AfterModel hook (0.61.0) tells prompt, candidates and total, but not how much of
the prompt was cached. The transcript does, and names each call; our forwarder, which
runs beside it, reads the last calls there and sends them along.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guard.adapters.base import Body
from guard.adapters.hook import ModelCall
from guard.adapters.reading import forwarded_calls, mapping, newest, rows_at_end
from guard.formats.fields import read_count, read_text, read_time
from guard.formats.gemini import usage_of
from guard.turn import Usage

PROVIDER = "google"

# Of a transcript that are looked at: the last call stands at its very end.
TAIL_BYTES = 512 * 1024

# Told again with each hook, so that one that got lost is made good.
MOST_CALLS = 8

MOST_SUBAGENTS = 4


def look_up(body: Body) -> dict[str, Any]:
    """Return what our forwarder adds to a body: the transcript's last model calls.

    None are told where there is no transcript; no text of it is ever sent.
    """
    path = Path(str(body.get("transcript_path") or ""))
    if not path.is_file():
        return {"guard": {}}
    session, files = str(body.get("session_id") or ""), [path]
    # Subagents write into a folder named after their session. The name comes from outside: one
    # that leads elsewhere is not followed.
    if session and "/" not in session and not session.startswith("."):
        files = [*newest(path.parent / session, "*.jsonl", most=MOST_SUBAGENTS), path]
    calls = []
    for file in files:
        # By id, since an answer is written anew as it grows; without what it said.
        last: dict[str, dict[str, Any]] = {}
        for row in rows_at_end(file, most_bytes=TAIL_BYTES):
            if row.get("type") == "gemini" and row.get("tokens") and row.get("id"):
                kept = {name: row.get(name) for name in ("id", "model", "tokens", "timestamp")}
                last[str(row["id"])] = kept
        calls += list(last.values())[-MOST_CALLS:]
    return {"guard": {"model_calls": calls}}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls a body tells of, oldest first.

    AfterModel counts where there is no transcript, once an answer is complete:
    each piece of a streamed answer repeats the usage so far.
    """
    calls = forwarded_calls(body, usage_of, provider=PROVIDER, counts="tokens")
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
        # The hook gives a call no id; no two answers of a session end in one instant.
        call_id=f"model@{at}",
        source="turns",
        model=read_text(request.get("model")),
        provider=PROVIDER,
        usage=usage_from_metadata(counts),
        made_at=read_time(at),
    )
    return (ended,)


def usage_from_metadata(counts: Mapping[str, Any]) -> Usage:
    """Read the API's own count: its prompt includes what was cached.

    What a total has beyond prompt and candidates was thought, and is billed as output.

    >>> usage_from_metadata({"promptTokenCount": 1500, "cachedContentTokenCount": 1000,
    ...     "candidatesTokenCount": 42, "totalTokenCount": 1552})
    Usage(input=500, cache_read=1000, cache_write_5m=0, cache_write_1h=0, output=52, reasoning=10)
    """
    names = ("prompt", "cachedContent", "toolUsePrompt", "candidates", "total", "thoughts")
    told = (read_count(counts.get(f"{name}TokenCount")) for name in names)
    prompt, cached, tool, answer, total, thoughts = told
    thought = thoughts or max(0, total - prompt - tool - answer)
    return Usage(
        input=max(0, prompt - cached) + tool,
        cache_read=cached,
        output=answer + thought,
        reasoning=thought,
    )
