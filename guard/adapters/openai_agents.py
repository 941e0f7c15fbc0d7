"""The OpenAI Agents SDK under Mission Control: run hooks and an input filter.

watch = MissionControl("fix-auth")
await Runner.run(agent, "Make the tests pass", hooks=watch, run_config=watch.run_config)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Self, TypeVar

from guard.adapters.parsing import read_arguments
from guard.adapters.usage import responses_usage
from guard.errors import FrameworkMissing, Stopped
from guard.sdk.aio import AsyncSession
from guard.sdk.conversation import Go, new_key
from guard.turn import Role

try:
    from agents import AgentsException, RunConfig, RunHooks
    from agents.models import get_default_model
except ImportError as missing:
    raise FrameworkMissing("guard.adapters.openai_agents", "openai-agents", missing) from missing

T = TypeVar("T")

# The beginning of the SDK's text for a tool that raised.
TOOL_ERROR_START = "An error occurred while running the tool"


class RunEnded(Stopped, AgentsException):
    """The run was stopped: `Runner.run` raises this unchanged; it is a `guard.Stopped`."""


class CannotAnswer(AgentsException):
    """A held call was corrected, but this kind of tool allows no answer in place of its result."""


class MissionControl(RunHooks):
    """Reports one run, and follows its directives.

    A held call waits in `on_tool_start`, a hand-off in `on_handoff`. A correction takes the place
    of the result, or is added to the next model call. When a run is stopped, `guard.Stopped` is
    raised out of `Runner.run`. Each hand-off is a turn of its agent.

    Used as `async with`, a run that raised is marked as failed; otherwise a run is over when its
    last agent has answered, and continues when it is used again.

    Args:
        name: What people call this run.
        run_config: Your own; the property `run_config` adds our filter after yours.
        opening: As for `guard.AsyncSession`: `url`, `key`, `goal`, `workspace`, `mode`, `fail`,
            `budget`, … The default `goal` is what the person asked.
    """

    def __init__(self, name: str, *, run_config: RunConfig | None = None, **opening: Any) -> None:
        self._name, self._opening = name, opening
        self._config = run_config or RunConfig()
        self._session: AsyncSession | None = None
        self._entered = False
        self._reported_prompt: str | None = None
        self._facts: dict[str, dict[str, Any]] = {}
        self._allowed_calls: dict[str, Go] = {}
        self._notes: list[str] = []
        # Our messages and their places: see `_filter`.
        self._placed_messages: list[tuple[int, Any]] = []

    @property
    def run_config(self) -> RunConfig:
        """The configuration that lets messages reach the model."""
        return dataclasses.replace(self._config, call_model_input_filter=self._filter)

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self._session is not None:
            await self._session.close("failed" if kind else "completed")

    async def on_agent_start(self, context: Any, agent: Any) -> None:
        """Report what the person asked, once; nothing if the last message is not a person's."""
        last: Any = context.turn_input[-1] if context.turn_input else None
        is_person = isinstance(last, dict) and last.get("role") == "user"
        prompt = last.get("content") or "" if is_person else ""
        if not isinstance(prompt, str):
            prompt = "\n".join(part["text"] for part in prompt if "text" in part)
        # Each hand-off starts an agent with the same input; reported again, it would reset every
        # streak.
        if prompt and prompt != self._reported_prompt:
            self._reported_prompt = prompt
            await self._report_message(prompt, role=Role.USER)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Note that the last agent has answered."""
        self._reported_prompt = None
        # The next run is another conversation.
        self._placed_messages.clear()
        if self._session is not None and not self._entered:
            await self._session.close()

    async def on_handoff(self, context: Any, from_agent: Any, to_agent: Any) -> None:
        """Report a hand-off; wait here while it is held."""
        facts = self._facts.get(from_agent.name, {})
        tool = f"transfer_to_{to_agent.name}".replace(" ", "_")
        go = await _reported(
            self._ensure_session().before(tool, {}, agent=from_agent.name, **facts)
        )
        if not go.run:
            self._notes.append(go.text)
            return
        result = f"{to_agent.name} has it now"
        self._notes += await _reported(self._ensure_session().after(go, result=result))

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        """Keep the call's cost for the turns it leads to; report an answer."""
        model = self._config.model or agent.model or get_default_model()
        named = model if isinstance(model, str) else getattr(model, "model", None)
        facts = {
            "call_id": response.response_id or new_key(),
            "model": named and str(named).rpartition("/")[2],
            "usage": responses_usage(response.usage),
        }
        calls = [item for item in response.output if hasattr(item, "call_id")]
        self._facts[agent.name] = facts
        self._facts |= {item.call_id: facts for item in calls}
        if not calls:
            parts = [
                part for item in response.output for part in getattr(item, "content", None) or ()
            ]
            answer = "\n".join(part.text for part in parts if getattr(part, "text", None))
            await self._report_message(answer or "(no text)", agent=agent.name, **facts)

    async def _filter(self, data: Any) -> Any:
        """Insert messages where they first appeared, in this and every later request."""
        theirs = self._config.call_model_input_filter
        model_data = data.model_data
        if theirs is not None:
            answer = theirs(data)
            model_data = await answer if isawaitable(answer) else answer
        items = list(model_data.input)
        # The SDK does not keep what a filter added: each request needs all of it again.
        for place, item in self._placed_messages:
            if place < len(items):  # a shorter conversation is kept by the server
                items.insert(place, item)
        notes, self._notes = self._notes, []
        for note in notes:
            added = {"role": "user", "content": f"[Mission Control] {note}"}
            self._placed_messages.append((len(items), added))
            items.append(added)
        return dataclasses.replace(model_data, input=items)

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        """Ask whether a call may run; wait here while it is held.

        Raises:
            CannotAnswer: It may not, and has no function that could answer in its place.
        """
        call_id = getattr(context, "tool_call_id", None) or new_key()
        args = read_arguments(getattr(context, "tool_arguments", None))
        facts = self._facts.pop(call_id, None) or self._facts.get(agent.name, {})
        go = await _reported(
            self._ensure_session().before(tool.name, args, agent=agent.name, **facts)
        )
        if go.run:
            self._notes += go.messages
            self._allowed_calls[call_id] = go
            return
        # The SDK's hooks cannot keep a call from running: its function is made to answer instead. A
        # computer, shell or patch tool has no such function.
        if not hasattr(tool, "on_invoke_tool"):
            raise CannotAnswer(
                f"{tool.name} was not run, and cannot be answered instead: {go.text}"
            )
        if not isinstance(tool.on_invoke_tool, _ToolGate):
            tool.on_invoke_tool = _ToolGate(tool.on_invoke_tool)
        tool.on_invoke_tool.replacement_texts[call_id] = go.text

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        """Report a call's outcome, unless it was answered in place of its result."""
        go = self._allowed_calls.pop(getattr(context, "tool_call_id", None) or "", None)
        if go is not None:
            text = str(result)
            outcome = {"error" if text.startswith(TOOL_ERROR_START) else "result": text}
            self._notes += await _reported(self._ensure_session().after(go, **outcome))

    async def _report_message(self, text: str, **facts: Any) -> None:
        self._notes += await _reported(self._ensure_session().say(text, **facts))

    def _ensure_session(self) -> AsyncSession:
        """Return the session; its first turn opens the run."""
        if self._session is None:
            own = {"goal": self._reported_prompt or ""}
            self._session = AsyncSession(self._name, **own | self._opening)
        return self._session


async def _reported(reporting: Awaitable[T]) -> T:
    """Await a session; raise a stop as an exception of the SDK's own."""
    try:
        return await reporting
    except Stopped as stopped:
        raise RunEnded(stopped.reason) from stopped


class _ToolGate:
    """A tool's function, with answers for calls that must not run."""

    def __init__(self, invoke: Callable[[Any, str], Awaitable[Any]]) -> None:
        self._invoke = invoke
        self.replacement_texts: dict[str, str] = {}

    # All other attributes of a tool's function are those of the wrapped one.
    def __getattr__(self, name: str) -> Any:
        return getattr(self._invoke, name)

    async def __call__(self, context: Any, arguments: str) -> Any:
        text = self.replacement_texts.pop(getattr(context, "tool_call_id", None) or "", None)
        return await self._invoke(context, arguments) if text is None else text
