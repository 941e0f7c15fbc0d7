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
from guard.adapters.reading import mapping, rows_at_end
from guard.formats.fields import read_count, read_text, read_time
from guard.formats.gemini import usage_of
from guard.turn import Usage

PROVIDER = "google"

TAIL_BYTES = 512 * 1024
"""Of a transcript that are looked at: the last call stands at its very end."""

MOST_CALLS = 8
"""Told again with each hook, so that one that got lost is made good."""

MOST_SUBAGENTS = 4


def look_up(body: Body) -> dict[str, Any]:
    """Return what our forwarder adds to a body: the transcript's last model calls.

    None are told where there is no transcript; no text of it is ever sent.
    """
    path = Path(str(body.get("transcript_path") or ""))
    if not path.is_file():
        return {"guard": {}}
    session = str(body.get("session_id") or "")
    calls = [call for file in (*_subagents(path, session), path) for call in _last_calls(file)]
    return {"guard": {"model_calls": calls}}


def calls_of(body: Body) -> tuple[ModelCall, ...]:
    """Return the model calls a body tells of, oldest first.

    AfterModel counts where there is no transcript, once an answer is complete:
    each piece of a streamed answer repeats the usage so far.
    """
    told = mapping(body.get("guard")).get("model_calls")
    if isinstance(told, list):
        calls = (_transcribed(row) for row in told if isinstance(row, dict))
        return tuple(call for call in calls if call is not None)
    ended = _ended_call(body) if body.get("hook_event_name") == "AfterModel" else None
    return (ended,) if ended else ()


def _transcribed(row: Mapping[str, Any]) -> ModelCall | None:
    name, usage = read_text(row.get("id")), usage_of(row.get("tokens"))
    if not name or usage is None:
        return None
    return ModelCall(
        call_id=name,
        source="transcript",
        model=read_text(row.get("model")),
        provider=PROVIDER,
        usage=usage,
        made_at=read_time(row.get("timestamp")),
    )


def _ended_call(body: Body) -> ModelCall | None:
    request, response = mapping(body.get("llm_request")), mapping(body.get("llm_response"))
    told = mapping(response.get("usageMetadata"))
    if not told or not _is_complete(response):
        return None
    at = read_text(body.get("timestamp"))
    return ModelCall(
        call_id=f"model@{at}",
        source="turns",
        model=read_text(request.get("model")),
        provider=PROVIDER,
        usage=usage_from_metadata(told),
        made_at=read_time(at),
    )


def usage_from_metadata(told: Mapping[str, Any]) -> Usage:
    """Read the API's own count: its prompt includes what was cached.

    What a total has beyond prompt and candidates was thought, and is billed as output.

    >>> usage_from_metadata({"promptTokenCount": 1500, "cachedContentTokenCount": 1000,
    ...     "candidatesTokenCount": 42, "totalTokenCount": 1552})
    Usage(input=500, cache_read=1000, cache_write_5m=0, cache_write_1h=0, output=52, reasoning=10)
    """
    prompt, cached = _count(told, "promptTokenCount"), _count(told, "cachedContentTokenCount")
    tool, said = _count(told, "toolUsePromptTokenCount"), _count(told, "candidatesTokenCount")
    rest = _count(told, "totalTokenCount") - prompt - tool - said
    thought = _count(told, "thoughtsTokenCount") or max(0, rest)
    return Usage(
        input=max(0, prompt - cached) + tool,
        cache_read=cached,
        output=said + thought,
        reasoning=thought,
    )


def _is_complete(response: Mapping[str, Any]) -> bool:
    candidates = response.get("candidates")
    return isinstance(candidates, list) and any(
        isinstance(candidate, dict) and candidate.get("finishReason") for candidate in candidates
    )


def _subagents(transcript: Path, session: str) -> list[Path]:
    """Subagents write into a folder named after their session; the newest matter."""
    if not session or "/" in session or session.startswith("."):
        return []
    files = sorted((transcript.parent / session).glob("*.jsonl"), key=_changed_at)
    return files[-MOST_SUBAGENTS:]


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _last_calls(path: Path) -> list[dict[str, Any]]:
    """Return the last answers of the model, each once, without what they said."""
    calls: dict[str, dict[str, Any]] = {}
    for row in rows_at_end(path, most_bytes=TAIL_BYTES):
        if row.get("type") == "gemini" and row.get("tokens") and row.get("id"):
            kept = {name: row.get(name) for name in ("id", "model", "tokens", "timestamp")}
            calls[str(row["id"])] = kept
    return list(calls.values())[-MOST_CALLS:]


def _count(told: Mapping[str, Any], name: str) -> int:
    return read_count(told.get(name))
