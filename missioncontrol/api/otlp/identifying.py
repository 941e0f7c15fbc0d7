"""Ids of tool calls that tell them apart, where a model or its instrumentation gave none.

Gemini's calls carry no id: OpenTelemetry's instrumentation writes `name_0` for each, others
`call_0` or nothing. Which call an answer belongs to then follows from their order.

Source: opentelemetry-instrumentation-google-genai, `message.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from missioncontrol.api.otlp.facts import ChatMessage, ToolAnswer, ToolRequest

MOST_OPEN = 64
Conversation = tuple[tuple[ChatMessage, ...], tuple[ChatMessage, ...]]


def with_own_ids(given: Sequence[ChatMessage], output: Sequence[ChatMessage]) -> Conversation:
    """Give each call of a conversation an id of its own, and each answer its call's."""
    naming = _Naming()
    return tuple(map(naming.read, given)), tuple(map(naming.read, output))


class _Naming:
    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._open: list[tuple[str, ToolRequest]] = []

    def read(self, message: ChatMessage) -> ChatMessage:
        """Read the next message."""
        if not message.calls and not message.answers:
            return message
        answers = tuple(map(self._matched_answer, message.answers))
        return replace(
            message, calls=tuple(map(self._named_request, message.calls)), answers=answers
        )

    def _named_request(self, call: ToolRequest) -> ToolRequest:
        if not call.name:
            return call
        # Parentheses: one without an id is not counted with one whose id is its tool's name.
        self._seen[call.id or f"{call.name}()"] += 1
        count = self._seen[call.id or f"{call.name}()"]
        own = call
        if not call.id or count > 1:
            given = json.dumps(call.args, sort_keys=True, default=str)
            digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:12]
            own = replace(call, id=f"{(call.id or call.name)[:100]}#{count}-{digest}")
        # Bounded: not every call is answered.
        self._open = [*self._open[1 - MOST_OPEN :], (call.id, own)]
        return own

    def _matched_answer(self, answer: ToolAnswer) -> ToolAnswer:
        place = next(
            (at for at, (known_id, _) in enumerate(self._open) if known_id == answer.id), None
        )
        if place is None and answer.id not in self._seen:
            # The number in `name_0` is the part's place in its message, so it may differ
            # between call and answer: the oldest open call of that name is meant.
            names = {answer.id, answer.id.rpartition("_")[0]}
            waiting = enumerate(self._open)
            place = next(
                (at for at, (_, one) in waiting if not answer.id or one.name in names), None
            )
        return answer if place is None else replace(answer, id=self._open.pop(place)[1].id)
