"""One call to an OpenAI-compatible chat endpoint, whole or streamed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from guard.chat import ChatEndpoint, usage_of
from guard.errors import ModelFailed
from guard.redact import redact
from guard.turn import Usage

TIMEOUT_S = 120.0
SHOWN_CHARS = 300

OnText = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model asks for.

    Attributes:
        args: Its arguments; empty if it did not write a JSON object.
        fault: What is wrong with them, for the model to read; None: nothing.
    """

    id: str
    tool: str
    args: dict[str, Any]
    fault: str | None = None

    @classmethod
    def read(cls, asked: Any) -> Self:
        """Read one entry of a message's `tool_calls`."""
        function = asked["function"]
        try:
            # Some endpoints send "" or null for a call without arguments.
            args = json.loads(function.get("arguments") or "{}")
        except ValueError:
            args = None
        # A model makes such errors now and then: it is told, and the run continues.
        is_object = isinstance(args, dict)
        return cls(
            id=str(asked["id"]),
            tool=str(function["name"]),
            args=args if is_object else {},
            fault=None if is_object else "the arguments are no JSON object",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What the model answered.

    Attributes:
        message: The assistant message, to send back with the next call.
        call_id: Id of this model call; its usage is counted once under it.
        usage: Its tokens; None: the endpoint did not report them.
    """

    message: dict[str, Any]
    text: str
    calls: tuple[ToolCall, ...]
    call_id: str
    model: str
    usage: Usage | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModel:
    """A model behind an endpoint.

    Attributes:
        url: The API's base, as OpenAI's clients take it: "http://host:8000/v1".
        name: The model's name there.
        key: Sent as a bearer token, if given.
        provider: Who bills for it; together with `name` it determines the price.
        timeout_s: Seconds for one answer.
    """

    url: str
    name: str
    key: str = field(default="", repr=False)
    provider: str | None = None
    timeout_s: float = TIMEOUT_S

    def complete(
        self, messages: Sequence[Any], tools: Sequence[Any], *, on_text: OnText | None = None
    ) -> Completion:
        """Ask for the next message.

        Args:
            messages: The conversation so far.
            tools: What the model may call, in the endpoint's form.
            on_text: Called with each piece of text as it arrives; None: not streamed.

        Raises:
            ModelFailed: No completion came back; its text says why.
        """
        # A copy: the conversation grows, and this request must stay as it was sent.
        body: dict[str, Any] = {"model": self.name, "messages": list(messages)}
        # Left out if empty: some endpoints refuse an empty list.
        if tools:
            body["tools"] = list(tools)
        if on_text is not None:
            answer = self._complete_streamed(body, on_text)
        else:
            try:
                answer = ChatEndpoint(self.url, self.key).post(body, timeout_s=self.timeout_s)
            except ModelFailed as failed:
                raise self._with_model_name(failed) from failed
            # Some endpoints answer 200 and put the error into the body.
            if isinstance(answer, dict) and "choices" not in answer and "error" in answer:
                raise ModelFailed(f"{self.name}: {_error_reason(answer)}")
        with self._invalid_as_failed():
            message = answer["choices"][0]["message"]
            usage = answer.get("usage")
            return Completion(
                message=message,
                text=message.get("content") or "",
                calls=tuple(map(ToolCall.read, message.get("tool_calls") or ())),
                # Not every endpoint sends an id, under which usage is counted once.
                call_id=str(answer.get("id") or f"call-{uuid.uuid4().hex}"),
                model=str(answer.get("model") or self.name),
                usage=usage_of(usage) if usage else None,
            )

    def _complete_streamed(self, body: Mapping[str, Any], on_text: OnText) -> Any:
        # A stream reports usage only if asked.
        asked = {**body, "stream": True, "stream_options": {"include_usage": True}}
        draft = StreamedAnswer()
        endpoint = ChatEndpoint(self.url, self.key)
        chunks = endpoint.stream(asked, timeout_s=self.timeout_s)
        while True:
            # The caller's errors in `on_text` must not count as failures of the model.
            try:
                chunk = next(chunks, None)
            except ModelFailed as failed:
                raise self._with_model_name(failed) from failed
            if chunk is None:
                break
            with self._invalid_as_failed():
                # In the middle of a stream an endpoint can no longer report an error by its status.
                if "error" in chunk:
                    raise ModelFailed(f"{self.name} broke off: {_error_reason(chunk)}")
                text = draft.add_chunk(chunk)
            if text:
                on_text(text)
        return draft.answer()

    @contextmanager
    def _invalid_as_failed(self) -> Iterator[None]:
        try:
            yield
        # Endpoints differ: a missing field or a wrong type is the model's failure, not a crash.
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ModelFailed(f"{self.name} gave no completion: {error!r}") from error

    def _with_model_name(self, failed: ModelFailed) -> ModelFailed:
        """Return an error that names the model, with the endpoint's own reason."""
        try:
            why = _error_reason(json.loads(failed.detail)) if failed.detail else ""
        except ValueError:
            why = ""
        sentence = f"{self.name}: {failed}" + (f": {why}" if why else "")
        return ModelFailed(sentence, status=failed.status, detail=failed.detail)


def _error_reason(body: Any) -> str:
    """Read an error in the form of OpenAI and most others; keys in it are masked."""
    error = body.get("error") if isinstance(body, dict) else None
    reason = error.get("message") if isinstance(error, dict) else error
    return redact(str(reason or "no reason given"))[:SHOWN_CHARS]


@dataclass(slots=True)
class StreamedAnswer:
    """What has arrived of an answer so far.

    Endpoints differ: the usage comes in a last chunk without choices or with every chunk; a call's
    index or id may be missing; an endpoint that does not stream sends a whole message.
    """

    id: str | None = None
    model: str | None = None
    usage: Any = None
    finished: bool = False
    _text: list[str] = field(default_factory=list)
    _calls: dict[Any, dict[str, Any]] = field(default_factory=dict)

    def add_chunk(self, chunk: Any) -> str:
        """Add the next chunk; return its new text."""
        # The first one that is sent: some endpoints omit it in later chunks.
        self.id = self.id or chunk.get("id")
        self.model = self.model or chunk.get("model")
        # The last one that is sent: if each chunk has it, it grows.
        self.usage = chunk.get("usage") or self.usage
        # One answer was asked for; a second one would be mixed into it.
        for choice in (chunk.get("choices") or ())[:1]:
            self.finished = self.finished or bool(choice.get("finish_reason"))
            delta = choice.get("delta") or choice.get("message") or {}
            for part in delta.get("tool_calls") or ():
                function = part.get("function") or {}
                # Find the call that a part belongs to: by index, by id, else the last one.
                call_key = part.get("index")
                if call_key is None:
                    call_key = part.get("id") or next(reversed(self._calls), 0)
                # Without an id no result could be assigned to the call.
                unknown = {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function"}
                new_call = {**unknown, "function": {"name": "", "arguments": ""}}
                call = self._calls.setdefault(call_key, new_call)
                call["id"] = part.get("id") or call["id"]
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""
            text = delta.get("content") or ""
            self._text.append(text)
            return str(text)
        return ""

    def answer(self) -> dict[str, Any]:
        """Return the answer as it would have come in one piece.

        Raises:
            ModelFailed: The stream ended before the answer was complete.
        """
        # Half an answer may hold half a command, which must not be run.
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
