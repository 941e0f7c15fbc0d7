"""`ui_messages.json` of Cline and its descendants (Roo Code, Kilo Code): a task as shown.

The type of each message is `say` or `ask`, and the field of that name holds its subject:
`{"type": "ask", "ask": "command", "text": "npm test"}`.

Source: `ClineMessage`, `ClineSayTool` and `ClineApiReqInfo` of Cline's `ExtensionMessage.ts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.fields import read_args, read_count, read_text, read_time
from guard.formats.recording import PairedTurns
from guard.pricing import read_dollars
from guard.turn import Role, Turn, Usage

Row = Mapping[str, Any]

_SIDES = frozenset({"say", "ask"})
# Tools beginning with these return what they read in `content`; others write it.
_LOOKS = ("read", "list", "search", "codebase")
_SAYS = frozenset({"text", "completion_result", "followup", "plan_mode_respond", "reasoning"})
_RESULTS = frozenset({"command_output", "mcp_server_response", "browser_action_result", "error"})


def recognises(rows: Sequence[Row]) -> bool:
    """Return whether an early row is such a message."""
    return any(_about(row) and "ts" in row for row in rows[:3])


def _about(row: Row) -> str | None:
    side = row.get("type")
    return read_text(row.get(side)) if isinstance(side, str) and side in _SIDES else None


class Reader(PairedTurns):
    """Reads the messages of a task one by one."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: Turn | None = None  # of the request that the next turn answers
        # A command's output is spread over several messages.
        self._printed, self._has_failed = list[str](), False

    def take(self, row: Row) -> None:
        about, text = _about(row), read_text(row.get("text")) or ""
        fields = dict(read_args(text) or {})
        if row.get("partial") or about is None:
            return
        turn = Turn(role=Role.ASSISTANT, ts=read_time(row.get("ts")))
        if about == "api_req_started":
            usage = Usage(
                input=read_count(fields.get("tokensIn")),
                cache_read=read_count(fields.get("cacheReads")),
                cache_write_5m=read_count(fields.get("cacheWrites")),
                output=read_count(fields.get("tokensOut")),
            )
            cost = read_dollars(fields.get("cost"))
            self._usage = replace(turn, usage=usage if usage.total else None, cost_usd=cost)
        elif about == "command":
            self._call(turn, "execute_command", {"command": text})
        elif about in {"tool", "browser_action", "use_mcp_server", "browser_action_launch"}:
            self._take_tool(turn, about, fields or {"input": text})
        elif about in _RESULTS and self.turns and self.turns[-1].tool is not None:
            self._printed.append(text)
            self._has_failed |= about == "error"
        elif about in _RESULTS:
            self.add(Turn(role=Role.TOOL, content=text))
        elif about == "user_feedback" or not self.turns:
            self.add(replace(turn, role=Role.USER, content=text))
        elif about in _SAYS and text:
            self._add(replace(turn, content=text))

    def _take_tool(self, turn: Turn, about: str, fields: dict[str, Any]) -> None:
        name = fields.pop("tool", None) or fields.pop("toolName", None)
        tool = read_text(name) or read_text(fields.get("action")) or about
        if about == "use_mcp_server":
            self._call(turn, tool, read_args(fields.get("arguments")) or fields)
            return
        seen = fields.pop("content", None) if tool.lower().startswith(_LOOKS) else None
        self._call(replace(turn, result=read_text(seen)), tool, fields)

    def _call(self, turn: Turn, tool: str, args: Mapping[str, Any]) -> None:
        self.finish()
        last = self.turns[-1] if self.turns else None
        # An allowed call is repeated as `say`; without a new request it is the same call.
        is_open = last is not None and last.result is None and last.error is None
        is_open = is_open and self._usage is None
        if last is None or (last.tool, last.args) != (tool, args) or not is_open:
            self._add(replace(turn, tool=tool, args=args))

    def _add(self, turn: Turn) -> None:
        if self._usage is not None:
            turn = replace(turn, usage=self._usage.usage, cost_usd=self._usage.cost_usd)
            self._usage = None
        self.add(turn)

    def finish(self) -> None:
        if self._printed:
            printed = "\n".join(filter(None, (self.turns[-1].result, *self._printed)))
            self.put(len(self.turns) - 1, printed, failed=self._has_failed)
        self._printed, self._has_failed = [], False

    def add(self, turn: Turn, *, call: str | None = None) -> None:
        self.finish()
        super().add(turn, call=call)
