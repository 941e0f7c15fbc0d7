"""The loop itself: ask the model, ask Mission Control, act, tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guard.errors import ToolFailed
from guard.runtime.model import ChatModel, Completion, ToolCall
from guard.runtime.workspace import Workspace, schema, schemas
from guard.sdk.session import Session
from guard.turn import Role

MOST_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Who an agent is: a name, instructions, and the model that thinks for it."""

    name: str
    instructions: str
    model: ChatModel


def run_agent(
    session: Session,
    goal: str,
    *,
    agent: Agent,
    workspace: Workspace,
    most_steps: int = MOST_STEPS,
) -> str:
    """Work on a goal until the model answers without a tool call.

    Args:
        session: Where every turn is told; what it says is obeyed.
        goal: What the person asks.
        agent: Who works on it.
        workspace: The only files it can touch.
        most_steps: Model calls before it gives up.

    Returns:
        The final answer; empty if it gave up.

    Raises:
        Stopped: A person ended the run.
        ModelFailed: The endpoint failed.
    """
    session.say(goal, role=Role.USER)
    thread = _Thread(session=session, agent=agent, tools=workspace.tools(), declared=schemas())
    thread.hear(goal)
    for _ in range(most_steps):
        if (answer := thread.step()) is not None:
            return answer
    return ""


def run_multi_agent(
    session: Session,
    goal: str,
    *,
    agents: Sequence[Agent],
    workspace: Workspace,
    most_steps: int = MOST_STEPS,
) -> str:
    """Let several agents work on one goal, handing it to one another.

    The first agent hears the goal. Each has a tool `hand_over(to, note)`: the
    named agent reads the note and goes on. It ends, and raises, as `run_agent`.
    """
    session.say(goal, role=Role.USER)
    table = _Table(session=session, agents=agents, workspace=workspace)
    table.turn_to.hear(goal)
    for _ in range(most_steps):
        if (answer := table.turn_to.step()) is not None:
            return answer
    return ""


@dataclass(slots=True, kw_only=True)
class _Thread:
    """One agent's conversation with its model."""

    session: Session
    agent: Agent
    tools: Mapping[str, Callable[..., str]]
    declared: Sequence[Any]
    messages: list[Any] = field(default_factory=list)

    def hear(self, text: str) -> None:
        """Add what a person, another agent or Mission Control says."""
        if not self.messages:
            self.messages.append({"role": "system", "content": self.agent.instructions})
        self.messages.append({"role": "user", "content": text})

    def step(self) -> str | None:
        """Make one model call and what it asks for; the answer, if it is one."""
        completion = self.agent.model.complete(self.messages, self.declared)
        self.messages.append(completion.message)
        if not completion.calls:
            return self._said(completion)
        notes = [note for call in completion.calls for note in self._act(call, completion)]
        for note in notes:
            self.hear(note)
        return None

    def _said(self, completion: Completion) -> str | None:
        """Tell the answer; a message that comes back is one more thing to do."""
        facts = _facts(completion, self.agent)
        notes = self.session.say(completion.text, agent=self.agent.name, **facts)
        for note in notes:
            self.hear(note)
        return None if notes else completion.text

    def _act(self, call: ToolCall, completion: Completion) -> tuple[str, ...]:
        """Ask, run, tell; the model reads the result, or what came in its place."""
        facts = _facts(completion, self.agent)
        go = self.session.before(call.tool, call.args, agent=self.agent.name, **facts)
        if not go.run:
            self._read(call, go.text)
            return ()
        result, error = self._run(call)
        self._read(call, error or result)
        notes = self.session.after(go, result=None if error else result, error=error)
        return (*go.messages, *notes)

    def _run(self, call: ToolCall) -> tuple[str, str | None]:
        tool = self.tools.get(call.tool)
        if tool is None:
            return "", f"there is no tool {call.tool}"
        try:
            return tool(**call.args), None
        except ToolFailed as failure:
            return "", str(failure)
        except TypeError as mismatch:
            return "", f"wrong arguments for {call.tool}: {mismatch}"

    def _read(self, call: ToolCall, text: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


class _Table:
    """Agents around one matter; one of them has it."""

    def __init__(self, *, session: Session, agents: Sequence[Agent], workspace: Workspace) -> None:
        names = ", ".join(agent.name for agent in agents)
        parameters = {"to": f"who: {names}", "note": "what to tell them"}
        handing = schema("hand_over", "Hand the matter to another agent", parameters)
        tools = {**workspace.tools(), "hand_over": self._hand_over}
        self._threads = {
            agent.name: _Thread(
                session=session, agent=agent, tools=tools, declared=[*schemas(), handing]
            )
            for agent in agents
        }
        self._has_it = agents[0].name

    @property
    def turn_to(self) -> _Thread:
        return self._threads[self._has_it]

    def _hand_over(self, to: str, note: str) -> str:
        if to not in self._threads or to == self._has_it:
            raise ToolFailed(f"there is no other agent {to}")
        sender, self._has_it = self._has_it, to
        self._threads[to].hear(f"{sender}: {note}")
        return f"{to} has it now"


def _facts(completion: Completion, agent: Agent) -> dict[str, Any]:
    """What a turn tells of the model call behind it."""
    return {
        "usage": completion.usage,
        "call_id": completion.call_id,
        "model": completion.model,
        "provider": agent.model.provider,
    }
