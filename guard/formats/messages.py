"""Chat messages as models' interfaces take them: a document, a list, or one a line.

The forms of OpenAI (`tool_calls`, `tool_call_id`), Anthropic (blocks) and ShareGPT
(`from`, `value`); mini-swe-agent's trajectories are such a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from guard.formats.fields import read_answer, read_args, read_rows, read_text, read_turn
from guard.formats.recording import PairedTurns
from guard.turn import Role

Row = Mapping[str, Any]

_LISTS = ("messages", "conversations", "conversation", "history", "trajectory")
_SPEAKERS = {"gpt": "assistant", "ai": "assistant", "model": "assistant", "observation": "tool"}
_CALLS = frozenset({"tool_use", "server_tool_use"})
_TELLING = frozenset({"tool_calls", "tool_call_id", "function_call"})


def recognises(rows: Sequence[Row]) -> bool:
    """Tell whether documents of messages stand here, or messages that hold calls."""
    # These are asked before turn files, whose rows have speakers too.
    if any("run" in row or "tool" in row for row in rows):
        return False
    for row in rows:
        # Lone messages without a call could be any log that has speakers.
        blocks = {str(block.get("type")) for block in read_rows(row.get("content"))}
        holds_calls = bool(_TELLING & row.keys() or blocks & (_CALLS | {"tool_result"}))
        if _listed(row) is not None or (holds_calls and _speaker(row) is not None):
            return True
    return False


def _listed(row: Row) -> Sequence[Row] | None:
    """Give the messages of a document; None: it holds none."""
    for name in _LISTS:
        messages = read_rows(row.get(name))
        if any(_speaker(one) for one in messages):
            return messages
    return None


def _speaker(message: Row) -> str | None:
    name = read_text(message.get("role")) or read_text(message.get("from"))
    return _SPEAKERS.get(name, name) if name else None


class Reader(PairedTurns):
    """Reads message by message, whichever interface wrote it.

    Of several documents in one file each is a session of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._documents = 0

    def take(self, row: Row) -> None:
        listed = _listed(row)
        if listed is None:
            self._take_message(row, session=None)
            return
        for message in listed:
            self._take_message(message, session=str(self._documents))
        self._documents += 1

    def _take_message(self, message: Row, *, session: str | None) -> None:
        speaker = _speaker(message)
        if speaker is None:
            return
        named = ("content", "value", "text")
        content = next((message[name] for name in named if name in message), None)
        turn = read_turn(
            {
                "role": speaker,
                "content": content,
                "agent": message.get("name") if speaker == "assistant" else None,
                "model": message.get("model"),
                "ts": message.get("timestamp"),
                "session": session,
            }
        )
        if turn is None:
            return
        # A list, so that each is put in its place. Anthropic's answers come in the user's name:
        # a message of nothing else is no person's.
        answered = [
            self.take_result(block)
            for block in read_rows(message.get("content"))
            if block.get("type") == "tool_result"
        ]
        if any(answered) and not turn.content:
            return
        answers = str(message.get("tool_call_id"))
        if turn.role is Role.TOOL and self.answer(answers, turn.content or "", failed=False):
            return
        calls = list(_calls(message))
        if turn.role is not Role.ASSISTANT or not calls:
            self.add(turn)
        # What was said stands with the first of several calls, or it would be said again.
        for number, (key, tool, args) in enumerate(calls):
            words = turn.content if number == 0 else None
            called = replace(turn, key=key, tool=tool, args=args, content=words or None)
            self.add(called, call=key)


def _calls(message: Row) -> Iterable[tuple[str | None, str, Mapping[str, Any] | None]]:
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else [message.get("function_call")]:
        if isinstance(call, dict):
            function = call.get("function")
            function = function if isinstance(function, dict) else call
            given = function.get("arguments", function.get("args"))
            args = read_args(given)
            # What is no object is kept as it is: two calls that differ in it are not one.
            if args is None and given is not None:
                args = {"input": read_answer(given)}
            yield read_text(call.get("id")), _name(function), args
    for block in read_rows(message.get("content")):
        if str(block.get("type")) in _CALLS:
            yield read_text(block.get("id")), _name(block), read_args(block.get("input"))


def _name(call: Row) -> str:
    return read_text(call.get("name")) or "unknown"
