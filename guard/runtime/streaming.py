"""A streamed completion, put together from its deltas."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from guard.errors import ModelFailed


@dataclass(slots=True)
class Draft:
    """What has come of an answer so far.

    Endpoints differ: the usage comes in a last chunk without choices or with every
    chunk, a call's index or id may be missing, and one that does not stream sends
    a whole message.
    """

    id: str | None = None
    model: str | None = None
    usage: Any = None
    finished: bool = False
    _text: list[str] = field(default_factory=list)
    _calls: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def take(self, chunk: Any) -> str:
        """Take the next chunk; answers the text that is new."""
        # The first that tells: some endpoints leave it out of later chunks.
        self.id = self.id or chunk.get("id")
        self.model = self.model or chunk.get("model")
        # The last that tells: where each chunk has it, it grows.
        self.usage = chunk.get("usage") or self.usage
        # One answer was asked for; a second would be mixed into it.
        for choice in (chunk.get("choices") or ())[:1]:
            self.finished = self.finished or bool(choice.get("finish_reason"))
            delta = choice.get("delta") or choice.get("message") or {}
            for part in delta.get("tool_calls") or ():
                function = part.get("function") or {}
                # Say which call a part belongs to: by index, by id, else to the last.
                which = part.get("index")
                if which is None:
                    which = part.get("id") or next(reversed(self._calls), 0)
                # Without an id no result could be given to the call.
                unknown = {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function"}
                begun = {**unknown, "function": {"name": "", "arguments": ""}}
                call = self._calls.setdefault(which, begun)
                call["id"] = part.get("id") or call["id"]
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""
            text = delta.get("content") or ""
            self._text.append(text)
            return str(text)
        return ""

    def answer(self) -> dict[str, Any]:
        """Write the answer as it would have come in one piece.

        Raises:
            ModelFailed: The stream ended before the answer did.
        """
        # Half an answer may hold half a command: it must not be run.
        if not self.finished:
            raise ModelFailed("the endpoint broke off in the middle of an answer")
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._text) or None}
        if self._calls:
            message["tool_calls"] = list(self._calls.values())
        return {
            "id": self.id,
            "model": self.model,
            "choices": [{"index": 0, "message": message}],
            "usage": self.usage,
        }
