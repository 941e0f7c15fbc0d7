"""LiteLLM under Mission Control: a callback that watches a loop through its model calls.

    litellm.callbacks = [MissionControl("fix-auth")]        # litellm.acompletion
    callbacks: ["guard.adapters.litellm.proxy"]             # the proxy's config.yaml

LiteLLM sees what an agent asks of its model, not its tools: a call is proposed when the model asks
for it, and complete when its result comes with the next request.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile
from typing import Any, Self

from guard.adapters.parsing import read_arguments
from guard.adapters.usage import litellm_usage
from guard.errors import FrameworkMissing, Stopped
from guard.sdk.aio import AsyncSession
from guard.sdk.conversation import Go, new_key
from guard.turn import Role

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as missing:
    raise FrameworkMissing("guard.adapters.litellm", "litellm", missing) from missing

CHAT_CALLS = frozenset({"completion", "acompletion"})
# Most runs a proxy remembers; the least recently used is forgotten, and joined again by its key.
MAX_RUNS = 1000

# What a repeated request does not copy.
NOT_COPIED = ("messages", "litellm_call_id", "litellm_logging_obj")

# The run of a request whose messages are prepared: by the proxy's hook, or for a second try.
_prepared: ContextVar[str | None] = ContextVar("guard_prepared", default=None)


class MissionControl(CustomLogger):
    """Reports loops that run over `litellm.acompletion`, and follows their directives.

    A tool call waits here before its agent sees it. A corrected call never reaches the agent: the
    model is asked again with the correction, and the agent gets its new answer. A stopped run gets
    an answer without a call, which gives the reason; further requests raise `guard.Stopped` (the
    proxy: status 403).

    Calls with the same `litellm_session_id` (or `metadata["session_id"]`) are one run; those
    without it are one run for this object.

    Args:
        name: What people call these runs.
        opening: As for `guard.AsyncSession`: `url`, `key`, `agent`, `goal`, `workspace`, `mode`,
            `fail`, `budget`, … The default `goal` is what the person asked.
    """

    def __init__(self, name: str, **opening: Any) -> None:
        super().__init__()
        self._opening = {"name": name, **opening}
        self._own_key = f"litellm:{new_key()}"
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # A copy: other loops continue meanwhile, and each request changes the order of the runs.
        for run in tuple(self._runs.values()):
            await run.session.close("failed" if kind else "completed")

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: str
    ) -> dict[str, Any]:
        """The proxy's hook: refuses a run that is over before a deployment is chosen."""
        if call_type not in CHAT_CALLS:
            return data
        key = _session_of(data)
        if key is None:
            # A conversation without a name is identified by its key's owner and its beginning.
            spoken = takewhile(lambda one: _field(one, "role") != "assistant", data["messages"])
            known_by = f"{getattr(user_api_key_dict, 'token', '')} {_digest(list(spoken))}"
            key = f"litellm:{hashlib.sha256(known_by.encode()).hexdigest()[:32]}"
        try:
            messages = await self._run(key, data["messages"]).prepare(data["messages"])
        except Stopped as stopped:
            from fastapi import HTTPException

            raise HTTPException(403, f"Mission Control ended this run: {stopped.reason}") from None
        # The deployment's hook runs below this one, and must not report the same turns again.
        _prepared.set(key)
        return data | {"messages": messages}

    async def async_pre_call_deployment_hook(
        self, kwargs: dict[str, Any], call_type: Any
    ) -> dict[str, Any] | None:
        """Report what is new since the last model call, and add what the model must read.

        Raises:
            Stopped: The run is over.
        """
        if _prepared.get() is not None or _call_type_name(call_type) not in CHAT_CALLS:
            return None
        run = self._run(_session_of(kwargs) or self._own_key, kwargs["messages"])
        return kwargs | {"messages": await run.prepare(kwargs["messages"])}

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Hold the calls that the model asks for; the agent gets those that may run."""
        if _call_type_name(call_type) not in CHAT_CALLS or not getattr(response, "choices", None):
            return None
        key = _prepared.get() or _session_of(request_data) or self._own_key
        run = self._run(key, request_data["messages"])
        if await run.check_response(response, request_data):
            return response
        # Asked again, with answers to the calls that were not run: the agent sees only permitted
        # ones.
        exchange = run.replacement_messages(response.choices[0].message)
        run.place_after(request_data["messages"], exchange)
        again = {name: value for name, value in request_data.items() if name not in NOT_COPIED}
        token = _prepared.set(key)
        try:
            return await litellm.acompletion(
                **again, messages=[*request_data["messages"], *exchange]
            )
        except Exception as error:  # noqa: BLE001 - LiteLLM would let the calls through
            _replace_with_text(
                response,
                f"[Mission Control] A call was not run, and then the model failed: {error}",
            )
            return response
        finally:
            _prepared.reset(token)

    def _run(self, key: str, messages: Sequence[Any]) -> _Run:
        if key not in self._runs:
            # No heartbeat: this proxy's life says nothing about an agent elsewhere.
            own: dict[str, Any] = {
                "run_key": key,
                "goal": _first_prompt(messages),
                "heartbeat": False,
            }
            self._runs[key] = _Run(AsyncSession(**own | self._opening))
            if len(self._runs) > MAX_RUNS:
                self._runs.popitem(last=False)
        self._runs.move_to_end(key)
        return self._runs[key]


@dataclass(slots=True)
class _Run:
    """One loop, as its model calls show it."""

    session: AsyncSession
    reported_prompts: set[str] = field(default_factory=set)
    open_calls: dict[str, Go] = field(default_factory=dict)
    replacement_texts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    placed_messages: list[tuple[int, str, list[Any]]] = field(default_factory=list)
    stopped: Stopped | None = None

    async def prepare(self, messages: Sequence[Any]) -> list[Any]:
        """Report what is new in a request; return its messages, with ours."""
        if self.stopped:
            raise self.stopped
        # Each request repeats the conversation: reported again, it would reset every streak.
        if (prompt := _first_prompt(messages)) and prompt not in self.reported_prompts:
            self.reported_prompts.add(prompt)
            self.notes += await self.session.say(prompt, role=Role.USER)
        for message in messages:
            if (go := self.open_calls.pop(_field(message, "tool_call_id") or "", None)) is not None:
                self.notes += await self.session.after(go, result=_content_text(message))
        request = list(messages)
        for place, begins, items in self.placed_messages:
            # The agent sends its own history, without ours; a shortened one has no place for our
            # messages.
            if place <= len(request) and _digest(request[:place]) == begins:
                request[place:place] = items
        if self.notes:
            added = [{"role": "user", "content": f"[Mission Control] {n}"} for n in self.notes]
            self.notes = []
            self.place_after(request, added)
            request += added
        return request

    def place_after(self, messages: Sequence[Any], items: list[Any]) -> None:
        """Remember what the model is to read after these messages."""
        self.placed_messages.append((len(messages), _digest(messages), items))

    async def check_response(self, response: Any, request: Mapping[str, Any]) -> bool:
        """Ask for each call of an answer; False: none of them may run."""
        message = response.choices[0].message
        usage = getattr(response, "usage", None)
        try:
            cost = Decimal(str(litellm.completion_cost(completion_response=response)))
        except Exception:  # noqa: BLE001 - it raises plain ones for a model it does not know
            cost = None
        facts = {
            "call_id": response.id,
            "model": str(response.model or request.get("model") or "").rpartition("/")[2],
            "provider": request.get("custom_llm_provider"),
            "usage": litellm_usage(usage.model_dump()) if usage else None,
            "cost_usd": cost,
        }
        facts = {name: fact for name, fact in facts.items() if fact is not None}
        calls = list(message.tool_calls or ())
        try:
            if not calls:
                self.notes += await self.session.say(_content_text(message) or "(no text)", **facts)
                return True
            # Asked together: in sequence, people would see the second held call only after they
            # answered the first.
            going = await asyncio.gather(*(self._propose_call(call, facts) for call in calls))
        except Stopped as stopped:
            self.stopped = stopped
            _replace_with_text(response, f"[Mission Control] This run was ended: {stopped.reason}")
            return True
        if not any(going):
            return False
        # Those that may run reach the agent; the reasons for the others are in the next request.
        message.tool_calls = [call for call, goes in zip(calls, going, strict=True) if goes]
        self.notes += [
            self.replacement_texts.pop(call.id)
            for call in calls
            if call.id in self.replacement_texts
        ]
        return True

    async def _propose_call(self, call: Any, facts: Mapping[str, Any]) -> bool:
        args = read_arguments(call.function.arguments)
        go = await self.session.before(str(call.function.name), args, **facts)
        if go.run:
            self.open_calls[call.id] = go
            self.notes += go.messages
        else:
            self.replacement_texts[call.id] = go.text
        return go.run

    def replacement_messages(self, message: Any) -> list[Any]:
        """Return the model's calls, and the texts in place of their results."""
        calls = list(message.tool_calls)
        exchange = [message.model_dump(exclude_none=True)]
        for call in calls:
            text = self.replacement_texts.pop(call.id)
            exchange.append({"role": "tool", "tool_call_id": call.id, "content": text})
        return exchange


