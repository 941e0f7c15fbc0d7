"""What `guard run -- codex exec` shows: as Codex does, events or the last message."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guard.adapters.reading import mapping, text
from guard.running.codex_items import line_of, snake


class CodexOutput:
    """Shows a session as it goes; `as_json`: one event a line on standard output."""

    def __init__(self, *, as_json: bool, last_message: Path | None) -> None:
        self._as_json, self._file = as_json, last_message
        self._said = ""
        self._used: Mapping[str, Any] = {}

    def thread(self, thread_id: str) -> None:
        """The session has begun."""
        self._event("thread.started", thread_id=thread_id)

    def show(self, method: str, params: Mapping[str, Any]) -> None:
        """Show a notice."""
        if method == "thread/tokenUsage/updated":
            self._used = mapping(mapping(params.get("tokenUsage")).get("total"))
        elif method == "turn/started":
            self._event("turn.started")
        elif method in {"item/started", "item/completed"}:
            item = mapping(params.get("item"))
            # What the person asked is no output of the agent's.
            if text(item, "type") == "userMessage":
                return
            self._event(method.replace("/", "."), item=snake(dict(item)))
            if method != "item/completed":
                return
            if text(item, "type") == "agentMessage":
                self._said = text(item, "text")
            if not self._as_json and (line := line_of(item)):
                sys.stderr.write(f"{line}\n")
        elif method == "turn/completed":
            self._event("turn.completed", usage=snake(dict(self._used)))
            if fault := mapping(mapping(params.get("turn")).get("error")):
                sys.stderr.write(f"codex: {text(fault, 'message')}\n")

    def finish(self) -> None:
        """Give the last message, where nothing else went to standard output."""
        if not self._as_json and self._said:
            sys.stdout.write(f"{self._said}\n")
        if self._file is not None:
            self._file.write_text(self._said, "utf-8")

    def _event(self, kind: str, **facts: Any) -> None:
        if self._as_json:
            sys.stdout.write(json.dumps({"type": kind, **facts}, separators=(",", ":")) + "\n")
            sys.stdout.flush()
