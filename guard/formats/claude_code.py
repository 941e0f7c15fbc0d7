"""Claude Code's transcripts and `--output-format stream-json`: one record per line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.fields import (
    read_args,
    read_count,
    read_mapping,
    read_rows,
    read_text,
    read_time,
)
from guard.formats.recording import PairedTurns
from guard.turn import Role, Turn, Usage

# Summaries and file snapshots may precede the first message.
_EARLY = 200
_SPOKEN_BY_MACHINES = ("<command-", "<local-command", "<system-reminder>", "Caveat: ")


def recognises(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether any early record is Claude Code's."""
    return any(
        str(row.get("type")) in {"assistant", "user"}
        and isinstance(row.get("message"), dict)
        and ("sessionId" in row or "uuid" in row or "session_id" in row)
        # Only early rows: other records may come first, and a transcript may have a million lines.
        for row in rows[:_EARLY]
    )


class Reader(PairedTurns):
    """Reads the records of a session and of its sub-agents, one by one."""

    def __init__(self) -> None:
        super().__init__()
        # Id of a record or call -> the sub-agent whose chain it belongs to.
        self._chains: dict[str, str] = {}
        self._sides = 0

    def take(self, row: Mapping[str, Any]) -> None:
        message, side = row.get("message"), self._side(row)
        if not isinstance(message, dict):
            return
        self.session = self.session or _session(row)
        blocks = message.get("content")
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        blocks = read_rows(blocks)
        if row.get("type") == "assistant":
            self._take_assistant(row, message, blocks, agent=read_text(row.get("agentId")) or side)
        elif row.get("type") == "user":
            for block in blocks:
                if block.get("type") == "tool_result":
                    self.take_result(block)
            spoken = "\n".join(
                text
                for block in blocks
                if block.get("type") == "text" and (text := read_text(block.get("text")))
            )
            # Summaries, notices and prompts to sub-agents have the type "user" as well.
            marks = ("isMeta", "isCompactSummary", "isSidechain", "parent_tool_use_id")
            is_machine = any(row.get(mark) for mark in marks)
            if spoken and not is_machine and not spoken.startswith(_SPOKEN_BY_MACHINES):
                at = read_time(row.get("timestamp"))
                self.add(Turn(role=Role.USER, session=_session(row), content=spoken, ts=at))

    def _side(self, row: Mapping[str, Any]) -> str | None:
        """Name the sub-agent whose chain a record belongs to; None: not a sub-agent's."""
        if call := read_text(row.get("parent_tool_use_id")):
            # The stream names the call that started a sub-agent.
            if call not in self._chains:
                self._sides += 1
                self._chains[call] = f"side {self._sides}" if self._sides > 1 else "side"
            return self._chains[call]
        if not row.get("isSidechain"):
            return None
        chain = self._chains.get(read_text(row.get("parentUuid")) or "")
        # A null parent begins a chain; without the field, sub-agents cannot be distinguished.
        if chain is None:
            self._sides += "parentUuid" in row
            chain = f"side {self._sides}" if self._sides > 1 else "side"
        if own := read_text(row.get("uuid")):
            self._chains[own] = chain
        return chain

    def _take_assistant(
        self,
        row: Mapping[str, Any],
        message: Mapping[str, Any],
        blocks: list[dict[str, Any]],
        *,
        agent: str | None,
    ) -> None:
        base = Turn(
            role=Role.ASSISTANT,
            session=_session(row),
            agent=agent,
            call_id=read_text(message.get("id")),
            model=read_text(message.get("model")),
            provider="anthropic",
            usage=usage_of(message.get("usage")),
            ts=read_time(row.get("timestamp")),
        )
        for block in blocks:
            if block.get("type") == "text" and (text := read_text(block.get("text"))):
                self.add(replace(base, content=text))
            elif str(block.get("type")) in {"tool_use", "server_tool_use"}:
                key = read_text(block.get("id"))
                tool = read_text(block.get("name")) or "unknown"
                turn = replace(base, key=key, tool=tool, args=read_args(block.get("input")))
                self.add(turn, call=key)


def _session(row: Mapping[str, Any]) -> str | None:
    return read_text(row.get("sessionId")) or read_text(row.get("session_id"))


def usage_of(value: object) -> Usage | None:
    """Read a message's usage; its input excludes cached tokens."""
    if not isinstance(value, dict):
        return None
    tiers = read_mapping(value.get("cache_creation"))
    written = read_count(value.get("cache_creation_input_tokens"))
    hour = read_count(tiers.get("ephemeral_1h_input_tokens"))
    return Usage(
        input=read_count(value.get("input_tokens")),
        cache_read=read_count(value.get("cache_read_input_tokens")),
        # Cache writes without a stated tier are 5-minute writes.
        cache_write_5m=max(0, written - hour),
        cache_write_1h=hour,
        output=read_count(value.get("output_tokens")),
    )
