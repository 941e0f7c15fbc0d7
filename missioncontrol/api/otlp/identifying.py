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

from missioncontrol.api.otlp.facts import ChatMessage, ToolRequest

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
        answers = []
        for answer in message.answers:
            places = [at for at, (known_id, _) in enumerate(self._open) if known_id == answer.id]
            if not places and answer.id not in self._seen:
                # The number in `name_0` is the part's place in its message, so it may differ
                # between call and answer: the oldest open call of that name is meant.
                names = {answer.id, answer.id.rpartition("_")[0]}
                places = [
                    at
                    for at, (_, call) in enumerate(self._open)
                    if not answer.id or call.name in names
                ]
            own_id = self._open.pop(places[0])[1].id if places else answer.id
            answers.append(replace(answer, id=own_id))
        calls = []
        for call in message.calls:
            own = call
            if call.name:
                # Parentheses: one without an id is not counted with one whose id is its tool's.
                known = call.id or f"{call.name}()"
                self._seen[known] += 1
                if not call.id or self._seen[known] > 1:
                    given = json.dumps(call.args, sort_keys=True, default=str)
                    digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:12]
                    count = self._seen[known]
                    own = replace(call, id=f"{(call.id or call.name)[:100]}#{count}-{digest}")
                # Bounded: not every call is answered.
                self._open = [*self._open[1 - MOST_OPEN :], (call.id, own)]
            calls.append(own)
        return replace(message, calls=tuple(calls), answers=tuple(answers))