def _session_of(kwargs: Mapping[str, Any]) -> str | None:
    """Return the session that an agent names, as a run's key."""
    named = kwargs.get("litellm_session_id")
    for where in ("metadata", "litellm_metadata"):
        named = named or (kwargs.get(where) or {}).get("session_id")
    return f"litellm:{named}" if named else None


def _digest(messages: Sequence[Any]) -> str:
    """Return a digest that distinguishes one beginning of a conversation from another."""
    parts = [
        (_field(one, "role"), _content_text(one), _field(one, "tool_call_id")) for one in messages
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _replace_with_text(response: Any, text: str) -> None:
    """Turn an answer into one without calls."""
    choice = response.choices[0]
    choice.message.tool_calls, choice.message.content = None, text
    # With "tool_calls" an agent would look for the calls that were removed.
    choice.finish_reason = "stop"


def _call_type_name(call_type: Any) -> str:
    return str(getattr(call_type, "value", call_type))


def _field(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _content_text(message: Any) -> str:
    content = _field(message, "content")
    if not isinstance(content, list):
        return str(content or "")
    return "\n".join(str(part["text"]) for part in content if "text" in part)


def _first_prompt(messages: Sequence[Any]) -> str:
    """Return what the person asks, before the model has spoken.

    Later messages with the role `user` may be the loop's own ("Observation: …", "go on"): taken for
    a person's, they would begin every streak afresh.
    """
    if any(_field(message, "role") == "assistant" for message in messages):
        return ""
    prompts = (_content_text(one) for one in reversed(messages) if _field(one, "role") == "user")
    return next(prompts, "")


def __getattr__(name: str) -> Any:
    """Create `proxy`, the callback for a proxy's config.yaml, on first access."""
    if name != "proxy":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["proxy"] = MissionControl("litellm proxy")
    return globals()["proxy"]
